package model

import "sort"

// ClockSync is a knot of the correction of a node's clock: at Time, on the node's own clock, Offset is to be
// added to get the time of the common clock. Both are nanoseconds. Knots are comparisons with node 0's clock,
// or come from repairs.
type ClockSync struct {
	Time, Offset int64
	Error        int64 // how far Offset may be off, where it was measured; 0 in other knots
}

// Common moves a time of a node to the common clock: by the offset interpolated between the comparisons
// before and after it, by that of the nearest one outside of them all. syncs are those of the node by time.
// None stays None, and without comparisons every time stays as it is.
func Common(t int64, syncs []ClockSync) int64 {
	c := clockMap{syncs: syncs}
	return c.common(t)
}

// clockMap does what Common does, faster for times that follow each other: it remembers where the last one
// was.
type clockMap struct {
	syncs []ClockSync
	next  int // the last time was before that of syncs[next], and not before that of the one before
}

func (c *clockMap) common(t int64) int64 {
	l := c.syncs
	if t == None || len(l) == 0 {
		return t
	}
	if i := c.next; (i < len(l) && l[i].Time <= t) || (i > 0 && l[i-1].Time > t) {
		if i+1 < len(l) && l[i].Time <= t && l[i+1].Time > t {
			c.next = i + 1
		} else {
			c.next = sort.Search(len(l), func(i int) bool { return l[i].Time > t })
		}
	}
	switch c.next {
	case 0:
		return t + l[0].Offset
	case len(l):
		return t + l[len(l)-1].Offset
	}
	x, y := l[c.next-1], l[c.next]
	// First the product, which is exact where clocks stand still for a while: so no time goes back.
	return t + x.Offset + int64(float64(t-x.Time)*float64(y.Offset-x.Offset)/float64(y.Time-x.Time))
}
