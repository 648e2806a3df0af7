package engine

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// node is one run-time system: a store, a queue and workers.
type node struct {
	id      int
	eng     *engine
	queue   queue
	workers []*worker
	rts     *actor       // handles messages; stream W
	mon     *prof.Stream // sampled lengths; stream W+1
	writer  *trace.Writer
	names   []trace.Name // by luna.DeclID

	nameTexts sync.Map    // of names in this node's trace: strings by trace.Name
	known     *identities // what the numbers of DFs stand for; nil: nobody asks

	shards [1 << shardBits]shard
	cfs    atomic.Uint64 // CFs created here
	ids    atomic.Uint64 // names created here
	dfs    atomic.Uint32 // DF numbers given in this node's trace
	msgs   atomic.Uint64 // messages and requests sent

	pendingMu sync.Mutex
	requests  map[uint64]waiter // requests to other nodes not yet answered
	heldMu    sync.Mutex
	held      map[*cf]bool // kept back by Config.Hold

	thieves    atomic.Int64 // nodes that asked for work, see steal.go
	stealMu    sync.Mutex
	stealers   []int
	asked      atomic.Bool  // this node asked others for work
	orders     orders       // of a balancer, that wait for CFs
	sampleDue  atomic.Int64 // when the lengths are looked at next, clock ns
	sampling   atomic.Bool  // somebody does it: the stream is taken
	shownReady atomic.Int64 // how many CFs were ready as recorded last
	sentShown  []int        // lengths of the queues to other nodes as recorded last
	stealable  bool
}

// actor is a goroutine that changes a node's state: a worker or the node's message goroutine.
type actor struct {
	n   *node
	ps  *prof.Stream
	cur *cf           // the CF being worked on
	err *ProgramError // first fault of the current step
	// last reading of the clock: the time of all events of one uninterrupted burst of work
	now    int64
	words  []int64
	pieces []string // of a text that is being evaluated
	head   []byte   // empty, with room for the head of a message
	dfs    []trace.DF
	idx    []int32
	vals   []any                    // arguments of an event emitted by rule
	kept   []kept                   // what is to be emitted when the present CF has left
	made   struct{ n, bytes int64 } // outputs of the present execution, where rules want to know
	// CFs that are ready and not started: those that became ready, less those that started or left again, as
	// far as this actor did it
	readied atomic.Int64
	stats   struct{ atomic, migrated, stolen, unplaced int64 }
}

// worker is one of a node's threads of execution.
type worker struct {
	actor
	id      int
	core    int // it is bound to; -1: to none
	wake    chan struct{}
	wanted  func() bool // there is something to do
	made    *batch      // children of the present step
	parts   []item      // of which are queued
	child   cf          // and
	turn    frame       // for looks at the CFs of a new batch
	begins  bool        // cur is one of those created whose turn it is
	given   []*cf       // that the gate wants here; under the queue's lock
	passing *Execution  // as the gate knows cur; only where there is one
	args    []cpp.Value
	outs    []cpp.Value
	owned   []bool
	codes   []codeTimes    // by Code.ID
	meter   *cpp.Meter     // while the worker runs
	spend   func(cpp.Span) // spent
	calm    cpp.Span       // spans of the thread in which little happened, not told yet
	places  map[uint64]trace.Name
	fresh   []bool             // by output: its creation is not recorded yet
	calling atomic.Pointer[cf] // CF whose user code is running; see freeze, tellStart
	told    bool               // its start is recorded
	stopped atomic.Bool        // has returned from loop
	doing   doing
	own     ownEvents
	times   cpp.Times
	pool    []*cf
	batches []*batch // to be used again
}

func newNode(e *engine, id int) *node {
	n := &node{id: id, eng: e, requests: map[uint64]waiter{}, held: map[*cf]bool{}}
	if k := len(e.here); k < len(e.cfg.Writers) {
		n.writer = e.cfg.Writers[k]
	}
	stream := func(i int) *prof.Stream {
		var ts *trace.Stream
		if n.writer != nil {
			ts = n.writer.Stream(i)
		}
		return e.ses.Stream(id, i, ts)
	}
	for i := range e.cfg.Workers {
		n.workers = append(n.workers, &worker{actor: actor{n: n, ps: stream(i)}, id: i,
			codes: make([]codeTimes, len(e.prog.Codes)), wake: make(chan struct{}, 1),
			wanted: func() bool { return n.queue.n.Load() > 0 || e.stopping.Load() }})
	}
	n.queue.workers = e.cfg.Workers
	if e.rank != nil {
		n.queue.first = make([]fifo, len(e.cfg.Priority))
	}
	n.rts = &actor{n: n, ps: stream(e.cfg.Workers)}
	n.mon = stream(e.cfg.Workers + 1)
	n.sentShown = make([]int, e.cfg.Nodes)
	if e.cfg.DescribeDFs && e.recording {
		n.known = newIdentities()
		for i := range n.shards {
			n.shards[i].known = n.known
		}
	}
	if !e.ses.ReadyQueue.On() && !e.ses.SendQueue.On() {
		n.sampleDue.Store(math.MaxInt64)
	}
	for i := range e.static {
		n.stealable = n.stealable || e.static[i].stealable
	}
	n.stealable = n.stealable && e.cfg.Steal && e.cfg.Nodes > 1
	if n.writer != nil {
		n.defineProgram()
	}
	return n
}

// streams are those of the node's workers, then its own two.
func (n *node) streams() (all []*prof.Stream) {
	for _, w := range n.workers {
		all = append(all, w.ps)
	}
	return append(all, n.rts.ps, n.mon)
}

// defineProgram writes the definitions that all events of this node refer to.
func (n *node) defineProgram() {
	p, w, name := n.eng.prog, n.writer, n.name
	for _, c := range p.Codes {
		w.DefineCode(trace.CodeDef{Code: uint32(c.ID) + 1, Name: name(c.Name), Kind: trace.CodeKind(c.Kind),
			File: name(c.Pos.File), Line: c.Pos.Line, Col: c.Pos.Col})
	}
	for _, st := range p.Stmts {
		w.DefineSite(trace.SiteDef{Site: siteOf(st), Code: uint32(st.Code) + 1, Label: name(st.LabelName),
			File: name(st.Pos.File),
			Line: st.Pos.Line, Col: st.Pos.Col, Text: name(st.Text), DFs: name(p.Patterns(st)),
			Stealable: n.eng.cfg.Steal && n.eng.static[st.ID].stealable})
	}
	n.names = make([]trace.Name, len(p.Decls))
	for i, d := range p.Decls {
		n.names[i] = name(d.Name)
	}
}

// name gives a string its number in this node's trace; 0 where there is none.
func (n *node) name(s string) trace.Name {
	if n.writer == nil || s == "" {
		return 0
	}
	nm := n.writer.Name(s)
	n.nameTexts.Store(nm, s)
	return nm
}

// siteOf is the number of a statement in traces.
func siteOf(st *luna.Stmt) trace.Site { return trace.Site(st.ID + 1) }

// message gives the next number for a message or request of this node.
func (n *node) message() uint64 { return trace.MakeMessage(n.id, n.msgs.Add(1)) }

// samplePeriod is how often the lengths of queues are looked at, and recorded if they have changed.
// They change too often to be recorded each time.
const samplePeriod = int64(5 * time.Millisecond)

// sample records the lengths if that is due, or if a worker finds nothing to do and that is not recorded
// yet. Workers do it in passing: a goroutine of its own would take a core from them at every tick.
func (n *node) sample(now int64, idle bool) {
	due := n.sampleDue.Load()
	if now < due && (!idle || n.shownReady.Load() == 0 || due == math.MaxInt64) ||
		!n.sampling.CompareAndSwap(false, true) {
		return
	}
	t := clock.Now()
	n.sampleDue.Store(t + samplePeriod)
	n.recordLengths(t)
	n.sampling.Store(false)
}

func (n *node) recordLengths(t int64) {
	e, ready := n.eng, n.rts.readied.Load()
	for _, w := range n.workers {
		ready += w.readied.Load()
	}
	if ready = max(ready, 0); e.ended { // others change the numbers meanwhile
		ready = 0 // what was not started never will be
	}
	if ready != n.shownReady.Load() {
		n.shownReady.Store(ready)
		e.ses.ReadyQueue.EmitAt(n.mon, t, uint64(ready))
	}
	for peer := range e.nodes {
		q := e.net.Queue(n.id, peer)
		if e.ended {
			q = 0 // what was not sent is no more
		}
		if q != n.sentShown[peer] {
			n.sentShown[peer] = q
			e.ses.SendQueue.EmitAt(n.mon, t, peer, uint64(q))
		}
	}
}

// mostWoken is how many CFs that were woken each of several workers takes before it is the turn of those
// that were created.
const mostWoken = 8

// queue holds the CFs of a node that can go on, and the workers that have nothing to do. A single worker
// takes them in the order in which they were created or woken, as LuNA does: programs show it. Several
// workers take first those that were woken, because the input they waited for has come. These work on what
// is there, and the DFs that they alone still need can go; CFs at the head of the other list make more. Yet
// now and then it is the turn of that list, as a chain that begins in it must not be left for the end, when
// there is nothing else to do. At its head may be the next CFs of chains that some worker is already at, so
// the turn lasts until one more CF has run than there are workers. Two of them run at a time then; all that
// follows the first in its chain has to wait for it, and the second is of another chain.
//
// CFs with priority come before all these. They stay on their node: no thief and no balancer sees them.
type queue struct {
	mu      sync.Mutex
	first   []fifo // by rank, of CFs with priority; nil: there are none
	workers int
	woken   fifo
	taken   int          // CFs from woken since the last turn of created
	turn    atomic.Int64 // how many CFs from created are still to run in its turn
	created fifo         // and, of a single worker, those that were woken
	n       atomic.Int64 // length, readable without the lock
	given   []*cf        // that the gate has let go: they come before all others
	parked  []*worker
	closed  bool
}

// fifo is a list, first in first out.
type fifo struct {
	items []item
	head  int // how many at the beginning of items are gone
}

// item is a CF, or a batch of them.
type item struct {
	c *cf
	b *batch
}

// popped is a CF from the queue, or CF k of a batch, its frame, and whether it was the last one.
type popped struct {
	c    *cf
	b    *batch
	k    int64
	f    *frame
	last bool
	turn bool // it is the turn of those created
}

func (f *fifo) push(i item) {
	if f.head > 64 && f.head > len(f.items)/2 {
		f.items, f.head = slices.Delete(f.items, 0, f.head), 0
	}
	if len(f.items) == cap(f.items) { // append alone would copy a long list each time it is a quarter longer
		f.items = slices.Grow(f.items, max(64, len(f.items)))
	}
	f.items = append(f.items, i)
}

// rest is what is in the list.
func (f *fifo) rest() []item { return f.items[f.head:] }

func (f *fifo) pop() (t popped, ok bool) {
	if f.head == len(f.items) {
		return t, false
	}
	i := &f.items[f.head]
	t = popped{c: i.c, b: i.b, last: true}
	if b := i.b; b != nil {
		t.k, t.f = b.next, b.frameOf(b.next)
		b.next++
		t.last = b.next == b.end
	}
	if t.last {
		*i = item{}
		f.head++
	}
	return t, true
}

func (q *queue) len() int { return int(q.n.Load()) }

// push appends a CF.
func (q *queue) push(e *engine, c *cf) {
	if e.left.Load() {
		q.give(e, nil, c)
		return
	}
	q.mu.Lock()
	q.add(e, &q.created, item{c: c})
	q.called(e, 1)
}

// add appends an item to a list, or to that of its priority.
func (q *queue) add(e *engine, list *fifo, i item) {
	if q.first != nil && i.c != nil {
		if rank := e.rankOf(i.c.st); rank > 0 {
			list = &q.first[rank-1]
		}
	}
	list.push(i)
}

// rankOf is the priority of a statement's CFs, from 1; 0 is none.
func (e *engine) rankOf(st *luna.Stmt) int {
	if e.rank == nil {
		return 0
	}
	return e.rank[st.Code]
}

// wake is push for a CF that gets an input it waited for.
func (q *queue) wake(e *engine, c *cf) {
	if e.left.Load() {
		q.give(e, nil, c)
		return
	}
	q.mu.Lock()
	list := &q.created
	if q.workers > 1 {
		list = &q.woken
	}
	q.add(e, list, item{c: c})
	q.called(e, 1)
}

// create appends what was created.
func (q *queue) create(e *engine, items ...item) {
	q.mu.Lock()
	n := int64(0)
	for _, i := range items {
		q.add(e, &q.created, i)
		if n++; i.b != nil {
			n += i.b.end - i.b.next - 1
		}
	}
	q.called(e, n)
}

// called counts n CFs that were queued, unlocks the queue and wakes as many parked workers as there are CFs
// for. The caller is counted in engine.busy.
func (q *queue) called(e *engine, n int64) {
	q.n.Add(n)
	q.wakeFor(e, n)
}

// wakeFor is called for CFs that were queued before.
func (q *queue) wakeFor(e *engine, n int64) {
	var woken [8]*worker
	rest := len(q.parked) - int(min(n, int64(len(q.parked))))
	list := append(woken[:0], q.parked[rest:]...)
	q.parked = q.parked[:rest]
	q.mu.Unlock()
	for _, w := range list {
		e.enter()
		w.wake <- struct{}{}
	}
}

// pop takes the next CF; false: there is none.
func (q *queue) pop() (t popped, ok bool) {
	if q.n.Load() == 0 {
		return t, false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range q.first {
		if t, ok = q.first[i].pop(); ok {
			q.n.Add(-1)
			return t, ok
		}
	}
	if q.turn.Load() > 0 {
		t, ok = q.created.pop()
		t.turn = ok
	}
	if !ok {
		if t, ok = q.woken.pop(); !ok {
			t, ok = q.created.pop()
		} else if q.taken++; q.taken == mostWoken*q.workers {
			q.taken = 0
			q.turn.Store(int64(q.workers) + 1)
		}
	}
	if ok {
		q.n.Add(-1)
	}
	return t, ok
}

func (q *queue) wakeAll() {
	q.mu.Lock()
	list := q.parked
	q.parked, q.closed = nil, true
	q.mu.Unlock()
	for _, w := range list {
		w.wake <- struct{}{}
	}
}

// spinFor is how long a worker looks for work before it parks. Waking a parked one takes several
// microseconds.
const spinFor = 5 * time.Microsecond

// next returns the next CF to work on; nil when the run is over.
func (w *worker) next() *cf {
	e, q := w.n.eng, &w.n.queue
	for {
		if e.stopping.Load() {
			return nil
		}
		left := false
		if e.cfg.Gate != nil {
			if c := q.takeGiven(w); c != nil {
				w.begins = false
				return c
			}
			left = e.left.Load()
		}
		if !left {
			if t, ok := q.pop(); ok {
				w.begins = t.turn
				return w.take(t)
			}
			if !e.serve || !e.net.Serve(w.wanted) {
				for start := clock.Now(); e.spin && q.n.Load() == 0 && clock.Now()-start < int64(spinFor); {
				}
			}
			if q.n.Load() > 0 {
				continue
			}
			w.askForWork()
		}
		w.n.sample(w.now, true)
		q.mu.Lock()
		if q.n.Load() > 0 && !e.left.Load() || q.closed || len(w.given)+len(q.given) > 0 {
			q.mu.Unlock()
			continue // the run is over, if it is closed
		}
		q.parked = append(q.parked, w)
		q.mu.Unlock()
		if e.balance != nil {
			e.balance.notice()
		}
		w.rest()
		e.ses.Idle.Emit(w.ps)
		e.leave()
		<-w.wake // whoever wakes us has counted us again
		e.ses.Busy.Emit(w.ps)
	}
}

// frozen in place of the CF whose user code is running means that the run goes on without the worker.
var frozen = &cf{}

// freeze takes the worker out of the run if it is inside user code. If that ever returns, the worker stays
// where it is; others may use its stream.
func (w *worker) freeze() bool {
	c := w.calling.Load()
	return c != nil && w.calling.CompareAndSwap(c, frozen)
}

func (w *worker) loop() {
	defer w.stopped.Store(true)
	if w.core >= 0 {
		w.bind()
	}
	w.meter, w.spend, w.own.take = cpp.NewMeter(), w.spent, w.takeEvent
	defer w.rest()
	for {
		c := w.next()
		if c == nil {
			return
		}
		w.cur = c
		w.step(c)
		if cpp.HeapDamaged() != 0 {
			w.heapDamaged("a value was made or freed, or a thread was made")
		}
		if w.err != nil {
			w.n.eng.finish(w.err)
			return
		}
		if w.n.eng.stopping.Load() {
			return // cur is kept: what it holds is given back at the end
		}
		w.cur = nil
		w.n.sample(w.now, false)
	}
}

// bind keeps the worker on its core. Its thread is its own from now on, and ends with it: no other goroutine
// ever runs on a thread that is bound.
func (w *worker) bind() {
	runtime.LockOSThread()
	var only unix.CPUSet
	only.Set(w.core)
	if err := unix.SchedSetaffinity(0, &only); err != nil {
		w.n.eng.cfg.Warn(fmt.Sprintf("worker %d of node %d cannot be bound to core %d: %v", w.id, w.n.id, w.core,
			err))
	}
}
