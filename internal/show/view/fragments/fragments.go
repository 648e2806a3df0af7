// Package fragments tells of code fragments, of the CFs that ran them, and of user events: how often, how
// long, how spread, and what that cost the workers; for the whole run or for those CFs that started in an
// interval.
//
// What is measured of an execution is its useful time, as in the report: the time of its worker less what the
// thread did not have the processor and less waits. Of structured CFs, run by the system, it is the time from
// start to end. Quantiles are exact: the p-quantile of n values is the ceil(p n)-th smallest.
//
// Times are nanoseconds since the start of the run. An interval has what started at from or later and before
// to; one that begins at 0 or ends at the end of the run has what was recorded before or after it, too. Times
// lost because of a code fragment, or before its CFs, are those within the interval.
//
// Memory: 12 bytes a piece of workers' time, 12 an execution and 8 a CF.
package fragments

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/model/query"
	"github.com/whyslow/whyslow/internal/procs"
)

// Index answers for one model. Its methods may be used by many goroutines at once.
type Index struct {
	m       *model.Model
	lanes   []lane
	classes []Class
	whole   []int64 // time of the run by class

	time   []int64    // by execution: what is measured of it; -1: nothing, it counts nowhere
	lost   []int64    // by CF: S, L, O and W before and in its executions
	of     [][]uint32 // by code fragment: its executions, by start
	worker []int32    // of the lane of a worker, by WorkerID: first lane of the node

	rowsOnce sync.Once
	rows     []FragmentRow // of the whole run

	mu     sync.Mutex
	orders []order // the last used first
}

// timeRange is an interval on the common clock, to not included.
type timeRange struct{ from, to int64 }

var always = timeRange{math.MinInt64, math.MaxInt64}

func (x *Index) timeRange(from, to int64) timeRange {
	s := always
	if from > 0 {
		s.from = query.Shift(from, x.m.Start)
	}
	if to < x.m.Wall() {
		s.to = query.Shift(to, x.m.Start)
	}
	return s
}

// Model is the model of the index.
func (x *Index) Model() *model.Model { return x.m }

// Build makes the index of a model. pieces passes on what slou.Visit does with the default options, nil for
// slou.Visit itself. It fails when ctx ends.
func Build(ctx context.Context, m *model.Model, pieces slou.Walk) (*Index, error) {
	x := &Index{m: m, time: make([]int64, m.Executions()), lost: make([]int64, len(m.Created)),
		of:    make([][]uint32, len(m.Codes)),
		lanes: make([]lane, m.Workers())}
	if pieces == nil {
		pieces = func(ctx context.Context, visit func(model.WorkerID, iter.Seq[[]slou.Piece])) error {
			return slou.Visit(ctx, m, slou.Options{}, procs.Alone(), visit)
		}
	}
	lanes := 0
	for n := range m.Nodes {
		x.worker = append(x.worker, int32(lanes))
		lanes += len(m.Nodes[n].Workers)
	}
	for e := range x.time {
		x.time[e] = -1
	}
	c := &classer{m: m, numbers: map[Class]uint32{}}
	var mu sync.Mutex
	spare := sync.Pool{New: func() any { return new(lane) }}
	err := pieces(ctx, func(id model.WorkerID, pieces iter.Seq[[]slou.Piece]) {
		l := spare.Get().(*lane)
		l.start, l.to, l.class = m.Start, l.to[:0], l.class[:0]
		v := newMeasure(x, &m.Nodes[id.Node].Workers[id.Worker])
		for list := range pieces {
			mu.Lock()
			l.append(c, id.Node, list)
			v.add(list)
			mu.Unlock()
		}
		v.finish()
		x.lanes[int(x.worker[id.Node])+id.Worker] = l.clone()
		spare.Put(l)
	})
	if err != nil {
		return nil, err
	}
	x.classes = c.list
	x.whole = x.sumLanes(always)
	for e, cf := range m.ExecCF {
		code := m.CodeOf(cf)
		x.of[code] = append(x.of[code], uint32(e))
	}
	err = procs.Each(ctx, 0, len(x.of), func(_, code int) error {
		slices.SortFunc(x.of[code], func(a, b uint32) int {
			return cmp.Or(cmp.Compare(m.ExecStart[a], m.ExecStart[b]), cmp.Compare(a, b))
		})
		return nil
	})
	return x, err
}

// measure takes the useful time of each execution of a worker's atomic CFs, the length of those of structured
// ones, and what was lost before each CF.
type measure struct {
	x          *Index
	w          *model.Worker
	e          int // the first execution of an atomic CF that ends after the pieces so far
	start, end int64
}

func newMeasure(x *Index, w *model.Worker) *measure {
	v := &measure{x: x, w: w, e: w.First - 1}
	v.advance()
	return v
}

// advance moves to the next execution of an atomic CF and measures the structured ones before it.
func (v *measure) advance() {
	x, m := v.x, v.x.m
	for v.e++; v.e < v.w.End; v.e++ {
		in := m.Occupied(v.w, v.e)
		switch {
		case m.Atomic(m.ExecCF[v.e]):
			v.start, v.end, x.time[v.e] = in.From, in.To, 0
			return
		case m.ExecEnd[v.e] != model.None:
			x.time[v.e] = in.To - in.From
		}
	}
}

// add adds pieces, in order.
func (v *measure) add(pieces []slou.Piece) {
	x := v.x
	for i := range pieces {
		p := &pieces[i]
		switch {
		case p.Factor == slou.FactorU:
			for v.e < v.w.End && v.start < p.To {
				if from, to := max(p.From, v.start), min(p.To, v.end); from < to {
					x.time[v.e] += to - from
				}
				if v.end > p.To {
					break
				}
				v.advance()
			}
		case p.Factor != slou.FactorLoss && p.Consumer != 0:
			x.lost[p.Consumer] += p.To - p.From
		}
	}
}

// finish measures the time after the last piece of useful time.
func (v *measure) finish() {
	for v.e < v.w.End {
		v.advance()
	}
}

// started returns the executions of a code fragment that started in an interval, by start.
func (x *Index) started(code int, s timeRange) []uint32 {
	list := x.of[code]
	if s == always {
		return list
	}
	first := sort.Search(len(list), func(i int) bool { return x.m.ExecStart[list[i]] >= s.from })
	end := first + sort.Search(len(list)-first,
		func(i int) bool { return x.m.ExecStart[list[first+i]] >= s.to })
	return list[first:end]
}

// checkCode reports whether there is a code fragment.
func (x *Index) checkCode(code int) error {
	if code < 0 || code >= len(x.m.Codes) {
		return query.Missing("there is no code fragment %d; they are numbered from 0 to %d", code, len(x.m.Codes)-1)
	}
	return nil
}
