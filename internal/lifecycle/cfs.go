package lifecycle

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// What became of every CF.
//
// The last thing that was recorded of a CF says where it stood at the end: started and not ended; ready; waiting for DFs; on
// its way to another node; or created and not looked at since. A `while` that has run and asks for its condition again
// waits, too.

// State is where a CF stood at the end.
type State string

// The states. Created: no worker had looked at what it needs.
const (
	Created State = "created"
	Waiting State = "waiting"
	Ready   State = "ready"
	Running State = "running"
	Moving  State = "moving"
)

// CFs tells of the CFs of a run.
type CFs struct {
	Created  int64 `json:"created"`  // all, atomic and structured
	Finished int64 `json:"finished"` // all that were left to do nothing
	// Left counts the others by state.
	Left map[State]int64 `json:"left"`
	// Roots counts the waiting CFs that wait for something no other waiting CF would make: the bottoms of the chains.
	Roots int64 `json:"roots"`
	// Circle says that CFs wait and none is a root: each waits for another one of them.
	Circle bool   `json:"circle"`
	Groups []Left `json:"groups"` // roots first, then in the order of the source
	// More counts the waiting CFs that are in no group because they are not roots.
	More int64 `json:"more"`
	// MoreGroups is how many groups are not listed.
	MoreGroups int `json:"more_groups"`
}

// Left are the CFs of one statement in one state at the end.
type Left struct {
	Place
	State    State       `json:"state"`
	Root     bool        `json:"root"`
	Again    bool        `json:"again"` // they had run before, as a while does
	Count    int64       `json:"count"`
	For      []Reason    `json:"for"`      // of those that wait: why it does not come; most DFs first
	MoreFor  int         `json:"more_for"` // reasons that are not listed
	Examples []CFExample `json:"examples"`
	site     uint32
}

// CFExample is one CF.
type CFExample struct {
	CF      string   `json:"cf"`
	Node    int      `json:"node"`
	SinceNS int64    `json:"since_ns"` // when it came into its state
	Awaits  []string `json:"awaits"`   // some of the DFs it waits for
}

// standing is a CF that is left.
type standing struct {
	cf    model.CF
	state State
	since int64
	await int // index into Model.Awaits, of those that wait
	again bool
	root  bool
	why   []why
}

func (f *finder) findCFs() {
	if !f.need("cfs", trace.KindCFCreated, trace.KindCFStarted) || !f.need("cfs", trace.KindCFFinished) {
		return
	}
	out := &CFs{Left: map[State]int64{}, Groups: []Left{}}
	left := f.left(out)
	waiting := 0
	for i := range left {
		out.Left[left[i].state]++
		if left[i].state == Waiting {
			waiting++
		}
	}
	if waiting > 0 && f.off(trace.KindDFCreate) {
		f.missing("cfs.groups.for", trace.KindDFCreate)
	} else if waiting > 0 {
		f.reasons(left)
	}
	for i := range left {
		if left[i].root {
			out.Roots++
		}
	}
	out.Circle = waiting > 0 && out.Roots == 0
	f.group(out, left)
	f.res.CFs = out
}

// left finds the CFs that are left and counts all.
func (f *finder) left(out *CFs) (left []standing) {
	m := f.m
	last := make([]uint32, len(m.Created)) // by CF: 1 + its last await
	for i, cf := range m.Awaits.CF {
		if k := last[cf]; k == 0 || m.Awaits.Time[k-1] <= m.Awaits.Time[i] {
			last[cf] = uint32(i) + 1
		}
	}
	for cf := range m.CFs() {
		out.Created++
		if s, ok := f.stand(cf, int(last[cf])-1); ok {
			left = append(left, s)
		} else {
			out.Finished++
		}
	}
	// CFs of which nothing but a wait was recorded.
	for cf, k := range last {
		if k != 0 && m.Created[cf] == model.None && m.Ready[cf] == model.None && m.ExecOf[cf] == 0 && len(m.MovesOf(model.CF(cf))) == 0 && cf != 0 {
			out.Created++
			left = append(left, standing{cf: model.CF(cf), state: Waiting, since: m.Awaits.Time[k-1], await: int(k) - 1})
		}
	}
	return left
}

// stand tells where a CF stood at the end; false if it had nothing left to do. await is its last await, -1 for none.
func (f *finder) stand(cf model.CF, await int) (standing, bool) {
	m := f.m
	s := standing{cf: cf, await: await}
	start, end := model.None, model.None
	if e := m.ExecOf[cf]; e != 0 {
		start, end = m.ExecStart[e-1], m.ExecEnd[e-1]
		s.again = true
		if end == model.None {
			s.again = m.ExecNumber[e-1] > 1
			s.state, s.since = Running, start
			return s, true
		}
	}
	ready := m.Ready[cf]
	if ready <= start {
		ready = model.None // that was for the execution
	}
	waited := model.None
	if await >= 0 && m.Awaits.Time[await] >= end {
		waited = m.Awaits.Time[await]
	}
	moves := m.MovesOf(cf)
	switch n := len(moves); {
	case n > 0 && moves[n-1].Received == model.None && moves[n-1].Sent >= max(end, waited, ready):
		s.state, s.since = Moving, moves[n-1].Sent
	case ready != model.None && ready >= max(waited, end):
		s.state, s.since = Ready, ready
	case waited != model.None:
		s.state, s.since = Waiting, waited
	case !s.again:
		s.state, s.since = Created, m.Created[cf]
		for i := range moves {
			s.since = max(s.since, moves[i].Received)
		}
	default:
		return s, false
	}
	return s, true
}

// group puts together the CFs that are left by statement.
func (f *finder) group(out *CFs, left []standing) {
	type key struct {
		site  uint32
		state State
		root  bool
		again bool
	}
	index := map[key]*Left{}
	why := map[key]*reasons{}
	var list []*Left
	for i := range left {
		s := &left[i]
		if s.state == Waiting && !s.root && !f.opt.All && !out.Circle {
			out.More++
			continue
		}
		k := key{f.m.SiteOf[s.cf], s.state, s.root, s.again}
		g := index[k]
		if g == nil {
			g = &Left{Place: f.place(s.cf), State: s.state, Root: s.root, Again: s.again, For: []Reason{}, Examples: []CFExample{}, site: k.site}
			index[k], why[k] = g, &reasons{f: f}
			list = append(list, g)
		}
		g.Count++
		for j := range s.why {
			why[k].add(&s.why[j])
		}
		if len(g.Examples) < f.opt.Examples {
			g.Examples = append(g.Examples, f.cfExample(s))
		}
	}
	for k, g := range index {
		g.For, g.MoreFor = why[k].list(f.opt.Groups)
	}
	slices.SortStableFunc(list, func(a, b *Left) int {
		first := func(g *Left) int {
			if g.Root {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(first(a), first(b)), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.site, b.site), cmp.Compare(a.State, b.State))
	})
	for i, g := range list {
		if i == f.opt.Groups && !f.opt.All {
			out.MoreGroups = len(list) - i
			break
		}
		out.Groups = append(out.Groups, *g)
	}
}

func (f *finder) cfExample(s *standing) CFExample {
	x := CFExample{CF: f.m.CFString(s.cf), Node: f.nodeAt(s.cf, f.m.End), SinceNS: f.at(s.since), Awaits: []string{}}
	if e := f.m.ExecOf[s.cf]; e != 0 && s.state == Running {
		if w, ok := f.m.WorkerIDOf(int(e - 1)); ok {
			x.Node = w.Node
		}
	}
	for i := range s.why {
		if i == f.opt.Examples {
			break
		}
		x.Awaits = append(x.Awaits, f.m.DFString(s.why[i].df))
	}
	return x
}
