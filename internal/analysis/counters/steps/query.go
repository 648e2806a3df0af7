package steps

import (
	"iter"
	"math"
)

// Window is what a step function does in a stretch of time. Its value at the beginning of the stretch counts,
// that at the end does not.
type Window struct {
	Mean           float64
	Min, Max, Last int64
}

// At gives the value at t: after all changes at or before t.
func (s *Steps) At(t int64) int64 {
	return s.upTo(t).d
}

// End gives the value after all changes.
func (s *Steps) End() int64 { return s.At(math.MaxInt64) }

// upTo adds up the changes at or before t.
func (s *Steps) upTo(t int64) sum {
	s.settle()
	k := s.find(t)
	if k < 0 {
		return sum{}
	}
	d := s.leaves[k].before
	for _, c := range s.leaves[k].changes {
		if c.T > t {
			break
		}
		d.take(c)
	}
	return d
}

// integral is that of the function between two times. The changes add up to x at the first one, to y at the
// second one.
func integral(x, y sum, from, to int64) float64 {
	return product(y.d, to).minus(y.moment).minus(product(x.d, from).minus(x.moment)).float()
}

// Range gives the least and the greatest value in [from, to], the ends included.
func (s *Steps) Range(from, to int64) (low, high int64) {
	v := s.At(from)
	low, high = v, v
	for k := max(s.find(from), 0); k < len(s.leaves) && s.leaves[k].first <= to; k++ {
		l := s.leaves[k]
		v = l.before.d
		if l.first > from && l.last() <= to {
			low, high = min(low, v+l.own.low), max(high, v+l.own.high)
			continue
		}
		for _, c := range l.changes {
			if v += c.D; c.T > from && c.T <= to {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	return low, high
}

// Peak gives the greatest value in [from, to] and when it is first reached.
func (s *Steps) Peak(from, to int64) (t, value int64) {
	_, high := s.Range(from, to)
	if s.At(from) == high {
		return from, high
	}
	for k := max(s.find(from), 0); k < len(s.leaves); k++ {
		l := s.leaves[k]
		v := l.before.d
		if v+l.own.high < high {
			continue
		}
		for _, c := range l.changes {
			if v += c.D; c.T > from && v >= high {
				return c.T, high
			}
		}
	}
	return from, high
}

// Window tells what the function does in [from, to); the value at from, where to is not after it.
func (s *Steps) Window(from, to int64) Window {
	if to <= from {
		v := s.At(from)
		return Window{float64(v), v, v, v}
	}
	w := Window{Mean: integral(s.upTo(from), s.upTo(to), from, to) / float64(to-from), Last: s.At(to - 1)}
	w.Min, w.Max = s.Range(from, to-1)
	return w
}

// Width gives the length and number of the windows, the last of which may be shorter, into which n asked for
// cut [from, to): at least 1 each.
func Width(from, to int64, n int) (width int64, count int) {
	n = max(n, 1)
	span := uint64(to) - uint64(from)
	if to <= from {
		return 1, 1
	}
	width = int64((span-1)/uint64(n)) + 1
	return width, int((span-1)/uint64(width)) + 1
}

// All gives the changes in order of time.
func (s *Steps) All() iter.Seq[Change] {
	return func(yield func(Change) bool) {
		for _, l := range s.leaves {
			for _, c := range l.changes {
				if !yield(c) {
					return
				}
			}
		}
	}
}
