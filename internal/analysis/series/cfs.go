package series

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// state is what a CF is doing.
type state uint8

const (
	waiting state = iota
	ready
	running
	moving
	absent // not created yet, or gone
)

// existing stands beside the states where there is one level of each: CFs in any state but absent.
const existing = absent

// stateSeries are the names of the series of the states.
var stateSeries = [...]string{waiting: CFsWaiting, ready: CFsReady, running: CFsRunning, moving: CFsMoving, existing: CFs}

// cfs follows CFs by state.
func (r *run) cfs() error {
	if !r.wants(stateSeries[:]...) || r.m.Count[trace.KindCFStarted] == 0 {
		return nil
	}
	nodes := len(r.m.Nodes)
	met, err := r.meet()
	if err != nil {
		return err
	}
	list, err := levels(r, (int(existing)+1)*(nodes+1), 4*len(r.m.ExecCF), func(emit func(t int64, key int32, d int32)) {
		l := life{m: r.m, step: func(t int64, node int32, from, to state) { emit(t, node, int32(from)<<8|int32(to)) }}
		for cf := 1; cf < len(r.m.Created); cf++ {
			if met.alone(model.CF(cf)) {
				l.follow(model.CF(cf))
			}
		}
		met.others(&l)
	}, func(l []level, c *change[int32]) {
		from, to := state(c.d>>8), state(c.d&0xff)
		here := func(s state, d int64) {
			if node := int(c.key); node >= 0 && node < nodes {
				l[int(s)*(nodes+1)+node].add(c.t, d)
			}
		}
		both := func(s state, d int64) {
			if s < moving {
				here(s, d)
			}
			l[int(s)*(nodes+1)+nodes].add(c.t, d)
		}
		if from != absent {
			both(from, -1)
		}
		if to != absent {
			both(to, 1)
		}
		// A CF that moves exists, but on no node.
		switch {
		case from == absent:
			both(existing, 1)
		case to == absent:
			both(existing, -1)
		}
		if from < moving != (to < moving) {
			d := int64(1)
			if from < moving {
				d = -1
			}
			here(existing, d)
		}
	})
	if err != nil {
		return err
	}
	for s, name := range stateSeries {
		if !r.wants(name) || s == int(moving) && r.moved() == 0 {
			continue
		}
		own := list[s*(nodes+1) : (s+1)*(nodes+1)]
		if s == int(moving) {
			own = own[nodes:]
		}
		r.addLevels(name, "count", own)
	}
	return nil
}

// moved counts the events of CFs that went from node to node.
func (r *run) moved() uint64 {
	n := &r.m.Count
	return n[trace.KindCFMigrated] + n[trace.KindCFStolen] + n[trace.KindCFReceived]
}

// addLevels adds the series of all nodes and, last in the list, of the run.
func (r *run) addLevels(name, unit string, list []level) {
	out := []Series{list[len(list)-1].series(name, unit, -1, "")}
	for n := range len(list) - 1 {
		if len(r.m.Nodes[n].Workers) > 0 {
			out = append(out, list[n].series(name, unit, n, ""))
		}
	}
	r.add(out...)
}

// life walks through the states of CFs, which are given in ascending order.
type life struct {
	m *model.Model
	// step is called for every change of state: from one at a node to one at the same node. moving is at no node.
	step func(t int64, node int32, from, to state)
	list []moment
	move int // the first migration of a CF not yet met

	now  state
	node int32
}

// moment is an event of a CF.
type moment struct {
	t      int64
	node   int32
	number uint32 // of the execution
	what   what
}

// what happened to the CF; the order is that of events at the same time.
type what uint8

const (
	created what = iota
	arrived
	becameReady
	started // starts and ends in the order of executions
	ended
	left
)

// follow steps through the life of a CF.
func (l *life) follow(cf model.CF) {
	m := l.m
	for l.move < len(m.Moves) && m.Moves[l.move].CF < cf {
		l.move++
	}
	first := l.move
	for l.move < len(m.Moves) && m.Moves[l.move].CF == cf {
		l.move++
	}
	moves := m.Moves[first:l.move]
	if e := m.ExecOf[cf]; e != 0 && m.ExecNumber[e-1] == 1 && len(moves) <= 1 && !m.WasReadyTwice(cf) && once(m, cf) && l.simple(cf, int(e-1), moves) {
		return
	}
	l.collect(cf, moves)
	l.walk(int32(m.CFID(cf).Node()))
}

// once tells whether a CF was executed once.
func once(m *model.Model, cf model.CF) bool {
	n := 0
	for range m.ExecutionsOf(cf) {
		n++
	}
	return n == 1
}

// simple follows a CF that lived as nearly all do: created, perhaps sent to another node, ready there, executed once. It tells
// whether it was one.
func (l *life) simple(cf model.CF, e int, moves []model.Message) bool {
	m := l.m
	from, r, start, end := m.Created[cf], m.Ready[cf], m.ExecStart[e], m.ExecEnd[e]
	node, at := int32(m.CFID(cf).Node()), int32(m.ReadyNode[cf])
	_, on := m.WorkerOf(e)
	switch {
	case r == model.None: // as if it became ready at once: it is waiting or running
		r, at = start, on
		if on < 0 {
			at = node // on a stream that is no worker
		}
	case on >= 0 && on != at:
		return false
	}
	if from == model.None {
		from, node = r, at
	}
	switch {
	case from > r || r > start:
	case len(moves) == 0 && at == node:
		l.step(from, node, absent, waiting)
		l.run(node, r, start, end)
		return true
	case len(moves) == 1:
		v := &moves[0]
		if v.From == node && v.To == at && from <= v.Sent && v.Sent <= v.Received && v.Received <= r {
			l.step(from, node, absent, waiting)
			l.step(v.Sent, node, waiting, moving)
			l.step(v.Received, at, moving, waiting)
			l.run(at, r, start, end)
			return true
		}
	}
	return false
}

func (l *life) run(node int32, r, start, end int64) {
	l.step(r, node, waiting, ready)
	l.step(start, node, ready, running)
	if end != model.None {
		l.step(max(start, end), node, running, absent)
	}
}

// collect lists the events of a CF in order of time.
func (l *life) collect(cf model.CF, moves []model.Message) {
	m := l.m
	l.list = l.list[:0]
	number := uint32(0)
	add := func(t int64, node int32, what what) {
		if t != model.None {
			l.list = append(l.list, moment{t, node, number, what})
		}
	}
	add(m.Created[cf], int32(m.CFID(cf).Node()), created)
	m.AllReady(cf, func(t int64, node int) { add(t, int32(node), becameReady) })
	for i := range moves {
		if flew(&moves[i]) {
			add(moves[i].Sent, moves[i].From, left)
		}
		add(moves[i].Received, moves[i].To, arrived)
	}
	for e := range m.ExecutionsOf(cf) {
		_, node := m.WorkerOf(e) // -1 on a stream that is no worker
		number = m.ExecNumber[e]
		add(m.ExecStart[e], node, started)
		if end := m.ExecEnd[e]; end != model.None {
			add(max(end, m.ExecStart[e]), node, ended)
		}
	}
	sortMoments(l.list)
}

// flew tells whether a CF was on its way for some time. Where it was not, as clocks tell it, its arrival says all: in order of time it would leave after that.
func flew(g *model.Message) bool { return g.Received == model.None || g.Received > g.Sent }

// sortMoments puts moments in an order that does not depend on where they come from.
func sortMoments(list []moment) {
	slices.SortFunc(list, func(x, y moment) int {
		return cmp.Or(cmp.Compare(x.t, y.t), cmp.Compare(x.what.rank(), y.what.rank()), cmp.Compare(x.number, y.number), cmp.Compare(x.what, y.what), cmp.Compare(x.node, y.node))
	})
}

func (w what) rank() what {
	if w == ended {
		return started
	}
	return w
}

// walk follows the listed events. What does not fit, as in a damaged trace, changes the state as if what must have come
// before it had not been recorded.
func (l *life) walk(home int32) {
	l.now, l.node = absent, home
	again := false // became ready for the next execution while it still ran
	for i := range l.list {
		v := &l.list[i]
		switch v.what {
		case created, arrived:
			if l.now != running {
				l.to(v, waiting)
			}
		case becameReady:
			if l.now == running {
				again = true
			} else {
				l.to(v, ready)
			}
		case started:
			again = false
			l.to(v, running)
		case ended:
			switch {
			case i == len(l.list)-1:
				l.to(v, absent)
			case again:
				l.to(v, ready)
			default:
				l.to(v, waiting)
			}
			again = false
		case left:
			again = false
			l.to(v, moving)
		}
	}
}

// to changes the state to one at the node of an event.
func (l *life) to(v *moment, next state) {
	t := v.t
	if v.node < 0 {
		v.node = l.node
	}
	switch {
	case l.now == moving || l.now == absent:
		l.step(t, v.node, l.now, next)
	case next == moving || next == absent || v.node == l.node:
		l.step(t, l.node, l.now, next)
	default: // it came here, and when was not recorded
		l.step(t, l.node, l.now, moving)
		l.step(t, v.node, moving, next)
	}
	l.now, l.node = next, v.node
}
