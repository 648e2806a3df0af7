package slou

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	procs "github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// Several processes divide the time of the workers of their own nodes, with the facts that model.BuildShare brought them. What is left for
// them to tell each other: when others had a CF ready, the chain of CFs that the end of the run waited for, what there is to know of regions,
// and the sums.

// ComputeShare is Compute by several processes at once, each with its model from model.BuildShare. All members of g call it with the
// same options. The process of rank 0 gets the result, which is that of Compute on the whole trace; the others get nil. It fails at all
// members when it fails at one, but for what goes wrong last, where rank 0 puts the result together.
func ComputeShare(ctx context.Context, m *model.Model, opt Options, g procs.Group) (*Result, error) {
	if g == nil || g.Size() == 1 {
		return Compute(ctx, m, opt)
	}
	splits, window, err := opt.check(m)
	if err != nil {
		return nil, err // everywhere
	}
	r, err := newShareRun(ctx, m, opt, g)
	if err != nil {
		return nil, err
	}
	r.by, r.window = splits, window
	workers, t, err := r.sum(ctx)
	if err := procs.Agree(g, err); err != nil {
		return nil, err
	}
	all, err := procs.Gather(g, 0, procs.Encode(r.wire(workers, t)))
	if err != nil || g.Rank() != 0 {
		return nil, err
	}
	own := r.workers
	r.workers = nil
	sum := map[model.WorkerID]*sums{}
	for i, id := range own {
		sum[id] = workers[i]
	}
	o := othersOf(m)
	for rank, b := range all {
		if rank == 0 {
			continue
		}
		all[rank] = nil
		var w wireRun
		if err := procs.Decode(b, &w); err != nil {
			return nil, procs.Told(rank, err)
		}
		for i := range w.Workers {
			sum[w.Workers[i].ID] = w.Workers[i].sums(t, m, window)
		}
		t.join(w.Tally.tally(t, splits))
		o.join(&w.Others)
	}
	workers = workers[:0:0]
	for id := range m.AllWorkers() {
		s := sum[id]
		if s == nil {
			return nil, fmt.Errorf("internal error: no process divided the time of worker %d of node %d", id.Worker, id.Node)
		}
		r.workers, workers = append(r.workers, id), append(workers, s)
	}
	return r.result(workers, t, o)
}

func newShareRun(ctx context.Context, m *model.Model, opt Options, g procs.Group) (*run, error) {
	r := &run{m: m, opt: opt, workers: slices.Collect(ownWorkers(m)), facts: newFacts(m, opt.DataInputsOnly)}
	err := r.search(ctx, g)
	if err != nil {
		return nil, err
	}
	if r.queue, err = shareQueue(m, g); err != nil {
		return nil, err
	}
	r.awaited, err = shareAwaited(m, r.facts, opt.DataInputsOnly, g)
	return r, err
}

// wireInterval is an interval that another process tells.
type wireInterval struct{ From, To int64 }

// shareQueue makes the queue of own nodes. All others are one more node: it does not matter on which of them a CF was ready.
func shareQueue(m *model.Model, g procs.Group) (*queue, error) {
	nodes := readyTimes(m)
	united := unite(nodes)
	own := make([]wireInterval, len(united))
	for i, v := range united {
		own[i] = wireInterval{v.from, v.to}
	}
	all, err := procs.AllOf(g, own)
	if err != nil {
		return nil, err
	}
	var lists [][]interval
	for rank, list := range all {
		if rank == g.Rank() {
			continue
		}
		there := make([]interval, len(list))
		for i, v := range list {
			there[i] = interval{v.From, v.To}
		}
		lists = append(lists, there)
	}
	return newQueue(append(nodes, unite(lists))), nil
}

// baton says who follows the chain of awaited CFs further, and from where.
type baton struct {
	Holder int
	CF     trace.CF
	End    int64
	Number int // of entries so far
	Over   bool
}

type wireAwaited struct {
	Number int
	From   int64
	CF     trace.CF
	Site   uint32
}

// shareAwaited is findAwaited: whoever has the node where the chain goes on follows it there.
func shareAwaited(m *model.Model, f *facts, dataOnly bool, g procs.Group) ([]awaited, error) {
	b := lastEnded(m)
	ends, err := procs.AllOf(g, wireInterval{b.earliest, b.end})
	if err != nil {
		return nil, err
	}
	at := baton{End: model.None}
	for rank, v := range ends {
		b.earliest = min(b.earliest, v.From)
		if v.To > at.End {
			at.Holder, at.End = rank, v.To
		}
	}
	var own []wireAwaited
	tell := func(a awaited) {
		own = append(own, wireAwaited{at.Number, a.from, m.CFID(a.cf), m.SiteOf[a.cf]})
		at.Number++
	}
	for begun := false; !at.Over; begun = true {
		var next []byte
		holder := at.Holder
		if holder == g.Rank() {
			if begun {
				b.end = at.End
				if b.last, _ = m.ExecutionAt(m.FindCF(at.CF), at.End); m.ExecutedBy(b.last) != holder {
					return nil, fmt.Errorf("internal error: CF %v was executed elsewhere than another process says", at.CF)
				}
			}
			for _, a := range b.follow(m, f, dataOnly, nil) {
				tell(a)
			}
			if at.Over = b.over; b.over {
				tell(b.rest(m))
			} else {
				at.Holder, at.CF, at.End = m.ExecutedBy(b.last), m.CFID(m.ExecCF[b.last]), b.end
			}
			next = procs.Encode(&at)
		}
		if next, err = procs.Broadcast(g, holder, next); err != nil {
			return nil, err
		}
		at = baton{}
		if err := procs.Decode(next, &at); err != nil {
			return nil, procs.Told(holder, err)
		}
	}
	all, err := procs.AllOf(g, own)
	if err != nil {
		return nil, err
	}
	list := slices.Concat(all...)
	slices.SortFunc(list, func(x, y wireAwaited) int { return cmp.Compare(x.Number, y.Number) })
	chain := make([]awaited, len(list))
	for i, v := range list {
		chain[i].from = v.From
		if v.CF != 0 {
			chain[i].cf = m.Learn(v.CF, v.Site)
		}
	}
	return chain, nil
}
