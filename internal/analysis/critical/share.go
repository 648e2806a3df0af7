package critical

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// What processes tell each other besides the graph: where the path begins, and its steps.

// processEnds are the first and the last end of an atomic CF of a process.
type processEnds struct {
	First, Last int64
	There       bool // there is one that ended
	Index       uint32
}

// lastExecution is the execution that ended last of all.
type lastExecution struct {
	exec  int // in this model; -1 elsewhere, or none
	rank  int // of the process that executed it; -1: none
	index uint32
	end   int64
}

// lastOf finds the execution that ended last of all, the own one of which is last; -1 if none did.
func (w *walker) lastOf(p *peers, last int) (lastExecution, error) {
	own := processEnds{First: w.firstEnd, There: last >= 0}
	if own.There {
		own.Last, own.Index = w.m.EndOf(last), uint32(last-p.first)
	}
	all, err := procs.AllOf(p, own)
	best := lastExecution{exec: -1, rank: -1}
	for rank, v := range all {
		w.firstEnd = min(w.firstEnd, v.First)
		if v.There && (best.rank < 0 || v.Last > best.end) {
			best = lastExecution{-1, rank, v.Index, v.Last}
		}
	}
	if best.rank == p.Rank() {
		best.exec = last
	}
	return best, err
}

// shareSteps has each process find the steps of the path in its executions.
func (w *walker) shareSteps(ctx context.Context, p *peers, all *wholeGraph, last lastExecution) error {
	out := make([][]pathVisit, p.Size())
	if all != nil && last.rank >= 0 {
		out = all.path(all.base[last.rank]+last.index, last.end)
	}
	in, err := procs.Swap(p, out)
	if err != nil {
		return err
	}
	if last.exec >= 0 || last.rank < 0 && p.Rank() == 0 {
		w.begin(last.exec)
	}
	for i, v := range in[0] {
		if i&1023 == 0 {
			err = ctx.Err()
		}
		if int64(v.Index) >= int64(p.end-p.first) {
			err = errBroken
		}
		if err != nil {
			break
		}
		w.pos = v.At
		w.step(p.first + int(v.Index))
	}
	if err := procs.Agree(p, err); err != nil {
		return err
	}
	return w.gather(p)
}

// pathShare is what a process found of the path. In its steps CF and DF are 1 + an index below, 0 for none.
type pathShare struct {
	Steps        []Step
	CFs          []learntCF
	DFs, Names   []string
	Count, Ended []int64
	Reasons      [reasonCount]ReasonSum
	Last         string
}

type learntCF struct {
	ID    trace.CF
	Site  uint32
	Title string
}

// gather brings the steps of all processes to the first one.
func (w *walker) gather(p *peers) error {
	var steps []Step
	if p.Rank() == 0 {
		steps = w.inOrder()
	}
	w.titles = map[model.CF]string{}
	p.number(steps)
	err := procs.Collect(p, func() pathShare { return w.share(p) }, func(_ int, theirs *pathShare) (err error) {
		steps, err = w.join(theirs, steps)
		return err
	})
	if err != nil || p.Rank() != 0 {
		return err
	}
	// Latest first, as they are found.
	slices.SortFunc(steps, func(a, b Step) int { return cmp.Compare(b.From, a.From) })
	at := w.m.Wall()
	for i := range steps {
		if steps[i].To != at {
			return fmt.Errorf("internal error: the critical path has a hole before %d ns", at)
		}
		at = steps[i].From
	}
	if at > 0 {
		return fmt.Errorf("internal error: the critical path begins at %d ns", at)
	}
	w.steps = steps
	return nil
}

// number gives the executions of steps the numbers that they have for all processes.
func (p *peers) number(steps []Step) {
	for i := range steps {
		if s := &steps[i]; s.CF != 0 { // else it is the tail
			s.Execution = p.numbers[s.Execution]
		}
	}
}

// share gives what this process found. The steps cannot be used here any more.
func (w *walker) share(p *peers) pathShare {
	m := w.m
	out := pathShare{Steps: w.inOrder(), Names: w.names, Count: w.count, Ended: w.ended, Reasons: w.reasons,
		Last: w.last}
	p.number(out.Steps)
	cfs, dfs := map[model.CF]model.CF{0: 0}, map[model.DF]model.DF{0: 0}
	for i := range out.Steps {
		s := &out.Steps[i]
		if _, ok := cfs[s.CF]; !ok {
			out.CFs = append(out.CFs, learntCF{m.CFID(s.CF), m.SiteOf[s.CF], m.CFString(s.CF)})
			cfs[s.CF] = model.CF(len(out.CFs))
		}
		if _, ok := dfs[s.DF]; !ok {
			out.DFs = append(out.DFs, m.DFString(s.DF))
			dfs[s.DF] = model.DF(len(out.DFs))
		}
		s.CF, s.DF = cfs[s.CF], dfs[s.DF]
	}
	return out
}

// join adds what another process found to what is known here.
func (w *walker) join(p *pathShare, steps []Step) ([]Step, error) {
	if len(p.Count) != len(w.count) || len(p.Ended) != len(w.ended) {
		return nil, errBroken
	}
	for i := range w.count {
		w.count[i] += p.Count[i]
		w.ended[i] += p.Ended[i]
	}
	for r := range w.reasons {
		sum, v := &w.reasons[r], &p.Reasons[r]
		sum.Count, sum.NS, sum.ReadyNS = sum.Count+v.Count, sum.NS+v.NS, sum.ReadyNS+v.ReadyNS
	}
	if p.Last != "" {
		w.last = p.Last
	}
	cfs := []model.CF{0}
	for _, c := range p.CFs {
		cf := w.m.Learn(c.ID, c.Site)
		w.titles[cf] = c.Title
		cfs = append(cfs, cf)
	}
	dfs := []model.DF{0}
	for _, name := range p.DFs {
		dfs = append(dfs, model.DF(w.m.DFs()+len(w.dfs)))
		w.dfs = append(w.dfs, name)
	}
	for _, s := range p.Steps {
		if int(s.CF) >= len(cfs) || int(s.DF) >= len(dfs) || int(s.Waited) > len(p.Names) {
			return nil, errBroken
		}
		s.CF, s.DF = cfs[s.CF], dfs[s.DF]
		if s.Waited > 0 {
			s.Waited = w.nameOf(p.Names[s.Waited-1])
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// Several processes, each with the model of its nodes.
//
// Each process finds out itself what held up its executions, with what model.BuildShare brought about others.
// It asks only for the useful time and the end of executions elsewhere. Then all graphs go to the process of
// rank 0, which treats the whole like a run that it has alone. It finds out which executions are on the path
// and when the path comes to each. The processes that executed them then find the steps there, all at the
// same time.
//
// Following chains from process to process instead would take one exchange for each change of process, often
// thousands. That takes much longer than one process needs to go through a graph. The graph takes some
// hundred bytes per execution of the whole run, a small part of what the models of all processes take
// together.

// peers are the processes that have a run together, seen from one of them.
type peers struct {
	procs.Group
	m          *model.Model
	first, end int // own executions
	// Where there are several processes: the numbers of the executions in this model, and where those of each
	// process begin; see model.Numbers.
	numbers, base []uint32
}

var errBroken = errors.New("internal error: what another process told about the critical path makes no sense")

func newPeers(m *model.Model, g procs.Group) *peers {
	p := &peers{Group: g, m: m}
	p.first, p.end = m.OwnExecutions()
	return p
}

// own tells whether an execution is one of this process.
func (p *peers) own(e int) bool { return e >= p.first && e < p.end }

// executionTimes is what a process tells of an execution.
type executionTimes struct{ Useful, Until int64 }

// introduce numbers the executions, and fills in the useful time and the end of those of others.
func (p *peers) introduce(useful, until []int64) (err error) {
	if p.Size() == 1 {
		return nil
	}
	if p.numbers, p.base, err = p.m.Numbers(p); err != nil {
		return err
	}
	questions := make([][]uint32, p.Size())
	for e, n := range p.numbers {
		if !p.own(e) {
			k := p.m.ExecutedBy(e)
			questions[k] = append(questions[k], n-p.base[k])
		}
	}
	answers, err := procs.Ask(p, questions, func(i uint32) (t executionTimes, err error) {
		if int(i) >= p.end-p.first {
			return t, errBroken
		}
		return executionTimes{useful[p.first+int(i)], until[p.first+int(i)]}, nil
	})
	for e := range p.numbers {
		if k := p.m.ExecutedBy(e); err == nil && !p.own(e) {
			useful[e], until[e] = answers[k][0].Useful, answers[k][0].Until
			answers[k] = answers[k][1:]
		}
	}
	return err
}
