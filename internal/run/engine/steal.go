package engine

// Work stealing. A node with nothing to do asks the others. A node with stealable CFs in its queue gives one
// away: at once if its message goroutine finds one near the end of the queue, otherwise when a worker reaches
// one while more work is queued. A CF can be stolen once it is where its locator wants it and before it has
// requested anything. The thief runs it where it is: a locator says where a CF would rather be, not where it
// must be.

import (
	"slices"

	"github.com/whyslow/whyslow/trace"
)

// searchDepth is how many CFs at the end of the queue are looked at for a thief.
const searchDepth = 64

// askForWork asks the other nodes for a stealable CF, once until one arrives or the node has had work again.
func (w *worker) askForWork() {
	n := w.n
	if !n.stealable || n.asked.Swap(true) {
		return
	}
	for to := range n.eng.nodes {
		if to != n.id {
			w.dispatch(w.newMessage(msgSteal, to, nil))
		}
	}
}

// serveThief gives a CF to a node that asked, or remembers that it did.
func (a *actor) serveThief(thief int) {
	if c := a.n.queue.stealable(a.n.eng); c != nil {
		a.giveTo(c, thief, atRob)
		return
	}
	n := a.n
	n.stealMu.Lock()
	if !slices.Contains(n.stealers, thief) {
		n.stealers = append(n.stealers, thief)
	}
	n.thieves.Store(int64(len(n.stealers)))
	n.stealMu.Unlock()
}

// giveAway gives the CF that the worker holds to a waiting thief if there is other work for the worker.
func (w *worker) giveAway(c *cf) bool {
	n := w.n
	if !n.stealable || n.thieves.Load() == 0 || n.queue.len() == 0 {
		return false
	}
	n.stealMu.Lock()
	if len(n.stealers) == 0 {
		n.stealMu.Unlock()
		return false
	}
	thief := n.stealers[0]
	n.stealers = n.stealers[1:]
	n.thieves.Store(int64(len(n.stealers)))
	n.stealMu.Unlock()
	n.eng.std[trace.KindBlockMigrated].BlockMigrated.EmitAt(w.ps, w.now, siteOf(c.st), stageHome)
	w.giveTo(c, thief, atSteal)
	return true
}

func (a *actor) giveTo(c *cf, thief int, p point) {
	a.leave(p, c)
	c.stage = stageMain
	m := a.cfMessage(c, thief)
	a.n.eng.ses.CFStolen.Emit(a.ps, c.id, thief, m.Bytes(), a.weight(c))
	a.stats.stolen++
	a.dispatch(m)
	a.left(p)
}

// stealable takes a stealable CF off the end of the queue, leaving at least one CF for the node's own
// workers. Those that were woken have requested something.
func (q *queue) stealable(e *engine) *cf {
	q.mu.Lock()
	defer q.mu.Unlock()
	f, seen := &q.created, 0
	for i := len(f.items) - 1; i >= f.head; i-- {
		b := f.items[i].b
		if b == nil {
			c := f.items[i].c
			if i > f.head && e.static[c.st.ID].stealable && c.stage == stageHome && c.placed && !c.issued {
				f.items = slices.Delete(f.items, i, i+1)
				q.n.Add(-1)
				return c
			}
			if seen++; seen == searchDepth {
				return nil
			}
			continue
		}
		for k := b.end - 1; k >= b.next; k-- {
			s := &e.static[b.stmts[k%int64(len(b.stmts))].ID]
			if (i > f.head || k > b.next) && s.stealable && s.early {
				f.takeOut(i, k)
				q.n.Add(-1)
				c := &cf{}
				b.fill(e, c, k, b.frameOf(k))
				return c
			}
			if seen++; seen == searchDepth {
				return nil
			}
		}
	}
	return nil
}

// takeOut takes CF k out of the batch that is item i.
func (f *fifo) takeOut(i int, k int64) {
	b := f.items[i].b
	rest := *b
	if rest.next, b.end = k+1, k; rest.next < rest.end {
		f.items = slices.Insert(f.items, i+1, item{b: &rest})
	}
	if b.next == b.end {
		f.items = slices.Delete(f.items, i, i+1)
	}
}
