package eventlist

import (
	"math"
	"sort"

	"github.com/whyslow/whyslow/internal/model"
)

// clock converts the times of one node to the common clock with the model's own correction.
type clock []model.ClockSync

func (c clock) correct(t int64) int64 { return model.Common(t, c) }

// far is beyond any time that is safe to compute with; only damaged traces have such times.
const far = 1 << 60

// bounds returns limits for all corrected times from first to last. Between two comparisons the correction is
// linear, so its extremes are at their ends; floating point may miss them by a little.
func (c clock) bounds(first, last int64) (lo, hi int64) {
	if len(c) == 0 {
		return first, last
	}
	lo, hi = math.MaxInt64, math.MinInt64
	see := func(t int64) {
		v := c.correct(t)
		lo, hi = min(lo, v), max(hi, v)
	}
	see(first)
	see(last)
	// Only the comparisons inside and next to the interval matter.
	from := sort.Search(len(c), func(i int) bool { return c[i].Time >= first })
	to := sort.Search(len(c), func(i int) bool { return c[i].Time > last })
	near := c[max(from-1, 0):min(to+1, len(c))]
	least, most := near[0].Offset, near[0].Offset
	for _, s := range near {
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
