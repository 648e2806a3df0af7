package model

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/testkit/effort"
)

// world is nodes whose clocks are wrong in a known way, and what they tell each other.
type world struct {
	clocks    []wrongClock
	syncs     [][]ClockSync // periodic comparisons
	crossings []Crossing
	truth     [][2]int64 // of each crossing: when it was really sent and received
	bound     int64      // of the comparisons' error
}

// wrongClock is off by offset and runs too fast by drift[i] in the i-th piece of time, each step long.
type wrongClock struct {
	offset float64
	drift  []float64
	step   float64
}

// read is what the clock says at a true time.
func (c *wrongClock) read(t int64) int64 {
	off, rest := c.offset, float64(t)
	for i := 0; rest > 0; i++ {
		d := c.drift[min(i, len(c.drift)-1)]
		if i < len(c.drift)-1 {
			off += d * min(rest, c.step)
			rest -= c.step
		} else {
			off += d * rest
			rest = 0
		}
	}
	return t + int64(math.Round(off))
}

type worldOptions struct {
	nodes, crossings, pieces int
	length                   int64   // ns
	offset, drift, walk      float64 // ns; parts; change of the drift by the root of a second
	latency                  int64   // least of a message
	apart                    int64   // between comparisons
	way, busy                int64   // there and back, of the first and the last comparison and of those between
}

func newWorld(rnd *rand.Rand, o worldOptions) *world {
	w := &world{bound: max(o.way, o.busy) / 2}
	for n := range o.nodes {
		c := wrongClock{step: float64(o.length) / float64(o.pieces), drift: make([]float64, o.pieces)}
		if n > 0 {
			c.offset = (2*rnd.Float64() - 1) * o.offset
			d := (2*rnd.Float64() - 1) * o.drift
			for i := range c.drift {
				c.drift[i] = d
				d += rnd.NormFloat64() * o.walk * math.Sqrt(c.step/1e9)
			}
		}
		w.clocks = append(w.clocks, c)
		var list []ClockSync
		for t := int64(0); n > 0; t = min(t+o.apart, o.length) {
			// The master is read anywhere between question and answer.
			way := o.way
			if t > 0 && t < o.length {
				way = o.busy
			}
			asked, back := w.clocks[n].read(t), w.clocks[n].read(t+way)
			at := asked + (back-asked)/2
			k := ClockSync{at, t + rnd.Int64N(way+1) - at, (way + 1) / 2}
			if i := len(list) - 1; i < 0 || (list[i].Time < k.Time && list[i].Time+list[i].Offset < k.Time+k.Offset) {
				list = append(list, k) // else they would not be by time, or the clock would go back
			}
			if t == o.length {
				break
			}
		}
		w.syncs = append(w.syncs, list)
	}
	for range o.crossings {
		from, to := rnd.IntN(o.nodes), rnd.IntN(o.nodes-1)
		if to >= from {
			to++
		}
		sent := rnd.Int64N(o.length)
		w.send(from, to, sent, sent+o.latency+int64(rnd.ExpFloat64()*2000))
	}
	return w
}

func (w *world) send(from, to int, sent, received int64) {
	w.crossings = append(w.crossings, Crossing{int32(from), int32(to), w.clocks[from].read(sent),
		w.clocks[to].read(received)})
	w.truth = append(w.truth, [2]int64{sent, received})
}

// errors are the mean and the largest difference between the true and the corrected times of the crossings.
func (w *world) errors(clocks [][]ClockSync) (mean float64, largest int64) {
	for i, e := range w.crossings {
		for _, d := range []int64{Common(e.Sent, clocks[e.From]) - w.truth[i][0],
			Common(e.Received, clocks[e.To]) - w.truth[i][1]} {
			mean += math.Abs(float64(d)) / float64(2*len(w.crossings))
			largest = max(largest, d, -d)
		}
	}
	return mean, largest
}

// checkRepaired holds whatever the crossings are, if they can be explained by clocks that do not go back.
func checkRepaired(t interface{ Fatalf(string, ...any) }, w *world) ([][]ClockSync, Clocks) {
	before := make([][]ClockSync, len(w.syncs))
	for n := range w.syncs {
		before[n] = slices.Clone(w.syncs[n])
	}
	clocks, c := RepairClocks(w.syncs, w.crossings)
	if !reflect.DeepEqual(before, w.syncs) {
		t.Fatalf("the comparisons were changed")
	}
	if c.Left != (Disorder{}) {
		t.Fatalf("left: %+v", c.Left)
	}
	if c.Interpolated.Count == 0 && (!reflect.DeepEqual(clocks, w.syncs) || c.Repairs() != (ClockRepair{})) {
		t.Fatalf("changed without need: %v, %+v", clocks, c)
	}
	if r := c.Repairs(); c.Interpolated.Count > 0 &&
		(r.Count == 0 || r.MovedNS < r.LargestNS || r.SumNS < r.LargestNS || r.MovedNS < c.Interpolated.LargestNS) {
		t.Fatalf("%+v repaired by %+v", c.Interpolated, r)
	}
	moved := make([]int64, len(w.syncs))
	times := make([][]int64, len(w.syncs))
	for _, e := range w.crossings {
		times[e.From] = append(times[e.From], e.Sent-1, e.Sent, e.Sent+1)
		times[e.To] = append(times[e.To], e.Received-1, e.Received, e.Received+1)
	}
	for n, list := range times {
		for _, s := range clocks[n] {
			list = append(list, s.Time-1, s.Time, s.Time+1)
		}
		slices.Sort(list)
		last := None
		for _, at := range list {
			got, was := Common(at, clocks[n]), Common(at, w.syncs[n])
			if got < last {
				t.Fatalf("node %d goes back from %d to %d at %d: %v", n, last, got, at, clocks[n])
			}
			if got < was-2 {
				t.Fatalf("node %d: %d was %d and is now %d: moved back", n, at, was, got)
			}
			last, moved[n] = got, max(moved[n], got-was)
		}
		if d := moved[n] - c.Nodes[n].MovedNS; d > 2 || d < -2 {
			t.Fatalf("node %d moved by %d, told %d", n, moved[n], c.Nodes[n].MovedNS)
		}
	}
	// No crossing that had time is left with less than it is supposed to take, nor with less than it had if that
	// was little.
	for i, e := range w.crossings {
		had := Common(e.Received, w.syncs[e.To]) - Common(e.Sent, w.syncs[e.From])
		has := Common(e.Received, clocks[e.To]) - Common(e.Sent, clocks[e.From])
		if had < 0 {
			had = Latency
		}
		if has < min(had, Latency)-4 {
			t.Fatalf("crossing %d %+v takes %d, had %d", i, e, has, had)
		}
	}
	return clocks, c
}

func drawWorld(t *rapid.T) *world {
	return newWorld(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)), worldOptions{
		nodes: rapid.IntRange(2, 6).Draw(t, "nodes"), crossings: rapid.IntRange(0, 200).Draw(t, "crossings"),
		pieces:  20,
		length:  int64(math.Pow(10, rapid.Float64Range(5, 10).Draw(t, "length"))),
		offset:  rapid.Float64Range(0, 80e6).Draw(t, "offset"),
		drift:   rapid.Float64Range(0, 90e-6).Draw(t, "drift"),
		walk:    rapid.SampledFrom([]float64{0, 1e-6, 20e-6}).Draw(t, "walk"),
		latency: rapid.SampledFrom([]int64{0, 1, 3, 500, 5000, 50_000}).Draw(t, "latency"),
		apart:   rapid.Int64Range(1e6, 2e9).Draw(t, "apart"),
		way:     rapid.SampledFrom([]int64{0, 10, 2000, 40_000}).Draw(t, "way"),
		busy:    rapid.SampledFrom([]int64{0, 10, 2000, 40_000}).Draw(t, "busy"),
	})
}

func TestRepairClocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkRepaired(t, drawWorld(t)) })
}

// TestRepairOfClocksThatWereNotCompared has nothing to interpolate with, or one comparison only.
func TestRepairOfClocksThatWereNotCompared(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		for n := range w.syncs {
			w.syncs[n] = w.syncs[n][:min(len(w.syncs[n]), rapid.IntRange(0, 1).Draw(t, "compared"))]
		}
		checkRepaired(t, w)
	})
}

// TestInterpolationError compares the error between comparisons with what theory allows: that of the
// comparisons, and as much as a clock can leave the straight line between them and come back.
func TestInterpolationError(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		for n, c := range w.clocks {
			slow, fast := slices.Min(c.drift), slices.Max(c.drift)
			for i, e := range w.crossings {
				if int(e.From) != n || len(w.syncs[n]) == 0 {
					continue
				}
				k, _ := slices.BinarySearchFunc(w.syncs[n], e.Sent, func(s ClockSync, t int64) int {
					return cmp.Compare(s.Time, t)
				})
				if k == 0 || k == len(w.syncs[n]) {
					continue
				}
				apart := w.syncs[n][k].Time - w.syncs[n][k-1].Time
				limit := w.bound + 3 + int64((fast-slow)*float64(apart))
				if d := Common(e.Sent, w.syncs[n]) - w.truth[i][0]; d > limit || -d > limit {
					t.Fatalf("node %d at %d: off by %d, allowed %d", n, w.truth[i][0], d, limit)
				}
			}
		}
	})
}

// TestRepairIsLocal: what one node was put forward by wears off, and what is far before it stays as it is.
func TestRepairIsLocal(t *testing.T) {
	crossings := []Crossing{
		{0, 1, 1_000_000, 1_002_000}, {1, 0, 2_000_000, 2_002_000},
		{0, 1, 1_000_000_000, 1_000_000_000 - 29_900}, // 29.9 us too early
		{1, 0, 1_000_000_000 - 30_900, 1_000_000_000 - 30_300},
		{0, 1, 2_000_000_000, 2_000_002_000},
	}
	clocks, c := RepairClocks(make([][]ClockSync, 2), crossings)
	want := Clocks{Messages: 5, Raw: Disorder{1, 29_900, 29_900}, Interpolated: Disorder{1, 29_900, 29_900},
		Nodes: []ClockRepair{{}, {Disorder{1, 30_000, 30_000}, 30_000}}}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("%+v, want %+v", c, want)
	}
	if clocks[0] != nil {
		t.Errorf("node 0 was changed: %v", clocks[0])
	}
	for at, want := range map[int64]int64{
		0: 0, 2_000_000: 0, 990_000_000: 0, // far before
		1_000_000_000 - 29_900:              30_000,
		1_000_000_000 - 30_900:              500, // as far as what it sent then allows
		1_000_000_000 - 30_900 - 20_000:     300, // a hundredth of the time before less
		1_000_000_000 - 30_900 - 70_000:     0,
		1_000_000_000 - 29_900 + 10_000_000: 20_000, // a thousandth wears off
		1_000_000_000 - 29_900 + 30_000_000: 0,
		2_000_000_000:                       0,
	} {
		if moved := Common(at, clocks[1]) - at; moved < want-2 || moved > want+2 {
			t.Errorf("at %d moved by %d, want %d: %v", at, moved, want, clocks[1])
		}
	}
}

// TestRepairBeforeZero: a clock that runs before zero is put forward where a message asks for it, not from
// its first event on.
func TestRepairBeforeZero(t *testing.T) {
	syncs := [][]ClockSync{nil, {{-40_000_000, 40_000_000, 0}, {-38_000_000, 40_000_000, 0}}}
	clocks, c := RepairClocks(syncs, []Crossing{{0, 1, 1_500_000, -38_501_000}}) // 1 us too early
	if want := (ClockRepair{Disorder{1, 1100, 1100}, 1100}); c.Nodes[1] != want || c.Left.Count != 0 {
		t.Errorf("%+v, want %+v", c, want)
	}
	if moved := Common(-40_000_000, clocks[1]); moved != 0 {
		t.Errorf("the first event was moved by %d: %v", moved, clocks[1])
	}
}

// TestContradictions has messages that no clocks explain: the one most out of order is left so, all others
// are repaired.
func TestContradictions(t *testing.T) {
	crossings := []Crossing{
		{0, 1, 5_000_000, 100}, // recorded late by 5 ms
		{1, 0, 200, 2_000},     // the answer
		{1, 2, 300, 50},
	}
	clocks, c := RepairClocks(make([][]ClockSync, 3), crossings)
	if c.Interpolated.Count != 2 || c.Left != (Disorder{1, 4_999_900, 4_999_900}) || clocks[0] != nil ||
		clocks[1] != nil || c.Nodes[2].LargestNS != 350 {
		t.Errorf("%+v, %v", c, clocks)
	}
}

// TestRepairOfNonsense must end, and lead to times that do not go back where they did not.
func TestRepairOfNonsense(t *testing.T) {
	number := rapid.OneOf(rapid.Int64Range(-20, 20), rapid.Int64Range(-1e9, 1e9),
		rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64, 1 << 57, -1 << 57, 1 << 61}))
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(t, "nodes")
		syncs := make([][]ClockSync, n)
		straight := make([]bool, n)
		for i := range syncs {
			for range rapid.IntRange(0, 4).Draw(t, "syncs") {
				syncs[i] = append(syncs[i], ClockSync{number.Draw(t, "time"), number.Draw(t, "offset"), 0})
			}
			slices.SortStableFunc(syncs[i], func(x, y ClockSync) int { return cmp.Compare(x.Time, y.Time) })
			straight[i] = !slices.ContainsFunc(syncs[i], func(s ClockSync) bool {
				return s.Time > 1e12 || s.Time < -1e12 || s.Offset > 1e12 || s.Offset < -1e12
			})
		}
		var crossings []Crossing
		for range rapid.IntRange(0, 12).Draw(t, "crossings") {
			node := rapid.Int32Range(0, int32(n-1))
			crossings = append(crossings, Crossing{node.Draw(t, "from"), node.Draw(t, "to"), number.Draw(t, "sent"),
				number.Draw(t, "received")})
		}
		clocks, c := RepairClocks(syncs, crossings)
		if c.Interpolated.Count == 0 && c.Left.Count > 0 {
			t.Fatalf("disorder was made: %+v", c)
		}
		for i, list := range clocks {
			if !straight[i] || reflect.DeepEqual(list, syncs[i]) {
				continue
			}
			for k := 1; k < len(list); k++ {
				if x, y := list[k-1], list[k]; x.Time >= y.Time || x.Time+x.Offset > y.Time+y.Offset {
					t.Fatalf("node %d goes back: %v", i, list)
				}
			}
		}
	})
}

func TestClockMapForgetsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []ClockSync
		for range rapid.IntRange(0, 6).Draw(t, "syncs") {
			list = append(list, ClockSync{rapid.Int64Range(0, 50).Draw(t, "time"),
				rapid.Int64Range(-5, 5).Draw(t, "offset"), 0})
		}
		slices.SortStableFunc(list, func(x, y ClockSync) int { return cmp.Compare(x.Time, y.Time) })
		c := clockMap{syncs: list}
		for _, at := range rapid.SliceOf(rapid.Int64Range(-5, 60)).Draw(t, "times") {
			if got, want := c.common(at), Common(at, list); got != want {
				t.Fatalf("%d: %d, want %d", at, got, want)
			}
		}
	})
}

// TestComparingMoreOftenHelps is the table of docs/clocks.md: what each way to compare clocks leaves.
func TestComparingMoreOftenHelps(t *testing.T) {
	for i, c := range []struct {
		seconds, apart int64
		walk           float64
		busy           int64
	}{
		{10, 1, 0.02e-6, 800}, {10, 1, 0.02e-6, 20_000},
		{600, 5, 0.02e-6, 800}, {600, 5, 0.2e-6, 800}, {600, 5, 0.2e-6, 20_000},
	} {
		if !effort.Long && i%4 != 0 { // the mildest and the worst
			continue
		}
		w := newWorld(rand.New(rand.NewPCG(7, uint64(c.seconds))), worldOptions{nodes: 8, crossings: 40_000,
			pieces: 1000, length: c.seconds * 1e9,
			offset: 50e6, drift: 20e-6, walk: c.walk, latency: 1000, apart: c.apart * 1e9, way: 800, busy: c.busy})
		pick := func(f func([]ClockSync) []ClockSync) [][]ClockSync {
			out := make([][]ClockSync, len(w.syncs))
			for n, l := range w.syncs {
				if len(l) > 0 {
					out[n] = f(l)
				}
			}
			return out
		}
		var last float64
		for i, v := range []struct {
			name  string
			syncs [][]ClockSync
		}{
			{"off", make([][]ClockSync, len(w.syncs))},
			{"start", pick(func(l []ClockSync) []ClockSync { return l[:1] })},
			{"start and end", pick(func(l []ClockSync) []ClockSync { return []ClockSync{l[0], l[len(l)-1]} })},
			{"periodic, all", w.syncs},
			{"periodic, chosen", pick(Chosen)},
		} {
			clocks, found := RepairClocks(v.syncs, w.crossings)
			mean, largest := w.errors(v.syncs)
			after, _ := w.errors(clocks)
			n := float64(len(w.crossings)) / 100
			stretched, most := distortion(w, v.syncs, clocks)
			t.Logf("%3d s, walk %.2f ppm, busy %4.1f us, %-16s: violations raw %5.1f %%, interpolated %5.2f %% (up "+
				"to %8.1f us), left %d; error mean %10.2f us, largest %10.1f us; repaired mean %10.2f us; intervals "+
				"stretched by %.4f %% in the mean, %.1f %% at most",
				c.seconds, c.walk*1e6, float64(c.busy)/1e3, v.name, float64(found.Raw.Count)/n,
				float64(found.Interpolated.Count)/n, float64(found.Interpolated.LargestNS)/1e3, found.Left.Count,
				mean/1e3, float64(largest)/1e3, after/1e3, stretched*100, most*100)
			if found.Left.Count != 0 {
				t.Errorf("%s: left %+v", v.name, found.Left)
			}
			// Where only the error of the comparisons themselves is left, more of them cannot help.
			if i > 0 && mean > max(last/2, 2*float64(w.bound)) {
				t.Errorf("%s is not clearly better: mean error %.0f ns after %.0f ns", v.name, mean, last)
			}
			last = mean
		}
	}
}

// TestChosen: the line through what is chosen is within the error of every comparison, and through the first
// and the last.
func TestChosen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		for n, list := range w.syncs {
			slices.SortStableFunc(list, func(x, y ClockSync) int { return cmp.Compare(x.Time, y.Time) })
			got := Chosen(list)
			if len(list) == 0 {
				continue
			}
			if got[0] != list[0] || got[len(got)-1] != list[len(list)-1] || len(got) > len(list) {
				t.Fatalf("node %d: %v of %v", n, got, list)
			}
			for _, k := range list {
				if d := Common(k.Time, got) - k.Time - k.Offset; d > k.Error+1 || -d > k.Error+1 {
					t.Fatalf("node %d: off by %d from %v: %v of %v", n, d, k, got, list)
				}
			}
		}
	})
	straight := []ClockSync{{0, 10, 1}, {1000, 39, 30}, {2000, -30, 45}, {3000, 10, 1}}
	if got := Chosen(straight); !slices.Equal(got, []ClockSync{straight[0], straight[3]}) {
		t.Errorf("a straight clock was bent: %v", got)
	}
	bent := append(slices.Clone(straight), ClockSync{4000, 110, 1})
	if got := Chosen(bent); !slices.Equal(got, []ClockSync{straight[0], {3000, 11, 1}, bent[4]}) {
		t.Errorf("a bent clock: %v", got)
	}
	if got := Chosen(straight[:2]); len(got) != 2 {
		t.Errorf("two: %v", got)
	}
}

// distortion compares the intervals between neighbouring events of the nodes with repairs and without, those
// of a microsecond and more.
func distortion(w *world, before, after [][]ClockSync) (mean, most float64) {
	times := make([][]int64, len(w.syncs))
	for _, e := range w.crossings {
		times[e.From] = append(times[e.From], e.Sent)
		times[e.To] = append(times[e.To], e.Received)
	}
	var stretched, all float64
	for n, list := range times {
		slices.Sort(list)
		for i := 1; i < len(list); i++ {
			was := Common(list[i], before[n]) - Common(list[i-1], before[n])
			is := Common(list[i], after[n]) - Common(list[i-1], after[n])
			if was >= 1000 {
				d := math.Abs(float64(is - was))
				stretched, all, most = stretched+d, all+float64(was), max(most, d/float64(was))
			}
		}
	}
	return stretched / all, most
}

func BenchmarkRepairClocks(b *testing.B) {
	for _, latency := range []int64{1000, 1e6} {
		w := newWorld(rand.New(rand.NewPCG(7, 7)), worldOptions{nodes: 16, crossings: 500_000, pieces: 100,
			length: 60e9,
			offset: 50e6, drift: 20e-6, walk: 0.2e-6, latency: latency, apart: 60e9, way: 800})
		_, c := RepairClocks(w.syncs, w.crossings)
		b.Run(fmt.Sprintf("violations=%d", c.Interpolated.Count), func(b *testing.B) {
			for b.Loop() {
				RepairClocks(w.syncs, w.crossings)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(w.crossings)), "ns/message")
		})
	}
}
