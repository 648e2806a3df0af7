package engine

// How long CFs will take, for a balancer.

import (
	"sync/atomic"

	"github.com/whyslow/whyslow/internal/run/luna"
)

// pieces is how many iterations of the innermost loop around a statement are kept apart.
const pieces = 64

// times is how long the CFs of a statement took. What iterates does the same work again and again, each time
// with the same pieces. So that is kept by the counter of the innermost loop, which says which piece it is.
type times struct {
	mean  atomic.Int64 // of them all, the newest counting most; 0: nothing is known
	round atomic.Int64 // from one execution of a piece to its next; 0: no piece had a second one
	piece atomic.Pointer[[pieces]piece]
}

// piece is what was last known of a piece.
type piece struct {
	ns, ended atomic.Int64
	node      atomic.Int32 // where it was executed
}

// add notes an execution that has just ended on a node. One of two workers that do so at once may be
// forgotten.
func (t *times) add(c *cf, node int, ns, now int64) {
	near := func(x *atomic.Int64, new, share int64) {
		was := x.Load()
		if was == 0 {
			was = new
		}
		x.Store(max(1, was+(new-was)/share))
	}
	near(&t.mean, ns, 8)
	i, ok := c.piece()
	if !ok {
		return
	}
	if t.piece.Load() == nil {
		t.piece.CompareAndSwap(nil, new([pieces]piece))
	}
	p := &t.piece.Load()[i]
	near(&p.ns, ns, 2)
	if last := p.ended.Swap(now); last > 0 {
		near(&t.round, now-last, 8)
	}
	p.node.Store(int32(node))
}

// expect is how long a CF will take; 0: nothing is known.
func (b *balance) expect(c *cf) int64 {
	t := &b.times[c.st.ID]
	if i, ok := c.piece(); ok {
		if all := t.piece.Load(); all != nil && all[i].ns.Load() > 0 {
			return all[i].ns.Load()
		}
	}
	return t.mean.Load()
}

// lately is how long the pieces of a statement that a node executed in the last round take together. In a
// run of many processes an older one is executed elsewhere by now. 0 where there are no rounds.
func (t *times) lately(node int, now int64) (ns int64) {
	t.eachPiece(node, now, func(p int64) { ns += p })
	return ns
}

// eachPiece calls f for them, with the time of each.
func (t *times) eachPiece(node int, now int64, f func(ns int64)) {
	all, round := t.piece.Load(), t.round.Load()
	if all == nil || round == 0 {
		return
	}
	for i := range all {
		if p := &all[i]; int(p.node.Load()) == node && now-p.ended.Load() < 2*round {
			f(p.ns.Load())
		}
	}
}

// piece is the counter of the innermost loop around a CF.
func (c *cf) piece() (i int, ok bool) {
	for f := c.frame; f != nil; f = f.parent {
		if o := f.block.Owner; o != nil && (o.Kind == luna.ForLoop || o.Kind == luna.WhileLoop) {
			return int(uint32(f.counter) % pieces), true
		}
	}
	return 0, false
}

// round is the longest of the rounds of a code fragment's statements.
func (b *balance) round(code int) (ns int64) {
	for i := range b.times {
		if b.eng.prog.Stmts[i].Code == code {
			ns = max(ns, b.times[i].round.Load())
		}
	}
	return ns
}
