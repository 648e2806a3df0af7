package engine

// What is left on the nodes when nothing runs any more. Each node collects what it knows: its CFs that still
// exist, what they wait for in its store, the requests they have made elsewhere, and other nodes' requests
// that wait in its store. Joined, the requests find their CFs. Nodes in other processes send theirs as bytes.

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/clock"
)

// remains is what is left on one node.
type remains struct {
	node    int
	cfs     []*leftover
	foreign []foreign  // requests of other nodes that wait here
	stored  []storedDF // some of the DFs that are here: others may look for them elsewhere
}

// storedDF is a DF and the CF that made it.
type storedDF struct {
	id    ident
	maker maker
}

// leftover is a CF that still exists, and its unanswered requests.
type leftover struct {
	*cf
	node     int  // where it waits
	executed bool // it, or what became of it on another node, has run or will
	asks     []ask
}

// ask is an unanswered request for input k, or a push that did not come.
type ask struct {
	k      int
	number uint64 // of a request to another node, which knows id; else 0
	id     ident
	asked  int  // the node
	late   bool // of an earlier test of a loop, or made before the CF went to another node
	have   bool // the input came otherwise
}

// foreign is a request of another node.
type foreign struct {
	number uint64
	id     ident
}

// remains collects what is left on the node.
func (n *node) remains() *remains {
	r := &remains{node: n.id}
	found := map[*cf]*leftover{}
	left := func(c *cf, asks ...ask) {
		l := found[c]
		if l == nil {
			l = &leftover{cf: c, node: n.id, executed: c.zombie || c.moved}
			found[c] = l
			r.cfs = append(r.cfs, l)
		}
		for _, a := range asks {
			a.have = c.inputs[a.k].have
			l.asks = append(l.asks, a)
		}
	}
	for i := range n.shards {
		for _, cell := range n.shards[i].table {
			for ; cell != nil; cell = cell.next {
				for _, w := range cell.waiters {
					if w.c == nil {
						r.foreign = append(r.foreign, foreign{w.req, cell.id})
					} else {
						left(w.c, ask{k: int(w.k), id: cell.id, late: w.gen != w.c.gen})
					}
				}
				if c := cell.listener; c != nil {
					left(c)
					for k, in := range c.st.Inputs {
						if in.Push && c.inputs[k].asked {
							id, _ := n.rts.refIdent(in.Ref, &env{f: c.ctx(), c: c})
							left(c, ask{k: k, id: id})
						}
					}
				}
			}
		}
	}
	for number, w := range n.requests {
		left(w.c, ask{k: int(w.k), number: number, late: w.gen != w.c.gen})
	}
	slices.SortStableFunc(r.cfs, byID)
	return r
}

// How many DFs of a node are looked through for those that others wait for: where something waits, and where
// only other processes know whether something does.
const (
	manyStored = 1 << 20
	fewStored  = 1 << 12
)

// findStored adds the DFs that are stored on nodes of a run that left something.
func (e *engine) findStored(all []*remains) {
	waiting := slices.ContainsFunc(all, func(r *remains) bool { return len(r.cfs)+len(r.foreign) > 0 })
	if len(e.nodes) < 2 || !waiting && e.part == nil {
		return
	}
	most := fewStored
	if waiting {
		most = manyStored
	}
	for i, n := range e.here {
		all[i].stored = n.stored(most)
	}
}

// stored gives DFs of the node's store, so many at most.
func (n *node) stored(most int) (list []storedDF) {
	for i := range n.shards {
		for _, cell := range n.shards[i].table {
			for ; cell != nil; cell = cell.next {
				if cell.stored && len(list) < most {
					list = append(list, storedDF{cell.id, cell.producer})
				}
			}
		}
	}
	return list
}

func byID(x, y *leftover) int { return cmp.Compare(x.id, y.id) }

// joined gives the requests of all nodes to the CFs that made them and returns the CFs that wait, in order of
// creation. It is given the remains of every node of the run.
func joined(all []*remains) []*leftover {
	type place struct {
		id   *ident
		node int
	}
	waiting := map[uint64]place{}
	for _, r := range all {
		for i := range r.foreign {
			waiting[r.foreign[i].number] = place{&r.foreign[i].id, r.node}
		}
	}
	var left []*leftover
	for _, r := range all {
		for _, l := range r.cfs {
			l.asks = slices.DeleteFunc(l.asks, func(a ask) bool {
				return a.number != 0 && waiting[a.number].id == nil
			})
			for i := range l.asks {
				a := &l.asks[i]
				if a.asked = l.node; a.number != 0 {
					a.id, a.asked = *waiting[a.number].id, waiting[a.number].node
				}
			}
			if len(l.asks) > 0 { // else its answer was under way when the run was stopped
				slices.SortStableFunc(l.asks, func(x, y ask) int { return x.k - y.k })
				left = append(left, l)
			}
		}
	}
	slices.SortStableFunc(left, byID)
	return left
}

// verdict is the error of the run: why it was stopped, or, if nothing stopped it, what is left to do. It is
// given the remains of every node of the run.
func (e *engine) verdict(all []*remains) error {
	if e.err != nil {
		return e.err
	}
	if left := joined(all); len(left) > 0 {
		return e.stuck(left, all)
	}
	return nil
}

// recordPending hands the CFs that wait to LuNA's debug records.
func (e *engine) recordPending(all []*remains) {
	var left []*leftover
	for _, r := range all {
		left = append(left, r.cfs...)
	}
	slices.SortStableFunc(left, byID)
	for _, l := range left {
		if !l.executed {
			e.nodes[l.node].rts.record(l.cf)
		}
	}
}

// release gives back what CFs hold that will not run any more.
func (e *engine) release(all []*remains) {
	letGo := func(a *actor, c *cf) {
		a.now = clock.Now()
		for i := range c.inputs {
			a.letGo(&c.inputs[i])
		}
	}
	for _, r := range all {
		for _, l := range r.cfs {
			letGo(e.nodes[r.node].rts, l.cf)
		}
	}
	for _, n := range e.here {
		n.heldMu.Lock()
		for c := range n.held {
			letGo(n.rts, c)
		}
		n.held = nil
		n.heldMu.Unlock()
		for _, f := range append(n.queue.first, n.queue.woken, n.queue.created) {
			for _, i := range f.rest() {
				if i.c != nil { // CFs of a batch have nothing yet
					letGo(n.rts, i.c)
				}
			}
		}
		for _, c := range n.queue.given {
			letGo(n.rts, c)
		}
		for _, w := range n.workers {
			for _, c := range w.given {
				letGo(n.rts, c)
			}
			if w.cur != nil { // it failed or was interrupted
				letGo(n.rts, w.cur)
			}
		}
	}
}
