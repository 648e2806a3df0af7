//go:build !no_profile_module

package modules

import (
	"math"
	"math/bits"
	"sync/atomic"
)

// distribution is a histogram of durations with a fixed relative error: every power of two is cut into steps
// equal parts. One goroutine adds; others may read at the same time.
//
// HdrHistogram cannot be read while it is written, and takes 37 kB for hours at this error, for each worker
// and code fragment. Here a part is made when a duration falls into it.
type distribution struct {
	total, min, max atomic.Int64 // min is one more than that, 0 if there is none
	parts           [parts]atomic.Pointer[[steps]atomic.Uint64]
}

const (
	stepBits = 5
	steps    = 1 << stepBits
	parts    = 64 - stepBits
	// quantileError is how far a quantile may be from the duration it stands for, relatively.
	quantileError = 1.0 / (2 * steps)
)

// add counts a duration; a negative one, of clocks that disagree, as 0.
func (d *distribution) add(v int64) {
	v = max(v, 0)
	d.total.Add(v)
	if m := d.min.Load(); m == 0 || v < m-1 {
		d.min.Store(v + 1)
	}
	if v > d.max.Load() {
		d.max.Store(v)
	}
	part, step := 0, v
	if v >= steps {
		part = bits.Len64(uint64(v)) - stepBits
		step = v>>(part-1) - steps
	}
	p := d.parts[part].Load()
	if p == nil {
		p = new([steps]atomic.Uint64)
		d.parts[part].Store(p)
	}
	p[step].Add(1)
}

// summary is one distribution or the sum of several.
type summary struct {
	count, total, min, max int64
	parts                  [parts][steps]uint64
}

// merge adds what a distribution has.
func (s *summary) merge(d *distribution) {
	lowest := d.min.Load()
	if lowest == 0 {
		return
	}
	if s.count == 0 || lowest-1 < s.min {
		s.min = lowest - 1
	}
	s.max = max(s.max, d.max.Load())
	s.total += d.total.Load()
	for i := range d.parts {
		if p := d.parts[i].Load(); p != nil {
			for k := range p {
				n := p[k].Load()
				s.parts[i][k] += n
				s.count += int64(n)
			}
		}
	}
}

// quantile returns the smallest duration that at least share of all do not exceed, within quantileError.
func (s *summary) quantile(share float64) int64 {
	rank := max(1, int64(math.Ceil(share*float64(s.count))))
	for i := range s.parts {
		for k, n := range s.parts[i] {
			if rank -= int64(n); rank > 0 {
				continue
			}
			v := int64(k)
			if i > 0 {
				width := int64(1) << (i - 1)
				v = (int64(k)+steps)*width + (width-1)/2
			}
			return max(s.min, min(v, s.max))
		}
	}
	return s.max
}
