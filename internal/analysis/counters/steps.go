package counters

import (
	"cmp"
	"math"
	"math/bits"
	"sort"

	"github.com/whyslow/whyslow/internal/model"
)

// steps is a step function of time: 0, and from each of some times on another value. Times and values are any
// int64. Any number of goroutines may ask once it is settled.
//
// Its blocks know its integral and its extremes, so that a question about millions of steps looks at a few
// hundred. Integrals have 128 bits: a terabyte held for a day does not fit into 64.
type steps struct {
	times, values []int64
	blocks        []stepBlock
}

const stepsOfBlock = 128

type stepBlock struct {
	before    int128 // integral from the first time of all to that of the block
	low, high int64
}

// window is what a step function does in a stretch of time. Its value at the beginning of the stretch counts,
// that at the end does not.
type window struct {
	mean           float64
	min, max, last int64
}

// newSteps makes room for so many changes: on disk where the columns of the model are there.
func newSteps(m *model.Model, n int) *steps {
	both := model.Make[int64](m, 2*n)
	return &steps{times: both[:0:n], values: both[n:n]}
}

// add changes the function by d from t on. t is not before that of the last change.
func (s *steps) add(t, d int64) {
	n := len(s.times)
	switch {
	case n == 0:
		s.times, s.values = append(s.times, t), append(s.values, d)
	case s.times[n-1] == t:
		s.values[n-1] += d
	default:
		s.times, s.values = append(s.times, t), append(s.values, s.values[n-1]+d)
	}
}

// settle is needed after the last change, before the first question.
func (s *steps) settle() *steps {
	var integral int128
	s.blocks = make([]stepBlock, 0, len(s.values)/stepsOfBlock+1)
	for i, v := range s.values {
		if i > 0 {
			integral = integral.plus(product(s.values[i-1], s.times[i]-s.times[i-1]))
		}
		if i%stepsOfBlock == 0 {
			s.blocks = append(s.blocks, stepBlock{integral, v, v})
		}
		b := &s.blocks[i/stepsOfBlock]
		b.low, b.high = min(b.low, v), max(b.high, v)
	}
	return s
}

// find gives the last step at or before t, -1 if there is none.
func (s *steps) find(t int64) int {
	return sort.Search(len(s.times), func(i int) bool { return s.times[i] > t }) - 1
}

func (s *steps) value(i int) int64 {
	if i < 0 {
		return 0
	}
	return s.values[i]
}

// at gives the value at t: after all changes at or before t.
func (s *steps) at(t int64) int64 { return s.value(s.find(t)) }

// end gives the value after all changes.
func (s *steps) end() int64 { return s.value(len(s.values) - 1) }

// upTo gives the integral up to a time, before which the last step is the one at an index.
func (s *steps) upTo(i int, t int64) (sum int128) {
	if i < 0 {
		return sum
	}
	first := i / stepsOfBlock
	sum = s.blocks[first].before
	for k := first * stepsOfBlock; k < i; k++ {
		sum = sum.plus(product(s.values[k], s.times[k+1]-s.times[k]))
	}
	return sum.plus(product(s.values[i], t-s.times[i]))
}

// each gives the steps from one index to another, and of whole blocks their extremes instead, until it is
// told to stop. i is the first step of a block then.
func (s *steps) each(from, to int, step func(i int, low, high int64) bool) {
	for i := from; i <= to; {
		if b := i / stepsOfBlock; i%stepsOfBlock == 0 && i+stepsOfBlock-1 <= to {
			if !step(i, s.blocks[b].low, s.blocks[b].high) {
				return
			}
			i += stepsOfBlock
			continue
		}
		if !step(i, s.values[i], s.values[i]) {
			return
		}
		i++
	}
}

// extremes gives the least and the greatest value in [from, to], the ends included.
func (s *steps) extremes(from, to int64) (low, high int64) {
	first := s.find(from)
	low = s.value(first)
	high = low
	s.each(first+1, s.find(to), func(_ int, l, h int64) bool {
		low, high = min(low, l), max(high, h)
		return true
	})
	return low, high
}

// peak gives the greatest value in [from, to] and when it is first reached.
func (s *steps) peak(from, to int64) (t, value int64) {
	_, high := s.extremes(from, to)
	first := s.find(from)
	if s.value(first) == high {
		return from, high
	}
	s.each(first+1, len(s.values)-1, func(i int, _, h int64) bool {
		if h < high {
			return true
		}
		for s.values[i] < high {
			i++
		}
		t = s.times[i]
		return false
	})
	return t, high
}

// window tells what the function does in [from, to); the value at from, where to is not after it.
func (s *steps) window(from, to int64) window {
	if to <= from {
		v := s.at(from)
		return window{float64(v), v, v, v}
	}
	first, last := s.find(from), s.find(to-1)
	w := window{last: s.value(last)}
	w.mean = s.upTo(last, to).minus(s.upTo(first, from)).float() / float64(to-from)
	w.min, w.max = s.extremes(from, to-1)
	return w
}

// sumOf adds step functions; nil stands for one that is always 0.
func sumOf(m *model.Model, x, y *steps) *steps {
	if x == nil || y == nil {
		return cmp.Or(x, y)
	}
	sum := newSteps(m, len(x.times)+len(y.times))
	for i, k := 0, 0; i < len(x.times) || k < len(y.times); {
		if k == len(y.times) || i < len(x.times) && x.times[i] <= y.times[k] {
			sum.add(x.times[i], x.values[i]-x.value(i-1))
			i++
		} else {
			sum.add(y.times[k], y.values[k]-y.value(k-1))
			k++
		}
	}
	return sum.settle()
}

// windowWidth gives the length and number of the windows, the last of which may be shorter, into which n
// asked for cut [from, to): at least 1 each.
func windowWidth(from, to int64, n int) (width int64, count int) {
	n = max(n, 1)
	span := uint64(to) - uint64(from)
	if to <= from {
		return 1, 1
	}
	width = int64((span-1)/uint64(n)) + 1
	return width, int((span-1)/uint64(width)) + 1
}

// int128 is a signed number of 128 bits. It wraps.
type int128 struct {
	high int64
	low  uint64
}

func (a int128) plus(b int128) int128 {
	low, carry := bits.Add64(a.low, b.low, 0)
	return int128{a.high + b.high + int64(carry), low}
}

func (a int128) minus(b int128) int128 {
	low, borrow := bits.Sub64(a.low, b.low, 0)
	return int128{a.high - b.high - int64(borrow), low}
}

// product is a*b, exactly.
func product(a, b int64) int128 {
	high, low := bits.Mul64(uint64(a), uint64(b))
	// Mul64 took negative numbers for 2^64 more than they are.
	return int128{int64(high) - a>>63&b - b>>63&a, low}
}

// float is the nearest float64, but for an error of a few units in the last place.
func (a int128) float() float64 {
	if a.high < 0 {
		return -int128{}.minus(a).magnitude()
	}
	return a.magnitude()
}

func (a int128) magnitude() float64 {
	return math.Ldexp(float64(uint64(a.high)), 64) + float64(a.low)
}
