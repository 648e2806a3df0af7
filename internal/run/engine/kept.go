package engine

// DFs follow the CFs that a balancer moves. A CF that was moved keeps its larger outputs at the node where
// it ran. Their home, the node that the locator names, learns it (Kept). It still counts their requests,
// checks that they are assigned once, and knows when they are to be destroyed, but passes requests on
// (Forward). At the end of a DF it tells the keeper how many there were (Done); the keeper forgets the DF
// when it has served them.
//
//	keeper                              home                        a node that asks
//	post: stored here ── Kept ────────► stored: kept
//	                  ◄─ Forward ─────── request ◄──────── Request
//	answers ─────────────────────────────────────────────► Response
//	                  ◄─ Done ────────── count used up, or destroyed
//
// A CF of the home that needs nothing more than kept DFs goes to where they are (follow), if what it would
// take along is no more. So the CFs that hand a DF on to each other stay together where a balancer has put
// the first.

import (
	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/trace"
)

// keepFrom is the size from which a DF is kept: a smaller one is sent as fast as the message about it. A
// variable for tests.
var keepFrom = int64(256)

// farAway stands for the value of an input that another node keeps: an unset one that says where, and how
// large. There are many slots, and few are far, so this takes no room of its own.
func farAway(keeper int, size int64) cpp.Value {
	return cpp.Value{Bits: uint64(keeper)<<48 | uint64(size)}
}

// keeper is the node that keeps a far input.
func (s *slot) keeper() int { return int(s.val.Bits >> 48) }

// farSize is the size of a far input.
func (s *slot) farSize() int64 { return int64(s.val.Bits & (1<<48 - 1)) }

// keeps reports whether a CF's output stays here, although its home is elsewhere, and stores it if so.
func (a *actor) keeps(c *cf, id *ident, v cpp.Value, count int32, made bool, home int) bool {
	if !c.guest || v.Size() < keepFrom || count == 0 {
		return false
	}
	s, h := a.n.locked(id)
	k := a.cell(s, id, h)
	num := k.num
	if k.stored || k.destroyed || len(k.waiters) > 0 {
		s.mu.Unlock()
		return false
	}
	k.stored, k.keeps, k.val, k.producer, k.at, k.count = true, true, v, c.maker(), a.now, -1
	s.mu.Unlock()
	e := a.n.eng
	if made {
		e.ses.DFCreate.EmitAt(a.ps, a.now, num, v.Size(), c.id)
	}
	e.ses.DFStored.EmitAt(a.ps, a.now, num, v.Size())
	p := packing(a.head)
	p.ident(id)
	signed(p, &count)
	by, size := c.maker(), v.Size()
	p.maker(&by)
	signed(p, &size)
	a.dispatch(a.newMessage(msgKept, home, p.b))
	return true
}

// passOn has the keeper of a DF answer a request. If a CF here may follow the DF, it only notes where
// the DF is.
func (a *actor) passOn(id *ident, num trace.DF, w waiter, keeper int, size int64) {
	if w.c == nil {
		a.forward(id, int(w.node), w.req, keeper)
		return
	}
	c := w.c
	if !a.mayFollow(c) {
		a.fetchFar(c, []farInput{{*id, w.k, w.gen, keeper}})
		return
	}
	c.mu.Lock()
	s := &c.inputs[w.k]
	a.n.denote(s, num)
	s.val, s.far, s.asked = farAway(keeper, size), true, false
	c.open--
	c.fars++
	if !c.suspended { // its worker will see
		c.mu.Unlock()
		return
	}
	c.missing--
	if c.missing == 0 {
		c.suspended = false
		a.follow(c)
		return
	}
	queue := c.waiting == w.k
	c.suspended = !queue
	c.mu.Unlock()
	if queue {
		a.n.queue.wake(a.n.eng, c)
	}
}

// mayFollow reports whether a CF may go to where its inputs are kept.
func (a *actor) mayFollow(c *cf) bool {
	return a.n.eng.balance.movable[c.st.ID] && len(c.st.Waves) == 1 && c.stage == stageMain && !a.hasTwins(c)
}

// hasTwins reports whether two inputs of a CF are one cell.
func (a *actor) hasTwins(c *cf) bool {
	if !a.n.eng.static[c.st.ID].twins {
		return false
	}
	for i := range c.inputs {
		id, _ := a.refIdent(c.st.Inputs[i].Ref, &env{f: c.ctx(), c: c})
		for j := range i {
			if a.sameCell(c, j, &id) {
				return true
			}
		}
	}
	return false
}

// farInput is an input to be fetched from its keeper.
type farInput struct {
	id     ident
	k      int32
	gen    uint32
	keeper int
}

// follow has a CF that needs nothing but far inputs go where most of their bytes are, or fetches them if it
// would take more along. Nobody else has the CF; its lock is held, and released here.
func (a *actor) follow(c *cf) {
	if to, ok := c.nearest(); ok {
		c.mu.Unlock()
		a.send(c, to, atSend)
		return
	}
	list := a.takeFar(c)
	// The worker that it wakes looks at all inputs again: far ones it had passed by.
	c.suspended, c.missing, c.waiting, c.cursor = true, int32(len(list)), list[0].k, 0
	c.mu.Unlock()
	a.fetchFar(c, list)
}

// nearest is the node that keeps most bytes of the CF's inputs; false if more are here.
func (c *cf) nearest() (node int, ok bool) {
	var here, most int64
	for i := range c.inputs {
		s := &c.inputs[i]
		if s.have {
			here += s.val.Size()
		}
		if !s.far {
			continue
		}
		var there int64
		for j := range c.inputs {
			if o := &c.inputs[j]; o.far && o.keeper() == s.keeper() {
				there += o.farSize()
			}
		}
		if there > most {
			node, most = s.keeper(), there
		}
	}
	return node, most >= here && most > 0
}

// takeFar makes far inputs of a CF such as are asked for. Its lock is held.
func (a *actor) takeFar(c *cf) (list []farInput) {
	for i := range c.inputs {
		s := &c.inputs[i]
		if !s.far {
			continue
		}
		id, _ := a.refIdent(c.st.Inputs[i].Ref, &env{f: c.ctx(), c: c})
		list = append(list, farInput{id, int32(i), c.gen, s.keeper()})
		s.val, s.far, s.asked = cpp.Value{}, false, true
		c.open++
	}
	c.fars = 0
	return list
}

// fetchFar asks keepers for inputs of a CF. The CF's request to its own node is recorded already.
func (a *actor) fetchFar(c *cf, list []farInput) {
	n := a.n
	for i := range list {
		f := &list[i]
		req := n.message()
		n.pendingMu.Lock()
		n.requests[req] = waiter{c: c, k: f.k, gen: f.gen}
		n.pendingMu.Unlock()
		a.forward(&f.id, n.id, req, f.keeper)
	}
}

// forward has a keeper answer a request of a node.
func (a *actor) forward(id *ident, node int, req uint64, keeper int) {
	h := packing(a.head)
	h.ident(id)
	count(h, &node)
	count(h, &req)
	a.dispatch(a.newMessage(msgForward, keeper, h.b))
}

// serve answers, at the keeper, a request that the home has passed on, or made itself: nobody recorded that
// one, so the DF comes like one that its maker pushes.
func (a *actor) serve(id *ident, home, node int, req uint64) {
	e := a.n.eng
	by := a.n.maker(id)
	num, v, at, ok := a.request(id, waiter{node: int32(node), req: req})
	switch {
	case !ok:
	case node == home:
		h := packing(a.head)
		h.ident(id)
		count(h, &req)
		count(h, &by)
		a.sendValue(msgFetched, node, h.b, num, v, 0, by)
	case node != a.n.id:
		a.respond(id, num, v, node, req)
	default: // it is here already: a message of no bytes
		w, m := a.n.pending(req), a.n.message()
		e.ses.DFSent.EmitAt(a.ps, a.now, num, node, 0, m, req, 0)
		e.ses.DFReceived.EmitAt(a.ps, a.now, num, node, 0, m, req, w.c.id)
		w.c.answer(a, int(w.k), w.gen, v, num, max(at, a.now), false)
	}
}

// maker is the CF that produced a DF of the store.
func (n *node) maker(id *ident) trace.CF {
	s, h := n.locked(id)
	defer s.mu.Unlock()
	if c := s.find(id, h); c != nil {
		return c.producer.id
	}
	return 0
}

// pending takes a request that this node made, and is being answered.
func (n *node) pending(req uint64) waiter {
	n.pendingMu.Lock()
	defer n.pendingMu.Unlock()
	w := n.requests[req]
	delete(n.requests, req)
	return w
}

// endKept records, at the home, the end of a DF that is kept, and tells the keeper how many requests were
// passed on.
func (a *actor) endKept(id *ident, num trace.DF, size int64, keeper int, uses int32, why trace.Reason) {
	a.n.eng.ses.DFDestroy.EmitAt(a.ps, a.now, num, size, why)
	h := packing(a.head)
	h.ident(id)
	signed(h, &uses)
	a.dispatch(a.newMessage(msgDone, keeper, h.b))
}

// done forgets a kept DF once all its requests are served.
func (a *actor) done(id *ident, uses int32) {
	s, h := a.n.locked(id)
	c := s.find(id, h)
	if left := uses - c.uses; left > 0 {
		c.count = left
		s.mu.Unlock()
		return
	}
	num, by := c.num, c.producer
	v := s.take(c)
	s.mu.Unlock()
	a.giveUp(num, v, id, by)
}

// arrive gives a CF that has come to its inputs those that are kept here.
func (a *actor) arrive(c *cf) {
	whole := c.stage == stageMain && len(c.inputs) > 0
	for i := range c.inputs {
		s := &c.inputs[i]
		if s.far {
			id, _ := a.refIdent(c.st.Inputs[i].Ref, &env{f: c.ctx(), c: c})
			a.n.denote(s, a.number(&id))
			if s.keeper() == a.n.id {
				_, s.val, s.at, s.have = a.request(&id, waiter{c: c, k: int32(i)})
				s.at, s.far = max(s.at, c.born), false
				c.fars--
			}
		}
		whole = whole && s.have
	}
	if whole && c.st.Kind == luna.Atomic {
		c.wave = int32(len(c.st.Waves))
	}
}

// hasOrFar reports whether nothing is to come for an input.
func (s *slot) hasOrFar() bool { return s.have || s.far }

// followNow is follow for the worker that holds the CF. Its lock is held, and released here.
func (w *worker) followNow(c *cf, wave []int) {
	e := w.n.eng
	if to, ok := c.nearest(); ok {
		c.mu.Unlock()
		e.std[trace.KindBlockMigrated].BlockMigrated.EmitAt(w.ps, w.now, siteOf(c.st), c.block())
		w.send(c, to, atMigrate)
		return
	}
	list := w.takeFar(c)
	c.cursor = 0
	for c.inputs[wave[c.cursor]].have {
		c.cursor++
	}
	w.suspend(c, wave, true)
	c.mu.Unlock()
	w.left(atWait)
	w.fetchFar(c, list)
}
