package critical_test

import (
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// The graph once more, as slow and as plain as possible: from the list of events, searched for each fact.

type bruteExec struct {
	cf           string
	number       int
	node, worker int
	start, end   int64
	until        int64 // how long its worker was busy with it
	code         int
	useful       int64
	inputs       []int
	holds        []bruteHold
}

type bruteHold struct {
	from          int // -1 none that is known
	start, worker bool
	left, play    int64
	early, flight int64
}

type brute struct {
	*sloutest.Run
	execs []bruteExec
}

func newBrute(r *sloutest.Run) *brute {
	b := &brute{Run: r}
	for _, e := range r.Events {
		switch e.Kind {
		case "CFEvents.onStarted":
			b.execs = append(b.execs, bruteExec{cf: e.CF, number: e.Execution, node: e.Node, worker: e.Stream,
				start: e.Time, inputs: e.Inputs})
		case "CFEvents.onFinished":
			x := &b.execs[b.exec(e.CF, e.Execution)]
			x.end, x.until, x.code = e.Time, e.Time, b.created(e.CF).Code
			if x.code <= sloutest.AtomicCodes {
				x.useful = x.end - x.start
				if e.CPU >= 0 {
					x.useful = min(x.useful, e.CPU)
				}
			}
		}
	}
	for i := range b.execs {
		b.execs[i].holds = b.holds(i)
	}
	return b
}

func (b *brute) exec(cf string, number int) int {
	for i, x := range b.execs {
		if x.cf == cf && x.number == number {
			return i
		}
	}
	return -1
}

// find gives the last event by t that fits.
func (b *brute) find(t int64, fits func(sloutest.Event) bool) (best sloutest.Event, ok bool) {
	for _, e := range b.Events {
		if e.Time-e.Late <= t && fits(e) && (!ok || e.Time-e.Late >= best.Time-best.Late) {
			best, ok = e, true
		}
	}
	return best, ok
}

const always = int64(1 << 60)

func (b *brute) created(cf string) sloutest.Event {
	e, _ := b.find(always, func(e sloutest.Event) bool {
		return e.Kind == "CFEvents.onCreated" &&
			e.CF == cf
	})
	return e
}

func (b *brute) ready(cf string, node int, t int64) (int64, bool) {
	e, ok := b.find(t, func(e sloutest.Event) bool {
		return e.Kind == "CFEvents.onReady" && e.CF == cf && e.Node == node
	})
	return e.Time - e.Late, ok
}

func (b *brute) receipt(df, node int, t int64) (sloutest.Event, bool) {
	return b.find(t, func(e sloutest.Event) bool {
		return e.Kind == "DFEvents.onReceived" && e.DF == df && e.Node == node
	})
}

// holds are what an execution had to wait for.
func (b *brute) holds(i int) (list []bruteHold) {
	x := &b.execs[i]
	origin := bruteHold{from: -1, start: true}
	left := b.created(x.cf).Time
	if x.number > 1 {
		origin.from = b.exec(x.cf, x.number-1)
		left = b.execs[origin.from].end
	} else if c := b.created(x.cf); c.Parent != "" {
		origin.from = b.exec(c.Parent, c.Execution)
	}
	origin.start, origin.left = origin.from < 0, left
	if origin.from >= 0 {
		origin.early = b.early(origin.from, left)
	}
	for _, e := range b.Events {
		if e.Kind == "CFEvents.onReceived" && e.CF == x.cf && e.Time <= x.start {
			if s := b.departure(e); s.Time >= left {
				origin.flight += e.Time - s.Time
			}
		}
	}
	ready, known := b.ready(x.cf, x.node, x.start)
	known = known && ready >= left
	free, prev := int64(-1), -1
	for k, y := range b.execs {
		if k != i && y.node == x.node && y.worker == x.worker && y.start < x.start &&
			(prev < 0 || y.start > b.execs[prev].start) {
			free, prev = min(y.until, x.start), k
		}
	}
	started := max(free, ready)
	node, t, lag := x.node, x.start, int64(0)
	if known {
		t = ready
	}
	// A CF that only the program can have made was made once its inputs were there.
	follows := origin.start && len(x.inputs) > 0
	for first := true; ; first = false {
		control := left
		came, moved := b.find(t, func(e sloutest.Event) bool {
			return e.Kind == "CFEvents.onReceived" && e.CF == x.cf && e.Node == node
		})
		if moved = moved && came.Time >= left; moved {
			control = came.Time
		}
		type arrival struct {
			bruteHold
			t, late int64
		}
		var inputs []arrival
		last := control
		if follows {
			last = -1
		}
		for _, df := range x.inputs {
			a := arrival{}
			made, _ := b.find(always, func(e sloutest.Event) bool {
				return e.Kind == "DFEvents.onCreate" && e.DF == df
			})
			a.from = -1
			for k, y := range b.execs {
				if y.cf == made.CF && y.start <= made.Time &&
					(a.from < 0 || y.start > b.execs[a.from].start) {
					a.from = k
				}
			}
			a.early = b.early(a.from, made.Time)
			a.t, a.left = made.Time, made.Time
			if got, ok := b.receipt(df, node, t); ok {
				a.t = got.Time
				a.flight, a.late = b.way(df, got)
			}
			if a.late > 0 {
				control = max(control, a.t)
			}
			if follows {
				a.late, last = 0, max(last, a.t)
			} else {
				last = max(last, a.t, control)
			}
			inputs = append(inputs, a)
		}
		if first && !known {
			ready = max(last, control)
			started = max(free, ready)
		}
		if first {
			lag = started - ready
		}
		for _, a := range inputs {
			a.play = lag + last - a.t + a.late
			list = append(list, a.bruteHold)
		}
		origin.play = lag + last - control
		if !moved || follows {
			break
		}
		sent := b.departure(came)
		r, ok := b.ready(x.cf, sent.Node, sent.Time)
		if sent.Kind != "CFEvents.onStolen" || !ok || r < left {
			break
		}
		node, t, lag = sent.Node, r, origin.play
	}
	if !follows {
		list = append(list, origin)
	}
	if prev >= 0 {
		list = append(list, bruteHold{from: prev, worker: true, left: free, play: started - free})
	}
	return list
}

func (b *brute) early(from int, left int64) int64 {
	x := &b.execs[from]
	return x.useful - min(x.useful, max(left-x.start, 0))
}

// departure is the event that sent a CF which was received.
func (b *brute) departure(came sloutest.Event) sloutest.Event {
	e, _ := b.find(came.Time, func(e sloutest.Event) bool {
		return (e.Kind == "CFEvents.onMigrated" || e.Kind == "CFEvents.onStolen") && e.CF == came.CF &&
			e.Node == came.Peer
	})
	return e
}

// way follows a DF from a receipt back to where it was made.
func (b *brute) way(df int, got sloutest.Event) (flight, late int64) {
	sent, _ := b.find(got.Time, func(e sloutest.Event) bool {
		return e.Kind == "DFEvents.onSent" && e.Message == got.Message
	})
	there, relayed := b.receipt(df, sent.Node, sent.Time)
	if !relayed {
		there, _ = b.find(always, func(e sloutest.Event) bool {
			return e.Kind == "DFEvents.onCreate" && e.DF == df
		})
	}
	if relayed {
		flight, late = b.way(df, there)
	}
	if asked, ok := b.find(sent.Time, func(e sloutest.Event) bool {
		return e.Kind == "DFEvents.onRequestReceived" && e.Request == sent.Request && sent.Request != ""
	}); ok {
		late += max(asked.Time-there.Time, 0)
	}
	return flight + got.Time - sent.Time, late
}

// longest is the longest chain of useful times that ends with an execution, found by trying all.
func (b *brute) longest(i int, links bool) int64 {
	var most int64
	for _, l := range b.execs[i].holds {
		if l.from < 0 || l.worker {
			continue
		}
		d := b.longest(l.from, links) - l.early
		if links {
			d += l.flight
		}
		most = max(most, d)
	}
	return most + b.execs[i].useful
}

// end is the end of the last atomic CF.
func (b *brute) end() (end int64) {
	for _, x := range b.execs {
		if x.code <= sloutest.AtomicCodes {
			end = max(end, x.end)
		}
	}
	return end
}

// moves simulates the run with some executions d longer and tells whether the end moves.
func (b *brute) moves(longer func(i int) bool, d int64) bool {
	late := make([]int64, len(b.execs))
	for range b.execs { // the longest chain has as many links
		for i, x := range b.execs {
			l := int64(0)
			for _, h := range x.holds {
				if h.from >= 0 {
					l = max(l, late[h.from]-h.play)
				}
			}
			if longer(i) {
				l += d
			}
			late[i] = l
		}
	}
	for i, x := range b.execs {
		if late[i] > max(b.end()-x.end, 0) {
			return true
		}
	}
	return false
}

// slack is the greatest d that does not move the end.
func (b *brute) slack(longer func(i int) bool) int64 {
	d := int64(0)
	for !b.moves(longer, d+1) {
		d++
	}
	return d
}

// path lists the executions on the critical path that took time on it, the last first.
func (b *brute) path() (list []int) {
	at := -1
	for i, x := range b.execs {
		if x.code > sloutest.AtomicCodes || x.end != b.end() {
			continue
		}
		// Of CFs that end at the same time, that on the first worker.
		if at < 0 || x.node < b.execs[at].node || x.node == b.execs[at].node &&
			x.worker < b.execs[at].worker {
			at = i
		}
	}
	pos := b.end()
	for at >= 0 {
		if start := b.execs[at].start; start < pos {
			list = append(list, at)
			pos = start
		}
		next := -1
		for _, l := range b.execs[at].holds {
			if l.play == 0 {
				next, pos = l.from, min(pos, l.left)
				break
			}
		}
		at = next
	}
	return list
}
