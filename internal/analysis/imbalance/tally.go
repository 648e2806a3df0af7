package imbalance

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
)

// tally sums up what one worker executed: by code fragment, by window of time, and against the weights.
//
// It does not visit the pieces of slou.Visit: that would divide all gaps between executions as well, which costs
// several times as much and says nothing about balance. slou.EachUseful gives the same useful time.
type tally struct {
	node, worker int
	codes        []codeTally // by code fragment
	ns           int64
	windows      []int64 // useful nanoseconds
	width        int64   // of a window
}

type codeTally struct {
	count, ns, longest int64
	weights            moments
}

// tally looks at all workers of this process's nodes.
func (r *run) tally(ctx context.Context) error {
	for id := range r.m.AllWorkers() {
		if !r.m.Own(id.Node) {
			continue
		}
		r.workers = append(r.workers, &tally{node: id.Node, worker: id.Worker, width: r.width})
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(r.opt.Parallel, len(r.workers)) {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(r.workers) {
					return
				}
				t := r.workers[i]
				t.codes, t.windows = make([]codeTally, len(r.m.Codes)), make([]int64, r.windows)
				t.count(r.m, &r.m.Nodes[t.node].Workers[t.worker])
			}
		})
	}
	wg.Wait()
	return ctx.Err()
}

// count goes through the atomic CFs of a worker.
func (t *tally) count(m *model.Model, w *model.Worker) {
	add := func(from, to int64) { t.spread(from-m.Start, to-m.Start) }
	slou.EachUseful(m, w, add, func(e int, ns int64) {
		c := &t.codes[m.CodeOf(m.ExecCF[e])]
		c.count++
		c.ns += ns
		c.longest = max(c.longest, ns)
		c.weights.add(m.Weight(m.ExecCF[e]), float64(ns))
		t.ns += ns
	})
}

// spread adds a stretch of time, relative to the start of the run, to the windows it lies in.
func (t *tally) spread(from, to int64) {
	for from < to {
		w := from / t.width
		end := min(to, (w+1)*t.width)
		t.windows[w] += end - from
		from = end
	}
}
