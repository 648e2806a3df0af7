package engine

// The store of one node: the DFs whose home is here, requests that wait for them, destroys that came before
// their DF, and what was pushed to CFs. Shards, by the hash of the identity, have a lock each; a cell exists
// while it holds anything. Requests are answered after the lock is released.
//
//	            post                      count used up, destroy
//	(nothing) ────────► stored ──────────────────────────────────► (nothing)
//	   │  request ▲ │ request: answered                               │ destroy
//	   └─► waiting ┘ └─┘                                              ▼
//	                                               destroyed early ──► post: both vanish

import (
	"fmt"
	"sync"

	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

const (
	shardBits = 5
	seenSize  = 512 // identities with a home elsewhere whose trace number a shard remembers
)

type shard struct {
	mu    sync.Mutex
	table []*cell // chains; length a power of two
	n     int
	free  *cell
	seen  []seenDF
	known *identities // told when numbers are given up; may be nil
	_     [32]byte    // shards in different cache lines
}

type seenDF struct {
	id  ident
	num trace.DF
}

type cell struct {
	id        ident
	hash      uint64
	next      *cell
	num       trace.DF
	stored    bool
	destroyed bool  // a destroy came before the DF
	count     int32 // requests it still serves; negative: any number
	// A kept DF (kept.go) has a cell at its home, where kept is the keeper + 1, and one at the keeper.
	kept     int32
	keeps    bool
	uses     int32 // requests passed on, or served
	size     int64
	val      cpp.Value
	producer maker
	at       int64 // when it was stored, clock ns
	waiters  []waiter
	// Labels have cells too: the CF that waits for pushes, and pushes that came before it.
	listener *cf
	pushed   []pushedDF
}

// waiter is an unanswered request: of a CF here (c, input k), or of another node.
type waiter struct {
	c    *cf
	k    int32
	gen  uint32
	node int32
	req  uint64
}

type pushedDF struct {
	id  ident
	val cpp.Value
	at  int64
}

// locked returns the hash of an identity, and its shard, which the caller unlocks.
func (n *node) locked(id *ident) (s *shard, h uint64) {
	h = id.hash()
	s = &n.shards[h>>(64-shardBits)]
	s.mu.Lock()
	return s, h
}

// find returns the cell of an identity or nil. The shard is locked.
func (s *shard) find(id *ident, h uint64) *cell {
	if s.table == nil {
		return nil
	}
	for c := *s.bucket(h); c != nil; c = c.next {
		if c.hash == h && c.id.equal(id) {
			return c
		}
	}
	return nil
}

func (s *shard) insert(id *ident, h uint64) *cell {
	if s.n >= len(s.table) {
		s.grow()
	}
	c := s.free
	if c == nil {
		slab := make([]cell, 32)
		for i := 1; i < len(slab); i++ {
			slab[i].next = s.free
			s.free = &slab[i]
		}
		c = &slab[0]
	} else {
		s.free = c.next
	}
	c.id, c.hash = *id, h
	s.enter(c)
	s.n++
	return c
}

// bucket is the beginning of the chain for a hash.
func (s *shard) bucket(h uint64) **cell { return &s.table[h&uint64(len(s.table)-1)] }

func (s *shard) enter(c *cell) {
	b := s.bucket(c.hash)
	c.next, *b = *b, c
}

func (s *shard) grow() {
	old := s.table
	s.table = make([]*cell, max(16, 2*len(old)))
	for _, c := range old {
		for c != nil {
			next := c.next
			s.enter(c)
			c = next
		}
	}
}

// tidy removes the cell if it holds nothing any more.
func (s *shard) tidy(c *cell) {
	if c.stored || c.destroyed || len(c.waiters) > 0 || c.listener != nil || len(c.pushed) > 0 {
		return
	}
	p := s.bucket(c.hash)
	for *p != c {
		p = &(*p).next
	}
	*p = c.next
	s.n--
	s.known.retire(c.num)
	w := c.waiters[:0]
	*c = cell{next: s.free, waiters: w}
	s.free = c
}

// get finds or makes the cell of an identity. The shard is locked.
func (s *shard) get(id *ident, h uint64) *cell {
	if c := s.find(id, h); c != nil {
		return c
	}
	return s.insert(id, h)
}

// cell is get for DFs: they get their number in the trace here.
func (a *actor) cell(s *shard, id *ident, h uint64) *cell {
	c := s.get(id, h)
	if c.num == 0 && a.n.eng.recording { // it is new, or was that of a label
		c.num = a.define(id)
	}
	return c
}

// define gives an identity a number on this node, for events.
func (a *actor) define(id *ident) trace.DF {
	num := trace.DF(a.n.dfs.Add(1))
	if a.n.known != nil {
		a.n.known.add(num, a.n.eng.prog.Decls[id.decl].Name, id.list())
	}
	if w := a.n.writer; w != nil {
		a.words = id.appendList(a.words[:0])
		w.DefineDF(num, a.n.names[id.decl], a.words)
	}
	return num
}

// number returns the trace number of a DF whose home may be elsewhere.
func (a *actor) number(id *ident) trace.DF {
	if !a.n.eng.recording {
		return 0
	}
	s, h := a.n.locked(id)
	defer s.mu.Unlock()
	if c := s.find(id, h); c != nil && c.num != 0 {
		return c.num
	}
	if s.seen == nil {
		s.seen = make([]seenDF, seenSize)
	}
	e := &s.seen[h%seenSize]
	if e.num == 0 || !e.id.equal(id) {
		s.known.retire(e.num)
		e.id, e.num = *id, a.define(id)
	}
	return e.num
}

// homeNumber returns the trace number of a DF that is about to be stored here.
func (a *actor) homeNumber(id *ident) trace.DF {
	s, h := a.n.locked(id)
	defer s.mu.Unlock()
	return a.cell(s, id, h).num
}

// request asks the store of this node for a DF: for input k of CF c here, or (c nil) for request req of
// another node. It returns the cell's number and, if it was there, the value with a reference for the caller.
func (a *actor) request(id *ident, wt waiter) (num trace.DF, val cpp.Value, at int64, ok bool) {
	s, h := a.n.locked(id)
	c := a.cell(s, id, h)
	num = c.num
	if wt.c == nil && !c.keeps {
		a.n.eng.ses.DFRequestReceived.EmitAt(a.ps, a.now, num, int(wt.node), wt.req)
	}
	switch {
	case c.stored && c.count == 0:
		s.mu.Unlock()
		a.fail(fmt.Sprintf("%s was stored to serve no request, and is requested", a.identText(id)),
			"Too many requests")
		return
	case c.stored && c.kept != 0:
		keeper, size := int(c.kept)-1, c.size
		c.uses++
		uses := c.uses
		if c.count--; c.count == 0 {
			s.take(c)
		} else {
			c.count = max(c.count, -1)
			uses = -1
		}
		s.mu.Unlock()
		a.passOn(id, num, wt, keeper, size)
		if uses >= 0 {
			a.endKept(id, num, size, keeper, uses, trace.Expired)
		}
		return
	case c.stored:
		val, at, ok = retained(c.val), c.at, true
		a.now = max(a.now, at)
		c.uses++
		if c.count--; c.count != 0 {
			c.count = max(c.count, -1) // any number
			s.mu.Unlock()
			return
		}
		keeps, by := c.keeps, c.producer
		old := s.take(c)
		s.mu.Unlock()
		if keeps {
			a.giveUp(num, old, id, by)
			return
		}
		a.gone(num, old, trace.Expired, id, by)
		return
	case c.destroyed:
		s.mu.Unlock()
		a.fail(fmt.Sprintf("%s is requested after it was deleted", a.identText(id)),
			"Destroy present, but request appeared: "+a.idText(id))
		return
	}
	c.waiters = append(c.waiters, wt)
	s.mu.Unlock()
	return
}

// take empties a stored cell; the value's reference passes to the caller.
func (s *shard) take(c *cell) cpp.Value {
	v := c.val
	c.stored, c.val = false, cpp.Value{}
	c.kept, c.keeps, c.uses = 0, false, 0
	s.tidy(c)
	return v
}

// gone records and releases a DF that the store no longer holds; by made it.
func (a *actor) gone(num trace.DF, v cpp.Value, why trace.Reason, id *ident, by maker) {
	e := a.n.eng
	e.ses.DFDropped.EmitAt(a.ps, a.now, num, v.Size())
	e.ses.DFDestroy.EmitAt(a.ps, a.now, num, v.Size(), why)
	a.release(v, id, by)
}

// giveUp is gone for a DF of which the home records the end.
func (a *actor) giveUp(num trace.DF, v cpp.Value, id *ident, by maker) {
	a.n.eng.ses.DFDropped.EmitAt(a.ps, a.now, num, v.Size())
	a.release(v, id, by)
}

// release releases a DF's value, and says so if the heap around it is damaged.
func (a *actor) release(v cpp.Value, id *ident, by maker) {
	v.Release()
	if cpp.HeapDamaged() != 0 {
		a.heapDamaged(fmt.Sprintf("%s was freed, which %s made", a.identText(id), a.cfText(by)))
	}
}

// post stores a DF here and answers the requests that wait for it. It owns a reference of v. A count of 0 or
// more is the number of requests served before it expires. made tells that this is where its creation is to
// be recorded.
func (a *actor) post(id *ident, v cpp.Value, count int32, producer maker, made bool) {
	a.postAt(id, v, count, producer, made, 0, 0)
}

// postAt is post; if kept is not 0 the node before it keeps the value, which has that size.
func (a *actor) postAt(id *ident, v cpp.Value, count int32, producer maker, made bool, kept int32,
	size int64) {
	e := a.n.eng
	if v.Type == cpp.Unset && kept == 0 {
		a.fail(fmt.Sprintf("%s is posted without a value: %s did not set it", a.identText(id),
			a.cfText(producer)), "Posting an unset value, id: "+a.idText(id))
		return
	}
	s, h := a.n.locked(id)
	c := a.cell(s, id, h)
	num := c.num
	t := a.now
	if made {
		e.ses.DFCreate.EmitAt(a.ps, a.now, num, v.Size(), producer.id)
	}
	switch {
	case c.stored:
		first := c.producer
		s.mu.Unlock()
		e.ses.DFDuplicate.EmitAt(a.ps, t, num, first.id, producer.id)
		a.fail(fmt.Sprintf("%s is assigned twice: first by %s, then by %s", a.identText(id), a.cfText(first),
			a.cfText(producer)), "Duplicate id in post: "+a.idText(id))
		v.Release()
		return
	case c.destroyed:
		c.destroyed = false
		s.tidy(c)
		s.mu.Unlock()
		if kept != 0 {
			a.endKept(id, num, size, int(kept)-1, 0, trace.Deleted)
			return
		}
		e.ses.DFStored.EmitAt(a.ps, t, num, v.Size())
		a.gone(num, v, trace.Deleted, id, producer)
		return
	}
	waiters := c.waiters
	if count >= 0 && int32(len(waiters)) > count {
		s.mu.Unlock()
		a.fail(fmt.Sprintf("%s was posted by %s to serve %s, and %d wait for it", a.identText(id),
			a.cfText(producer), words.Plural(int(count), "request", "requests"), len(waiters)), "Too many requests")
		v.Release()
		return
	}
	expired := count > 0 && int32(len(waiters)) == count
	for range waiters {
		v.Retain()
	}
	c.waiters = nil
	if !expired {
		c.kept, c.size, c.uses = kept, size, int32(len(waiters))
		c.stored, c.val, c.producer, c.at = true, v, producer, t
		c.count = count
		if count > 0 {
			c.count -= int32(len(waiters))
		}
	} else {
		s.tidy(c)
	}
	s.mu.Unlock()
	if kept != 0 {
		for _, w := range waiters {
			a.passOn(id, num, w, int(kept)-1, size)
		}
		if expired {
			a.endKept(id, num, size, int(kept)-1, int32(len(waiters)), trace.Expired)
		}
		return
	}
	e.ses.DFStored.EmitAt(a.ps, t, num, v.Size())
	for i := range waiters {
		w := &waiters[i]
		if w.c != nil {
			w.c.answer(a, int(w.k), w.gen, v, num, t, false)
		} else {
			a.respond(id, num, v, int(w.node), w.req)
		}
	}
	if expired {
		a.gone(num, v, trace.Expired, id, producer)
	}
}

// destroy removes a DF from the store of this node, or remembers that it is to vanish as soon as it comes.
func (a *actor) destroy(id *ident) {
	s, h := a.n.locked(id)
	c := a.cell(s, id, h)
	if c.stored && c.count <= 0 {
		num := c.num
		a.now = max(a.now, c.at)
		by, kept, uses, size := c.producer, int(c.kept), c.uses, c.size
		v := s.take(c)
		s.mu.Unlock()
		if kept != 0 {
			a.endKept(id, num, size, kept-1, uses, trace.Deleted)
			return
		}
		a.gone(num, v, trace.Deleted, id, by)
		return
	}
	what, lunaLine := "", ""
	switch {
	case c.stored:
		what = fmt.Sprintf("while %d of its counted requests are still to come", c.count)
		lunaLine = "Attempting to destroy DF with positive requests count"
	case len(c.waiters) > 0:
		what, lunaLine = "while a request waits for it", "Request(s) present at destroy"
	case c.destroyed:
		what, lunaLine = "twice", "Duplicate destroy"
	}
	c.destroyed = c.destroyed || what == ""
	s.mu.Unlock()
	if what != "" {
		a.fail(a.identText(id)+" is deleted "+what, lunaLine)
	}
}

// listen registers a CF that waits for pushes under its label, and hands it what has come already.
func (a *actor) listen(label *ident, c *cf) {
	s, h := a.n.locked(label)
	l := s.get(label, h)
	if l.listener != nil && l.listener != c {
		s.mu.Unlock()
		a.fail(fmt.Sprintf("two CFs with the label %s wait for pushes: %s and %s", a.identText(label),
			a.cfText(l.listener.maker()), a.cfText(c.maker())), "Duplicate waiter")
		return
	}
	l.listener = c
	early := l.pushed
	l.pushed = nil
	s.mu.Unlock()
	for _, p := range early {
		a.pushTo(label, p)
	}
}

// unlisten forgets the listener once it has everything; early pushes for another execution stay.
func (a *actor) unlisten(label *ident) {
	s, h := a.n.locked(label)
	if l := s.find(label, h); l != nil {
		l.listener = nil
		s.tidy(l)
	}
	s.mu.Unlock()
}

// pushTo delivers a pushed DF to the CF that listens under the label on this node, or keeps it until one
// does.
func (a *actor) pushTo(label *ident, p pushedDF) {
	s, h := a.n.locked(label)
	l := s.get(label, h)
	c := l.listener
	k := -1
	if c != nil {
		k = c.pushInput(a, &p.id)
	}
	if k < 0 {
		l.pushed = append(l.pushed, p)
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	c.answer(a, k, c.gen, p.val, a.number(&p.id), p.at, true)
}
