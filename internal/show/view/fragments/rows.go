package fragments

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// FragmentRow sums up a code fragment. All times are nanoseconds; those of a fragment without executions are
// 0.
type FragmentRow struct {
	Code    int         `json:"code"` // index into model.Model.Codes
	Name    string      `json:"name"`
	Count   int64       `json:"count"` // executions that started in the interval
	TotalNS int64       `json:"total_ns"`
	MeanNS  int64       `json:"mean_ns"`
	MinNS   int64       `json:"min_ns"`
	P50NS   int64       `json:"p50_ns"`
	P90NS   int64       `json:"p90_ns"`
	P99NS   int64       `json:"p99_ns"`
	MaxNS   int64       `json:"max_ns"`
	Caused  slou.Caused `json:"caused"`
	// Before is the time lost before and in its CFs.
	Before slou.Lost `json:"before"`
	Atomic bool      `json:"atomic"` // user code; false: executed by the run-time system
	File   string    `json:"file"`
	Line   int       `json:"line"`
}

// Rows sums up the code fragments that ran in an interval, or that lost time is due to: atomic ones first,
// then those with most time.
func (x *Index) Rows(from, to int64) ([]FragmentRow, error) {
	s, err := x.Interval(from, to)
	if err != nil {
		return nil, err
	}
	if s == always {
		x.rowsOnce.Do(func() { x.rows = x.makeRows(s, from, to) })
		return slices.Clone(x.rows), nil
	}
	return x.makeRows(s, from, to), nil
}

func (x *Index) makeRows(s Interval, from, to int64) []FragmentRow {
	all := make([]FragmentRow, len(x.m.Codes))
	sums := x.Sums(from, to)
	_ = procs.Each(context.Background(), 0, len(all), func(_, code int) error {
		c := &x.m.Codes[code]
		all[code] = FragmentRow{Code: code, Name: c.Name, File: c.File, Line: c.Line,
			Atomic: c.Kind == trace.Atomic, Before: sums.before[code], Caused: sums.caused[code]}
		all[code].fill(x.times(x.started(code, s)))
		return nil
	})
	out := slices.DeleteFunc(all, func(r FragmentRow) bool {
		return r.Count == 0 && r.Caused == slou.Caused{} && r.Before == slou.Lost{}
	})
	slices.SortStableFunc(out, func(a, b FragmentRow) int {
		if a.Atomic != b.Atomic {
			if a.Atomic {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.TotalNS, a.TotalNS), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// fill sums up the measured times of executions.
func (r *FragmentRow) fill(times []int64) {
	n := len(times)
	if n == 0 {
		return
	}
	for _, v := range times {
		r.TotalNS += v
	}
	r.Count, r.MeanNS, r.MinNS, r.MaxNS = int64(n), r.TotalNS/int64(n), slices.Min(times), slices.Max(times)
	p50, p90, p99 := rank(0.5, n), rank(0.9, n), rank(0.99, n)
	smallest(times, p50)
	smallest(times[p50:], p90-p50)
	smallest(times[p90:], p99-p90)
	r.P50NS, r.P90NS, r.P99NS = times[p50], times[p90], times[p99]
}

// smallest moves the k-th smallest value, from 0, to place k, no greater ones before it and no smaller ones
// behind it: half the time of sorting, where there are thousands.
func smallest(v []int64, k int) {
	for len(v) > 32 {
		a, b, c := v[0], v[len(v)/2], v[len(v)-1]
		pivot := max(min(a, b), min(max(a, b), c))
		i, j := 0, len(v)-1
		for i <= j {
			for v[i] < pivot {
				i++
			}
			for v[j] > pivot {
				j--
			}
			if i <= j {
				v[i], v[j] = v[j], v[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			v = v[:j+1]
		case k >= i:
			v, k = v[i:], k-i
		default:
			return
		}
	}
	slices.Sort(v)
}

// times are the measured times of executions.
func (x *Index) times(executions []uint32) []int64 {
	out := make([]int64, 0, len(executions))
	for _, e := range executions {
		if v := x.time[e]; v >= 0 {
			out = append(out, v)
		}
	}
	return out
}

// rank is the place, from 0, of the p-quantile among n values in order.
func rank(p float64, n int) int { return min(max(int(math.Ceil(p*float64(n)))-1, 0), n-1) }
