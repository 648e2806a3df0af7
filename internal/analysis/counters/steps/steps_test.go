package steps_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/counters/steps"
)

// naive is a step function as a list of changes in no order.
type naive []steps.Change

func (f naive) at(t int64) (v int64) {
	for _, c := range f {
		if c.T <= t {
			v += c.D
		}
	}
	return v
}

// span gives what the function does in [from, to), nanosecond by nanosecond where it changes.
func (f naive) span(from, to int64) (w steps.Window, integral float64) {
	times := []int64{from}
	for _, c := range f {
		if c.T > from && c.T < to {
			times = append(times, c.T)
		}
	}
	slices.Sort(times)
	times = slices.Compact(times)
	w.Min, w.Max = math.MaxInt64, math.MinInt64
	for i, t := range times {
		end := to
		if i+1 < len(times) {
			end = times[i+1]
		}
		v := f.at(t)
		w.Min, w.Max, w.Last = min(w.Min, v), max(w.Max, v), v
		integral += float64(v) * float64(end-t)
	}
	w.Mean = integral / float64(to-from)
	return w, integral
}

func (f naive) peak(from, to int64) (int64, int64) {
	at, best := from, f.at(from)
	list := slices.Clone(f)
	slices.SortFunc(list, func(a, b steps.Change) int { return int(a.T - b.T) })
	for _, c := range list {
		if v := f.at(c.T); c.T > from && c.T <= to && v > best {
			at, best = c.T, v
		}
	}
	return at, best
}

// changes draws changes that come in order, nearly in order or in none.
func changes(t *rapid.T) naive {
	var f naive
	n := rapid.IntRange(0, 1500).Draw(t, "n")
	seed := rapid.Uint64().Draw(t, "seed")
	next := func(n int64) int64 {
		seed = seed*6364136223846793005 + 1442695040888963407
		return int64(seed>>33) % n
	}
	late := []int64{1, 20, 400, 1 << 20}[rapid.IntRange(0, 3).Draw(t, "late")]
	step := rapid.Int64Range(1, 5).Draw(t, "step")
	at := rapid.Int64Range(-500, 500).Draw(t, "start")
	for range n {
		at += next(step + 1)
		f = append(f, steps.Change{T: at - next(min(late, 1000)), D: next(21) - 10})
	}
	return f
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-12*max(math.Abs(a), math.Abs(b)) }

// TestAgainstNaive asks everything, between insertions too.
func TestAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := changes(t)
		var s steps.Steps
		check := func(f naive) {
			from := rapid.Int64Range(-1600, 4000).Draw(t, "from")
			to := from + rapid.Int64Range(1, 4000).Draw(t, "long")
			if got, want := s.At(from), f.at(from); got != want {
				t.Fatalf("at %d: %d, want %d", from, got, want)
			}
			want, integral := f.span(from, to)
			if got := s.Integral(from, to); !near(got, integral) {
				t.Fatalf("integral of [%d, %d): %g, want %g", from, to, got, integral)
			}
			if lo, hi := s.Range(from, to-1); lo != want.Min || hi != want.Max {
				t.Fatalf("range of [%d, %d): %d to %d, want %d to %d", from, to, lo, hi, want.Min, want.Max)
			}
			at, v := s.Peak(from, to)
			if wantAt, wantV := f.peak(from, to); at != wantAt || v != wantV {
				t.Fatalf("peak of [%d, %d]: %d at %d, want %d at %d", from, to, v, at, wantV, wantAt)
			}
		}
		stop := rapid.IntRange(0, len(f)).Draw(t, "stop")
		for i, c := range f {
			if i == stop {
				check(f[:i])
			}
			s.Add(c.T, c.D)
		}
		check(f)
		sorted := slices.Clone(f)
		slices.SortStableFunc(sorted, func(a, b steps.Change) int { return int(a.T - b.T) })
		built := steps.Of(sorted)
		if !slices.Equal(slices.Collect(s.All()), slices.Collect(built.All())) || built.Len() != s.Len() {
			t.Fatal("built in order it is another one")
		}
		from := rapid.Int64Range(-1600, 4000).Draw(t, "from")
		to := from + rapid.Int64Range(0, 4000).Draw(t, "long")
		n := rapid.IntRange(1, 50).Draw(t, "windows")
		width, count := steps.Width(from, to, n)
		if count > n || to > from && (int64(count)*width < to-from || int64(count-1)*width >= to-from) {
			t.Fatalf("%d windows of %d, %d asked for", count, width, n)
		}
		for _, s := range []*steps.Steps{&s, built} {
			for i := range count {
				a := from + int64(i)*width
				got := s.Window(a, min(a+width, to))
				want, _ := f.span(a, min(a+width, max(to, from+1)))
				if got.Min != want.Min || got.Max != want.Max || got.Last != want.Last ||
					!near(got.Mean, want.Mean) {
					t.Fatalf("window %d: %+v, want %+v", i, got, want)
				}
			}
		}
	})
}

// TestFold checks what folding keeps, again and again with doubled resolution and with changes that come
// afterwards.
func TestFold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := changes(t)
		var s steps.Steps
		for _, c := range f {
			s.Add(c.T, c.D)
		}
		resolution := rapid.Int64Range(12, 100).Draw(t, "resolution")
		before := rapid.Int64Range(-1000, 4000).Draw(t, "before")
		for range rapid.IntRange(1, 3).Draw(t, "times") {
			s.Fold(before, resolution)
			resolution *= 2
		}
		resolution /= 2
		// Whatever comes late is exact at the multiples too.
		for range rapid.IntRange(0, 20).Draw(t, "late") {
			c := steps.Change{T: rapid.Int64Range(-1000, 4000).Draw(t, "t"),
				D: rapid.Int64Range(-9, 9).Draw(t, "d")}
			s.Add(c.T, c.D)
			f = append(f, c)
		}
		var stretches []int64
		for _, c := range f {
			r := ((c.T % resolution) + resolution) % resolution
			stretches = append(stretches, c.T-r)
		}
		slices.Sort(stretches)
		stretches = slices.Compact(stretches)
		for _, a := range stretches {
			b := a + resolution
			want, integral := f.span(a, b)
			if got := s.Integral(a, b); !near(got, integral) || s.At(a) != f.at(a) || s.At(b-1) != want.Last {
				t.Fatalf("[%d, %d): integral %g, want %g; first %d, want %d; last %d, want %d", a, b, got,
					integral, s.At(a), f.at(a), s.At(b-1), want.Last)
			}
		}
	})
}

// TestFoldExtremes checks that folding keeps extremes and bounds the number of changes.
func TestFoldExtremes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := changes(t)
		var s steps.Steps
		for _, c := range f {
			s.Add(c.T, c.D)
		}
		resolution := rapid.Int64Range(12, 100).Draw(t, "resolution")
		const before = 10000
		s.Fold(before, resolution)
		s.Fold(before, 2*resolution)
		resolution *= 2
		from := int64(-2000) / resolution * resolution
		n := 0
		for a := from; a < before; a += resolution {
			want, _ := f.span(a, a+resolution)
			if lo, hi := s.Range(a, a+resolution-1); lo != want.Min || hi != want.Max {
				t.Fatalf("[%d, %d): %d to %d, want %d to %d", a, a+resolution, lo, hi, want.Min, want.Max)
			}
			n += 6
		}
		if s.Len() > n {
			t.Fatalf("%d changes are left in %d stretches", s.Len(), n/6)
		}
	})
}

// TestLargeIntegral needs more than 64 bits: a terabyte held for a day.
func TestLargeIntegral(t *testing.T) {
	var s steps.Steps
	const tb, day = 1e12, 86400 * 1e9
	s.Add(5, tb)
	s.Add(5+day, -tb)
	if got := s.Integral(0, 2*day); got != tb*day {
		t.Errorf("%g, want %g", got, float64(tb*day))
	}
	s.Fold(10*day, 4*day)
	s.Add(math.MinInt64, 3)
	s.Add(math.MaxInt64, -3)
	if got := s.At(0); got != 3 || s.End() != 0 {
		t.Error(got, s.End())
	}
}
