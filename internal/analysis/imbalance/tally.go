package imbalance

import (
	"context"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
)

// tally sums up what one worker executed: by code fragment, by window of time, and against the weights.
//
// It does not visit the pieces of slou.Visit: that would divide all gaps between executions as well, which
// costs several times as much and says nothing about balance. slou.EachUseful gives the same useful time.
type tally struct {
	Node, Worker int
	Codes        []codeTally // by code fragment
	NS           int64
	Windows      []int64 // useful nanoseconds
	width        int64   // of a window
}

type codeTally struct {
	Count, NS, Longest int64
	Weights            moments
}

// tally looks at all workers of this process's nodes.
func (r *computation) tally(ctx context.Context) error {
	for id := range r.m.OwnWorkers() {
		r.workers = append(r.workers, &tally{Node: id.Node, Worker: id.Worker, width: r.width})
	}
	return procs.Each(ctx, 0, len(r.workers), func(_, i int) error {
		t := r.workers[i]
		t.Codes, t.Windows = make([]codeTally, len(r.m.Codes)), make([]int64, r.windows)
		t.count(r.m, &r.m.Nodes[t.Node].Workers[t.Worker])
		return nil
	})
}

// count goes through the atomic CFs of a worker.
func (t *tally) count(m *model.Model, w *model.Worker) {
	add := func(from, to int64) { t.spread(from-m.Start, to-m.Start) }
	slou.EachUseful(m, w, add, func(e int, ns int64) {
		cf := m.ExecCF[e]
		c := &t.Codes[m.CodeOf(cf)]
		c.Count++
		c.NS += ns
		c.Longest = max(c.Longest, ns)
		c.Weights.add(m.Weight(cf), float64(ns))
		t.NS += ns
	})
}

// spread adds a stretch of time, relative to the start of the run, to the windows it lies in.
func (t *tally) spread(from, to int64) {
	for from < to {
		w := from / t.width
		end := min(to, (w+1)*t.width)
		t.Windows[w] += end - from
		from = end
	}
}
