package engine

// A run can be steered from outside. Config.Gate is asked before a CF requests its inputs and before it
// executes, and may keep the CF aside: it then leaves its worker, like one that waits. The gate lets it go in
// its answer to any later question, at any worker of the node, or from outside (Control).
//
// Kept CFs are not counted in Engine.busy. So when the count falls to zero, either the run is over or
// everything left waits for the gate, which knows (Quiet). All questions are asked under one lock: gates need
// none of their own, and what they let go is queued before anybody can find that nothing moves.
//
// Without a gate this costs at most six comparisons with nil for each CF. Each is two instructions, CMPQ and
// a jump that always goes the same way.

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/internal/run/placement"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// Point is where a CF is when the gate is asked.
type Point uint8

// Points, in the order in which an execution passes them.
const (
	AtRequest Point = iota // it is about to request its inputs; see Requests
	AtStart                // its inputs are here, it is about to execute
)

// Gate decides when CFs go on. Its methods are called one at a time. Executions that they return go on, each
// at the Worker that they have been given.
type Gate interface {
	// Begin is called once, before anything else.
	Begin(c *Control)
	// Pass says whether the execution may go on at once. If not, it is kept until some answer has it; the
	// answer itself may.
	Pass(x *Execution) (pass bool, others []*Execution)
	// Started tells that an execution passed AtStart and begins; its Inputs are what it gets.
	Started(x *Execution)
	// Made tells that the user code of an atomic CF has returned. Its Outputs are about to be stored.
	Made(x *Execution)
	// Done tells that an execution has sent its requests (AtRequest), or has ended and stored its outputs
	// (AtStart). Of one that ended the run nothing is told.
	Done(x *Execution) []*Execution
	// Quiet is called when nothing moves, in a run of one process. The run ends unless executions go on, or wait
	// says that some will.
	Quiet() (others []*Execution, wait bool)
}

// Execution is an execution of a CF, as gates see it. The same one, for all calls about it at one point,
// unless it begins: then it is a new one.
type Execution struct {
	CF     trace.CF
	Stmt   *luna.Stmt
	Number uint32 // of the CF's executions, from 1
	Path   uint64 // of the CF: see package placement
	Point  Point
	Node   int
	Worker int // that asks; of one that was let go the one to go on at, AnyWorker for any
	c      *cf
	w      *worker
}

// AnyWorker lets any worker of the node go on with an execution.
const AnyWorker = -1

// Key is the same for the same execution of each run of a program. Executions that recursive calls of subs
// make in several ways may share one.
func (x *Execution) Key() uint64 { return ExecutionKey(x.Stmt, x.Path, x.Number) }

// ExecutionKey is the Key of an execution of a statement.
func ExecutionKey(st *luna.Stmt, path uint64, number uint32) uint64 {
	return placement.Add(placement.Add(path, int32(st.ID)), int32(number))
}

// Requests reports whether executions of the statement pass AtRequest: those whose first inputs are
// requested, not pushed to them.
func Requests(st *luna.Stmt) bool {
	return len(st.Waves) > 0 && slices.ContainsFunc(st.Waves[0], func(k int) bool { return !st.Inputs[k].Push })
}

// Name is the CF's label or code fragment, with its indices. The CF must still exist.
func (x *Execution) Name() string { return x.w.n.cfName(x.c) }

// Code is the name of its code fragment.
func (x *Execution) Code() string { return x.w.n.eng.prog.Codes[x.Stmt.Code].Name }

// Parent is the CF that created it, 0 for none. The CF must still exist.
func (x *Execution) Parent() trace.CF { return x.c.parent }

// MoveTo has a kept execution, or one that is about to pass, go on at another node of the run. The inputs
// that it has go along; what it makes is stored where its locators say. CFs that get pushed inputs, that are
// copied to all nodes, or that are no atomic ones stay where they are.
func (x *Execution) MoveTo(node int) error {
	if err := (&Control{x.w.n.eng}).HasNode(node); err != nil {
		return err
	}
	if !Movable(x.Stmt) {
		return ErrStays
	}
	x.c.to = 0
	if node != x.Node {
		x.c.to = int32(node) + 1
	}
	return nil
}

// ErrStays says that a CF cannot be moved.
var ErrStays = errors.New("it stays on its node: only atomic CFs without pushed DFs may move")

// Wanted gives, at AtRequest, the DFs that are about to be requested first.
func (x *Execution) Wanted() (list []string) {
	a := &actor{n: x.w.n}
	for _, k := range x.Stmt.Waves[0] {
		if in := x.Stmt.Inputs[k]; !in.Push {
			id, _ := a.refIdent(in.Ref, &env{f: x.c.ctx(), c: x.c})
			list = append(list, a.identText(&id))
		}
	}
	return list
}

// Uses gives the IDs of the DFs that it has got as inputs or, at AtRequest, is about to request first.
func (x *Execution) Uses() (list []string) {
	a := &actor{n: x.w.n}
	for k, in := range x.Stmt.Inputs {
		if k < len(x.c.inputs) && x.c.inputs[k].have ||
			x.Point == AtRequest && !in.Push && slices.Contains(x.Stmt.Waves[0], k) {
			id, _ := a.refIdent(in.Ref, &env{f: x.c.ctx(), c: x.c})
			list = append(list, a.idText(&id))
		}
	}
	return list
}

// NamedValue is a DF and its value, which is borrowed.
type NamedValue struct {
	Name  string // with its indices
	Value cpp.Value
	DF    trace.DF // its number at the node; only of Inputs
}

// Inputs gives the inputs that are here. The CF must be kept, or be at Started or Made.
func (x *Execution) Inputs() (list []NamedValue) {
	a := &actor{n: x.w.n} // no worker's: faults were told when the DFs were requested
	for i := range x.c.inputs {
		if s := &x.c.inputs[i]; s.have {
			id, _ := a.refIdent(x.Stmt.Inputs[i].Ref, &env{f: x.c.ctx(), c: x.c})
			list = append(list, NamedValue{a.identText(&id), s.val, s.df})
		}
	}
	return list
}

// Outputs gives, at Made, what the execution has made.
func (x *Execution) Outputs() (list []NamedValue) {
	a := &actor{n: x.w.n}
	for i, val := range x.w.outs {
		id, _ := a.refIdent(x.Stmt.Outs[i], &env{f: x.c.ctx(), c: x.c, outs: x.w.outs})
		list = append(list, NamedValue{Name: a.identText(&id), Value: val})
	}
	return list
}

// execution describes the CF at a point for the gate.
func (w *worker) execution(c *cf, p Point) *Execution {
	number := c.exec + 1
	return &Execution{CF: c.id, Stmt: c.st, Number: number, Path: c.path, Point: p, Node: w.n.id, Worker: w.id,
		c: c, w: w}
}

// kept reports whether the gate keeps the CF, which others may then be working at, or sends it to another
// node.
func (w *worker) kept(c *cf, p Point) bool {
	e, n := w.n.eng, w.n
	if c.let {
		n.heldMu.Lock()
		c.let = false
		delete(n.held, c)
		n.heldMu.Unlock()
		w.now = clock.Now()
		e.ses.CFResumed.EmitAt(w.ps, w.now, c.id)
		return w.movesOn(c)
	}
	e.gateMu.Lock()
	pass, others := e.cfg.Gate.Pass(w.execution(c, p))
	if !pass {
		n.heldMu.Lock()
		n.held[c] = true
		n.heldMu.Unlock()
		e.ses.CFHeld.Emit(w.ps, c.id)
	}
	e.resume(others)
	e.gateMu.Unlock()
	return !pass || w.movesOn(c)
}

// movesOn sends a CF to the node that the gate has named, if it has.
func (w *worker) movesOn(c *cf) bool {
	if c.to == 0 {
		return false
	}
	to := int(c.to) - 1
	w.now = clock.Now()
	w.n.eng.std[trace.KindBlockMigrated].BlockMigrated.EmitAt(w.ps, w.now, siteOf(c.st), c.block())
	c.to, c.wave, c.issued, c.stage = 0, 0, false, stageMain
	w.migrate(c, to, atSend)
	return true
}

// tellStarted tells the gate that the CF begins.
func (w *worker) tellStarted(c *cf) *Execution {
	e, x := w.n.eng, w.execution(c, AtStart)
	e.gateMu.Lock()
	e.cfg.Gate.Started(x)
	e.gateMu.Unlock()
	w.passing = x
	return x
}

// tellMade tells the gate that user code has returned.
func (w *worker) tellMade() {
	e := w.n.eng
	e.gateMu.Lock()
	e.cfg.Gate.Made(w.passing)
	e.gateMu.Unlock()
}

// tellDone tells the gate that an execution is through with a point.
func (w *worker) tellDone(x *Execution) {
	e := w.n.eng
	if w.err != nil {
		return
	}
	e.gateMu.Lock()
	e.resume(e.cfg.Gate.Done(x))
	e.gateMu.Unlock()
}

// resume queues executions that the gate lets go. The caller is counted in busy and holds gateMu.
func (e *engine) resume(list []*Execution) {
	if len(list) > 0 {
		e.acts.Add(1)
	}
	for _, x := range list {
		n, w := x.w.n, (*worker)(nil)
		x.c.let = true
		if x.Worker >= 0 && x.Worker < len(n.workers) {
			w = n.workers[x.Worker]
		}
		n.queue.give(e, w, x.c)
	}
}

// goOn asks the gate, where nothing moves, whether anything will.
func (e *engine) goOn() bool {
	e.gateMu.Lock()
	defer e.gateMu.Unlock()
	for {
		if e.busy.Load() > 0 {
			return true // something came from outside, whose end will ask again
		}
		if e.gateOver || e.stopping.Load() {
			return false
		}
		others, wait := e.cfg.Gate.Quiet()
		e.enter()
		e.resume(others)
		if e.busy.Add(-1) > 0 || wait && len(others) == 0 {
			return true
		}
		if len(others) == 0 {
			return false
		}
		// What was let go has come to rest already.
	}
}

// closeGate has no question asked any more: the run has ended.
func (e *engine) closeGate() {
	e.gateMu.Lock()
	e.gateOver = true
	e.gateMu.Unlock()
}

// Control lets a gate act from outside.
type Control struct{ e *engine }

// Do calls f while no question is asked, and lets the executions that it returns go on. It reports false, and
// does not call f, when the run has ended.
func (c *Control) Do(f func() []*Execution) bool {
	e := c.e
	e.enter()
	e.gateMu.Lock()
	over := e.gateOver || e.stopping.Load()
	if !over {
		e.resume(f())
	}
	e.gateMu.Unlock()
	e.leave()
	return !over
}

// HasNode fails if the run has no such node.
func (c *Control) HasNode(node int) error {
	if node < 0 || node >= len(c.e.nodes) {
		return c.e.noNode(node)
	}
	return nil
}

func (e *engine) noNode(node int) error {
	return fmt.Errorf("there is no node %d: the run has %s", node, words.Count(len(e.nodes), "node"))
}

// Emit has f emit events at a node, on the stream of those that no worker emits. It is called within Do.
func (c *Control) Emit(node int, f func(s *prof.Stream, t int64)) {
	n := c.e.nodes[node]
	for !n.sampling.CompareAndSwap(false, true) {
		runtime.Gosched() // a worker samples the queues
	}
	f(n.mon, clock.Now())
	n.sampling.Store(false)
}

// LeaveQueued has workers leave alone what is queued, or take it again. What goes on, gets an input or comes
// from another node is not left: gates keep that. It is called while a question is asked, or within Do.
func (c *Control) LeaveQueued(leave bool) {
	e := c.e
	if e.left.Swap(leave) == leave || leave {
		return
	}
	e.acts.Add(1)
	for _, n := range e.here {
		n.queue.mu.Lock()
		n.queue.wakeFor(e, n.queue.n.Load())
	}
}

// give has one worker go on with a CF; nil stands for any.
func (q *queue) give(e *engine, w *worker, c *cf) {
	q.mu.Lock()
	i := len(q.parked) - 1
	if w == nil {
		q.given = append(q.given, c)
	} else {
		w.given = append(w.given, c)
		i = slices.Index(q.parked, w)
	}
	if i >= 0 {
		w = q.parked[i]
		q.parked = slices.Delete(q.parked, i, i+1)
	}
	q.mu.Unlock()
	if i >= 0 {
		e.enter()
		w.wake <- struct{}{}
	}
}

// takeGiven takes a CF that this worker is to go on with.
func (q *queue) takeGiven(w *worker) *cf {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := &w.given
	if len(*list) == 0 {
		list = &q.given
	}
	if len(*list) == 0 {
		return nil
	}
	c := (*list)[0]
	*list = (*list)[1:]
	return c
}
