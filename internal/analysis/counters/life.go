package counters

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// The states of a CF
//
// A CF waits from its creation, is ready, runs, perhaps moves to another node, and is gone after its last execution.
// Its events, in order of time, say when. Where events are missing or still to come, an event that does not fit
// changes the state as if whatever must have come before it had not been recorded.

// cfEvent says what happened to a CF. The order is that of events at the same time.
type cfEvent uint8

const (
	created cfEvent = iota
	arrived
	becameReady
	started // starts and ends in the order of executions
	ended
	left
)

func (e cfEvent) rank() cfEvent {
	if e == ended {
		return started
	}
	return e
}

// moment is an event of a CF, on the common clock.
type moment struct {
	t      int64
	node   int32  // -1 on a stream that is no worker
	number uint32 // orders executions
	what   cfEvent
}

// sortMoments puts the events of a CF in an order that does not depend on where they come from.
func sortMoments(list []moment) {
	order := func(x, y *moment) int {
		return cmp.Or(cmp.Compare(x.t, y.t), cmp.Compare(x.what.rank(), y.what.rank()),
			cmp.Compare(x.number, y.number), cmp.Compare(x.what, y.what), cmp.Compare(x.node, y.node))
	}
	if len(list) > 12 {
		slices.SortFunc(list, func(x, y moment) int { return order(&x, &y) })
		return
	}
	for i := 1; i < len(list); i++ { // nearly all lists are short and nearly in order
		for k := i; k > 0 && order(&list[k], &list[k-1]) < 0; k-- {
			list[k], list[k-1] = list[k-1], list[k]
		}
	}
}

// momentsOf lists the events of a CF at the nodes of this process, in order.
func momentsOf(m *model.Model, cf model.CF, list []moment) []moment {
	number := uint32(0)
	add := func(t int64, node int32, what cfEvent) {
		if t != model.None && (node < 0 || m.Own(int(node))) {
			list = append(list, moment{t, node, number, what})
		}
	}
	add(m.Created[cf], int32(m.CFID(cf).Node()), created)
	m.AllReady(cf, func(t int64, node int) { add(t, int32(node), becameReady) })
	moves := m.MovesOf(cf)
	for i := range moves {
		if g := &moves[i]; flew(g.Sent, g.Received) {
			add(g.Sent, g.From, left)
		}
		add(moves[i].Received, moves[i].To, arrived)
	}
	first, end := m.OwnExecutions()
	for e := range m.ExecutionsOf(cf) {
		if e < first || e >= end {
			continue
		}
		_, node := m.WorkerOf(e)
		number = m.ExecNumber[e]
		add(m.ExecStart[e], node, started)
		if t := m.ExecEnd[e]; t != model.None {
			add(max(t, m.ExecStart[e]), node, ended)
		}
	}
	sortMoments(list)
	return list
}

// flew tells whether a CF was on its way for some time. Where the clocks say that it was not, the arrival tells
// everything: in order of time the departure would come after it.
func flew(sent, received int64) bool { return received == model.None || received > sent }

// life follows the state of one CF from event to event. It can go on with later events: that an execution was the
// last one is taken back then.
type life struct {
	out    sink
	sign   int64 // 1, or -1 to take everything back
	weight int64
	// change, if not nil, gets the changes of state that would go to out, by spreadState.
	change func(t int64, node int32, from, to quantity)

	t     int64 // of the last event
	node  int32
	now   quantity // the state
	last  cfEvent
	again bool // ready for the next execution while it still runs
}

const minTime = int64(-1 << 63)

// begin starts a life at the node that numbered the CF.
func (l *life) begin(home int32) {
	l.t, l.node, l.now, l.last, l.again = minTime, home, absent, created, false
}

// walk follows a whole life: events in order.
func (l *life) walk(home int32, list []moment) {
	l.begin(home)
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

func (l *life) step(t int64, node int32, from, to quantity) {
	switch {
	case from == to:
	case l.change != nil:
		l.change(t, node, from, to)
	default:
		spreadState(l.out, t, node, from, to, l.sign, l.weight)
	}
}

// spreadState tells what changes when a CF goes from one state to another at a node. A moving one is on no node.
func spreadState(out sink, t int64, node int32, from, to quantity, sign, weighs int64) {
	count := func(state quantity, d int64) {
		if state < moving {
			out.add(state, node, t, d)
		}
		out.add(state, whole, t, d)
	}
	exists := func(place int32, d int64) {
		out.add(cfs, place, t, d)
		out.add(objects, place, t, d)
		out.add(weight, place, t, d*weighs)
	}
	if from != absent {
		count(from, -sign)
	} else {
		exists(whole, sign)
	}
	if to != absent {
		count(to, sign)
	} else {
		exists(whole, -sign)
	}
	if here := from < moving; here != (to < moving) {
		if here {
			exists(node, -sign)
		} else {
			exists(node, sign)
		}
	}
}
