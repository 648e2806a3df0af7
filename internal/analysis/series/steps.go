package series

import (
	"cmp"
	"context"
	"slices"
)

// Steps into windows.
//
// Problem. A level such as the CFs that are ready changes millions of times, on many nodes, and its changes are
// found in the order of CFs, not of time. Wanted are, for each node and for all together, the mean and the extremes of
// every window and the exact peak, without keeping more than the changes themselves.
//
// Plan. The source of changes is asked twice. The first time they are counted by bucket, a small part of a window; the
// second time each is put where its bucket is in one array. The few changes of a bucket are sorted, so the whole is linear
// for changes that are spread over the run. Then one pass follows the values. Several processes have a share of the windows
// each (share.go).
//
// A value counts when the next change comes after it, not when it is set: so values that were there for no time,
// between two changes at the same nanosecond, never count, in whatever order they are met.

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

// window gives the window of a time relative to the start.
func (g *grid) window(t int64) int { return min(int(t/g.width), g.n-1) }

// bounds gives the window's times relative to the start of the run.
func (g *grid) bounds(i int) (from, to int64) {
	from = int64(i) * g.width
	return from, min(from+g.width, g.end-g.start)
}

// change is a step of one or several levels; what key and d mean is for the apply function to say.
type change[D int32 | int64] struct {
	t   int64 // relative to the start of the run
	key int32
	d   D
}

// level is a step function by windows.
type level struct {
	mean           []float64
	min, max, last []int64
	peak, peakAt   int64
	end            int64

	now, since int64 // present value; the time up to which it has been counted
	sum        float64
	low, high  int64
	fresh      bool // nothing was counted in this window
}

func newLevel(windows int) level {
	buf := make([]int64, 3*windows)
	return level{mean: make([]float64, windows), min: buf[:windows:windows], max: buf[windows : 2*windows : 2*windows],
		last: buf[2*windows:], fresh: true}
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

// close ends window i; final if it is the last, whose end counts as well.
func (l *level) close(i int, from, to int64, final bool) {
	l.upTo(to)
	if final {
		l.count()
		l.end = l.now
	}
	if to > from {
		l.mean[i] = l.sum / float64(to-from)
	} else {
		l.mean[i] = float64(l.now)
	}
	l.min[i], l.max[i], l.last[i] = l.low, l.high, l.now
	l.sum, l.fresh = 0, true
}

// add changes the level at t by d. Changes come in order of time.
func (l *level) add(t, d int64) {
	l.upTo(t)
	l.now += d
}

// perBucket is how many changes a bucket has on average.
const perBucket = 16

// arranged are changes in order of time.
type arranged[D int32 | int64] struct {
	list []change[D]
	ends []uint32 // by window: where its changes end
}

// arrange lists the changes that source gives. source calls its argument for every change, in any order, with absolute times;
// it does the same each time. about is roughly how many changes there are.
func arrange[D int32 | int64](ctx context.Context, g grid, about int, source func(emit func(t int64, key int32, d D))) (arranged[D], error) {
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

// levels follows count levels. source and about are as in arrange. apply makes a change, at a time relative to the start, to
// levels.
func levels[D int32 | int64](r *run, count, about int, source func(emit func(t int64, key int32, d D)),
	apply func(levels []level, c *change[D])) ([]level, error) {
	changes, err := arrange(r.ctx, r.grid, about, source)
	if err != nil {
		return nil, err
	}
	if r.share != nil {
		return sharedLevels(r, count, changes, apply)
	}
	out := make([]level, count)
	for i := range out {
		out[i] = newLevel(r.grid.n)
	}
	next := uint32(0)
	for w, end := range changes.ends {
		for i := range changes.list[next:end] {
			apply(out, &changes.list[int(next)+i])
		}
		next = end
		from, to := r.grid.bounds(w)
		for i := range out {
			out[i].close(w, from, to, w == r.grid.n-1)
		}
	}
	return out, nil
}

// single changes one level, whatever the key.
func single(l []level, c *change[int32]) { l[0].add(c.t, int64(c.d)) }

// series makes a series of a level.
func (l *level) series(name, unit string, node int, link string) Series {
	return Series{Name: name, Unit: unit, Node: node, Link: link, Mean: l.mean, Min: l.min, Max: l.max, Last: l.last,
		Peak: l.peak, PeakNS: l.peakAt, End: l.end}
}

// amount is what happened in each window.
type amount []int64

// series makes a series of an amount.
func (a amount) series(g *grid, name, unit string, link string) Series {
	s := Series{Name: name, Unit: unit, Node: -1, Link: link, Sum: a, Mean: make([]float64, len(a))}
	for i, v := range a {
		from, to := g.bounds(i)
		if to > from {
			s.Mean[i] = float64(v) / float64(to-from) * 1e9
		}
		s.End += v
		if v > s.Peak {
			s.Peak, s.PeakNS = v, from
		}
	}
	return s
}
