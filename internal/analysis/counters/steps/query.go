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
	v, _ := s.upTo(t)
	return v
}

// End gives the value after all changes.
func (s *Steps) End() int64 { return s.At(math.MaxInt64) }

// upTo adds up the changes at or before t.
func (s *Steps) upTo(t int64) (d int64, moment int128) {
	n := s.tree()
	if n == nil {
		return 0, moment
	}
	for n.children != nil {
		k := n.after(t)
		if k == 0 {
			return d, moment
		}
		for i := range n.children[:k-1] {
			c := &n.children[i].sum
			d += c.d
			moment = moment.plus(c.moment)
		}
		n = n.children[k-1].node
	}
	for _, c := range n.changes {
		if c.T > t {
			break
		}
		d += c.D
		moment = moment.plus(product(c.D, c.T))
	}
	return d, moment
}

// integral is that of the function from from to to.
func (s *Steps) integral(from, to int64) int128 {
	a, am := s.upTo(from)
	b, bm := s.upTo(to)
	return product(b, to).minus(bm).minus(product(a, from).minus(am))
}

// Integral gives the sum of value times duration over [from, to), in value times nanoseconds: the exact
// integral, rounded to a float64. It is 0 where to is not after from.
func (s *Steps) Integral(from, to int64) float64 {
	if to <= from {
		return 0
	}
	return s.integral(from, to).float()
}

// Range gives the least and the greatest value in [from, to], the ends included.
func (s *Steps) Range(from, to int64) (low, high int64) {
	r := reach{from: from, to: to}
	if n := s.tree(); n != nil {
		r.visit(n, math.MaxInt64)
	}
	return r.extremes()
}

// reach looks for the extremes of the values between two times.
type reach struct {
	from, to int64
	sum      // of the changes after from; d is the value, that of those before included
	start    int64
	begun    bool
}

func (r *reach) begin() {
	if !r.begun {
		r.begun, r.start = true, r.d
		r.low, r.high = r.d, r.d
	}
}

func (r *reach) extremes() (int64, int64) {
	r.begin()
	return r.low, r.high
}

// visit takes a node whose changes are all before end. It tells whether there may be more to see behind it.
func (r *reach) visit(n *node, end int64) bool {
	for i := range n.children {
		c := &n.children[i]
		if c.first > r.to {
			return false
		}
		until := end
		if i+1 < len(n.children) {
			until = n.children[i+1].first
		}
		switch {
		case !r.begun && until != math.MaxInt64 && until <= r.from+1:
			r.d += c.d
		case c.first > r.from && until != math.MaxInt64 && until <= r.to+1:
			r.begin()
			r.low, r.high = min(r.low, r.d+c.low), max(r.high, r.d+c.high)
			r.d += c.d
		default:
			if !r.visit(c.node, until) {
				return false
			}
		}
	}
	for _, c := range n.changes {
		switch {
		case c.T <= r.from:
			r.d += c.D
		case c.T > r.to:
			return false
		default:
			r.begin()
			r.d += c.D
			r.low, r.high = min(r.low, r.d), max(r.high, r.d)
		}
	}
	return true
}

// Peak gives the greatest value in [from, to] and when it is first reached.
func (s *Steps) Peak(from, to int64) (t, value int64) {
	_, high := s.Range(from, to)
	if n := s.tree(); n != nil && s.At(from) < high {
		d := int64(0)
		return n.reaches(from, high, &d), high
	}
	return from, high
}

// reaches gives the first time after from at which the value is v or more, d being that before the node, to
// which the changes passed over are added. There must be one, or the result is no time of the node.
func (n *node) reaches(from, v int64, d *int64) int64 {
	for i := range n.children {
		c := &n.children[i]
		if i+1 < len(n.children) && (n.children[i+1].first <= from || *d+c.high < v) {
			*d += c.d
			continue
		}
		if t := c.reaches(from, v, d); t != math.MaxInt64 {
			return t
		}
	}
	for _, c := range n.changes {
		if *d += c.D; c.T > from && *d >= v {
			return c.T
		}
	}
	return math.MaxInt64
}

// Windows cuts [from, to) into windows of equal length, the last of which may be shorter, and tells what the
// function does in each. There are n of them, fewer where the stretch has fewer nanoseconds than that; one
// window, the value at from, where to is not after from. Width gives their length.
func (s *Steps) Windows(from, to int64, n int) []Window {
	if to <= from {
		v := s.At(from)
		return []Window{{float64(v), v, v, v}}
	}
	width, count := Width(from, to, n)
	out := make([]Window, count)
	d, m := s.upTo(from)
	for i := range out {
		a := from + int64(i)*width
		b := a + min(width, to-a)
		w := &out[i]
		w.Min, w.Max = s.Range(a, b-1)
		w.Last = s.At(b - 1)
		e, em := s.upTo(b)
		w.Mean = product(e, b).minus(em).minus(product(d, a).minus(m)).float() / float64(b-a)
		d, m = e, em
	}
	return out
}

// Width gives the length and number of the windows into which n asked for cut [from, to): at least 1 each.
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
		n := s.root
		for n != nil && n.children != nil {
			n = n.children[0].node
		}
		for ; n != nil; n = n.next {
			for _, c := range n.changes {
				if !yield(c) {
					return
				}
			}
		}
	}
}
