package counters

import (
	"cmp"
	"context"
	"slices"
)

// Levels in windows
//
// Problem. A level such as the CFs that are ready changes millions of times, on many nodes, and its changes
// are found in the order of CFs, not of time. The report wants, for each node and for the run, the mean and
// the extremes of every window and the exact peak, with no more memory than the changes themselves.
//
// Plan. What happens to CFs, DFs and messages is packed: one change of state is one change here, though it
// alters several levels. The source of changes is asked twice. The first time they are counted by bucket, a
// small part of a window; the second time each is put where its bucket is in one array. The few changes of a
// bucket are sorted, so that everything is linear for changes that are spread over the run. One pass then
// follows all levels, unpacking each change by the function that the page's step functions use as well.
// Several processes share out the windows (share.go).
//
// A value counts when the next change comes after it, not when it is set. So values that were there for no
// time, between two changes at one nanosecond, never count, in whatever order they are met.

// grid cuts a run into windows.
type grid struct {
	start, end int64
	width      int64 // at least 1
	n          int   // at least 1
}

func newGrid(start, end int64, windows int) grid {
	wall := end - start
	width := max((wall+int64(windows)-1)/int64(windows), 1)
	if wall > 1<<62 {
		width = wall/int64(windows) + 1
	}
	return grid{start, end, width, max(int((wall-1)/width)+1, 1)}
}

// clamp moves a time into the run and makes it relative to its start.
func (g *grid) clamp(t int64) int64 { return min(max(t, g.start), g.end) - g.start }

// bounds gives the times of a window relative to the start of the run.
func (g *grid) bounds(i int) (from, to int64) {
	from = int64(i) * g.width
	return from, min(from+g.width, g.end-g.start)
}

// level is a step function by windows.
type level struct {
	mean           []float64
	min, max, last []int64
	first          int // the window that the lists begin with
	peak, peakAt   int64
	end            int64

	now, since int64 // the present value; the time up to which it has been counted
	sum        float64
	low, high  int64
	fresh      bool // nothing was counted in this window
}

// newLevel makes a level of the windows from one up to but not including another.
func newLevel(from, to int) level {
	n := to - from
	buf := make([]int64, 3*n)
	return level{mean: make([]float64, n), min: buf[:n:n], max: buf[n : 2*n : 2*n], last: buf[2*n:],
		first: from, fresh: true}
}

// upTo counts the present value up to t.
func (l *level) upTo(t int64) {
	if t > l.since {
		l.sum += float64(l.now) * float64(t-l.since)
		l.count()
		l.since = t
	}
}

func (l *level) count() {
	if l.fresh {
		l.low, l.high, l.fresh = l.now, l.now, false
	}
	l.low, l.high = min(l.low, l.now), max(l.high, l.now)
	if l.now > l.peak {
		l.peak, l.peakAt = l.now, l.since
	}
}

// close ends window i of a run.
func (l *level) close(i int, g *grid) {
	from, to := g.bounds(i)
	l.upTo(to)
	if i == g.n-1 { // its end counts as well
		l.count()
		l.end = l.now
	}
	at := i - l.first
	if to > from {
		l.mean[at] = l.sum / float64(to-from)
	} else {
		l.mean[at] = float64(l.now)
	}
	l.min[at], l.max[at], l.last[at] = l.low, l.high, l.now
	l.sum, l.fresh = 0, true
}

// add changes the level at t by d. Changes come in order of time.
func (l *level) add(t, d int64) {
	l.upTo(t)
	l.now += d
}

// change is something that alters levels; what key and d mean is for the function to say that unpacks it.
type change[D int32 | int64] struct {
	t   int64 // relative to the start of the run
	key int32
	d   D
}

// perBucket is how many changes a bucket has on average.
const perBucket = 16

// arranged are changes in order of time.
type arranged[D int32 | int64] struct {
	list []change[D]
	ends []uint32 // by window: where its changes end
}

// changeSource calls emit for every change, in any order, with times on the common clock. It does the same
// each time.
type changeSource[D int32 | int64] func(emit func(t int64, key int32, d D))

// arrange lists the changes of a source. about is roughly how many there are. It fails when ctx ends.
func arrange[D int32 | int64](ctx context.Context, g grid, about int, source changeSource[D]) (arranged[D],
	error) {
	k := min(int64(about/g.n/perBucket)+1, g.width)
	small := (g.width + k - 1) / k
	bucket := func(t int64) int {
		w := t / g.width
		if w >= int64(g.n) {
			return g.n*int(k) - 1 // the end of the run, where it is also that of a window
		}
		return int(w*k + (t-w*g.width)/small)
	}
	at := make([]uint32, g.n*int(k)+1)
	source(func(t int64, _ int32, _ D) { at[bucket(g.clamp(t))+1]++ })
	for i := 1; i < len(at); i++ {
		at[i] += at[i-1]
	}
	out := arranged[D]{list: make([]change[D], at[len(at)-1]), ends: make([]uint32, g.n)}
	source(func(t int64, key int32, d D) {
		t = g.clamp(t)
		b := bucket(t)
		out.list[at[b]] = change[D]{t, key, d}
		at[b]++
	})
	// Now at[b] is where bucket b ends.
	next := uint32(0)
	for w := range g.n {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		for _, end := range at[w*int(k) : (w+1)*int(k)] {
			sortChanges(out.list[next:end])
			next = end
		}
		out.ends[w] = next
	}
	return out, nil
}

func sortChanges[D int32 | int64](list []change[D]) {
	slices.SortFunc(list, func(x, y change[D]) int { return cmp.Compare(x.t, y.t) })
}

// levelTable holds the levels of some quantities: for each quantity those of the places, then that of the
// whole run. It is a sink for changes in order of time.
type levelTable struct {
	row    [quantities]int // where a quantity begins, plus 1; 0 for those that are not wanted
	places int
	list   []level
}

func newLevelTable(wanted []quantity, places int) *levelTable {
	x := &levelTable{places: places, list: make([]level, len(wanted)*(places+1))}
	for i, q := range wanted {
		x.row[q] = i*(places+1) + 1
	}
	return x
}

// index gives the number of the level of a quantity at a place or in the whole run; -1 if nobody wants it.
func (x *levelTable) index(q quantity, place int32) int {
	i := x.row[q]
	switch {
	case i == 0 || int(place) >= x.places:
		return -1
	case place < 0:
		return i - 1 + x.places
	}
	return i - 1 + int(place)
}

func (x *levelTable) add(q quantity, place int32, t, d int64) {
	if i := x.index(q, place); i >= 0 {
		x.list[i].add(t, d)
	}
}

// netSums is a sink that adds up the changes of the levels of a table.
type netSums struct {
	*levelTable
	sums []int64
}

func (x *netSums) add(q quantity, place int32, _, d int64) {
	if i := x.index(q, place); i >= 0 {
		x.sums[i] += d
	}
}

// series makes a series of a level. An amount is the sum of what happened in each window, its level being the
// sum of everything so far.
func (c *computation) series(q quantity, l *level, node int, link string) Series {
	p := propertyOf(q)
	s := Series{Name: p.report, Unit: p.Unit, Node: node, Link: link, Mean: l.mean, Min: l.min, Max: l.max,
		Last: l.last, Peak: l.peak, PeakNS: l.peakAt, End: l.end}
	if p.Kind == "level" {
		return s
	}
	s.Sum, s.Min, s.Max, s.Last = l.last, nil, nil, nil
	s.Peak, s.PeakNS = 0, 0
	before := int64(0)
	for i, all := range l.last {
		from, to := c.grid.bounds(i)
		s.Mean[i] = 0
		if s.Sum[i], before = all-before, all; to > from {
			s.Mean[i] = float64(s.Sum[i]) / float64(to-from) * 1e9
		}
		if s.Sum[i] > s.Peak {
			s.Peak, s.PeakNS = s.Sum[i], from
		}
	}
	return s
}
