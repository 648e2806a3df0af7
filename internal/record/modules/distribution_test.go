//go:build !no_profile_module

package modules

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Sums are exact, quantiles within the error that is promised, also of several distributions together.
func TestDistribution(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var all []int64
		var sum summary
		for range rapid.IntRange(1, 4).Draw(rt, "streams") {
			values := rapid.SliceOf(rapid.OneOf(rapid.Int64Range(0, 100), rapid.Int64Range(0, 1e6),
				rapid.Int64Range(0, math.MaxInt64>>8))).Draw(rt, "values")
			var d distribution
			for _, v := range values {
				d.add(v)
			}
			all = append(all, values...)
			sum.merge(&d)
		}
		slices.Sort(all)
		var total int64
		for _, v := range all {
			total += v
		}
		if sum.count != int64(len(all)) || sum.total != total {
			rt.Fatalf("%d values, total %d; want %d, %d", sum.count, sum.total, len(all), total)
		}
		if len(all) == 0 {
			return
		}
		if sum.min != all[0] || sum.max != all[len(all)-1] {
			rt.Fatalf("%d to %d, want %d to %d", sum.min, sum.max, all[0], all[len(all)-1])
		}
		for _, share := range []float64{0, .01, .5, .9, .99, 1} {
			rank := max(1, int(math.Ceil(share*float64(len(all)))))
			want, got := all[rank-1], sum.quantile(share)
			if math.Abs(float64(got-want)) > quantileError*float64(want) {
				rt.Fatalf("quantile %g of %v is %d, want %d", share, all, got, want)
			}
		}
	})
}

// The extremes have a place.
func TestDistributionExtremes(t *testing.T) {
	for _, v := range []int64{-5, 0, 1, 31, 32, 33, 63, 64, math.MaxInt64 - 1} {
		var d distribution
		var s summary
		d.add(v)
		s.merge(&d)
		want := max(v, 0)
		if got := s.quantile(.5); s.count != 1 || s.min != want || s.max != want || got != want {
			t.Errorf("%d: count %d, %d to %d, median %d", v, s.count, s.min, s.max, got)
		}
	}
}
