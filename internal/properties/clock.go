package properties

import (
	"cmp"
	"slices"
	"sort"
)

// clock moves the times of a node to the common clock as package model does: by the offset interpolated between the
// measurements before and after.
type clock struct {
	syncs []clockSync
	back  bool // some later times are earlier ones on the common clock: measurements make no sense
}

type clockSync struct{ t, offset int64 }

func (c *clock) common(t int64) int64 {
	if len(c.syncs) == 0 || t == none {
		return t
	}
	i := sort.Search(len(c.syncs), func(i int) bool { return c.syncs[i].t > t })
	switch {
	case i == 0:
		return t + c.syncs[0].offset
	case i == len(c.syncs):
		return t + c.syncs[i-1].offset
	}
	x, y := c.syncs[i-1], c.syncs[i]
	share := float64(t-x.t) / float64(y.t-x.t)
	return t + x.offset + int64(share*float64(y.offset-x.offset))
}

// with gives the clock with more measurements, and since when, on the old common clock, times are others; ok is false
// where nothing changes.
func (c *clock) with(more []clockSync) (next clock, since int64, ok bool) {
	next.syncs = slices.Clone(c.syncs)
	since = maxTime
	for _, s := range more {
		i := sort.Search(len(next.syncs), func(i int) bool { return next.syncs[i].t > s.t })
		before, after := int64(0), int64(0)
		switch {
		case len(next.syncs) == 0:
		case i == 0:
			before, after = next.syncs[0].offset, next.syncs[0].offset
		case i == len(next.syncs):
			before, after = next.syncs[i-1].offset, next.syncs[i-1].offset
		default:
			before, after = next.syncs[i-1].offset, next.syncs[i].offset
		}
		if before != s.offset || after != s.offset {
			ok = true
			if i == 0 {
				since = minTime
			} else {
				since = min(since, c.common(next.syncs[i-1].t))
			}
		}
		next.syncs = slices.Insert(next.syncs, i, s)
	}
	next.back = !slices.IsSortedFunc(next.syncs, func(x, y clockSync) int { return cmp.Compare(x.t+x.offset, y.t+y.offset) })
	if c.back || next.back {
		since = minTime // times are in another order; they may have been anywhere
	}
	return next, since, ok
}

const maxTime = 1<<63 - 1
