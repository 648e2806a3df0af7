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
	"cmp"
	"math/bits"
	"reflect"
	"slices"
	"strings"
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
	times    []times                     // by Stmt.ID: executions in this process
	found    map[alike]found             // room for load
	idle     chan struct{}               // a worker has nothing to do
	stopped  chan struct{}
}

// alike are CFs of a code fragment that will take about as long.
type alike struct{ code, class int }

// alike tells what a CF is like, and how long it will take.
func (b *balance) alike(c *cf) (alike, int64) {
	ns := b.expect(c)
	return alike{c.st.Code, class(ns)}, ns
}

// class is the upper or the lower half of the way from a power of two to the next.
func class(ns int64) int {
	class := 2 * bits.Len64(uint64(ns))
	if class > 2 {
		class += int(ns>>(class/2-2)) & 1
	}
	return class
}

// found is what a node has of alike CFs in the part of its queue that was looked at.
type found struct {
	movable, bytes, ns int64
	share              float64
}

// doing is what a worker executes: only kept where there is a balancer.
type doing struct {
	until atomic.Int64 // when it will have ended; 0: it executes nothing
}

// How much of a queue is looked at: CFs at its end, for those that are ready; and at its beginning, for
// those that have asked for nothing yet. Those will soon run or wait, nobody knows which, so only some
// count: as many as a worker has, or take that long.
const (
	lookedAt = 128
	freshCFs = 8
	freshNS  = int64(5 * time.Millisecond)
)

func newBalance(e *engine) *balance {
	b := &balance{eng: e, balancer: e.cfg.Balancer, codes: map[string]int{},
		idle: make(chan struct{}, 1), stopped: make(chan struct{}),
		times: make([]times, len(e.prog.Stmts)), found: map[alike]found{},
		reports: make([]atomic.Pointer[prof.Load], len(e.nodes))}
	for _, c := range e.prog.Codes {
		b.codes[c.Name] = c.ID
	}
	for _, st := range e.prog.Stmts {
		b.movable = append(b.movable, Movable(st))
	}
	return b
}

// Movable reports whether CFs of a statement may run at another node than their locator names.
func Movable(st *luna.Stmt) bool {
	push := slices.ContainsFunc(st.Inputs, func(i *luna.Input) bool { return i.Push })
	return st.Kind == luna.Atomic && !push && !st.Home.Replicating
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

// What a link costs: between processes about that of a cluster; within one, where DFs need not be copied,
// what it takes to have another thread see a message, unless a link is emulated.
const (
	linkLatency   = 20 * time.Microsecond
	linkBandwidth = 1e9 // bytes per second
	innerLatency  = 5 * time.Microsecond
)

// Carry implements prof.Runtime.
func (b *balance) Carry(bytes int64) time.Duration {
	latency, bandwidth := innerLatency+b.eng.cfg.LinkLatency, b.eng.cfg.LinkBandwidth
	if b.eng.part != nil {
		latency, bandwidth = linkLatency, linkBandwidth
	}
	if bandwidth > 0 {
		latency += time.Duration(float64(bytes) / bandwidth * 1e9)
	}
	return latency
}

// Move implements prof.Runtime.
func (b *balance) Move(m prof.Move) {
	code, ok := b.codes[m.Code]
	nodes := len(b.eng.nodes)
	if !ok || m.CFs < 1 || m.From == m.To || min(m.From, m.To) < 0 || max(m.From, m.To) >= nodes {
		return
	}
	k := packing(nil)
	k.order(&order{what: alike{code, m.Class}, to: m.To, cfs: m.CFs, ahead: m.AheadNS, there: m.ThereNS,
		next: m.Next})
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
	what         alike
	to           int
	cfs          int64
	ahead, there int64 // ns
	next         bool  // also CFs that are to come
	until        int64 // how long they are waited for, clock ns
}

func (k *codec) order(o *order) {
	count(k, &o.what.code)
	count(k, &o.what.class)
	count(k, &o.to)
	count(k, &o.cfs)
	count(k, &o.ahead)
	count(k, &o.there)
	k.bool(&o.next)
}

// load finds out what lies ahead of a node of this process.
func (b *balance) load(n *node) prof.Load {
	l := prof.Load{Workers: len(n.workers)}
	clear(b.found)
	now := clock.Now()
	note := func(c *cf) {
		what, ns := b.alike(c)
		l.AheadNS += ns
		if b.mayMove(c) {
			f := b.found[what]
			share := 0.0
			if all := b.times[c.st.ID].lately(n.id, now); all > 0 {
				share = min(1, float64(ns)/float64(all))
			}
			b.found[what] = found{f.movable + 1, f.bytes + c.carried(), f.ns + ns, f.share + share}
		}
	}
	q := &n.queue
	q.mu.Lock()
	l.Idle = len(q.parked)
	q.eachReady(note)
	b.eachFresh(n, q.created.rest(), note)
	q.mu.Unlock()
	for _, w := range n.workers {
		if until := w.doing.until.Load(); until > 0 {
			l.AheadNS += max(0, until-now)
		}
	}
	l.Work = b.work()
	clear(b.found)
	for i := range b.times {
		t, code := &b.times[i], b.eng.prog.Stmts[i].Code
		if all := t.lately(n.id, now); all > 0 && b.movable[i] {
			t.eachPiece(n.id, now, func(ns int64) {
				what := alike{code, class(ns)}
				f := b.found[what]
				b.found[what] = found{movable: f.movable + 1, ns: f.ns + ns, share: f.share + float64(ns)/float64(all)}
			})
		}
	}
	l.Again = b.work()
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

// work is what was found, in order.
func (b *balance) work() (list []prof.Work) {
	for what, f := range b.found {
		list = append(list, prof.Work{Code: b.eng.prog.Codes[what.code].Name, Class: what.class, CFs: f.movable,
			Bytes: f.bytes, MeanNS: f.ns / f.movable, Share: f.share / float64(f.movable)})
	}
	slices.SortFunc(list, func(a, b prof.Work) int {
		return cmp.Or(strings.Compare(a.Code, b.Code), a.Class-b.Class)
	})
	return list
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
			ns -= b.expect(c)
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
// that moved any. The rest of the order may have to wait for the CFs.
func (a *actor) handOver(o *order) {
	e := a.n.eng
	moved := map[*luna.Stmt]uint64{}
	for _, c := range e.balance.takeForMove(a.n, o) {
		o.cfs--
		moved[c.st]++
		a.send(c, o.to, atSend)
	}
	for st, n := range moved {
		e.ses.Balanced.EmitAt(a.ps, a.now, siteOf(st), o.to, n, o.ahead, o.there)
	}
	if o.next && o.cfs > 0 {
		a.n.orders.add(o, a.now+2*e.balance.round(o.what.code))
	}
}

// send moves a CF that waits for nothing, as a guest.
func (a *actor) send(c *cf, to int, p point) {
	c.wave, c.issued, c.stage, c.guest = 0, false, stageMain, true
	a.migrate(c, to, p)
}

// takeForMove takes CFs off a node's queue for an order: those that are ready first, from the end, then
// those at the beginning that have asked for nothing yet.
func (b *balance) takeForMove(n *node, o *order) (taken []*cf) {
	q := &n.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	chosen := map[*cf]bool{}
	choose := func(c *cf) {
		if int64(len(taken)) == o.cfs || c.st.Code != o.what.code || !b.mayMove(c) {
			return
		}
		if what, _ := b.alike(c); what == o.what {
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
