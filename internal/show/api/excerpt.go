package api

import (
	"context"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// What an interval needs of the rest of the run.
//
// Why a worker was idle follows from what was before, and from the CF that it executed next. So beside the
// events of an interval those are exported that its division asks for: then factors of the interval are those
// of the whole run. They are
//
//   - of each worker all from the CFs before the interval to the one after it;
//   - of these CFs, their ancestors, what they were given and who made that: whatever mentions them;
//   - of CFs that were ready meanwhile, the same;
//   - of what the end of the run waited for, where a worker had nothing more to do in the interval, the same;
//   - starts, ends, comparisons of clocks and losses of all streams.
//
// Waits of threads in regions follow from the order of all that came before: of a run with regions all is
// kept.

// excerpt is what is kept of a run.
type excerpt struct {
	m       *model.Model
	in      model.Interval
	all     bool
	cfs     map[model.CF]bool
	dfs     map[model.DF]bool
	above   map[int]bool // executions whose ancestors are in it
	streams map[model.WorkerID]model.Interval
}

// newExcerpt finds what is needed of a run for an interval, in nanoseconds since its start.
func newExcerpt(ctx context.Context, m *model.Model, from, to int64) (*excerpt, error) {
	x := &excerpt{m: m, in: model.Interval{From: m.Start + from, To: m.Start + to},
		all: m.Regions != nil || from <= 0 && to >= m.Wall(),
		cfs: map[model.CF]bool{}, dfs: map[model.DF]bool{}, above: map[int]bool{},
		streams: map[model.WorkerID]model.Interval{}}
	if x.all {
		return x, nil
	}
	idle := false
	for id, w := range m.AllWorkers() {
		idle = x.worker(id, w) || idle
	}
	for i := range m.Ready {
		cf := model.CF(i)
		if e := m.ExecOf[cf]; !m.Atomic(cf) || e != 0 && m.ExecStart[e-1] < x.in.From {
			continue
		}
		m.AllReady(cf, func(t int64, _ int) { x.cfs[cf] = x.cfs[cf] || t <= x.in.To })
	}
	if !idle {
		return x, ctx.Err()
	}
	common, err := slou.Prepare(ctx, m, slou.Options{}, procs.Alone())
	if err != nil {
		return nil, err
	}
	for _, cf := range common.Awaited() {
		if e := int(m.ExecOf[cf]) - 1; e >= 0 {
			x.execution(e)
			if w, _ := m.WorkerOf(e); w != nil {
				x.before(w, e)
			}
		}
	}
	return x, nil
}

// worker adds what a worker did in the interval and around it. It returns whether the worker executed nothing
// more before the end of the interval.
func (x *excerpt) worker(id model.WorkerID, w *model.Worker) (idle bool) {
	m := x.m
	// first is the first that ends in the interval or later, next the first that begins after it.
	first := w.First
	for first < w.End && m.Occupied(w, first).To < x.in.From {
		first++
	}
	next := first
	for next < w.End && m.ExecStart[next] <= x.in.To {
		next++
	}
	next = m.NextAtomic(w, next)
	stretch := model.Interval{From: m.Start, To: m.End}
	if before := x.before(w, x.before(w, first)); before >= 0 {
		stretch.From = m.ExecStart[before]
		first = before
	} else {
		first = w.First
	}
	if next < w.End {
		stretch.To = m.EndOf(next)
	}
	for e := first; e < min(next+1, w.End); e++ {
		x.execution(e)
	}
	x.before(w, w.End) // the end of the run is looked for from there
	x.streams[id] = stretch
	last := m.EndedBefore(w, w.End)
	return last < 0 || m.ExecEnd[last] < x.in.To
}

// before adds the atomic CF that a worker executed before an execution, and gives its execution, -1 for none.
func (x *excerpt) before(w *model.Worker, e int) int {
	if e < 0 {
		return -1
	}
	p := x.m.EndedBefore(w, e)
	if p >= 0 {
		x.cfs[x.m.ExecCF[p]] = true
	}
	return p
}

// execution adds an execution, its ancestors and what they were given.
func (x *excerpt) execution(e int) {
	m := x.m
	for ok := true; ok && !x.above[e]; {
		x.above[e] = true
		cf := m.ExecCF[e]
		x.cfs[cf] = true
		for _, df := range m.Inputs(e) {
			if !x.dfs[df] {
				x.dfs[df] = true
				for i, end := m.Creations(df); i < end; i++ {
					x.cfs[m.MadeBy[i]] = true
				}
			}
		}
		parent := m.Parent[cf]
		x.cfs[parent] = true
		if e, ok = m.Execution(parent, m.ParentExec[cf]); parent == 0 {
			return
		}
	}
}

// keep tells whether an event is needed.
func (x *excerpt) keep(d *trace.Defs, b *trace.Batch, i int) bool {
	m, k := x.m, b.Kind[i]
	switch k {
	case trace.KindProgramStarted, trace.KindProgramFinished, trace.KindClockSync, trace.KindLost:
		return true
	}
	t := model.Common(b.Time[i], m.Clock(b.Node))
	in, ok := x.streams[model.WorkerID{Node: b.Node, Worker: b.Stream}]
	if !ok {
		in = x.in
	}
	if x.all || t >= in.From && t <= in.To || m.Killed && t >= m.End {
		return true
	}
	spec := d.Kind(k)
	if spec == nil || len(spec.Fields) == 0 {
		return false
	}
	switch what := b.Args(i)[0]; spec.Fields[0].Type { // what the event is about
	case trace.FieldCF:
		cf := m.FindCF(trace.CF(what))
		return cf != 0 && x.cfs[cf]
	case trace.FieldDF:
		df := m.DFNumbered(b.Node, what)
		return df != 0 && x.dfs[df]
	}
	return false
}
