package model

import (
	"cmp"
	"slices"
)

// Clocks are put forward where, even after correction by their comparisons, a message would be received
// before it was sent: a controlled logical clock (Rabenseifner; Becker, Rabenseifner and Wolf), one per node
// here; nodes of one process are one (repairShared).
//
// Every message asks that its receipt is at least Latency after its sending, or as much as it is already, if
// that is less. So nothing changes where all messages are in order.
//
// Forward. The ends of messages of each node are walked in the order of its clock, a receipt only after its
// sending. A receipt that is too early puts the clock forward by just enough. That wears off by one part in
// wearOff of the time that passes, so the clock never goes back.
//
// Backward. A jump would stretch whatever the node did at that moment. So what came before is put forward
// too, by one part in rampUp of the time less for each moment earlier; a sending only as far as its receipt
// allows, and the rest of the jump is made up between it and the next end of a message.
//
// Times only move forward, so neither pass undoes what another message asked for. Where messages contradict
// each other, as in a circle that no clock explains, the one that is most out of order is left as it is.
//
// The result is again a list of knots for each node. Ends of messages on a straight line between others need
// none: they are met to within 2 ns, and exactly where a message has so little time that it matters.

// Latency is the time in nanoseconds a message between processes is supposed to take at least, where a clock
// is put forward because of it. No transport is faster, not even between processes of one host; were it more
// than a message really takes, every answer would put the asker's clock forward.
const Latency = 100

const (
	wearOff = 1000 // 0.1 %
	rampUp  = 100  // 1 %
	// tight messages have so little time left that both ends must be met exactly.
	tight = 8
	// sane times can be computed with. Only damaged traces have others; their messages ask for nothing.
	sane = 1 << 58
)

// RepairClocks gives the correction of each node's clock with which no message is received before it was
// sent, and what it took. syncs are the comparisons of each node's clock by time; there is an entry for each
// node that crossings name. Nodes whose times do not change keep their list. The order of crossings does not
// matter.
func RepairClocks(syncs [][]ClockSync, crossings []Crossing) ([][]ClockSync, Clocks) {
	c := CompareClocks(syncs, crossings)
	c.Nodes = make([]ClockRepair, len(syncs))
	if c.Interpolated.Count == 0 {
		return syncs, c
	}
	// Which of messages that contradict each other is left as it is follows from what they say, not from where
	// they stand.
	r := newRepairs(syncs, slices.SortedFunc(slices.Values(crossings), Crossing.compare))
	r.forward()
	repaired := slices.Clone(syncs)
	for n := range syncs {
		if list, moved := r.correction(n, &c.Nodes[n]); moved {
			repaired[n] = list
		}
	}
	c.Left = CompareClocks(repaired, crossings).Interpolated
	return repaired, c
}

type repairs struct {
	syncs          [][]ClockSync
	crossings      []Crossing
	ends           [][]endOf // by node, in the order of its clock
	sent, received []int64   // by crossing: when, once the forward pass has been there; sent is None before
	need           []int32   // by crossing: how long it must take
	ignored        map[uint32]bool
}

// endOf is an end of a crossing: twice its number, one more for the sending, so that of ends at one time
// receipts are first.
type endOf struct {
	time     int64
	crossing uint32
	out      bool
}

func newRepairs(syncs [][]ClockSync, crossings []Crossing) *repairs {
	r := &repairs{syncs: syncs, crossings: crossings, ends: make([][]endOf, len(syncs)),
		sent:     filled(len(crossings), None),
		received: filled(len(crossings), None), need: make([]int32, len(crossings)), ignored: map[uint32]bool{}}
	count := make([]int, len(syncs))
	wild := make([]bool, len(syncs))
	for n, list := range syncs {
		wild[n] = slices.ContainsFunc(list, func(y ClockSync) bool { return !isSane(y.Time) || !isSane(y.Offset) })
	}
	for i := range crossings {
		e := &crossings[i]
		if wild[e.From] || wild[e.To] || !isSane(e.Sent) || !isSane(e.Received) {
			r.ignored[uint32(i)] = true
			continue
		}
		count[e.From]++
		count[e.To]++
	}
	at := make([]clockMap, len(syncs))
	for n := range syncs {
		at[n].syncs = syncs[n]
		r.ends[n] = make([]endOf, 0, count[n])
	}
	for i := range crossings {
		if e, k := &crossings[i], uint32(i); !r.ignored[k] {
			takes := at[e.To].common(e.Received) - at[e.From].common(e.Sent)
			if takes < 0 {
				takes = Latency
			}
			r.need[i] = int32(min(takes, Latency))
			r.ends[e.From] = append(r.ends[e.From], endOf{e.Sent, k, true})
			r.ends[e.To] = append(r.ends[e.To], endOf{e.Received, k, false})
		}
	}
	for _, list := range r.ends {
		slices.SortFunc(list, func(x, y endOf) int {
			if x.time == y.time && x.out != y.out {
				if y.out {
					return -1
				}
				return 1
			}
			return cmp.Or(cmp.Compare(x.time, y.time), cmp.Compare(x.crossing, y.crossing))
		})
	}
	return r
}

func isSane(t int64) bool { return -sane < t && t < sane }

// walk goes along a node's clock.
type walk struct {
	clock clockMap
	knot  int   // next of the node's comparisons
	begun bool  // there was a place before this one
	at    int64 // own time, and
	time  int64 // what it is on the common clock
	// it was put forward by put at since, on its own clock; what is left of it wears off from there
	since, put int64
}

// vertex is a place on the path of a walk: at its own time at the node's clock is
// corrected to base, and with repairs to time; before what happens there put it forward it was before.
type vertex struct{ at, base, before, time int64 }

func (w *walk) left(t int64) int64 {
	if w.put == 0 {
		return 0 // since says nothing then, and may be after t
	}
	return max(0, w.put-(t-w.since)/wearOff)
}

// to goes to a time, but not through what happens there. see is called at every place where the path bends.
func (w *walk) to(t int64, see func(vertex)) vertex {
	for l := w.clock.syncs; w.knot < len(l) && l[w.knot].Time < t; {
		k := l[w.knot].Time
		w.knot++
		w.worn(k, see)
		if v := w.step(k); see != nil {
			see(v)
		}
	}
	w.worn(t, see)
	return w.step(t)
}

// worn stops where, before t, all has worn off.
func (w *walk) worn(t int64, see func(vertex)) {
	if w.put == 0 || (t-w.since)/wearOff < w.put {
		return
	}
	if end := w.since + w.put*wearOff; end > w.at && end < t {
		if v := w.step(end); see != nil {
			see(v)
		}
	}
	w.put = 0
}

func (w *walk) step(t int64) vertex {
	v := vertex{at: t, base: w.clock.common(t)}
	v.time = v.base + w.left(t)
	if w.begun {
		v.time = max(v.time, w.time) // comparisons that make no sense may let a clock go back
	}
	v.before = v.time
	w.begun, w.at, w.time = true, t, v.time
	return v
}

// receive puts the clock forward, at the place where it is, to what a crossing asks for.
func (w *walk) receive(v *vertex, asked int64) (by int64) {
	if by = asked - v.time; by <= 0 {
		return 0
	}
	v.time, w.time = asked, asked
	w.since, w.put = v.at, asked-v.base
	return by
}

// forward finds out when each crossing is sent and received.
func (r *repairs) forward() {
	nodes := len(r.ends)
	walks, next, stopped := make([]walk, nodes), make([]int, nodes), make([]bool, nodes)
	var run []int
	for n := range nodes {
		walks[n].clock.syncs = r.syncs[n]
		run = append(run, n)
	}
	for {
		for len(run) > 0 {
			n := run[len(run)-1]
			run = run[:len(run)-1]
			stopped[n] = false
			for list := r.ends[n]; next[n] < len(list); next[n]++ {
				e := list[next[n]]
				if !e.out && r.sent[e.crossing] == None && !r.ignored[e.crossing] {
					stopped[n] = true
					break
				}
				v := walks[n].to(e.time, nil)
				if !e.out {
					if !r.ignored[e.crossing] {
						walks[n].receive(&v, r.sent[e.crossing]+int64(r.need[e.crossing]))
					}
					r.received[e.crossing] = v.time
					continue
				}
				r.sent[e.crossing] = v.time
				if to := int(r.crossings[e.crossing].To); stopped[to] && r.ends[to][next[to]].crossing == e.crossing {
					stopped[to] = false
					run = append(run, to)
				}
			}
		}
		n := slices.Index(stopped, true)
		if n < 0 {
			return
		}
		n = r.circle(n, next)
		r.ignored[r.ends[n][next[n]].crossing] = true
		run = append(run, n)
	}
}

// circle follows what a node waits for to a circle, and gives the node of it that waits for the crossing that
// is most out of order.
func (r *repairs) circle(n int, next []int) int {
	waitsFor := func(n int) *Crossing { return &r.crossings[r.ends[n][next[n]].crossing] }
	for range r.ends {
		n = int(waitsFor(n).From)
	}
	worst, by, first := n, None, n
	for {
		e := waitsFor(n)
		if d := Common(e.Sent, r.syncs[e.From]) - Common(e.Received, r.syncs[e.To]); d > by ||
			(d == by && n < worst) {
			worst, by = n, d
		}
		if n = int(e.From); n == first {
			return worst
		}
	}
}

// correction gives the knots of a node's clock with repairs, and what they took; false where there are none.
func (r *repairs) correction(n int, sum *ClockRepair) ([]ClockSync, bool) {
	w := walk{clock: clockMap{syncs: r.syncs[n]}}
	var way []vertex
	see := func(v vertex) {
		if k := len(way) - 1; k >= 0 && way[k].at == v.at {
			way[k].time = v.time
			return
		}
		way = append(way, v)
	}
	for _, e := range r.ends[n] {
		v := w.to(e.time, see)
		if !e.out && !r.ignored[e.crossing] {
			sum.see(w.receive(&v, r.sent[e.crossing]+int64(r.need[e.crossing])), 0)
		}
		see(v)
	}
	if !slices.ContainsFunc(way, func(v vertex) bool { return v.time != v.base }) {
		return nil, false
	}
	see(w.to(sane*2-1, see))
	way = r.backward(n, way[:len(way)-1])
	for _, v := range way {
		sum.MovedNS = max(sum.MovedNS, v.time-v.base)
	}
	return r.knots(n, way), true
}

// backward leads up to the jumps of a way.
func (r *repairs) backward(n int, way []vertex) []vertex {
	ends := r.ends[n]
	var out []vertex // from the last to the first
	var from, put int64
	for i := len(way) - 1; i >= 0; i-- {
		v := way[i]
		own := v.time - v.base
		want := own
		if i < len(way)-1 {
			want = max(own, put-(from-v.at)/rampUp)
			if b, ok := bend(v, way[i+1], from, put); ok && want == own {
				b.time = min(b.time, out[len(out)-1].time)
				out = append(out, b)
			}
		}
		for len(ends) > 0 && ends[len(ends)-1].time >= v.at {
			if e := ends[len(ends)-1]; e.out && e.time == v.at && !r.ignored[e.crossing] {
				want = max(own, min(want, r.received[e.crossing]-int64(r.need[e.crossing])-v.base))
			}
			ends = ends[:len(ends)-1]
		}
		if k := len(out); k > 0 {
			want = min(want, out[k-1].time-v.base)
		}
		if i == len(way)-1 || want != put-(from-v.at)/rampUp {
			from, put = v.at, want
		}
		v.time = v.base + want
		out = append(out, v)
	}
	if v := out[len(out)-1]; v.time > v.base && v.time-v.base < sane/rampUp {
		t := v.at - (v.time-v.base)*rampUp
		b := Common(t, r.syncs[n])
		out = append(out, vertex{at: t, base: b, time: min(b, v.time)})
	}
	slices.Reverse(out)
	return out
}

// bend is the place between two where what leads up to a jump begins; false where there is none.
func bend(v, next vertex, from, put int64) (b vertex, ok bool) {
	lead := func(t int64) int64 { return put - (from-t)/rampUp }
	below, above := v.time-v.base-lead(v.at), lead(next.at)-(next.before-next.base)
	if below <= 0 || above <= 0 {
		return b, false
	}
	t := v.at + int64(float64(next.at-v.at)*(float64(below)/(float64(below)+float64(above))))
	// Between places the clock is straight.
	share := float64(t-v.at) / float64(next.at-v.at)
	b = vertex{at: t, base: v.base + int64(share*float64(next.base-v.base))}
	b.time = max(v.time, b.base+max(lead(t), 0))
	return b, t > v.at && t < next.at
}

// knots leaves out of a way what lies on a straight line between others.
func (r *repairs) knots(n int, way []vertex) (list []ClockSync) {
	exact := map[int64]bool{}
	for _, e := range r.ends[n] {
		if r.need[e.crossing] <= tight {
			exact[e.time] = true
		}
	}
	knot := func(v vertex) { list = append(list, ClockSync{Time: v.at, Offset: v.time - v.at}) }
	knot(way[0])
	anchor := way[0]
	var low, high float64 // slopes that meet all places since the anchor
	for i := 1; i < len(way); i++ {
		v := way[i]
		steep := func(a vertex, off int64) float64 {
			return float64(v.time-v.at-(a.time-a.at)+off) / float64(v.at-a.at)
		}
		if i == 1 || anchor == way[i-1] {
			low, high = steep(anchor, -1), steep(anchor, 1)
		} else if s := steep(anchor, 0); s < low || s > high {
			anchor = way[i-1]
			knot(anchor)
			low, high = steep(anchor, -1), steep(anchor, 1)
		} else {
			low, high = max(low, steep(anchor, -1)), min(high, steep(anchor, 1))
		}
		if exact[v.at] || i == len(way)-1 {
			anchor = v
			knot(v)
		}
	}
	return list
}
