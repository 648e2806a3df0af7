package graph

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/model"
)

// TestMoment compares each moment with what the model says of each CF, copy and message.
func TestMoment(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := randomRun(t)
		g := build(t, m)
		q := MomentQuery{Limit: rapid.IntRange(1, 30).Draw(t, "limit"), Window: rapid.Int64Range(0, 100).Draw(t,
			"window"), parts: rapid.IntRange(2, 4).Draw(t, "parts")}
		for range rapid.IntRange(0, 4).Draw(t, "opened") {
			v, err := g.Moment(q)
			if err != nil {
				t.Fatal(err)
			}
			if len(v.Groups) > 0 {
				q.Open = append(q.Open, rapid.SampledFrom(v.Groups).Draw(t, "open").ID)
			}
		}
		var groups []MomentGroup
		for range 3 {
			at := rapid.Int64Range(-5, m.Wall()+5).Draw(t, "t")
			q.T = &at
			got, err := g.Moment(q)
			if err != nil {
				t.Fatal(err)
			}
			if groups != nil && !slices.Equal(groups, got.Groups) {
				t.Fatalf("the groups are not the same at each moment:\n%v\n%v", groups, got.Groups)
			}
			groups = got.Groups
			checkMoment(t, g, got, q, at+m.Start)
		}
	})
}

func checkMoment(t *rapid.T, g *Graph, got *Moment, q MomentQuery, at int64) {
	m := g.m
	f := g.form(slices.Compact(slices.Sorted(slices.Values(q.Open))), q.Limit, q.parts)
	boxes := 0
	for _, v := range got.Groups {
		if !v.Open {
			boxes++
		}
	}
	if boxes > q.Limit {
		t.Fatalf("%d boxes", boxes)
	}
	type key struct {
		group string
		node  int
	}
	cfs, dfs := map[key]*CFPlace{}, map[key]*DFPlace{}
	for cf := range m.CFs() {
		group := f.group(f.boxes, f.cfBox[cf])
		if group == "" {
			continue
		}
		life := m.LifeAt(cf, at, model.None)
		k := key{group, onNode(life.State, int(life.Node))}
		if cfs[k] == nil {
			cfs[k] = &CFPlace{Group: k.group, Node: k.node}
		}
		v := cfs[k]
		*[]*int64{&v.Waiting, &v.Ready, &v.Running, &v.Moving, &v.Finished, &v.Absent}[life.State]++
	}
	for h := range m.Holdings() {
		k := key{f.group(f.heaps, f.dfBox[h.DF]), h.Node}
		if n := h.At(at); n != 0 && k.group != "" {
			if dfs[k] == nil {
				dfs[k] = &DFPlace{Group: k.group, Node: k.node}
			}
			dfs[k].Copies += n
			dfs[k].Bytes += n * h.Bytes
		}
	}
	maps.DeleteFunc(dfs, func(_ key, v *DFPlace) bool { return v.Copies == 0 })
	gotCFs, gotDFs := map[key]*CFPlace{}, map[key]*DFPlace{}
	for i := range got.CFs {
		gotCFs[key{got.CFs[i].Group, got.CFs[i].Node}] = &got.CFs[i]
	}
	for i := range got.DFs {
		gotDFs[key{got.DFs[i].Group, got.DFs[i].Node}] = &got.DFs[i]
	}
	if d := gocmp.Diff(cfs, gotCFs); d != "" {
		t.Fatalf("CFs at %d: %s", at, d)
	}
	if d := gocmp.Diff(dfs, gotDFs); d != "" {
		t.Fatalf("DFs at %d: %s", at, d)
	}
	checkLinks(t, m, got, q.Window, at)
	if d := gocmp.Diff(relations(g, f, at), edgeTexts(got), gocmp.AllowUnexported(amount{})); d != "" {
		t.Fatalf("edges at %d: %s", at, d)
	}
}

func checkLinks(t *rapid.T, m *model.Model, got *Moment, window, at int64) {
	want := map[[2]int]*LinkMoment{}
	under := 0
	for _, list := range [][]model.Message{m.DFMessages, m.Moves} {
		for i := range list {
			g := &list[i]
			if !g.Recorded() || g.From < 0 || g.To < 0 {
				continue
			}
			sent, received := g.Sent, g.Received
			if sent == model.None {
				sent = received
			}
			if received == model.None {
				received = m.End + 1
			}
			l := [2]int{int(g.From), int(g.To)}
			if want[l] == nil {
				want[l] = &LinkMoment{From: l[0], To: l[1]}
			}
			if sent <= at && received > at {
				want[l].InFlight++
				want[l].BytesInFlight += g.Bytes
				under++
			}
			if sent <= at && sent > at-window {
				want[l].Messages++
				want[l].Bytes += g.Bytes
			}
		}
	}
	maps.DeleteFunc(want, func(_ [2]int, v *LinkMoment) bool { return v.InFlight+v.Messages == 0 })
	links := map[[2]int]*LinkMoment{}
	for i := range got.Links {
		links[[2]int{got.Links[i].From, got.Links[i].To}] = &got.Links[i]
	}
	if d := gocmp.Diff(want, links); d != "" {
		t.Fatalf("links at %d: %s", at, d)
	}
	for _, v := range got.Flights {
		if v.Sent <= at-m.Start && v.Received > at-m.Start {
			under--
		} else if v.Sent > at-m.Start+window || v.Sent <= at-m.Start-window {
			t.Fatalf("%+v is not near %d", v, at)
		}
	}
	if under != 0 && len(got.Flights) < maxFlights {
		t.Fatalf("%d under way are not told", under)
	}
}

func edgeTexts(v *Moment) map[string]amount {
	out := map[string]amount{}
	for _, e := range v.Edges {
		out[fmt.Sprint(e.Kind, " ", e.From, "@", e.FromNode, " ", e.To, "@", e.ToNode)] = amount{count: e.Count,
			bytes: e.Bytes}
	}
	for _, e := range v.Order {
		out[fmt.Sprint(e.Kind, " ", e.From, " ", e.To)] = amount{count: e.Count, bytes: e.Bytes}
	}
	return out
}

// relations works out the edges from states and holders as the graph around a fragment tells them.
func relations(g *Graph, f *form, at int64) map[string]amount {
	m, out := g.m, map[string]amount{}
	add := func(bytes int64, what ...any) {
		k := fmt.Sprint(what...)
		a := out[k]
		a.add(bytes)
		out[k] = a
	}
	holder := func(df model.DF, wanted int) int {
		now, _ := g.holders(df, at)
		switch {
		case len(now) == 0:
			return -1
		case now[wanted] > 0:
			return wanted
		}
		return slices.Min(slices.Collect(maps.Keys(now)))
	}
	for cf := range m.CFs() {
		box := f.group(f.boxes, f.cfBox[cf])
		life := m.LifeAt(cf, at, model.None)
		if box == "" || life.State >= model.CFFinished {
			continue
		}
		node := int(life.Node)
		if p := f.group(f.boxes, f.cfBox[m.Parent[cf]]); p != "" && m.Parent[cf] != 0 {
			add(0, edgeChild, " ", p, " ", box)
		}
		var inputs []model.DF
		first := -1
		for e := range m.ExecutionsOf(cf) {
			if m.EndOf(e) > at && (first < 0 || m.ExecStart[e] < m.ExecStart[first]) {
				first = e
			}
		}
		if first >= 0 {
			inputs = m.Inputs(first)
		} else if i, _ := m.LastAwait(cf, at); i >= 0 {
			inputs = m.Awaits.Of(i)
		}
		for _, df := range inputs {
			i, ok := m.Creation(df, at)
			heap := f.group(f.heaps, f.dfBox[df])
			if ok && m.MadeTime[i] > at {
				if by := f.group(f.boxes, f.cfBox[m.MadeBy[i]]); m.MadeBy[i] != 0 && by != "" &&
					life.State != model.CFRunning {
					add(m.SizeMade(i), edgeWait, " ", by, " ", box)
				}
			} else if h := holder(df, node); h >= 0 && heap != "" && life.State < model.CFMoving {
				add(g.size(df, at), edgeIn, " ", heap, "@", h, " ", box, "@", node)
			}
		}
		for _, i := range m.OutputsOf(cf) {
			df := m.DFMade(i)
			if h, heap := holder(df, node), f.group(f.heaps, f.dfBox[df]); life.State == model.CFRunning &&
				m.MadeTime[i] <= at && h >= 0 && heap != "" {
				add(m.SizeMade(int(i)), edgeOut, " ", box, "@", node, " ", heap, "@", h)
			}
		}
	}
	return out
}
