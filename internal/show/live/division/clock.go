package division

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/whyslow/whyslow/internal/model"
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
	syncs   []model.ClockSync // by time, then stream
	streams []int             // that they are of
	on      bool              // some offset is not 0
}

// add takes in a measurement of a stream and gives the corrected time up to which nothing changes; straight is false where the
// corrected clock runs backwards.
func (c *correction) add(m model.ClockSync, stream int) (from int64, straight bool) {
	before := c.on
	i := sort.Search(len(c.syncs), func(i int) bool {
		return cmp.Or(cmp.Compare(c.syncs[i].Time, m.Time), cmp.Compare(c.streams[i], stream)) > 0
	})
	c.syncs, c.streams = slices.Insert(c.syncs, i, m), slices.Insert(c.streams, i, stream)
	c.on = c.on || m.Offset != 0
	switch {
	case !c.on:
		return forever, true
	case i == 0 || !before:
		from = none
	default:
		from = c.syncs[i-1].Time + c.syncs[i-1].Offset
	}
	straight = true
	for k := max(i, 1); k < min(i+2, len(c.syncs)); k++ {
		straight = straight && c.syncs[k-1].Time+c.syncs[k-1].Offset <= c.syncs[k].Time+c.syncs[k].Offset
	}
	return from, straight
}

func (c *correction) fix(t int64) int64 {
	if !c.on {
		return t
	}
	return model.Common(t, c.syncs)
}
