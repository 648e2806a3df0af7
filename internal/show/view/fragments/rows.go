package fragments

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model/query"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// FragmentRow sums up a code fragment. All times are nanoseconds; those of a fragment without executions are
// 0.
type FragmentRow struct {
	Code    int    `json:"code"` // index into model.Model.Codes
	Name    string `json:"name"`
	Count   int64  `json:"count"` // executions that started in the interval
	TotalNS int64  `json:"total_ns"`
	MeanNS  int64  `json:"mean_ns"`
	MinNS   int64  `json:"min_ns"`
	P50NS   int64  `json:"p50_ns"`
	P90NS   int64  `json:"p90_ns"`
	P99NS   int64  `json:"p99_ns"`
	MaxNS   int64  `json:"max_ns"`
	Caused  Caused `json:"caused"`
	Before  Before `json:"before"`
	Atomic  bool   `json:"atomic"` // user code; false: executed by the run-time system
	File    string `json:"file"`
	Line    int    `json:"line"`
}

// Caused is the time lost because of a code fragment: S and L while others waited for what it produced, O
// while its own CFs waited to be run.
type Caused struct {
	S int64 `json:"S"`
	L int64 `json:"L"`
	O int64 `json:"O"`
}

// Before is the time lost before and in the CFs of a code fragment.
type Before struct {
	S int64 `json:"S"`
	L int64 `json:"L"`
	O int64 `json:"O"`
	W int64 `json:"W"`
}

// Rows sums up the code fragments that ran in an interval, or that lost time is due to: atomic ones first,
// then those with most time.
func (x *Index) Rows(from, to int64) ([]FragmentRow, error) {
	if err := x.interval(from, to); err != nil {
		return nil, err
	}
	s := x.timeRange(from, to)
	if s == always {
		x.rowsOnce.Do(func() { x.rows = x.makeRows(s) })
		return slices.Clone(x.rows), nil
	}
	return x.makeRows(s), nil
}

// interval checks an interval; for a run of no length it is the run.
func (x *Index) interval(from, to int64) error {
	if from == 0 && to >= x.m.Wall() {
		return nil
	}
	return query.Interval(from, to)
}

func (x *Index) makeRows(s timeRange) []FragmentRow {
	all := make([]FragmentRow, len(x.m.Codes))
	_ = procs.Each(context.Background(), 0, len(all), func(_, code int) error {
		c := &x.m.Codes[code]
		r := &all[code]
		r.Code, r.Name, r.File, r.Line, r.Atomic = code, c.Name, c.File, c.Line, c.Kind == trace.Atomic
		var d distribution
		d.take(x, x.started(code, s))
		d.fill(r)
		return nil
	})
	for k, ns := range x.times(s) {
		c := &x.classes[k]
		if c.Consumer != 0 {
			b := &all[c.Consumer-1].Before
			switch c.Factor {
			case slou.FactorS:
				b.S += ns
			case slou.FactorL:
				b.L += ns
			case slou.FactorO:
				b.O += ns
				all[c.Consumer-1].Caused.O += ns
			case slou.FactorW:
				b.W += ns
			}
		}
		if c.Producer != 0 {
			switch c.Factor {
			case slou.FactorS:
				all[c.Producer-1].Caused.S += ns
			case slou.FactorL:
				all[c.Producer-1].Caused.L += ns
			}
		}
	}
	out := slices.DeleteFunc(all, func(r FragmentRow) bool {
		return r.Count == 0 && r.Caused == Caused{} && r.Before == Before{}
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

// distribution is a list of values.
type distribution struct {
	values []int64
	total  int64
}

// take adds the measured times of executions.
func (d *distribution) take(x *Index, executions []uint32) {
	d.values = make([]int64, 0, len(executions))
	for _, e := range executions {
		if v := x.time[e]; v >= 0 {
			d.values = append(d.values, v)
			d.total += v
		}
	}
}

func (d *distribution) fill(r *FragmentRow) {
	n := len(d.values)
	if n == 0 {
		return
	}
	r.Count, r.TotalNS, r.MeanNS = int64(n), d.total, d.total/int64(n)
	r.MinNS, r.MaxNS = slices.Min(d.values), slices.Max(d.values)
	from := 0
	for _, q := range []struct {
		p   float64
		dst *int64
	}{{0.5, &r.P50NS}, {0.9, &r.P90NS}, {0.99, &r.P99NS}} {
		k := rank(q.p, n)
		smallest(d.values[from:], k-from)
		*q.dst = d.values[k]
		from = k
	}
}

// rank is the place, from 0, of the p-quantile among n values in order.
func rank(p float64, n int) int { return min(max(int(math.Ceil(p*float64(n)))-1, 0), n-1) }

// smallest moves the k-th smallest value, from 0, to place k, no greater ones before and no smaller ones
// behind it.
func smallest(v []int64, k int) {
	for len(v) > 32 {
		mid, last := len(v)/2, len(v)-1
		pivot := median(v[0], v[mid], v[last])
		i, j := 0, last
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

func median(a, b, c int64) int64 { return max(min(a, b), min(max(a, b), c)) }
