package counters

import (
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// Relations: the edges between CFs and DFs
//
// A CF has an edge to every DF that its present or next execution reads or makes, from the CF's creation, or
// the end of the execution before, to the end of that execution. An execution's start tells what it
// reads; before that, so do the CF's requests and waits. The DFs it made tell what it makes. So a live run
// may learn of edges of its last moments later.
//
// The CF is where it is at the moment; the DF is at its home, the node that keeps it and is asked for it. An
// edge with both ends on a node is an inner relation of that node. Any other one is an outer relation of both
// nodes at its ends; while the CF is in flight, of the DF's node only.

// edges are those of one CF, as its life is followed.
type edges struct {
	m     *model.Model
	emit  func(c change)
	cf    model.CF
	execs []int
	next  int     // how many of its executions have ended
	known int     // of which execution the homes are: 1 + its place in execs
	homes []int32 // of the DFs, in ascending order
	dfs   []model.DF
}

// relations tells how the numbers of relations change.
func (s *source) relations(emit func(c change)) {
	m := s.m
	x := &edges{m: m, emit: emit}
	lives := m.Lives(x.step)
	for cf := model.CF(1); int(cf) < len(m.Created); cf++ {
		x.cf, x.execs, x.next, x.known = cf, x.execs[:0], 0, 0
		for e := range m.ExecutionsOf(cf) {
			x.execs = append(x.execs, e)
		}
		lives.Follow(cf)
	}
}

// step takes a change of the CF's state.
func (x *edges) step(t int64, node int32, from, to model.CFState) {
	ended := from == model.CFRunning && to != model.CFMoving
	if !ended && from < model.CFMoving && to < model.CFMoving {
		return
	}
	x.count(t, node, from, -1)
	if ended {
		x.next++
	}
	x.count(t, node, to, 1)
}

// count counts the edges of a CF that comes into a state at a node, or goes out of it.
func (x *edges) count(t int64, node int32, state model.CFState, n int64) {
	if state > model.CFMoving {
		return
	}
	if x.known != x.next+1 {
		x.find()
	}
	add := func(n int64, place int32, k kind) {
		if n != 0 {
			x.emit(change{t, n, place, k})
		}
	}
	here, away := int64(0), int64(0)
	for i := 0; i < len(x.homes); {
		home, first := x.homes[i], i
		for i < len(x.homes) && x.homes[i] == home {
			i++
		}
		if edges := int64(i - first); home == node && state != model.CFMoving {
			here += edges
		} else {
			away += edges
			add(n*edges, home, outerChanged)
		}
	}
	if state != model.CFMoving {
		add(n*here, node, innerChanged)
		add(n*away, node, outerChanged)
	}
}

// find finds the DFs of the present or next execution.
func (x *edges) find() {
	m := x.m
	x.known, x.dfs, x.homes = x.next+1, x.dfs[:0], x.homes[:0]
	near := int32(-1)
	if x.next < len(x.execs) {
		e := x.execs[x.next]
		_, near = m.WorkerOf(e)
		x.dfs = append(x.dfs, m.Inputs(e)...)
	} else {
		x.pending()
	}
	for _, i := range m.OutputsOf(x.cf) {
		if x.maker(m.MadeTime[i]) == x.next {
			x.dfs = append(x.dfs, m.DFMade(i))
		}
	}
	slices.Sort(x.dfs)
	for _, df := range slices.Compact(x.dfs) {
		if home := m.Home(df, near); home >= 0 {
			x.homes = append(x.homes, home)
		}
	}
	slices.Sort(x.homes)
}

// maker gives the place in execs of the execution that made a DF at a time.
func (x *edges) maker(t int64) int {
	e, ok := x.m.ExecutionAt(x.cf, t)
	if !ok {
		return 0
	}
	return slices.Index(x.execs, e)
}

// pending appends the DFs that the CF has asked for or waited for since it last started.
func (x *edges) pending() {
	m, since := x.m, model.None
	if n := len(x.execs); n > 0 {
		since = m.ExecStart[x.execs[n-1]]
	}
	for _, a := range m.AskedBy(x.cf) {
		x.dfs = append(x.dfs, a.DF)
	}
	for _, i := range m.AwaitsOf(x.cf) {
		if m.Awaits.Time[i] > since {
			x.dfs = append(x.dfs, m.Awaits.Of(int(i))...)
		}
	}
}
