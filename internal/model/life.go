package model

import (
	"cmp"
	"slices"
)

// The life of a CF, derived here for everybody who asks where a CF is and what it is doing.
//
//	             created                     became ready            started
//	CFAbsent ──────────────► CFWaiting ────────────────► CFReady ────────────► CFRunning ◄─┐
//	                          ▲  ▲  │                       │                      │       │
//	                 received │  │  │ left                  │ left           ended │       │ started
//	                          │  │  ▼                       │                      ▼       │ again
//	                       CFMoving ◄───────────────────────┘                  CFFinished ─┘
//	                             │     waits again, as a while does                │
//	                             └──◄──────────────────────────────────────────────┘
//
// A CF that runs again waits between two executions; it is ready at once if it became so while it still ran.
// An execution was the last one if nothing follows it.
//
// Damaged traces lack events. An event that does not fit changes the state as if the missing ones had
// happened unseen at the same time: a CF that starts on another node moves there first.
//
// A debugger that holds a CF does not change its state (Model.Held), nor does its destruction: a CF is
// destroyed some time after it has finished.

// CFState is what a CF is doing. A CF in a state below CFMoving is on a node; one up to CFMoving exists.
type CFState uint8

// The states.
const (
	CFWaiting  CFState = iota // for DFs, or nobody has looked at what it needs
	CFReady                   // queued on a node
	CFRunning                 // on a worker, or on a stream that is no worker
	CFMoving                  // between two nodes
	CFFinished                // after its last execution
	CFAbsent                  // not created yet
)

// String is the state in a word. One that was not created as far as is known counts as waiting.
func (s CFState) String() string {
	return [...]string{"waiting", "ready", "running", "moving", "finished", "waiting"}[s]
}

// CFChange is what happened to a CF. The order is that of changes at the same time.
type CFChange uint8

// The changes.
const (
	CFCreated CFChange = iota
	CFReceived
	CFBecameReady
	CFStarted // starts and ends come in the order of executions
	CFEnded
	CFWaited // looked at what it needs, and something was missing
	CFLeft
)

func (c CFChange) rank() CFChange {
	if c == CFEnded {
		return CFStarted
	}
	return c
}

// CFEvent is a change of a CF, in nanoseconds on the common clock.
type CFEvent struct {
	T      int64
	Node   int32  // -1: not known, as on a stream that is no worker
	Number uint32 // of the execution that started or ended
	What   CFChange
}

// Life is where a CF stands after some events.
type Life struct {
	Since int64 // when it came into its state; None: nothing has happened
	Node  int32 // where it is; of one that moves: where it left
	State CFState
	Again bool // it became ready for its next execution while it still ran
	// Looked says that it has looked at what it needs since it was created or last executed, and waited for
	// something.
	Looked bool
}

// Step is called at each change of state on a node. A CF goes from node to node through CFMoving, which is at
// no node.
type Step func(t int64, node int32, from, to CFState)

// newLife is the life of a CF of which nothing has happened; home is the node that numbered it.
func newLife(home int32) Life { return Life{Since: None, Node: home, State: CFAbsent} }

// take takes the next event; last: nothing follows it. step may be nil.
func (l *Life) take(e *CFEvent, last bool, step Step) {
	switch e.What {
	case CFCreated, CFReceived:
		if l.State != CFRunning {
			l.to(e, CFWaiting, step)
		}
	case CFBecameReady:
		if l.State == CFRunning {
			l.Again = true
		} else {
			l.to(e, CFReady, step)
		}
	case CFStarted:
		l.Again, l.Looked = false, false
		l.to(e, CFRunning, step)
	case CFEnded:
		if last {
			l.to(e, CFFinished, step)
		} else {
			l.to(e, l.next(), step)
		}
	case CFWaited:
		if l.State != CFRunning && !(l.State == CFReady && l.Since == e.T) {
			l.Looked = true
			l.to(e, CFWaiting, step)
		}
	case CFLeft:
		l.Again = false
		l.to(e, CFMoving, step)
	}
}

// next is the state between two executions.
func (l *Life) next() CFState {
	if l.Again {
		l.Again = false
		return CFReady
	}
	return CFWaiting
}

// to changes the state to one at the node of an event.
func (l *Life) to(e *CFEvent, next CFState, step Step) {
	node := e.Node
	if node < 0 {
		node = l.Node
	}
	if step != nil {
		move := func(node int32, from, to CFState) {
			if from != to {
				step(e.T, node, from, to)
			}
		}
		switch {
		case l.State >= CFMoving:
			move(node, l.State, next)
		case next >= CFMoving || node == l.Node:
			move(l.Node, l.State, next)
		default: // it came here, and when was not recorded
			move(l.Node, l.State, CFMoving)
			move(node, CFMoving, next)
		}
	}
	l.State, l.Node, l.Since = next, node, e.T
}

// SortCFEvents puts the events of one CF in order, whatever order they come from.
func SortCFEvents(list []CFEvent) {
	slices.SortFunc(list, func(x, y CFEvent) int {
		return cmp.Or(cmp.Compare(x.T, y.T), cmp.Compare(x.What.rank(), y.What.rank()),
			cmp.Compare(x.Number, y.Number), cmp.Compare(x.What, y.What), cmp.Compare(x.Node, y.Node))
	})
}

// CFEvents appends to list what was recorded of a CF but its waits, unsorted. own leaves out what happened on
// the nodes of other processes.
func (m *Model) CFEvents(cf CF, own bool, list []CFEvent) []CFEvent {
	add := func(t int64, node int32, number uint32, what CFChange) {
		if t != None && (!own || node < 0 || m.Own(int(node))) {
			list = append(list, CFEvent{t, node, number, what})
		}
	}
	add(m.Created[cf], int32(m.CFID(cf).Node()), 0, CFCreated)
	m.AllReady(cf, func(t int64, node int) { add(t, int32(node), 0, CFBecameReady) })
	for _, g := range m.MovesOf(cf) {
		// Where clocks say that it arrived no later than it left, its arrival says all.
		if g.Received == None || g.Received > g.Sent {
			add(g.Sent, g.From, 0, CFLeft)
		}
		add(g.Received, g.To, 0, CFReceived)
	}
	first, end := 0, m.Executions()
	if own {
		first, end = m.OwnExecutions()
	}
	for e := range m.ExecutionsOf(cf) {
		if e < first || e >= end {
			continue
		}
		_, node := m.WorkerOf(e)
		add(m.ExecStart[e], node, m.ExecNumber[e], CFStarted)
		if t := m.ExecEnd[e]; t != None {
			add(max(t, m.ExecStart[e]), node, m.ExecNumber[e], CFEnded)
		}
	}
	return list
}

// LifeAt is where a CF stands at a time. waited is when it last waited by then, None where it did not
// (LastAwait).
func (m *Model) LifeAt(cf CF, t, waited int64) Life {
	if m.Ended(cf, waited) {
		e := int(m.ExecOf[cf] - 1)
		_, node := m.WorkerOf(e)
		if end := max(m.ExecEnd[e], m.ExecStart[e]); end <= t && node >= 0 {
			l := newLife(node)
			l.take(&CFEvent{end, node, 1, CFEnded}, true, nil)
			return l
		}
	}
	var space [8]CFEvent
	list := m.CFEvents(cf, false, space[:0])
	if waited != None {
		list = append(list, CFEvent{waited, -1, 0, CFWaited})
	}
	SortCFEvents(list)
	l := newLife(int32(m.CFID(cf).Node()))
	for i := range list {
		if list[i].T > t {
			break
		}
		l.take(&list[i], i == len(list)-1, nil)
	}
	return l
}

// Ended tells that a CF lived as nearly all do, and has finished; waited is when it last waited, None where
// it did not. A CF of which it is false may have finished too: LifeAt tells.
func (m *Model) Ended(cf CF, waited int64) bool {
	e := m.ExecOf[cf]
	if e == 0 || m.ExecNumber[e-1] != 1 || m.ExecEnd[e-1] == None {
		return false
	}
	start := m.ExecStart[e-1]
	if waited >= start || m.Ready[cf] > start || m.Created[cf] > start {
		return false
	}
	moves := m.MovesOf(cf)
	for i := range moves {
		if moves[i].Received == None || moves[i].Received > start {
			return false
		}
	}
	return true
}

// NodeAt gives the node where a CF was at a time: where it was created, or where it last arrived.
func (m *Model) NodeAt(cf CF, t int64) int {
	moves := m.MovesWithin(cf, None, t)
	for i := len(moves) - 1; i >= 0; i-- {
		if moves[i].Received != None {
			return int(moves[i].To)
		}
	}
	return m.CFID(cf).Node()
}

// Lives walks through the lives of many CFs. Waits do not count: what CFs ask for between executions is not
// asked.
type Lives struct {
	m    *Model
	step Step
	list []CFEvent
}

// Lives walks through lives and calls step for every change of state, in order of time for each CF.
func (m *Model) Lives(step Step) *Lives { return &Lives{m: m, step: step} }

// Follow steps through the life of a CF.
func (l *Lives) Follow(cf CF) {
	m := l.m
	moves := m.MovesOf(cf)
	if e := m.ExecOf[cf]; e != 0 && m.ExecNumber[e-1] == 1 && len(moves) <= 1 && len(m.multi.of(cf)) == 0 &&
		!m.WasReadyTwice(cf) && l.simple(cf, int(e-1), moves) {
		return
	}
	l.list = m.CFEvents(cf, false, l.list[:0])
	SortCFEvents(l.list)
	l.Walk(int32(m.CFID(cf).Node()), l.list)
}

// Walk steps through sorted events of a CF that a node numbered.
func (l *Lives) Walk(home int32, list []CFEvent) {
	life := newLife(home)
	for i := range list {
		life.take(&list[i], i == len(list)-1, l.step)
	}
}

// simple follows a CF that lived as nearly all do: created, perhaps sent to another node, ready there,
// executed once. It tells whether it was one. It spares them the list.
func (l *Lives) simple(cf CF, e int, moves []Message) bool {
	m := l.m
	from, ready, start := m.Created[cf], m.Ready[cf], m.ExecStart[e]
	node, at := int32(m.CFID(cf).Node()), int32(m.ReadyNode[cf])
	_, on := m.WorkerOf(e)
	switch {
	case ready == None: // as if it became ready at once: it is waiting or running
		ready, at = start, on
		if on < 0 {
			at = node // on a stream that is no worker
		}
	case on >= 0 && on != at:
		return false
	}
	if from == None {
		from, node = ready, at
	}
	switch {
	case from > ready || ready > start:
		return false
	case len(moves) == 0 && at == node:
		l.step(from, node, CFAbsent, CFWaiting)
	case len(moves) == 1:
		v := &moves[0]
		if v.From != node || v.To != at || from > v.Sent || v.Sent > v.Received || v.Received > ready {
			return false
		}
		l.step(from, node, CFAbsent, CFWaiting)
		l.step(v.Sent, node, CFWaiting, CFMoving)
		l.step(v.Received, at, CFMoving, CFWaiting)
	default:
		return false
	}
	l.step(ready, at, CFWaiting, CFReady)
	l.step(start, at, CFReady, CFRunning)
	if end := m.ExecEnd[e]; end != None {
		l.step(max(start, end), at, CFRunning, CFFinished)
	}
	return true
}
