package eventlist

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// sync is one comparison of a node's clock with node 0's: offset is to be added at time, on the node's own clock.
type sync1 struct{ time, offset int64 }

// clock moves the times of one node to the common clock, exactly as the model does.
type clock []sync1

// newClock takes the comparisons of all streams of a node, by stream and in recorded order.
func newClock(syncs []sync1) clock {
	slices.SortStableFunc(syncs, func(a, b sync1) int { return cmp.Compare(a.time, b.time) })
	return syncs
}

// correct adds to t the offset interpolated between the comparisons before and after it.
func (c clock) correct(t int64) int64 {
	if len(c) == 0 {
		return t
	}
	i := sort.Search(len(c), func(i int) bool { return c[i].time > t })
	switch {
	case i == 0:
		return t + c[0].offset
	case i == len(c):
		return t + c[i-1].offset
	}
	x, y := c[i-1], c[i]
	share := float64(t-x.time) / float64(y.time-x.time)
	return t + x.offset + int64(share*float64(y.offset-x.offset))
}

// far is beyond any time that can be computed with; only damaged traces have such.
const far = 1 << 60

// bounds gives times between which all times from first to last are once corrected. Between two comparisons the correction
// is linear, so its extremes are at their ends; floating point may miss them by a little.
func (c clock) bounds(first, last int64) (lo, hi int64) {
	if len(c) == 0 {
		return first, last
	}
	lo, hi = math.MaxInt64, math.MinInt64
	least, most := c[0].offset, c[0].offset
	see := func(t int64) {
		v := c.correct(t)
		lo, hi = min(lo, v), max(hi, v)
	}
	see(first)
	see(last)
	for _, s := range c {
		least, most = min(least, s.offset), max(most, s.offset)
		if s.time < -far || s.time > far || s.offset < -far || s.offset > far {
			return math.MinInt64, math.MaxInt64
		}
		if s.time >= first && s.time <= last {
			see(s.time)
			if s.time > first {
				see(s.time - 1)
			}
		}
	}
	if first < -far || last > far {
		return math.MinInt64, math.MaxInt64
	}
	if least == most {
		return lo, hi
	}
	pad := 2 + (most-least)>>48
	return lo - pad, hi + pad
}
