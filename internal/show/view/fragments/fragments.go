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
// Memory: 20 bytes an execution and 8 a CF, beside the timeline.
package fragments

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/model/query"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/show/view/recent"
	"github.com/whyslow/whyslow/internal/show/view/timeline"
)

// Index answers for one model. Its methods may be used by many goroutines at once.
type Index struct {
	m *model.Model
	t *timeline.Timeline

	time []int64    // by execution: what is measured of it; -1: nothing, it counts nowhere
	lost []int64    // by CF: S, L, O and W before and in its executions
	of   [][]uint32 // by code fragment: its executions, by start

	whole Sums // of the whole run

	stepsOnce sync.Once
	step      int64  // nanoseconds
	upTo      []Sums // from the start of the run to a multiple of step; empty in a short run

	rowsOnce sync.Once
	rows     []FragmentRow // of the whole run

	mu     sync.Mutex
	orders *recent.List[order, []uint32]
}

// Interval is an interval on the common clock, to not included.
type Interval struct{ From, To int64 }

// Has reports whether a recorded time is within the interval.
func (s Interval) Has(t int64) bool { return t != model.None && t >= s.From && t < s.To }

var always = Interval{math.MinInt64, math.MaxInt64}

// Interval checks an interval of the run and converts it. That of the whole run has no ends; it may be empty
// if the run has no length.
func (x *Index) Interval(from, to int64) (Interval, error) {
	if from != 0 || to < x.m.Wall() {
		if err := query.Interval(from, to); err != nil {
			return always, err
		}
	}
	s := always
	if from > 0 {
		s.From = query.Shift(from, x.m.Start)
	}
	if to < x.m.Wall() {
		s.To = query.Shift(to, x.m.Start)
	}
	return s, nil
}

// Build makes the index of a timeline. It fails when ctx ends.
func Build(ctx context.Context, t *timeline.Timeline) (*Index, error) {
	m := t.Model()
	x := &Index{m: m, t: t, time: slices.Repeat([]int64{-1}, m.Executions()),
		lost: model.Make[int64](m, len(m.Created)),
		of:   make([][]uint32, len(m.Codes)), orders: recent.New[order, []uint32](maxOrders, nil)}
	lane := 0
	for id := range m.AllWorkers() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		x.measure(lane, &m.Nodes[id.Node].Workers[id.Worker])
		lane++
	}
	x.whole = x.sum(0, m.Wall())
	for e, cf := range m.ExecCF {
		code := m.CodeOf(cf)
		x.of[code] = append(x.of[code], uint32(e))
	}
	err := procs.Each(ctx, 0, len(x.of), func(_, code int) error {
		slices.SortFunc(x.of[code], func(a, b uint32) int {
			return cmp.Or(cmp.Compare(m.ExecStart[a], m.ExecStart[b]), cmp.Compare(a, b))
		})
		return nil
	})
	return x, err
}

// Timeline is the run by lanes and time.
func (x *Index) Timeline() *timeline.Timeline { return x.t }

// started returns the executions of a code fragment that started in an interval, by start.
func (x *Index) started(code int, s Interval) []uint32 {
	list := x.of[code]
	if s == always {
		return list
	}
	first := sort.Search(len(list), func(i int) bool { return x.m.ExecStart[list[i]] >= s.From })
	end := first + sort.Search(len(list)-first,
		func(i int) bool { return x.m.ExecStart[list[first+i]] >= s.To })
	return list[first:end]
}

// checkCode reports whether there is a code fragment.
func (x *Index) checkCode(code int) error {
	if code < 0 || code >= len(x.m.Codes) {
		return query.Missing("there is no code fragment %d; they are numbered from 0 to %d", code, len(x.m.Codes)-1)
	}
	return nil
}
