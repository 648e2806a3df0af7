package eventlist

import (
	"cmp"
	"math"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// clock moves the times of one node to the common clock, exactly as the model does.
type clock []model.ClockSync

// newClock takes the comparisons of all streams of a node, by stream and in recorded order.
func newClock(syncs []model.ClockSync) clock {
	slices.SortStableFunc(syncs, func(a, b model.ClockSync) int { return cmp.Compare(a.Time, b.Time) })
	return syncs
}

func (c clock) correct(t int64) int64 { return model.Common(t, c) }

// far is beyond any time that can be computed with; only damaged traces have such.
const far = 1 << 60

// bounds gives times between which all times from first to last are once corrected. Between two comparisons the correction
// is linear, so its extremes are at their ends; floating point may miss them by a little.
func (c clock) bounds(first, last int64) (lo, hi int64) {
	if len(c) == 0 {
		return first, last
	}
	lo, hi = math.MaxInt64, math.MinInt64
	least, most := c[0].Offset, c[0].Offset
	see := func(t int64) {
		v := c.correct(t)
		lo, hi = min(lo, v), max(hi, v)
	}
	see(first)
	see(last)
	for _, s := range c {
		least, most = min(least, s.Offset), max(most, s.Offset)
		if s.Time < -far || s.Time > far || s.Offset < -far || s.Offset > far {
			return math.MinInt64, math.MaxInt64
		}
		if s.Time >= first && s.Time <= last {
			see(s.Time)
			if s.Time > first {
				see(s.Time - 1)
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
