package critical

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// What several processes tell each other besides the graph: what there is at all, where the path begins, and its steps.

// seen tells what events there must have been.
type seen struct{ Inputs, Foreign, Requests bool }

// seen looks for it at all processes.
func (p *peers) seen() (*seen, error) {
	m := p.m
	all, err := procs.AllOf(p, seen{m.HasInputs(), m.Count[trace.KindDFReceived] == 0 && m.UsesForeign(), m.HasRequests()})
	s := &seen{}
	for _, v := range all {
		s.Inputs, s.Foreign, s.Requests = s.Inputs || v.Inputs, s.Foreign || v.Foreign, s.Requests || v.Requests
	}
	return s, err
}

// ends are the first and the last end of an atomic CF of a process.
type ends struct {
	First, Last int64
	There       bool // there is one that ended
	Index       uint32
}

// ended is the execution that ended last of all.
type ended struct {
	exec  int // in this model; -1 elsewhere, or none
	rank  int // of the process that executed it; -1: none
	index uint32
	end   int64
}

// lastOf finds the execution that ended last of all, the own one of which is last; -1 if none did.
func (w *walker) lastOf(p *peers, last int) (ended, error) {
	own := ends{First: w.firstEnd, There: last >= 0}
	if own.There {
		own.Last, own.Index = endOf(w.m, last), uint32(last-p.first)
	}
	all, err := procs.AllOf(p, own)
	best := ended{exec: -1, rank: -1}
	for rank, v := range all {
		w.firstEnd = min(w.firstEnd, v.First)
		if v.There && (best.rank < 0 || v.Last > best.end) {
			best = ended{-1, rank, v.Index, v.Last}
		}
	}
	if best.rank == p.Rank() {
		best.exec = last
	}
	return best, err
}

// share puts the graph together at the first process, and the steps of the path if it is wanted. The others get nil.
func (w *walker) share(ctx context.Context, p *peers, g *graph, last ended, path bool) (*graph, error) {
	all, err := g.gather(p)
	if err := procs.Agree(p, err); err != nil {
		return nil, err
	}
	if path {
		if err := w.shareSteps(ctx, p, all, last); err != nil {
			return nil, err
		}
	}
	if all == nil {
		return nil, nil
	}
	return all.graph, nil
}

// shareSteps has each process find the steps of the path in its executions.
func (w *walker) shareSteps(ctx context.Context, p *peers, all *whole, last ended) error {
	out := make([][]byte, p.Size())
	if all != nil && last.rank >= 0 {
		for k, list := range all.path(all.base[last.rank]+last.index, last.end) {
			out[k] = procs.Encode(list)
		}
	}
	in, err := p.Exchange(out)
	if err != nil {
		return err
	}
	var visits []visit
	if b := in[0]; len(b) > 0 {
		err = procs.Decode(b, &visits)
	}
	if last.exec >= 0 || last.rank < 0 && p.Rank() == 0 {
		w.begin(last.exec)
	}
	for i, v := range visits {
		if i&1023 == 0 && err == nil {
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

// wirePath is what a process found of the path. Its steps have numbers of its CFs and DFs below.
type wirePath struct {
	Steps        []wireStep
	CFs          []wireCF
	DFs, Names   []string
	Count, Ended []int64
	Reasons      [reasonCount]ReasonSum
	Last         string
}

type wireStep struct {
	From, To, QueuedNS int64
	CF, DF, Execution  uint32 // 1 + index; 0 none
	Node, Worker, Peer uint16
	Kind               Kind
	Factor, Part       uint8
	Reason             Reason
	Running            bool
	Name               uint16
}

type wireCF struct {
	ID    trace.CF
	Site  uint32
	Title string
}

// gather brings the steps of all processes to the first one.
func (w *walker) gather(p *peers) error {
	var b []byte
	if p.Rank() != 0 {
		b = procs.Encode(w.wire())
	}
	all, err := procs.Gather(p, 0, b)
	if err != nil || p.Rank() != 0 {
		return err
	}
	steps := w.inOrder()
	w.titles = map[model.CF]string{}
	executions := uint32(w.m.Executions())
	for rank := 1; rank < len(all); rank++ {
		var other wirePath
		if err := procs.Decode(all[rank], &other); err != nil {
			return procs.Told(rank, err)
		}
		all[rank] = nil
		if steps, err = w.join(&other, steps, &executions); err != nil {
			return err
		}
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

// wire puts what was found into words that others understand.
func (w *walker) wire() *wirePath {
	m := w.m
	p := &wirePath{Names: w.names, Count: w.count, Ended: w.ended, Reasons: w.reasons, Last: w.last}
	cfs, dfs := map[model.CF]uint32{0: 0}, map[model.DF]uint32{0: 0}
	was, execution := ^uint32(0), uint32(0)
	for _, s := range w.inOrder() {
		if _, ok := cfs[s.CF]; !ok {
			p.CFs = append(p.CFs, wireCF{m.CFID(s.CF), m.SiteOf[s.CF], m.CFString(s.CF)})
			cfs[s.CF] = uint32(len(p.CFs))
		}
		if _, ok := dfs[s.DF]; !ok {
			p.DFs = append(p.DFs, m.DFString(s.DF))
			dfs[s.DF] = uint32(len(p.DFs))
		}
		if s.Execution != was {
			was = s.Execution
			execution++
		}
		p.Steps = append(p.Steps, wireStep{s.From, s.To, s.QueuedNS, cfs[s.CF], dfs[s.DF], execution, s.Node, s.Worker, s.Peer, s.Kind, uint8(s.Factor), uint8(s.Part),
			s.Reason, s.Running, s.name})
	}
	return p
}

// join adds what another process found to what is known here. executions is how many numbers of executions are in use.
func (w *walker) join(p *wirePath, steps []Step, executions *uint32) ([]Step, error) {
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
	most := uint32(0)
	for _, v := range p.Steps {
		if int(v.CF) >= len(cfs) || int(v.DF) >= len(dfs) || int(v.Name) > len(p.Names) {
			return nil, errBroken
		}
		s := Step{From: v.From, To: v.To, QueuedNS: v.QueuedNS, CF: cfs[v.CF], DF: dfs[v.DF], Execution: *executions + v.Execution, Node: v.Node, Worker: v.Worker, Peer: v.Peer,
			Kind: v.Kind, Factor: slou.Factor(v.Factor), Part: slou.Part(v.Part), Reason: v.Reason, Running: v.Running}
		if v.Name > 0 {
			s.name = w.nameOf(p.Names[v.Name-1])
		}
		most = max(most, v.Execution)
		steps = append(steps, s)
	}
	*executions += most + 1
	return steps, nil
}
