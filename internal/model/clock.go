package model

import "sort"

// ClockSync is a comparison of a node's clock with node 0's: at Time, on the node's own clock, Offset is to be added to get the
// time of the common clock. Both are nanoseconds.
type ClockSync struct{ Time, Offset int64 }

// Common moves a time of a node to the common clock: by the offset interpolated between the comparisons before and after it,
// by that of the nearest one outside of them all. syncs are those of the node by time. None stays None, and without comparisons
// every time stays as it is.
func Common(t int64, syncs []ClockSync) int64 {
	if t == None || len(syncs) == 0 {
		return t
	}
	i := sort.Search(len(syncs), func(i int) bool { return syncs[i].Time > t })
	switch i {
	case 0:
		return t + syncs[0].Offset
	case len(syncs):
		return t + syncs[i-1].Offset
	}
	x, y := syncs[i-1], syncs[i]
	share := float64(t-x.Time) / float64(y.Time-x.Time)
	return t + x.Offset + int64(share*float64(y.Offset-x.Offset))
}
