package advise

import (
	"maps"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/memory"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// facts are what advice takes from a model, beside the results of the other analyses. Each process finds
// those of its nodes, and rank 0 joins them. Most are executions, what each waited for, and the ways of DFs:
// some hundred bytes for each execution of the run.
type facts struct {
	found
	need   needed
	m      *model.Model // names, code fragments, statements, workers, and what else every model of the run has
	replay *replay      // nil where nothing is to be worked out again
	least  int64        // bytes, see traps.go; 0 where it does not matter
}

// found is what one process found. Runs of regions have Awaited only.
type found struct {
	Part   *executions // nil where nothing is to be worked out again
	Nodes  map[int]siteTime
	Moves  int64              // of CFs
	Stolen int64              // of them
	Moved  map[string]movedCF // by name of the code fragment
	// the shortest time of a message on a link, which tells the latency of the links; -1 if there is none
	Shortest int64
	AtHome   map[useAt]bool
	Needed   []byteChange
	Ran      int64 // ns for which the threads of workers ran
	Queued   int64 // ns for which they waited for a core

	Awaited map[awaitPair]int64 // ns
}

// siteTime is the statement whose CFs took most time on a node.
type siteTime struct {
	Site uint32
	NS   int64
}

// movedCF is the first CF of a code fragment, by id, that migrated, and 1 + its statement.
type movedCF struct {
	CF   trace.CF
	Site uint32
}

// useAt is a DF, by model.DFGlobal, and a node.
type useAt struct {
	DF   uint64
	Node int32
}

// gatherGC is how many percent of what is in use garbage may take while executions are gathered.
const gatherGC = 25

// needed says what is worked out only where it matters.
type needed struct{ Replay, Memory, Regions bool }

func (in Input) needs() needed {
	if in.SLOU == nil || in.Part {
		return needed{} // it is not rank 0, or everything but SLOU is of the whole run
	}
	if slou.OnlyRegions(in.Model) {
		return needed{Regions: slow(in.SLOU) && in.Pattern != nil}
	}
	f := &in.SLOU.Factors
	return needed{Replay: slow(in.SLOU) && in.Model.Info.Ended != trace.EndedStuck && f.U != nil && f.L != nil &&
		f.O != nil,
		Memory: in.Lifecycle != nil && in.Lifecycle.HeldToEnd != nil &&
			in.Lifecycle.HeldToEnd.Bytes >= muchMemory}
}

// Prepared is what all advice on parts of a run has in common, see Input.Prepared.
type Prepared struct{ facts facts }

// Prepare makes what several Advise take that are about parts of a run. All members of g call it.
func Prepare(m *model.Model, g procs.Group) (*Prepared, error) {
	f, err := gather(m, needed{}, g)
	if err != nil || f == nil {
		return nil, err
	}
	return &Prepared{*f}, nil
}

// gather finds the facts of a run; what is needed, rank 0 says. It gets the facts; the others get nil.
func gather(m *model.Model, need needed, g procs.Group) (_ *facts, err error) {
	f := &facts{m: m}
	if f.need, err = procs.FromMember(g, 0, need); err != nil || slou.OnlyRegions(m) && !f.need.Regions {
		return f, err
	}
	if f.need.Regions {
		f.Awaited, err = awaitedIn(m, g)
	} else {
		err = f.find(m, g)
	}
	if err != nil {
		return nil, err
	}
	if g.Size() > 1 {
		// Rank 0 gets the executions of all beside its own model, so garbage must go soon.
		defer memory.LimitGarbage(gatherGC)()
	}
	parts := []*executions{f.Part}
	err = procs.Collect(g, func() found { return f.found }, func(_ int, theirs *found) error {
		parts = append(parts, theirs.Part)
		f.join(theirs)
		return nil
	})
	if err != nil || g.Rank() != 0 {
		return nil, err
	}
	f.least = peakOf(f.Needed)
	if f.need.Replay {
		f.replay = newReplay(m, parts)
	}
	f.Part, f.Needed = nil, nil
	return f, nil
}

// find finds the facts of a run of CFs.
func (f *facts) find(m *model.Model, g procs.Group) (err error) {
	f.Nodes, f.Moved, f.AtHome = map[int]siteTime{}, map[string]movedCF{}, map[useAt]bool{}
	f.Shortest = shortest(m)
	f.findNodes(m)
	f.findMoves(m)
	f.findCores(m)
	if f.need.Replay {
		if f.Part, err = newPart(m, g); err == nil {
			err = f.findAtHome(m, g)
		}
	}
	if err == nil && f.need.Memory {
		err = f.findMemory(m, g)
	}
	return err
}

// join adds what another process found, but for its executions.
func (f *found) join(o *found) {
	maps.Copy(f.Nodes, o.Nodes)
	f.Moves, f.Stolen = f.Moves+o.Moves, f.Stolen+o.Stolen
	for code, v := range o.Moved {
		f.moved(code, v)
	}
	if o.Shortest >= 0 && (f.Shortest < 0 || o.Shortest < f.Shortest) {
		f.Shortest = o.Shortest
	}
	maps.Copy(f.AtHome, o.AtHome)
	f.Ran, f.Queued = f.Ran+o.Ran, f.Queued+o.Queued
	f.Needed = append(f.Needed, o.Needed...)
	maps.Copy(f.Awaited, o.Awaited) // each thread waits in one process
}

func (f *found) moved(code string, v movedCF) {
	if old, ok := f.Moved[code]; !ok || v.CF < old.CF {
		f.Moved[code] = v
	}
}

func (f *found) findNodes(m *model.Model) {
	for n := range m.Nodes {
		if !m.Own(n) {
			continue
		}
		sums := make([]int64, len(m.Sites))
		for _, w := range m.Nodes[n].Workers {
			for e := w.First; e < w.End; e++ {
				if cf := m.ExecCF[e]; m.ExecEnd[e] != model.None && m.Atomic(cf) {
					sums[m.SiteOf[cf]] += m.ExecEnd[e] - m.ExecStart[e]
				}
			}
		}
		best := 0
		for i := range sums {
			if sums[i] > sums[best] {
				best = i
			}
		}
		f.Nodes[n] = siteTime{uint32(best), sums[best]}
	}
}

func (f *found) findMoves(m *model.Model) {
	for i := range m.Moves {
		g := &m.Moves[i]
		if !m.Counted(g) {
			continue
		}
		f.Moves++
		if g.Stolen {
			f.Stolen++
		}
		f.moved(m.Codes[m.CodeOf(g.CF)].Name, movedCF{m.CFID(g.CF), m.SiteOf[g.CF] + 1})
	}
}

func shortest(m *model.Model) int64 {
	least := int64(-1)
	for _, list := range [][]model.Message{m.Requests, m.DFMessages, m.Moves} {
		for i := range list {
			if g := &list[i]; g.Sent != model.None && g.Received >= g.Sent &&
				(least < 0 || g.Received-g.Sent < least) {
				least = g.Received - g.Sent
			}
		}
	}
	return least
}

// findAtHome finds out which DFs that went to other nodes are also taken by CFs on the node where they were
// made.
func (f *found) findAtHome(m *model.Model, g procs.Group) error {
	uses := make([]map[useAt]bool, g.Size())
	for k := range uses {
		uses[k] = map[useAt]bool{}
	}
	for i := range f.Part.Transfers {
		if t := &f.Part.Transfers[i]; t.Maker >= 0 {
			uses[m.Owner(int(t.Maker))][useAt{t.DF, t.Maker}] = true
		}
	}
	all, err := procs.Swap(g, uses)
	if err != nil {
		return err
	}
	asked := map[useAt]bool{}
	for _, set := range all {
		maps.Copy(asked, set)
	}
	if len(asked) == 0 {
		return nil
	}
	keys := make([]uint64, m.DFs())
	for df := range keys {
		keys[df] = m.DFGlobal(model.DF(df))
	}
	for id, worker := range m.OwnWorkers() {
		for e := worker.First; e < worker.End; e++ {
			if !m.Atomic(m.ExecCF[e]) {
				continue
			}
			for _, df := range m.Inputs(e) {
				if u := (useAt{keys[df], int32(id.Node)}); asked[u] {
					f.AtHome[u] = true
				}
			}
		}
	}
	return nil
}
