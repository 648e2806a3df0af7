package counters

import "slices"

// Levels in windows
//
// Problem. A level such as the CFs that are ready changes millions of times, on many nodes, and its changes
// are found in the order of CFs, not of time. The report wants, for each node and for the run, the mean and
// the extremes of every window and the exact peak, with no more memory than the changes themselves.
//
// Plan. The changes of a family of quantities are put in order of time (record.go). One pass then follows all
// levels. One change of a state alters several levels, so there are fewer changes than steps of levels.
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

// levelWindows are the mean, least, greatest and last value in each of some windows.
type levelWindows struct {
	Mean           []float64
	Min, Max, Last []int64
}

// level is a step function by windows.
type level struct {
	levelWindows
	first        int // the window that the lists begin with
	peak, peakAt int64
	end          int64

	now, since int64 // the present value; the time up to which it has been counted
	sum        float64
	low, high  int64
	fresh      bool // nothing was counted in this window
}

// newLevel makes a level of the windows from one up to but not including another.
func newLevel(from, to int) level {
	n := to - from
	buf := make([]int64, 3*n)
	return level{levelWindows: levelWindows{make([]float64, n), buf[:n:n], buf[n : 2*n : 2*n], buf[2*n:]},
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

// close ends window i of a run. A level that never changed has no windows yet, and needs none.
func (l *level) close(i int, g *grid) {
	from, to := g.bounds(i)
	if l.Mean == nil {
		l.since = to
		return
	}
	l.upTo(to)
	if i == g.n-1 { // its end counts as well
		l.count()
		l.end = l.now
	}
	at := i - l.first
	if to > from {
		l.Mean[at] = l.sum / float64(to-from)
	} else {
		l.Mean[at] = float64(l.now)
	}
	l.Min[at], l.Max[at], l.Last[at] = l.low, l.high, l.now
	l.sum, l.fresh = 0, true
}

// add changes the level at t by d. Changes come in order of time.
func (l *level) add(t, d int64) {
	l.upTo(t)
	l.now += d
}

// begin makes the n windows of a level that was 0 up to now.
func (l *level) begin(n int) {
	since := l.since
	*l = newLevel(0, n)
	l.since = since
}

// levelTable holds the levels of some quantities: for each quantity those of the places, then that of the
// whole run.
type levelTable struct {
	places  int
	list    []level
	rows    [kinds][]levelEffect
	windows int // of a level, which gets them when it changes; 0: all levels have theirs
}

// levelEffect is an effect on a quantity of the table.
type levelEffect struct {
	effect
	first int // the first level of the quantity, or that of the whole run
}

func newLevelTable(wanted []quantity, places int) *levelTable {
	x := &levelTable{places: places, list: make([]level, len(wanted)*(places+1))}
	for k, list := range effects {
		for _, e := range list {
			if i := slices.Index(wanted, e.q); i >= 0 {
				first := i * (places + 1)
				if e.whole {
					first += places
				}
				x.rows[k] = append(x.rows[k], levelEffect{e, first})
			}
		}
	}
	return x
}

// follow takes in the changes of a record from one to another.
func (x *levelTable) follow(list *record, from, to int) {
	for i := from; i < to; i++ {
		for _, e := range x.rows[list.Kind[i]] {
			at, d := e.first, int64(e.n)
			if !e.whole {
				place := list.Place[i]
				if uint32(place) >= uint32(x.places) {
					continue
				}
				at += int(place)
			}
			if e.sized {
				d *= list.size(i)
			}
			if d != 0 {
				l := &x.list[at]
				if l.Mean == nil && x.windows > 0 {
					l.begin(x.windows)
				}
				l.add(list.T[i], d)
			}
		}
	}
}

// series makes a series of a level. An amount is the sum of what happened in each window, its level being the
// sum of everything so far.
func (c *computation) series(q quantity, l *level, node int, link string) Series {
	p := propertyOf(q)
	s := Series{Name: p.report, Unit: p.Unit, Node: node, Link: link, Mean: l.Mean, Min: l.Min, Max: l.Max,
		Last: l.Last, Peak: l.peak, PeakNS: l.peakAt, End: l.end}
	if p.Kind == "level" {
		return s
	}
	s.Sum, s.Min, s.Max, s.Last = l.Last, nil, nil, nil
	s.Peak, s.PeakNS = 0, 0
	before := int64(0)
	for i, all := range l.Last {
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
