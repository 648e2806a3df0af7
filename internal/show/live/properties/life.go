package properties

import (
	"cmp"
	"slices"
)

// sink takes changes: at t a quantity of a node, of a link or of the whole run grows by d.
type sink interface {
	add(q quantity, place int32, t, d int64)
}

// what happened to a CF; the order is that of events at the same time.
type what uint8

const (
	created what = iota
	arrived
	becameReady
	started // starts and ends in the order of executions
	ended
	left
)

func (w what) rank() what {
	if w == ended {
		return started
	}
	return w
}

// moment is an event of a CF, on the common clock.
type moment struct {
	t    int64
	node int32 // -1 on a stream that is no worker
	what what
}

// life walks through the states of one CF: waiting from its creation, ready, running, moving, and gone after the last
// execution. What does not fit, as where something was lost or has not arrived yet, changes the state as if what must have come
// before it had not been recorded. The states are those of package series.
//
// A life can be continued with events that come later than those it has seen: whether an execution was the last one is taken
// back then.
type life struct {
	out    sink
	sign   int64 // 1, or -1 to take back all of it
	weight int64

	t     int64 // of the last event
	node  int32
	now   quantity // a state
	last  what
	again bool // it became ready for the next execution while it still ran
}

// begin starts a life at the node that numbered the CF.
func (l *life) begin(home int32) {
	l.t, l.node, l.now, l.last, l.again = minTime, home, absent, created, false
}

const minTime = int64(-1 << 63)

// sortMoments puts the events of a CF in order; executions are given in theirs.
func sortMoments(list []moment) {
	slices.SortStableFunc(list, func(x, y moment) int {
		r := x.what.rank()
		if c := cmp.Or(cmp.Compare(x.t, y.t), cmp.Compare(r, y.what.rank())); c != 0 || r == started {
			return c
		}
		return cmp.Compare(x.node, y.node)
	})
}

// walk takes all events, in order.
func (l *life) walk(list []moment) {
	for i := range list {
		l.event(&list[i])
	}
}

// fits tells that an event comes after all that a life has seen.
func (l *life) fits(v *moment) bool {
	return v.t > l.t || v.t == l.t && v.what.rank() > l.last.rank()
}

// event takes the next event, as if it were the last.
func (l *life) event(v *moment) {
	if l.last == ended && l.now == absent && l.t != minTime {
		// The execution was not the last one.
		next := waiting
		if l.again {
			next = ready
		}
		l.again = false
		l.step(l.t, l.node, absent, next)
		l.now = next
	}
	switch v.what {
	case created, arrived:
		if l.now != running {
			l.to(v, waiting)
		}
	case becameReady:
		if l.now == running {
			l.again = true
		} else {
			l.to(v, ready)
		}
	case started:
		l.again = false
		l.to(v, running)
	case ended:
		l.to(v, absent)
	case left:
		l.again = false
		l.to(v, moving)
	}
	l.t, l.last = v.t, v.what
}

// to changes the state to one at the node of an event.
func (l *life) to(v *moment, next quantity) {
	node := v.node
	if node < 0 {
		node = l.node
	}
	switch {
	case l.now == moving || l.now == absent:
		l.step(v.t, node, l.now, next)
	case next == moving || next == absent || node == l.node:
		l.step(v.t, l.node, l.now, next)
	default: // it came here, and when was not recorded
		l.step(v.t, l.node, l.now, moving)
		l.step(v.t, node, moving, next)
	}
	l.now, l.node = next, node
}

// step changes the state at a node; one that moves is on none.
func (l *life) step(t int64, node int32, from, to quantity) {
	if from == to {
		return
	}
	if from != absent {
		l.count(from, node, t, -1)
	}
	if to != absent {
		l.count(to, node, t, 1)
	}
	switch {
	case from == absent:
		l.exists(whole, t, 1)
	case to == absent:
		l.exists(whole, t, -1)
	}
	switch {
	case from >= moving && to < moving:
		l.exists(node, t, 1)
	case from < moving && to >= moving:
		l.exists(node, t, -1)
	}
}

func (l *life) count(state quantity, node int32, t, d int64) {
	if state < moving {
		l.out.add(state, node, t, l.sign*d)
	}
	l.out.add(state, whole, t, l.sign*d)
}

func (l *life) exists(place int32, t, d int64) {
	d *= l.sign
	l.out.add(cfs, place, t, d)
	l.out.add(objects, place, t, d)
	l.out.add(weight, place, t, d*l.weight)
}

// departure and arrival of a CF that moves, on the common clock.
type move struct {
	t, bytes   int64
	node, peer int32
	out        bool
}

// message is a DF or a CF that goes from one node to another. A time is none where that end is not known.
type message struct {
	sent, received int64
	from, to       int32
	bytes          int64
	moved          bool // a CF
}

const none = minTime

// pairMoves makes messages of the moves of one CF, which are in order of time: the i-th departure from one node to another goes
// with the i-th arrival there.
func pairMoves(out []message, list []move) []message {
	for i := range list {
		if v := &list[i]; v.out {
			out = append(out, message{v.t, none, v.node, v.peer, v.bytes, true})
		}
	}
	for i := range list {
		v := &list[i]
		if v.out {
			continue
		}
		at := slices.IndexFunc(out, func(o message) bool { return o.from == v.peer && o.to == v.node && o.received == none })
		if at < 0 {
			out = append(out, message{none, v.t, v.peer, v.node, v.bytes, true})
		} else {
			out[at].received = v.t
		}
	}
	return out
}

// emit tells what a message changes. Where its sending is not known the receipt counts as that; where its receipt is not
// known it is under way to the end of a run that was killed, or still goes on, and never in one that has ended.
func (g *message) emit(out sink, link int32, killed bool, sign int64) {
	t := g.sent
	if t == none {
		t = g.received
	}
	both := func(q quantity, t, d int64) {
		out.add(q, link, t, sign*d)
		out.add(q, whole, t, sign*d)
	}
	both(messages, t, 1)
	both(messageBytes, t, g.bytes)
	if g.moved {
		both(moved, t, 1)
		both(movedBytes, t, g.bytes)
	}
	switch {
	case g.sent == none:
	case g.received == none:
		if killed {
			both(inFlight, g.sent, 1)
			both(bytesInFlight, g.sent, g.bytes)
		}
	case g.received >= g.sent:
		both(flights, g.sent, 1)
		both(flightNS, g.sent, g.received-g.sent)
		if g.received > g.sent {
			both(inFlight, g.sent, 1)
			both(bytesInFlight, g.sent, g.bytes)
			both(inFlight, g.received, -1)
			both(bytesInFlight, g.received, -g.bytes)
		}
	}
}
