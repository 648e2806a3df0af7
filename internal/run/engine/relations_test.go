package engine_test

import (
	"cmp"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// relations are those of each node.
type relations map[int][2]int64 // inner, outer

// dfKey tells DFs apart as a model does: where one file has them all, by their numbers in it. There a DF that
// is made again after it expired is another one.
func (f *facts) dfKey(node int, df uint64) uint64 {
	if len(f.r.Nodes()) == 1 {
		return df
	}
	return f.r.Defs(node).ID(trace.DF(df))
}

// relationsAt counts the relations at t from the events up to known, as docs/events.md defines them.
func (f *facts) relationsAt(t, known int64) relations {
	type life struct {
		events []*event // that say where it is, and what it executes
		asks   []*event
		makes  []*event
	}
	lives, homes := map[uint64]*life{}, map[uint64][]int{}
	made, kept := map[uint64]int{}, map[uint64]int{}
	of := func(cf uint64) *life {
		if lives[cf] == nil {
			lives[cf] = &life{}
		}
		return lives[cf]
	}
	keeps := func(df uint64, node int) {
		if !slices.Contains(homes[df], node) {
			homes[df] = append(homes[df], node)
			slices.Sort(homes[df])
		}
	}
	for i := range f.events {
		e := &f.events[i]
		if e.t > known {
			break
		}
		switch e.kind {
		case trace.KindCFCreated, trace.KindCFReceived, trace.KindCFReady, trace.KindCFStarted,
			trace.KindCFFinished, trace.KindCFMigrated, trace.KindCFStolen:
			of(e.a[0]).events = append(of(e.a[0]).events, e)
		case trace.KindCFWaiting:
			of(e.a[0]).asks = append(of(e.a[0]).asks, e)
		case trace.KindDFRequested:
			of(e.a[1]).asks = append(of(e.a[1]).asks, e)
			keeps(f.dfKey(e.node, e.a[0]), int(e.a[2]))
		case trace.KindDFCreate:
			of(e.a[2]).makes = append(of(e.a[2]).makes, e)
			if _, ok := made[f.dfKey(e.node, e.a[0])]; !ok {
				made[f.dfKey(e.node, e.a[0])] = e.node
			}
		case trace.KindDFStored:
			if _, ok := kept[f.dfKey(e.node, e.a[0])]; !ok {
				kept[f.dfKey(e.node, e.a[0])] = e.node
			}
		case trace.KindDFSent:
			if e.a[4] == 0 && e.a[5] == 0 {
				keeps(f.dfKey(e.node, e.a[0]), int(e.a[1]))
			}
		case trace.KindDFDestroy:
			keeps(f.dfKey(e.node, e.a[0]), e.node)
		}
	}
	found := relations{}
	for cf, l := range lives {
		if cf == 0 {
			continue
		}
		order := []trace.Kind{trace.KindCFCreated, trace.KindCFReceived, trace.KindCFReady, trace.KindCFStarted,
			trace.KindCFFinished, trace.KindCFMigrated, trace.KindCFStolen}
		when := func(e *event) int64 {
			if e.kind == trace.KindCFReady {
				return e.t - int64(e.a[1])
			}
			return e.t
		}
		slices.SortStableFunc(l.events, func(x, y *event) int {
			return cmp.Or(cmp.Compare(when(x), when(y)), cmp.Compare(slices.Index(order, x.kind),
				slices.Index(order, y.kind)))
		})
		place, exists, ended := 0, false, uint64(0)
		for i, e := range l.events {
			if when(e) > t {
				break
			}
			place, exists = e.node, true
			switch e.kind {
			case trace.KindCFFinished:
				ended, exists = e.a[1], i < len(l.events)-1
			case trace.KindCFMigrated, trace.KindCFStolen:
				place = -1
			}
		}
		if !exists {
			continue
		}
		dfs, near, last, start := map[uint64]bool{}, -1, int64(-1<<62), uint64(0)
		started := func(at int64) (n uint64) {
			for _, e := range l.events {
				if e.kind == trace.KindCFStarted && e.t <= at {
					n = e.a[1]
				}
			}
			return n
		}
		for _, e := range l.events {
			if e.kind != trace.KindCFStarted {
				continue
			}
			last, start = e.t, e.a[1]
			if e.a[1] == ended+1 {
				near = e.node
				for _, df := range e.list {
					dfs[f.dfKey(e.node, df)] = true
				}
			}
		}
		for _, e := range l.asks {
			switch {
			case start > ended || e.t <= last:
			case e.kind == trace.KindDFRequested:
				dfs[f.dfKey(e.node, e.a[0])] = true
			default:
				for _, df := range e.list {
					dfs[f.dfKey(e.node, df)] = true
				}
			}
		}
		for _, e := range l.makes {
			if started(e.t) == ended+1 {
				dfs[f.dfKey(e.node, e.a[0])] = true
			}
		}
		for df := range dfs {
			home, ok := made[df]
			if !ok {
				home, ok = kept[df]
			}
			if list := homes[df]; len(list) > 0 {
				home, ok = list[0], true
				if slices.Contains(list, near) {
					home = near
				}
			}
			add := func(node int, inner, outer int64) {
				n := found[node]
				found[node] = [2]int64{n[0] + inner, n[1] + outer}
			}
			switch {
			case !ok:
			case home == place:
				add(home, 1, 0)
			default:
				add(home, 0, 1)
				if place >= 0 {
					add(place, 0, 1)
				}
			}
		}
	}
	return found
}

// checkRelations compares the relations that the page shows with what relationsAt counts, of the whole run
// and of what a live run has recorded by some moment. text is the trace as text.
func (f *facts) checkRelations(t testing.TB, m *model.Model, text string) {
	t.Helper()
	if len(f.events) > 3000 || f.kinds[trace.KindCFCreated] == 0 || f.kinds[trace.KindDFCreate] == 0 ||
		f.kinds[trace.KindLost] > 0 {
		return
	}
	for i := range f.events {
		if e := &f.events[i]; e.kind == trace.KindClockSync && e.a[0] != 0 {
			return // events are compared as they were recorded
		}
	}
	compare := func(m *model.Model, known int64) {
		set, err := counters.FromModel(t.Context(), m, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 12 {
			at := min(f.events[rand.IntN(len(f.events))].t, known)
			if at < m.Start || at >= m.End {
				continue
			}
			want := f.relationsAt(at, known)
			for _, n := range set.At(at - m.Start).Nodes {
				if n.Inner == nil {
					return // nothing was made by then
				}
				if got := [2]int64{*n.Inner, *n.Outer}; got != want[n.Node] {
					t.Errorf("at %d of what is known at %d node %d has %d relations, want %d\n%s", at, known, n.Node,
						got, want[n.Node], text)
					return
				}
			}
		}
	}
	compare(m, 1<<62)
	if f.kinds[trace.KindBalanced] > 0 {
		return // of DFs that stay with CFs that moved the homes become known when they are asked for
	}
	end := map[uint64]int{}
	for i := range f.events {
		if e := &f.events[i]; e.kind == trace.KindDFDestroy {
			if node, ok := end[f.dfKey(e.node, e.a[0])]; ok && node != e.node {
				return // of replicated DFs the homes become known one by one
			}
			end[f.dfKey(e.node, e.a[0])] = e.node
		}
	}
	known := f.events[rand.IntN(len(f.events))].t
	dir, part := t.TempDir(), prefix(text, known)
	if err := twin.Parse(strings.NewReader(part), dir); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	m, err = model.Build(t.Context(), r, model.Options{Interpolated: true})
	if err != nil {
		t.Fatal(err)
	}
	compare(m, known)
}

// prefix is a trace as text without the events after a time.
func prefix(text string, known int64) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		first, _, _ := strings.Cut(line, " ")
		if at, err := strconv.ParseInt(first, 10, 64); err != nil || at <= known {
			b.WriteString(line)
		}
	}
	return b.String()
}
