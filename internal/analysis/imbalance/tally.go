package imbalance

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/whyslow/whyslow/internal/model"
)

// tally sums up what one worker executed: by code fragment, by window of time, and against the weights.
//
// Useful time is that of package slou, where the rules are told: the time from the start to the end of an atomic CF, less what
// was lost, waited for or held by a debugger meanwhile, and at most the thread's CPU time. It is worked out here once
// more because the division of a whole run does not keep it by worker and code fragment; the tests compare the two.
type tally struct {
	node, worker int
	codes        []codeTally // by code fragment
	ns           int64
	windows      []int64 // useful nanoseconds

	width int64
	start int64
	cuts  []model.Interval // of the run's time; ordered, disjoint
	cut   int
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
		r.workers = append(r.workers, &tally{node: id.Node, worker: id.Worker, width: r.width, start: r.m.Start})
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
	t.cuts = cutsOf(m, w)
	a := m.Start
	next := nextAtomic(m, w, w.First)
	for next < w.End {
		e := next
		next = nextAtomic(m, w, e+1)
		start, end := m.ExecStart[e], m.ExecEnd[e]
		if end == model.None {
			end = m.End
		}
		if next < w.End {
			end = min(end, m.ExecStart[next])
		}
		start = min(max(start, a), m.End)
		end = min(max(end, start), m.End)
		ns := t.useful(start, end, m.ExecCPU[e])
		c := &t.codes[m.CodeOf(m.ExecCF[e])]
		c.count++
		c.ns += ns
		c.longest = max(c.longest, ns)
		c.weights.add(m.Weight(m.ExecCF[e]), float64(ns))
		t.ns += ns
		a = end
	}
}

// useful adds the useful time of an execution to the windows: the first cpu nanoseconds of it that are not cut out, all of them
// if cpu is less than 0.
func (t *tally) useful(from, to, cpu int64) (ns int64) {
	left := to - from
	if cpu >= 0 {
		left = cpu
	}
	for t.cut < len(t.cuts) && t.cuts[t.cut].To <= from {
		t.cut++
	}
	for i := t.cut; from < to && left > 0; i++ {
		end, then := to, to
		if i < len(t.cuts) && t.cuts[i].From < to {
			end, then = max(t.cuts[i].From, from), t.cuts[i].To
		}
		n := min(end-from, left)
		t.spread(from-t.start, from+n-t.start)
		ns, left, from = ns+n, left-n, max(then, end)
	}
	return ns
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

func nextAtomic(m *model.Model, w *model.Worker, e int) int {
	for e < w.End && !m.Atomic(m.ExecCF[e]) {
		e++
	}
	return e
}

// cutsOf lists the times at which a worker is not useful whatever it runs.
func cutsOf(m *model.Model, w *model.Worker) []model.Interval {
	cuts := slices.Clone(w.Lost)
	for _, v := range w.Waits {
		cuts = append(cuts, v.Interval)
	}
	if len(m.Held) > 0 {
		a := m.Start
		for e := nextAtomic(m, w, w.First); e < w.End; e = nextAtomic(m, w, e+1) {
			end := m.ExecEnd[e]
			if end == model.None {
				end = m.End
			}
			for _, v := range m.Held[m.ExecCF[e]] {
				if from, to := max(v.From, a), min(v.To, end); from < to {
					cuts = append(cuts, model.Interval{From: from, To: to})
				}
			}
			a = max(a, min(end, m.End))
		}
	}
	slices.SortFunc(cuts, func(x, y model.Interval) int { return cmp.Compare(x.From, y.From) })
	joined := cuts[:0]
	for _, v := range cuts {
		switch n := len(joined); {
		case v.From >= v.To:
		case n > 0 && v.From <= joined[n-1].To:
			joined[n-1].To = max(joined[n-1].To, v.To)
		default:
			joined = append(joined, v)
		}
	}
	return joined
}
