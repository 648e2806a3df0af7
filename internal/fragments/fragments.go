// Package fragments tells of code fragments, of the CFs that ran them, and of user events: how often, how long, how spread,
// and what that cost the workers; for the whole run or for those CFs that started in an interval.
//
// What is measured of an execution is its useful time, as in the report: the time of its worker less what the thread did not
// have the processor and less waits. Of structured CFs, run by the system, it is the time from start to end. Quantiles are
// exact: the p-quantile of n values is the ceil(p n)-th smallest.
//
// Times are nanoseconds since the start of the run. An interval has what started at from or later and before to; one that
// begins at 0 or ends at the end of the run has what was recorded before or after it, too. Times lost because of a code
// fragment, or before its CFs, are those within the interval.
//
// Memory: 12 bytes a piece of workers' time, 12 an execution and 8 a CF.
package fragments

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"slices"
	"sort"
	"sync"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/query"
	"github.com/whyslow/whyslow/internal/slou"
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

// span is an interval on the common clock, to not included.
type span struct{ from, to int64 }

var always = span{math.MinInt64, math.MaxInt64}

func (x *Index) span(from, to int64) span {
	s := always
	if from > 0 {
		s.from = query.Shift(from, x.m.Start)
	}
	if to < x.m.Wall() {
		s.to = query.Shift(to, x.m.Start)
	}
	return s
}

// Model is what the index was made from.
func (x *Index) Model() *model.Model { return x.m }

// Build makes the index of a model. pieces are those of slou.Pieces with the default options, nil where the caller has none;
// they are not kept. It fails when ctx ends.
func Build(ctx context.Context, m *model.Model, pieces []slou.WorkerPieces) (*Index, error) {
	x := &Index{m: m, time: make([]int64, m.Executions()), lost: make([]int64, len(m.Created)), of: make([][]uint32, len(m.Codes))}
	own := pieces == nil
	if own {
		var err error
		if pieces, err = slou.Pieces(ctx, m, slou.Options{}); err != nil {
			return nil, err
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
	for i := range pieces {
		w := &pieces[i]
		x.lanes = append(x.lanes, newLane(c, w))
		x.measure(&m.Nodes[w.Node].Workers[w.Worker], w.Pieces)
		if own {
			w.Pieces = nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	x.classes = c.list
	x.whole = x.sumLanes(always)
	for e, cf := range m.ExecCF {
		code := m.CodeOf(cf)
		x.of[code] = append(x.of[code], uint32(e))
	}
	parallel(len(x.of), func(code int) {
		slices.SortFunc(x.of[code], func(a, b uint32) int {
			return cmp.Or(cmp.Compare(m.ExecStart[a], m.ExecStart[b]), cmp.Compare(a, b))
		})
	})
	return x, ctx.Err()
}

// measure takes the useful time of each execution of a worker's atomic CFs, the length of those of structured ones, and what
// was lost before each CF.
func (x *Index) measure(w *model.Worker, pieces []slou.Piece) {
	m := x.m
	for i := range pieces {
		switch p := &pieces[i]; p.Factor {
		case slou.FactorU, slou.FactorLoss:
		default:
			if p.Consumer != 0 {
				x.lost[p.Consumer] += p.To - p.From
			}
		}
	}
	next := func(e int) int {
		for ; e < w.End && !m.Atomic(m.ExecCF[e]); e++ {
			if m.ExecEnd[e] != model.None {
				x.time[e] = max(min(m.ExecEnd[e], m.End)-max(m.ExecStart[e], m.Start), 0)
			}
		}
		return e
	}
	at, p := m.Start, 0
	for e := next(w.First); e < w.End; {
		after := next(e + 1)
		start, end := m.ExecStart[e], m.ExecEnd[e]
		if end == model.None {
			end = m.End
		}
		if after < w.End {
			end = min(end, m.ExecStart[after]) // an end that was not recorded
		}
		start = min(max(start, at), m.End)
		end = min(max(end, start), m.End)
		useful := int64(0)
		for ; p < len(pieces) && pieces[p].To <= start; p++ {
		}
		for i := p; i < len(pieces) && pieces[i].From < end; i++ {
			if pieces[i].Factor == slou.FactorU {
				useful += min(pieces[i].To, end) - max(pieces[i].From, start)
			}
		}
		x.time[e] = useful
		e, at = after, end
	}
}

// started gives the executions of a code fragment that started in an interval, by start.
func (x *Index) started(code int, s span) []uint32 {
	list := x.of[code]
	if s == always {
		return list
	}
	first := sort.Search(len(list), func(i int) bool { return x.m.ExecStart[list[i]] >= s.from })
	end := first + sort.Search(len(list)-first, func(i int) bool { return x.m.ExecStart[list[first+i]] >= s.to })
	return list[first:end]
}

// checkCode tells whether there is a code fragment.
func (x *Index) checkCode(code int) error {
	if code < 0 || code >= len(x.m.Codes) {
		return query.Missing("there is no code fragment %d; they are numbered from 0 to %d", code, len(x.m.Codes)-1)
	}
	return nil
}

// parallel calls f for 0 to n-1 from several goroutines.
func parallel(n int, f func(i int)) {
	workers := min(n, runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				f(i)
			}
		})
	}
	wg.Wait()
}
