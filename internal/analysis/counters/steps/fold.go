package steps

import "math"

// Of makes a step function of changes in order of time; those at the same time count together. Several
// goroutines may ask it until something is added.
func Of(changes []Change) *Steps {
	s := &Steps{}
	for _, c := range changes {
		s.Add(c.T, c.D)
	}
	s.settle()
	return s
}

// most is how many changes stand for a folded stretch: at its beginning, up to the greatest value, down to
// the least, to the mean rounded down and up, and to the last value.
const most = 6

// Fold coarsens what was before a time, cut down to a multiple of resolution, in nanoseconds: stretches from
// one multiple to the next with many changes become a few that have the same value at the multiples, the same
// integral and the same least and greatest value. Within such a stretch the function is no longer what it
// was. What is added later is added exactly.
func (s *Steps) Fold(before, resolution int64) {
	if resolution < 2*most || s.n == 0 {
		return
	}
	before = floor(before, resolution)
	out := make([]Change, 0, s.n/2)
	var part []Change
	start, value := int64(math.MinInt64), int64(0)
	flush := func() {
		if len(part) > most {
			part = fold(part, value, start, start+resolution)
		}
		for _, c := range part {
			value += c.D
		}
		out = append(out, part...)
		part = part[:0]
	}
	for c := range s.All() {
		if at := floor(c.T, resolution); at != start {
			flush()
			start = at
		}
		if c.T >= before || c.T < math.MinInt64+resolution {
			out = append(out, c) // part is empty: stretches do not reach across before
			value += c.D
		} else {
			part = append(part, c)
		}
	}
	flush()
	if len(out) < s.n {
		*s = *Of(out)
	}
}

func floor(t, resolution int64) int64 {
	r := t % resolution
	if r < 0 {
		r += resolution
	}
	return t - r
}

// fold makes few of many changes in [from, to), value being that before them.
//
// The shortened stretch has one nanosecond of the first value, one of the greatest, one of the least and one
// of the last, as the function itself has at least. So the mean of what remains lies between its extremes.
func fold(part []Change, value, from, to int64) []Change {
	var out []Change
	was := value
	set := func(t, v int64) {
		if v != was {
			out = append(out, Change{t, v - was})
			was = v
		}
	}
	// The value is followed from from on; what the integral has left over is spread over the rest.
	v, t := value, from
	low, high := int64(math.MaxInt64), int64(math.MinInt64)
	var integral int128
	for i, c := range part {
		if c.T > t {
			integral = integral.plus(product(v, c.T-t))
			low, high = min(low, v), max(high, v)
			t = c.T
		}
		v += c.D
		if i == len(part)-1 {
			low, high = min(low, v), max(high, v)
		}
	}
	integral = integral.plus(product(v, to-t))
	first := value
	if part[0].T == from {
		first += part[0].D
	}
	at, end := from, to-1
	pulse := func(v int64) {
		set(at, v)
		integral = integral.minus(product(v, 1))
		at++
	}
	pulse(first)
	integral = integral.minus(product(v, 1)) // the last nanosecond
	if high > max(first, v) {
		pulse(high)
	}
	if low < min(first, v) {
		pulse(low)
	}
	mean, more := integral.div(end - at)
	set(at, mean)
	if more > 0 {
		set(end-more, mean+1)
	}
	set(end, v)
	return out
}
