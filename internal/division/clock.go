package division

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// none is the time of what was not recorded, forever that of what has not ended.
const (
	none    = int64(math.MinInt64)
	forever = int64(math.MaxInt64)
)

// correction moves the times of a node to the common clock, as model does: by the offset interpolated between the
// measurements before and after. Facts are kept in the clock of the node that recorded them and corrected when they are
// asked for, so a new measurement changes them all at once; what was worked out of them is worked out again.
type correction struct {
	syncs []measurement // by time
	on    bool          // some offset is not 0
}

type measurement struct {
	time, offset int64
	stream       int
}

// add takes in a measurement and gives the corrected time up to which nothing changes; straight is false where the
// corrected clock runs backwards.
func (c *correction) add(m measurement) (from int64, straight bool) {
	before := c.on
	i, _ := slices.BinarySearchFunc(c.syncs, m, func(x, y measurement) int {
		if x.time == y.time && x.stream == y.stream {
			return -1
		}
		return cmp.Or(cmp.Compare(x.time, y.time), cmp.Compare(x.stream, y.stream))
	})
	c.syncs = slices.Insert(c.syncs, i, m)
	c.on = c.on || m.offset != 0
	switch {
	case !c.on:
		return forever, true
	case i == 0 || !before:
		from = none
	default:
		from = c.syncs[i-1].time + c.syncs[i-1].offset
	}
	straight = true
	for k := max(i, 1); k < min(i+2, len(c.syncs)); k++ {
		straight = straight && c.syncs[k-1].time+c.syncs[k-1].offset <= c.syncs[k].time+c.syncs[k].offset
	}
	return from, straight
}

func (c *correction) fix(t int64) int64 {
	if !c.on || t == none {
		return t
	}
	s := c.syncs
	i := sort.Search(len(s), func(i int) bool { return s[i].time > t })
	switch i {
	case 0:
		return t + s[0].offset
	case len(s):
		return t + s[i-1].offset
	}
	x, y := s[i-1], s[i]
	share := float64(t-x.time) / float64(y.time-x.time)
	return t + x.offset + int64(share*float64(y.offset-x.offset))
}
