package engine

// What is left on the nodes when nothing runs any more. Each node collects what it knows: its CFs that still
// exist, what they wait for in its own store, the requests they have made elsewhere, and the requests of
// other nodes that wait in its store. Joined, the requests find their CFs. Of nodes in other processes that
// comes as bytes.

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/trace"
)

// remains is what is left on one node.
type remains struct {
	node     int
	cfs      []*leftover
	requests map[uint64]request // made to other nodes, by number
	foreign  []foreign          // requests of other nodes that wait here
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
	k    int
	id   ident
	late bool // of an earlier test of a loop, or made before the CF went to another node
	have bool // the input came otherwise
}

// request is an ask whose identity is known elsewhere.
type request struct {
	by *leftover
	ask
}

type foreign struct {
	node   int
	number uint64
	id     ident
}

// remains collects what is left on the node.
func (n *node) remains() *remains {
	r := &remains{node: n.id, requests: map[uint64]request{}}
	found := map[*cf]*leftover{}
	at := func(c *cf) *leftover {
		l := found[c]
		if l == nil {
			l = &leftover{cf: c, node: n.id, executed: c.zombie || c.moved}
			found[c] = l
			r.cfs = append(r.cfs, l)
		}
		return l
	}
	asked := func(w waiter, id ident) ask {
		return ask{k: int(w.k), id: id, late: w.gen != w.c.gen, have: w.c.inputs[w.k].have}
	}
	for i := range n.shards {
		for _, cell := range n.shards[i].table {
			for ; cell != nil; cell = cell.next {
				for _, w := range cell.waiters {
					if w.c == nil {
						r.foreign = append(r.foreign, foreign{int(w.node), w.req, cell.id})
						continue
					}
					l := at(w.c)
					l.asks = append(l.asks, asked(w, cell.id))
				}
				if c := cell.listener; c != nil {
					l := at(c)
					for k, in := range c.st.Inputs {
						if in.Push && c.inputs[k].asked {
							id, _ := n.rts.refIdent(in.Ref, &env{f: c.ctx(), c: c})
							l.asks = append(l.asks, ask{k: k, id: id, have: c.inputs[k].have})
						}
					}
				}
			}
		}
	}
	for number, w := range n.requests {
		r.requests[number] = request{at(w.c), asked(w, ident{})}
	}
	slices.SortStableFunc(r.cfs, func(x, y *leftover) int { return cmp.Compare(x.id, y.id) })
	return r
}

// joined gives the requests of all nodes to the CFs that made them and returns the CFs that wait, in order of
// creation. It is given the remains of every node of the run, in order.
func joined(all []*remains) []*leftover {
	for _, r := range all {
		for _, f := range r.foreign {
			if q, ok := all[f.node].requests[f.number]; ok {
				q.id = f.id
				q.by.asks = append(q.by.asks, q.ask)
			}
		}
	}
	var left []*leftover
	for _, r := range all {
		for _, l := range r.cfs {
			if len(l.asks) > 0 { // else its answer was under way when the run was stopped
				slices.SortStableFunc(l.asks, func(x, y ask) int { return x.k - y.k })
				left = append(left, l)
			}
		}
	}
	slices.SortStableFunc(left, func(x, y *leftover) int { return cmp.Compare(x.id, y.id) })
	return left
}

// verdict is the error of the run: why it was stopped, or, if nothing stopped it, what is left to do. It is
// given the remains of every node of the run.
func (e *engine) verdict(all []*remains) error {
	if e.err != nil {
		return e.err
	}
	if left := joined(all); len(left) > 0 {
		return e.stuck(left)
	}
	return nil
}

// recordPending hands the CFs that wait to LuNA's debug records.
func (e *engine) recordPending(all []*remains) {
	var left []*leftover
	for _, r := range all {
		left = append(left, r.cfs...)
	}
	slices.SortStableFunc(left, func(x, y *leftover) int { return cmp.Compare(x.id, y.id) })
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
		n.queue.mu.Lock()
		for c := n.queue.items.pop(); c != nil; c = n.queue.items.pop() {
			letGo(n.rts, c)
		}
		n.queue.n.Store(0)
		n.queue.mu.Unlock()
		for _, w := range n.workers {
			if w.cur != nil { // it failed or was interrupted
				letGo(n.rts, w.cur)
			}
		}
	}
}

// What of an ask goes to another process as one byte.
const (
	askLate = 1 << iota
	askHave
)

// pack appends the remains: varints as in messages. Of a CF only what explains it goes along.
func (r *remains) pack(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(r.cfs)))
	packAsk := func(a *ask) {
		flags := byte(0)
		if a.late {
			flags |= askLate
		}
		if a.have {
			flags |= askHave
		}
		b = append(binary.AppendUvarint(b, uint64(a.k)), flags)
	}
	index := map[*leftover]int{}
	for i, l := range r.cfs {
		index[l] = i
		b = binary.AppendUvarint(b, uint64(l.id))
		b = binary.AppendUvarint(b, uint64(l.st.ID))
		executed := byte(0)
		if l.executed {
			executed = 1
		}
		b = appendFrame(append(b, executed), l.ctx())
		b = binary.AppendUvarint(b, uint64(len(l.asks)))
		for i := range l.asks {
			packAsk(&l.asks[i])
			b = appendIdent(b, &l.asks[i].id)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(r.requests)))
	for number, q := range r.requests {
		b = binary.AppendUvarint(binary.AppendUvarint(b, number), uint64(index[q.by]))
		packAsk(&q.ask)
	}
	b = binary.AppendUvarint(b, uint64(len(r.foreign)))
	for i := range r.foreign {
		f := &r.foreign[i]
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(f.node)), f.number)
		b = appendIdent(b, &f.id)
	}
	return b
}

// unpackRemains reads what the process of a node has packed.
func unpackRemains(p *luna.Program, node int, b []byte) *remains {
	d := &decoder{b}
	r := &remains{node: node, requests: map[uint64]request{}}
	getAsk := func() ask {
		a := ask{k: int(d.uint())}
		flags := d.byte()
		a.late, a.have = flags&askLate != 0, flags&askHave != 0
		return a
	}
	for n := d.uint(); n > 0; n-- {
		c := &cf{id: trace.CF(d.uint()), st: p.Stmts[d.uint()]}
		l := &leftover{cf: c, node: node, executed: d.byte() == 1}
		c.frame = d.frame(p)
		for n := d.uint(); n > 0; n-- {
			a := getAsk()
			a.id = d.ident()
			l.asks = append(l.asks, a)
		}
		r.cfs = append(r.cfs, l)
	}
	for n := d.uint(); n > 0; n-- {
		number := d.uint()
		by := r.cfs[d.uint()]
		r.requests[number] = request{by, getAsk()}
	}
	for n := d.uint(); n > 0; n-- {
		f := foreign{node: int(d.uint()), number: d.uint()}
		f.id = d.ident()
		r.foreign = append(r.foreign, f)
	}
	return r
}
