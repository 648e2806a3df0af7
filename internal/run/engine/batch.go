package engine

import (
	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/internal/run/placement"
	"github.com/whyslow/whyslow/trace"
)

// A block entry creates all its CFs, a loop those of all iterations. In the queue they are numbers of a
// batch, so a million of them need no more memory than one. A worker that takes a number makes the CF.

// batch is CFs that one execution created and nobody has taken yet.
type batch struct {
	stmts  []*luna.Stmt // of the block
	frame  *frame       // in which they run; of a loop's iterations: that of the turn taken last, or nil
	turns  *luna.Block  // body of a loop whose iterations have frames
	outer  *frame       // the parent of those
	lo     int64        // counter of turn 0
	turn   int64        // frame is of this one
	base   uint64       // number of the first name of turn 0
	path   uint64
	first  trace.CF
	parent trace.CF
	pexec  uint32
	loop   bool // the turns have paths of their own
	born   int64
	next   int64 // the CFs from here
	end    int64 // to here are left
}

// create makes a batch of the CFs of a block, turns times. flush queues it.
func (w *worker) create(c *cf, stmts []*luna.Stmt, f *frame, path uint64, turns int64) *batch {
	var b *batch
	if n := len(w.batches); n > 0 {
		b, w.batches = w.batches[n-1], w.batches[:n-1]
	} else {
		b = &batch{}
	}
	n := uint64(len(stmts)) * uint64(turns)
	*b = batch{stmts: stmts, frame: f, path: path, end: int64(n), parent: c.id, pexec: c.exec,
		first: trace.MakeCF(w.n.id, w.n.cfs.Add(n)-n+1)}
	w.made = b
	return b
}

// createTurns creates the CFs of a loop.
func (w *worker) createTurns(c *cf, lo, hi int64) {
	if hi < lo {
		return
	}
	body, n := c.st.Body, hi-lo+1
	b := w.create(c, body.Stmts, c.frame, c.path, n)
	b.loop = true
	if body.Frame {
		b.frame, b.turns, b.outer, b.lo = nil, body, c.frame, lo
		b.base = w.firstName(body, n)
	}
}

// setFrame makes f the frame of a turn.
func (b *batch) setFrame(f *frame, turn int64) {
	*f = frame{parent: b.outer, block: b.turns, base: b.base + uint64(turn)*uint64(len(b.turns.Names)),
		counter: int32(b.lo + turn)}
}

// frameOf is the frame for CF k.
func (b *batch) frameOf(k int64) *frame {
	turn := k / int64(len(b.stmts))
	if b.turns != nil && (b.frame == nil || b.turn != turn) {
		b.frame, b.turn = &frame{}, turn
		b.setFrame(b.frame, turn)
	}
	return b.frame
}

// fill makes c CF k of the batch. c is as new; f is its frame.
func (b *batch) fill(e *engine, c *cf, k int64, f *frame) {
	turn, i := k/int64(len(b.stmts)), k%int64(len(b.stmts))
	c.id, c.st, c.frame = b.first+trace.CF(k), b.stmts[i], f
	c.parent, c.pexec, c.born, c.path = b.parent, b.pexec, b.born, b.path
	if b.loop {
		c.path = placement.Add(b.path, int32(turn))
	}
	c.setUp()
	c.placed = len(e.nodes) > 1 && e.static[c.st.ID].early
	c.ready = len(c.st.Inputs) == 0
}

// free is how many of the CFs need no inputs.
func (b *batch) free() int64 {
	n, each := int64(0), int64(len(b.stmts))
	for _, st := range b.stmts {
		if len(st.Inputs) == 0 {
			n++
		}
	}
	return n * (b.end - b.next) / each
}

// flush records the children made by this step and queues them. Those known to belong to another node go
// there at once.
func (w *worker) flush() {
	b, e := w.made, w.n.eng
	if b == nil {
		return
	}
	w.made = nil
	w.now = clock.Now()
	b.born = w.now
	if len(e.nodes) == 1 && e.rank == nil && !e.ses.CFCreated.On() && !e.ses.CFReady.On() {
		w.readied.Add(b.free())
		w.n.queue.create(e, item{b: b})
		return
	}
	w.parts = w.parts[:0]
	each := int64(len(b.stmts))
	for k := int64(0); k < b.end && w.err == nil && !(k&0xfff == 0 && e.stopping.Load()); k++ {
		if b.turns != nil && k%each == 0 {
			b.setFrame(&w.turn, k/each)
		}
		gone := w.introduce(b, k)
		if !gone && e.balance == nil && e.rankOf(b.stmts[k%each]) == 0 {
			continue
		}
		if k > b.next {
			stay := *b
			stay.end = k
			w.parts = append(w.parts, item{b: &stay})
		}
		b.next = k + 1
		if !gone { // whoever moves CFs looks at those in the queue; those with priority have a list of their own
			c := w.newCF()
			b.fill(e, c, k, b.frameOf(k))
			w.parts = append(w.parts, item{c: c})
		}
	}
	if b.next < b.end {
		w.parts = append(w.parts, item{b: b})
	}
	w.n.queue.create(e, w.parts...)
	clear(w.parts)
}

// introduce records CF k of a new batch, and sends it to another node if it is known to belong there: true.
func (w *worker) introduce(b *batch, k int64) (gone bool) {
	c, e, f := &w.child, w.n.eng, b.frame
	if b.turns != nil {
		f = &w.turn
	}
	*c = cf{}
	b.born = w.now // later, if another was sent away
	b.fill(e, c, k, f)
	w.created(c)
	if c.placed {
		to := w.homeNode(c)
		if w.err != nil {
			return false
		}
		if to != w.n.id {
			c.placed = false
			w.migrate(c, to, atSend)
			return true
		}
	}
	w.readyIfFree(c)
	return false
}

// take gives a CF that was popped from the queue.
func (w *worker) take(t popped) *cf {
	if t.b == nil {
		return t.c
	}
	c := w.newCF()
	t.b.fill(w.n.eng, c, t.k, t.f)
	if t.k == 0 && t.last && len(w.batches) < 64 { // nobody else has taken one of the batch
		*t.b = batch{}
		w.batches = append(w.batches, t.b)
	}
	return c
}
