package counters

import (
	"cmp"
	"slices"
	"sort"

	"github.com/whyslow/whyslow/internal/model"
)

// clock moves the times of a node to the common clock as package model does: by the offset interpolated
// between the measurements before and after.
type clock struct {
	syncs []model.ClockSync
	back  bool // some later times are earlier ones on the common clock: measurements make no sense
}

func (c *clock) common(t int64) int64 { return model.Common(t, c.syncs) }

// with adds measurements. It gives the new clock and the node's own time since which times differ; ok is
// false if none do.
func (c *clock) with(more []model.ClockSync) (next clock, since int64, ok bool) {
	next.syncs = slices.Clone(c.syncs)
	since = maxTime
	for _, s := range more {
		i := sort.Search(len(next.syncs), func(i int) bool { return next.syncs[i].Time > s.Time })
		before, after := int64(0), int64(0)
		switch {
		case len(next.syncs) == 0:
		case i == 0:
			before, after = next.syncs[0].Offset, next.syncs[0].Offset
		case i == len(next.syncs):
			before, after = next.syncs[i-1].Offset, next.syncs[i-1].Offset
		default:
			before, after = next.syncs[i-1].Offset, next.syncs[i].Offset
		}
		if before != s.Offset || after != s.Offset {
			ok = true
			if i == 0 {
				since = none
			} else {
				since = min(since, next.syncs[i-1].Time)
			}
		}
		next.syncs = slices.Insert(next.syncs, i, s)
	}
	next.back = !slices.IsSortedFunc(next.syncs,
		func(x, y model.ClockSync) int { return cmp.Compare(x.Time+x.Offset, y.Time+y.Offset) })
	if c.back || next.back {
		since = none // times are in another order; they may have been anywhere
	}
	return next, since, ok
}

const maxTime = 1<<63 - 1
