package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/show/view/fragments"
	"github.com/whyslow/whyslow/internal/show/view/timeline"
	_ "github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

func build(t sloutest.TB, m *model.Model) *Graph {
	tl, err := timeline.Build(context.Background(), m, timeline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	x, err := fragments.Build(context.Background(), tl)
	if err != nil {
		t.Fatal(err)
	}
	return New(x)
}

// randomRun has copies of DFs, too, stored and dropped at random.
func randomRun(t *rapid.T) *model.Model {
	r := sloutest.Random(t)
	switch rapid.IntRange(0, 3).Draw(t, "what") {
	case 0:
		r.Kill(t)
	case 1:
		r.Stick(t)
	case 2:
		r.Harm(t)
	}
	text := r.Text()
	end := int64(300)
	for range rapid.IntRange(0, 12).Draw(t, "copies") {
		if r.DFs > 0 {
			kind := rapid.SampledFrom([]string{"onStored", "onStored", "onDropped", "onDestroy"}).Draw(t,
				"copy")
			args := fmt.Sprintf("df=%d size=8", rapid.IntRange(1, r.DFs).Draw(t, "df"))
			if kind == "onDestroy" {
				args += " reason=expired"
			}
			text += fmt.Sprintf("%d n%d s8 DFEvents.%s %s\n", rapid.Int64Range(0, end).Draw(t, "at"),
				rapid.IntRange(0, r.Nodes-1).Draw(t, "node"), kind, args)
		}
	}
	return sloutest.Build(t, text)
}

func within(m *model.Model, t, from, to int64) bool {
	t -= m.Start
	return (from <= 0 || t >= from) && (to >= m.Wall() || t < to)
}

func drawInterval(t *rapid.T, m *model.Model) (from, to int64) {
	if rapid.Bool().Draw(t, "whole") || m.Wall() == 0 {
		return 0, m.Wall()
	}
	from = rapid.Int64Range(0, m.Wall()-1).Draw(t, "from")
	return from, rapid.Int64Range(from+1, m.Wall()+2).Draw(t, "to")
}

func TestNodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := randomRun(t)
		g := build(t, m)
		from, to := drawInterval(t, m)
		got, err := g.Nodes(from, to)
		if err != nil {
			t.Fatal(err)
		}
		pieces, err := slou.Pieces(context.Background(), m, slou.Options{}, procs.Alone())
		if err != nil {
			t.Fatal(err)
		}
		to = min(to, m.Wall())
		want := &NodeGraph{Nodes: make([]NodeVertex, len(m.Nodes)), Links: []LinkEdge{}}
		links := map[[2]int]LinkEdge{}
		for _, w := range pieces {
			for _, p := range w.Pieces {
				ns := max(min(p.To-m.Start, to)-max(p.From-m.Start, from), 0)
				switch p.Factor {
				case slou.FactorU:
					want.Nodes[w.Node].Useful += float64(ns)
				case slou.FactorL:
					if ns > 0 {
						l := links[[2]int{int(p.Link.From), int(p.Link.To)}]
						l.WaitNS += ns
						links[[2]int{int(p.Link.From), int(p.Link.To)}] = l
					}
				}
			}
		}
		for _, list := range [][]model.Message{m.DFMessages, m.Moves} {
			for _, msg := range list {
				at := msg.Sent
				if at == model.None {
					at = msg.Received
				}
				if at != model.None && within(m, at, from, to) {
					l := links[[2]int{int(msg.From), int(msg.To)}]
					l.Messages++
					l.Bytes += msg.Bytes
					links[[2]int{int(msg.From), int(msg.To)}] = l
				}
			}
		}
		for _, k := range slices.SortedFunc(maps.Keys(links),
			func(a, b [2]int) int { return slices.Compare(a[:], b[:]) }) {
			l := links[k]
			l.From, l.To = k[0], k[1]
			want.Links = append(want.Links, l)
		}
		for n := range want.Nodes {
			v := &want.Nodes[n]
			v.Node, v.Host = n, m.Nodes[n].Host
			length := float64(max(to-from, 1))
			v.Useful /= length * float64(max(len(m.Nodes[n].Workers), 1))
			for at := m.Start + from; at < m.Start+to; at++ {
				for e := range m.ExecCF {
					if id, ok := m.WorkerIDOf(e); ok && id.Node == n && m.Atomic(m.ExecCF[e]) &&
						m.ExecStart[e] <= at && (m.ExecEnd[e] == model.None || m.ExecEnd[e] > at) {
						v.Running += 1 / length
					}
				}
			}
			v.Bytes = got.Nodes[n].Bytes // TestBytes
		}
		close := gocmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
		if d := gocmp.Diff(want, got, close); d != "" {
			t.Fatalf("%d to %d (-want +got):\n%s", from, to, d)
		}
	})
}

func TestCodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := randomRun(t)
		g := build(t, m)
		from, to := drawInterval(t, m)
		got, err := g.Codes(from, to)
		if err != nil {
			t.Fatal(err)
		}
		nodes, edges := map[string][3]int64{}, map[[3]string][2]int64{}
		node := func(id string, count, ns, bytes int64) {
			v := nodes[id]
			nodes[id] = [3]int64{v[0] + count, v[1] + ns, v[2] + bytes}
		}
		edge := func(a, b, kind string, bytes int64) {
			v := edges[[3]string{a, b, kind}]
			edges[[3]string{a, b, kind}] = [2]int64{v[0] + 1, v[1] + bytes}
		}
		code := func(cf model.CF) string { return fmt.Sprintf("code%d", m.CodeOf(cf)) }
		name := func(df model.DF) string { return "dfs" + m.DFNameOf(df) }
		for e, cf := range m.ExecCF {
			if within(m, m.ExecStart[e], from, to) {
				node(code(cf), 1, g.x.TimeOf(e), 0)
				for _, df := range m.Inputs(e) {
					bytes := int64(0)
					if i, ok := m.Creation(df, m.ExecStart[e]); ok {
						bytes = m.SizeMade(i)
					}
					node(name(df), 0, 0, 0)
					edge(name(df), code(cf), "in", bytes)
				}
			}
		}
		for df := range m.DFs() {
			first, end := m.Creations(model.DF(df))
			for i := first; i < end && df > 0; i++ {
				if within(m, m.MadeTime[i], from, to) {
					node(name(model.DF(df)), 1, 0, m.SizeMade(i))
					if m.MadeBy[i] != 0 {
						node(code(m.MadeBy[i]), 0, 0, 0)
						edge(code(m.MadeBy[i]), name(model.DF(df)), "out", m.SizeMade(i))
					}
				}
			}
		}
		for cf, p := range m.Parent {
			if m.Created[cf] != model.None && p != 0 && within(m, m.Created[cf], from, to) {
				node(code(p), 0, 0, 0)
				node(code(model.CF(cf)), 0, 0, 0)
				edge(code(p), code(model.CF(cf)), "child", 0)
			}
		}
		gotNodes, gotEdges := map[string][3]int64{}, map[[3]string][2]int64{}
		for _, n := range got.Nodes {
			gotNodes[n.ID] = [3]int64{n.Count, n.NS, n.Bytes}
		}
		for _, e := range got.Edges {
			gotEdges[[3]string{e.From, e.To, e.Kind}] = [2]int64{e.Count, e.Bytes}
		}
		if d := gocmp.Diff(nodes, gotNodes) + gocmp.Diff(edges, gotEdges); d != "" {
			t.Fatalf("(-want +got):\n%s", d)
		}
	})
}

// TestAround compares what is shown with distances worked out from a list of all edges.
func TestAround(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := randomRun(t)
		g := build(t, m)
		edges := map[[3]string]bool{}
		cfID := func(cf model.CF) string { return "cf" + m.CFID(cf).String() }
		dfID := func(df model.DF) string { return "df" + m.DFKey(df) }
		for e, cf := range m.ExecCF {
			for _, df := range m.Inputs(e) {
				edges[[3]string{dfID(df), cfID(cf), "in"}] = true
			}
		}
		for df := range m.DFs() {
			first, end := m.Creations(model.DF(df))
			for i := first; i < end; i++ {
				edges[[3]string{cfID(m.MadeBy[i]), dfID(model.DF(df)), "out"}] = true
			}
		}
		for cf, p := range m.Parent {
			if p != 0 && cf != 0 {
				edges[[3]string{cfID(p), cfID(model.CF(cf)), "child"}] = true
			}
		}
		var cfs []model.CF
		for cf := range m.CFs() {
			cfs = append(cfs, cf)
		}
		if len(cfs) == 0 {
			return
		}
		start := rapid.SampledFrom(cfs).Draw(t, "cf")
		at := rapid.Int64Range(0, m.Wall()).Draw(t, "t")
		q := AroundQuery{CF: m.CFID(start).String(), Depth: rapid.IntRange(1, MaxDepth).Draw(t, "depth"),
			T: &at, Limit: rapid.SampledFrom([]int{1, 3, 6, 12, 1000}).Draw(t, "limit")}
		got, err := g.Around(q)
		if err != nil {
			t.Fatal(err)
		}
		// distances are those of what a walk through only the things that pass finds, and what it sees beside
		// its way.
		distances := func(pass func(string) bool) map[string]int {
			distance := map[string]int{cfID(start): 0}
			for d := range q.Depth {
				for e := range edges {
					for i := range 2 {
						if from, ok := distance[e[i]]; ok && from == d && pass(e[i]) && e[1-i] != "cf-" &&
							e[1-i] != "df" {
							if _, ok := distance[e[1-i]]; !ok {
								distance[e[1-i]] = d + 1
							}
						}
					}
				}
			}
			return distance
		}
		shown, last := map[string]bool{}, 0
		for _, n := range got.Nodes {
			shown[n.ID] = true
		}
		found := distances(func(id string) bool { return shown[id] })
		if len(got.Nodes)+got.More != len(found) || len(got.Nodes) != min(q.Limit, len(found)) ||
			len(shown) != len(got.Nodes) {
			t.Fatalf("%d nodes and %d more, want %d", len(got.Nodes), got.More, len(found))
		}
		if all := distances(func(string) bool { return true }); q.Limit == 1000 &&
			len(got.Nodes) != len(all) {
			t.Fatalf("%d nodes, there are %d", len(got.Nodes), len(all))
		}
		for _, n := range got.Nodes {
			d, ok := found[n.ID]
			if !ok || d < last {
				t.Fatalf("%s is at distance %d after %d", n.ID, d, last)
			}
			last = d
		}
		for _, e := range got.Edges {
			if !edges[[3]string{e.From, e.To, e.Kind}] || !shown[e.From] || !shown[e.To] {
				t.Fatalf("%+v", e)
			}
			delete(edges, [3]string{e.From, e.To, e.Kind})
		}
		for e := range edges {
			if shown[e[0]] && shown[e[1]] {
				t.Fatalf("%v is not shown", e)
			}
		}
	})
}

// TestStates plays the life of each CF of whole runs, event by event.
func TestStates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := sloutest.Build(t, sloutest.Random(t).Text())
		g := build(t, m)
		type fact struct {
			t     int64
			rank  int
			state string
			node  int
		}
		for cf := range m.CFs() {
			facts := []fact{{m.Created[cf], 0, "waiting", m.CFID(cf).Node()}}
			for i, v := range m.MovesOf(cf) {
				if v.Received > v.Sent { // it leaves after everything else that happens at that time
					facts = append(facts, fact{v.Sent, 1000, "moving", -1})
				}
				facts = append(facts, fact{v.Received, i + 1, "waiting", int(v.To)})
			}
			m.AllReady(cf, func(at int64, node int) { facts = append(facts, fact{at, 50, "ready", node}) })
			for e := range m.ExecutionsOf(cf) {
				id, _ := m.WorkerIDOf(e)
				facts = append(facts, fact{m.ExecStart[e], 51 + int(m.ExecNumber[e]), "running", id.Node},
					fact{m.ExecEnd[e], 51 + int(m.ExecNumber[e]), "finished", id.Node})
			}
			slices.SortStableFunc(facts, func(a, b fact) int {
				return cmp.Or(cmp.Compare(a.t, b.t),
					cmp.Compare(a.rank, b.rank))
			})
			left := 0
			for range m.ExecutionsOf(cf) {
				left++
			}
			for i, f := range facts {
				if f.state == "finished" {
					if left--; left > 0 {
						f.state = "waiting"
					}
				}
				if i+1 < len(facts) && facts[i+1].t == f.t {
					continue
				}
				if n := g.cfNode(cf, f.t); n.State != f.state || n.Node != f.node {
					t.Fatalf("CF %s at %d is %s at %d, want %+v of %+v", m.CFID(cf), f.t, n.State, n.Node, f,
						facts)
				}
			}
			if n := g.cfNode(cf, m.Created[cf]-1); n.State != Absent || n.Node != -1 {
				t.Fatalf("CF %s is %s before it was created", m.CFID(cf), n.State)
			}
		}
	})
}

func TestBadQueries(t *testing.T) {
	g := build(t, sloutest.Build(t, sloutest.Golden(t, "graphs")))
	for _, f := range []struct {
		kind error
		ask  func() error
	}{
		{fs.ErrInvalid, func() error { _, err := g.Nodes(5, 5); return err }},
		{fs.ErrInvalid, func() error { _, err := g.Codes(9, 5); return err }},
		{fs.ErrInvalid, func() error { _, err := g.Around(AroundQuery{}); return err }},
		{fs.ErrInvalid, func() error { _, err := g.Around(AroundQuery{CF: "0.1", DF: "0:1"}); return err }},
		{fs.ErrInvalid, func() error { _, err := g.Around(AroundQuery{CF: "x"}); return err }},
		{fs.ErrInvalid, func() error { _, err := g.Around(AroundQuery{CF: "0.1", Depth: 5}); return err }},
		{fs.ErrInvalid, func() error { _, err := g.Around(AroundQuery{CF: "0.1", Limit: -1}); return err }},
		{fs.ErrNotExist, func() error { _, err := g.Around(AroundQuery{CF: "0.99"}); return err }},
		{fs.ErrNotExist, func() error { _, err := g.Around(AroundQuery{DF: "0:99"}); return err }},
	} {
		if err := f.ask(); !errors.Is(err, f.kind) {
			t.Errorf("%v is not %v", err, f.kind)
		}
	}
}
