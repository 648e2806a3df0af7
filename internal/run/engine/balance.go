package engine

// Balancing while the program runs. A module (prof.Balancer) looks at what lies ahead of each node and has
// CFs moved. The engine tells it what there is (load) and hands the CFs over (handOver); it decides nothing.
//
// What may move is what a thief could take, and more: any atomic CF in the queue of its node that is ready,
// or has asked for nothing yet, except
//
//   - those that get DFs by push: these go to the node that the label's locator names;
//   - those with a replicated locator: there is one at each node, or they belong where they were made.
//
// A CF that is ready takes its inputs along, so each reader still requests each DF exactly once.
//
// The module runs in a goroutine of its own, which touches no CF: it sends an order to the node, whose
// message goroutine obeys. An order is no part of the program's work. If the node is about to find that
// nothing is left to do, there is nothing to move either, and the order is void (obey).

import (
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/internal/run/transport"
	"github.com/whyslow/whyslow/prof"
)

// balance is what a run with a balancer has more than others.
type balance struct {
	eng      *engine
	balancer prof.Balancer
	movable  []bool                      // by Stmt.ID
	codes    map[string]int              // Code.ID by name
	reports  []atomic.Pointer[prof.Load] // by node; of those of other processes the last one received
	busy     []meanTime                  // by Code.ID: executions in this process
	found    []found                     // by Code.ID: room for load
	idle     chan struct{}               // a worker has nothing to do
	stopped  chan struct{}
}

// meanTime sums executions up, for others to read meanwhile.
type meanTime struct{ runs, total atomic.Int64 }

// add counts an execution.
func (m *meanTime) add(ns int64) {
	m.total.Add(ns)
	m.runs.Add(1)
}

func (m *meanTime) mean() int64 {
	if runs := m.runs.Load(); runs > 0 {
		return m.total.Load() / runs
	}
	return 0
}

// found is what a node has of a code fragment in the part of its queue that was looked at.
type found struct{ all, movable, bytes int64 }

// doing is what a worker executes: only kept where there is a balancer.
type doing struct {
	code  atomic.Int64 // Code.ID + 1; 0: nothing
	since atomic.Int64
}

// How much of a queue is looked at: CFs at its end, for those that are ready; and at its beginning, for
// those that have asked for nothing yet. Those will soon run or wait, nobody knows which, so only some
// count: as many as a worker has, or take that long.
const (
	lookedAt = 512
	freshCFs = 8
	freshNS  = int64(5 * time.Millisecond)
)

func newBalance(e *engine) *balance {
	b := &balance{eng: e, balancer: e.cfg.Balancer, codes: map[string]int{},
		idle: make(chan struct{}, 1), stopped: make(chan struct{}),
		busy:    make([]meanTime, len(e.prog.Codes)),
		found:   make([]found, len(e.prog.Codes)),
		reports: make([]atomic.Pointer[prof.Load], len(e.nodes))}
	for _, c := range e.prog.Codes {
		b.codes[c.Name] = c.ID
	}
	for _, st := range e.prog.Stmts {
		push := slices.ContainsFunc(st.Inputs, func(i *luna.Input) bool { return i.Push })
		b.movable = append(b.movable, st.Kind == luna.Atomic && !push && !st.Home.Replicating)
	}
	return b
}

// run asks the balancer once a period until the run ends. While all workers are busy it sleeps, which costs
// them nothing. In a process of many other than the first it tells node 0 what lies ahead here.
func (b *balance) run() {
	defer close(b.stopped)
	e, period := b.eng, max(b.balancer.Period(), 50*time.Microsecond)
	tick := time.NewTicker(period)
	defer tick.Stop()
	var told *prof.Load
	for {
		select {
		case <-e.done:
			return
		case <-tick.C:
		}
		idle := e.part != nil // others may be
		for _, n := range e.here {
			load := b.load(n)
			b.reports[n.id].Store(&load)
			idle = idle || load.Idle > 0
		}
		if p := e.part; p != nil && p.node != 0 {
			// Only news: a network slower than the period would else have ever more to carry.
			if now := b.reports[p.node].Load(); told == nil || !reflect.DeepEqual(now, told) {
				p.tellJSON(msgLoad, now)
				told = now
			}
			continue
		}
		b.balancer.Balance(b)
		if idle {
			continue
		}
		tick.Stop()
		select {
		case <-e.done:
			return
		case <-b.idle:
		}
		tick.Reset(period)
	}
}

// notice notices that a worker has nothing to do.
func (b *balance) notice() {
	select {
	case b.idle <- struct{}{}:
	default:
	}
}

// Nodes implements prof.Runtime.
func (b *balance) Nodes() int { return len(b.eng.nodes) }

// Load implements prof.Runtime.
func (b *balance) Load(node int) prof.Load {
	if l := b.reports[node].Load(); l != nil {
		return *l
	}
	return prof.Load{Workers: b.eng.cfg.Workers}
}

// What a link costs where it is not emulated: about that of a cluster.
const (
	linkLatency   = 20 * time.Microsecond
	linkBandwidth = 1e9 // bytes per second
)

// Carry implements prof.Runtime.
func (b *balance) Carry(bytes int64) time.Duration {
	latency, bandwidth := b.eng.cfg.LinkLatency, b.eng.cfg.LinkBandwidth
	if latency == 0 {
		latency = linkLatency
	}
	if bandwidth == 0 {
		bandwidth = linkBandwidth
	}
	return latency + time.Duration(float64(bytes)/bandwidth*1e9)
}

// Move implements prof.Runtime.
func (b *balance) Move(m prof.Move) {
	code, ok := b.codes[m.Code]
	nodes := len(b.eng.nodes)
	if !ok || m.CFs < 1 || m.From == m.To || min(m.From, m.To) < 0 || max(m.From, m.To) >= nodes {
		return
	}
	k := packing(nil)
	k.order(&order{code: code, to: m.To, cfs: m.CFs, ahead: m.AheadNS, there: m.ThereNS})
	b.send(&transport.Message{Kind: msgOrder, From: m.From, To: m.From, Head: k.b})
}

// send sends an order to a node.
func (b *balance) send(m *transport.Message) {
	e := b.eng
	switch {
	case e.part == nil:
		if e.enterBusy() {
			e.net.Send(m)
		}
	case m.To == e.part.node:
		e.part.obey(m)
	default:
		e.part.tell(m.To, msgOrder, m.Head)
	}
}

// enterBusy is enter for what comes from outside of the program's work: it reports false, and does nothing,
// where nothing is left to do.
func (e *engine) enterBusy() bool {
	for {
		n := e.busy.Load()
		if n == 0 || e.stopping.Load() {
			return false
		}
		if e.busy.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// order has a node hand CFs of a code fragment over.
type order struct {
	code, to     int
	cfs          int64
	ahead, there int64 // ns
}

func (k *codec) order(o *order) {
	count(k, &o.code)
	count(k, &o.to)
	count(k, &o.cfs)
	count(k, &o.ahead)
	count(k, &o.there)
}

// load finds out what lies ahead of a node of this process.
func (b *balance) load(n *node) prof.Load {
	l := prof.Load{Workers: len(n.workers)}
	clear(b.found)
	note := func(c *cf) {
		f := &b.found[c.st.Code]
		f.all++
		if b.mayMove(c) {
			f.movable++
			f.bytes += c.carried()
		}
	}
	q := &n.queue
	q.mu.Lock()
	l.Idle = len(q.parked)
	q.eachReady(note)
	b.eachFresh(n, q.created.rest(), note)
	q.mu.Unlock()
	now := clock.Now()
	for _, w := range n.workers {
		if code := w.doing.code.Load(); code > 0 {
			l.AheadNS += max(0, b.busy[code-1].mean()-(now-w.doing.since.Load()))
		}
	}
	for code := range b.found {
		f, mean := &b.found[code], b.busy[code].mean()
		l.AheadNS += f.all * mean
		if f.movable > 0 {
			l.Work = append(l.Work, prof.Work{Code: b.eng.prog.Codes[code].Name, CFs: f.movable, Bytes: f.bytes,
				MeanNS: mean})
		}
	}
	l.AheadNS /= int64(l.Workers)
	return l
}

// eachReady calls f for CFs at the end of a queue that have all their inputs, the last one first. The queue
// is locked.
func (q *queue) eachReady(f func(c *cf)) {
	for _, list := range []*fifo{&q.woken, &q.created} {
		items := list.rest()
		for i := 0; i < min(len(items), lookedAt); i++ {
			if c := items[len(items)-1-i].c; c.isReady() {
				f(c)
			}
		}
	}
}

// isReady reports whether a CF of the queue has all its inputs. The queue is locked.
func (c *cf) isReady() bool {
	c.lock()
	defer c.unlock()
	return c.ready && c.stage == stageMain
}

// eachFresh calls f for the CFs at the beginning of a queue that have asked for nothing yet: as many as
// freshCFs for each worker, and as take freshNS each. The queue is locked.
func (b *balance) eachFresh(n *node, items []item, f func(c *cf)) {
	workers := int64(len(n.workers))
	left, ns := freshCFs*workers, freshNS*workers
	for _, i := range items[:min(len(items), lookedAt)] {
		if left <= 0 && ns <= 0 {
			break
		}
		c := i.c
		if c.placed && !c.issued && c.wave == 0 && !c.isReady() {
			f(c)
			left--
			ns -= b.busy[c.st.Code].mean()
		}
	}
}

// mayMove reports whether a CF that waits for nothing may go to another node.
func (b *balance) mayMove(c *cf) bool { return b.movable[c.st.ID] && !c.held }

// carried is the size of the inputs that go along with a CF.
func (c *cf) carried() (bytes int64) {
	c.lock()
	defer c.unlock()
	for i := range c.inputs {
		if c.inputs[i].have {
			bytes += c.inputs[i].val.Size()
		}
	}
	return bytes
}

// handOver obeys an order: it gives CFs away, those at the end of the queue first, and records each decision
// that moved any.
func (a *actor) handOver(o *order) {
	e := a.n.eng
	moved := map[*luna.Stmt]uint64{}
	for _, c := range e.balance.takeForMove(a.n, o) {
		moved[c.st]++
		c.wave, c.issued, c.stage, c.guest = 0, false, stageMain, true
		a.migrate(c, o.to, atSend)
	}
	for st, n := range moved {
		e.ses.Balanced.EmitAt(a.ps, a.now, siteOf(st), o.to, n, o.ahead, o.there)
	}
}

// takeForMove takes CFs off a node's queue for an order: those that are ready first, from the end, then
// those at the beginning that have asked for nothing yet.
func (b *balance) takeForMove(n *node, o *order) (taken []*cf) {
	q := &n.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	chosen := map[*cf]bool{}
	choose := func(c *cf) {
		if int64(len(taken)) < o.cfs && c.st.Code == o.code && b.mayMove(c) {
			taken = append(taken, c)
			chosen[c] = true
		}
	}
	q.eachReady(choose)
	b.eachFresh(n, q.created.rest(), choose)
	if len(taken) > 0 {
		isChosen := func(i item) bool { return chosen[i.c] }
		q.woken.remove(isChosen)
		q.created.remove(isChosen)
		q.n.Add(-int64(len(taken)))
	}
	return taken
}

// remove takes CFs out that eachReady or eachFresh found.
func (f *fifo) remove(isChosen func(item) bool) {
	last := max(f.head, len(f.items)-lookedAt)
	f.items = f.items[:last+len(slices.DeleteFunc(f.items[last:], isChosen))]
	// What is before those at the beginning moves up: the rest of the queue may be long.
	first := min(f.head+lookedAt, len(f.items))
	kept := len(slices.DeleteFunc(f.items[f.head:first], isChosen))
	copy(f.items[first-kept:first], f.items[f.head:f.head+kept])
	clear(f.items[f.head : first-kept])
	f.head = first - kept
}
