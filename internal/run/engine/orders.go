package engine

// What a balancer wants handed over that is still to come. A node looks for it whenever a worker is about to
// execute a CF.

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/whyslow/whyslow/trace"
)

// orders are what a node is to hand over as soon as it is ready.
type orders struct {
	n    atomic.Int32
	mu   sync.Mutex
	list []order
}

func (l *orders) add(o *order, until int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = slices.DeleteFunc(l.list, func(x order) bool { return x.what == o.what })
	o.until = until
	l.list = append(l.list, *o)
	l.n.Store(int32(len(l.list)))
}

// take finds the order to hand such a CF over.
func (l *orders) take(what alike, now int64) (o order, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = slices.DeleteFunc(l.list, func(x order) bool { return x.until < now })
	if i := slices.IndexFunc(l.list, func(x order) bool { return x.what == what }); i >= 0 {
		o, ok = l.list[i], true
		if l.list[i].cfs--; l.list[i].cfs == 0 {
			l.list = slices.Delete(l.list, i, i+1)
		}
	}
	l.n.Store(int32(len(l.list)))
	return o, ok
}

// sendAway hands a CF that is about to run over, if an order has waited for it.
func (w *worker) sendAway(c *cf) bool {
	e := w.n.eng
	if w.n.orders.n.Load() == 0 || !e.balance.mayMove(c) {
		return false
	}
	what, _ := e.balance.alike(c)
	o, ok := w.n.orders.take(what, w.now)
	if !ok {
		return false
	}
	e.ses.Balanced.EmitAt(w.ps, w.now, siteOf(c.st), o.to, 1, o.ahead, o.there)
	e.std[trace.KindBlockMigrated].BlockMigrated.EmitAt(w.ps, w.now, siteOf(c.st), c.block())
	w.send(c, o.to, atMigrate)
	return true
}
