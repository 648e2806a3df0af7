package counters

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/model"
)

// naive is a step function as a list of changes.
type naive []struct{ t, d int64 }

func (f naive) at(t int64) (v int64) {
	for _, c := range f {
		if c.t <= t {
			v += c.d
		}
	}
	return v
}

// window looks at all moments of [from, to) at which the function may change.
func (f naive) window(from, to int64) window {
	times := []int64{from}
	for _, c := range f {
		if c.t > from && c.t < to {
			times = append(times, c.t)
		}
	}
	times = slices.Compact(times)
	w := window{min: math.MaxInt64, max: math.MinInt64}
	for i, t := range times {
		end := to
		if i+1 < len(times) {
			end = times[i+1]
		}
		v := f.at(t)
		w.min, w.max, w.last = min(w.min, v), max(w.max, v), v
		w.mean += float64(v) * float64(end-t) / float64(to-from)
	}
	return w
}

func (f naive) peak(from, to int64) (int64, int64) {
	at, best := from, f.at(from)
	for _, c := range f {
		if v := f.at(c.t); c.t > from && c.t <= to && v > best {
			at, best = c.t, v
		}
	}
	return at, best
}

func randomSteps(t *rapid.T, name string) (f naive, s *steps) {
	s = &steps{}
	at := rapid.Int64Range(-500, 500).Draw(t, name)
	seed := rapid.Uint64().Draw(t, "seed")
	next := func(n int64) int64 {
		seed = seed*6364136223846793005 + 1442695040888963407
		return int64(seed>>33) % n
	}
	for range rapid.IntRange(0, 1000).Draw(t, "n") {
		at += next(4)
		f = append(f, struct{ t, d int64 }{at, next(21) - 10})
		s.add(at, f[len(f)-1].d)
	}
	return f, s.settle()
}

// TestSteps asks everything of a step function, and of the sum of two.
func TestSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, s := randomSteps(t, "one")
		if rapid.Bool().Draw(t, "sum") {
			g, other := randomSteps(t, "other")
			s, f = sumOf(&model.Model{}, s, other), append(f, g...)
			slices.SortStableFunc(f, func(a, b struct{ t, d int64 }) int { return int(a.t - b.t) })
		}
		from := rapid.Int64Range(-600, 3000).Draw(t, "from")
		to := from + rapid.Int64Range(1, 3000).Draw(t, "long")
		if got, want := s.at(from), f.at(from); got != want {
			t.Fatalf("at %d: %d, want %d", from, got, want)
		}
		if got, want := s.end(), f.at(math.MaxInt64); got != want {
			t.Fatalf("%d at the end, want %d", got, want)
		}
		at, v := s.peak(from, to)
		if wantAt, wantV := f.peak(from, to); at != wantAt || v != wantV {
			t.Fatalf("peak of [%d, %d]: %d at %d, want %d at %d", from, to, v, at, wantV, wantAt)
		}
		got, want := s.window(from, to), f.window(from, to)
		if math.Abs(got.mean-want.mean) > 1e-9 {
			t.Fatalf("mean of [%d, %d): %g, want %g", from, to, got.mean, want.mean)
		}
		if got.mean = want.mean; got != want {
			t.Fatalf("[%d, %d): %+v, want %+v", from, to, got, want)
		}
		v = s.at(from)
		if got := s.window(from, from); got != (window{float64(v), v, v, v}) {
			t.Fatalf("at %d: %+v, the value is %d", from, got, v)
		}
	})
}

// TestStepsOfDays holds a terabyte for days: an integral that 64 bits cannot have.
func TestStepsOfDays(t *testing.T) {
	const day, tera = 24 * 3600 * 1e9, 1 << 40
	s := &steps{}
	for i := range int64(1000) {
		s.add(i*day, tera*(1-i&1*2))
	}
	if got := s.settle().window(0, 1000*day); got.mean != tera/2 || got.min != 0 || got.max != tera {
		t.Errorf("%+v", got)
	}
}

func TestWindowWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, span := rapid.Int64Range(-1600, 4000).Draw(t, "from"), rapid.Int64Range(0, 4000).Draw(t, "span")
		n := rapid.IntRange(1, 50).Draw(t, "windows")
		width, count := windowWidth(from, from+span, n)
		if count > n || span > 0 && (int64(count)*width < span || int64(count-1)*width >= span) {
			t.Fatalf("%d windows of %d, %d asked for", count, width, n)
		}
	})
}
