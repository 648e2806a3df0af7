package consistency

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/whyslow/whyslow/trace"
)

// at adds a case that happened at a place.
func (c *checker) at(kind string, p place, format string, args ...any) {
	c.found.add(kind, int(p.node), int(p.stream), p.time, format, args...)
}

// before tells that a is before b, by how much, and that the clocks do not explain it.
func (c *checker) before(a, b place) (ns int64, sure bool) {
	ns = b.common - a.common
	return ns, ns > c.tolerance(int(a.node), int(b.node))
}

// join compares what the streams have.
func (c *checker) join() {
	for id, f := range c.cfs {
		if id != 0 {
			c.checkCF(id, f)
		}
	}
	c.checkMoves()
	for n, m := range c.messages {
		if n != 0 {
			c.checkPassage("message", n, m, trace.KindDFSent, trace.KindDFReceived)
		}
	}
	for n, q := range c.requests {
		c.checkRequest(n, q)
	}
	for _, d := range c.dfs {
		c.checkDF(d)
	}
	for _, h := range c.copies {
		c.checkCopy(h)
	}
	for k, q := range c.queues {
		if q.length != 0 {
			if k[1] < 0 {
				c.at("left", q.place, "%d ready CFs", q.length)
			} else {
				c.at("left", q.place, "%d messages to node %d", q.length, k[1])
			}
		}
	}
	if c.inner != 0 || c.outer != 0 {
		c.at("left", place{}, "%d neighbour relations within nodes, %d between nodes", c.inner, c.outer)
	}
}

func (c *checker) checkCF(id trace.CF, f *cf) {
	if f.creations > 1 {
		c.at("created-twice", f.created, "CF %v, %d times", id, f.creations)
	}
	if f.destructs > 1 {
		c.at("destroyed-twice", f.destroyed, "CF %v, %d times", id, f.destructs)
	}
	if f.creations == 0 {
		p, k := f.first, f.firstKind
		if k == 0 {
			p, k = f.destroyed, trace.KindCFDestroyed
		}
		c.at("not-created", p, "%v of CF %v", k, id)
	}
	if ns, sure := c.before(f.first, f.created); sure && f.creations > 0 && f.firstKind != 0 {
		c.at("before-creation", f.first, "%v of CF %v %d ns before onCreated", f.firstKind, id, ns)
	}
	if ns, sure := c.before(f.destroyed, f.created); sure && f.creations > 0 && f.destructs > 0 {
		c.at("before-creation", f.destroyed, "%v of CF %v %d ns before onCreated", trace.KindCFDestroyed, id, ns)
	}
	if ns, sure := c.before(f.destroyed, f.last); sure && f.destructs > 0 && f.lastKind != 0 {
		c.at("after-destruction", f.last, "%v of CF %v %d ns after onDestroyed", f.lastKind, id, ns)
	}
	if f.destructs == 0 && f.creations > 0 {
		c.at("never-destroyed", f.created, "CF %v", id)
	}
	if f.starts > 0 && uint64(f.starts) != f.maxNumber {
		c.at("execution-number", f.first, "CF %v: %d executions, the highest number is %d", id, f.starts,
			f.maxNumber)
	}
}

// checkMoves follows each CF over the nodes: its departures and arrivals belong together in their order.
func (c *checker) checkMoves() {
	slices.SortFunc(c.moves, func(a, b move) int {
		return cmp.Or(cmp.Compare(a.cf, b.cf), cmp.Compare(a.place.common, b.place.common))
	})
	for rest := c.moves; len(rest) > 0; {
		id := rest[0].cf
		n := 0
		var out, in []move
		for ; n < len(rest) && rest[n].cf == id; n++ {
			if rest[n].out {
				out = append(out, rest[n])
			} else {
				in = append(in, rest[n])
			}
		}
		rest = rest[n:]
		for i := range min(len(out), len(in)) {
			o, g := out[i], in[i]
			if o.peer != g.place.node || g.peer != o.place.node {
				c.at("lost-on-the-way", o.place, "CF %v leaves for node %d; node %d receives it from node %d", id,
					o.peer, g.place.node, g.peer)
			}
			if ns, sure := c.early(g.place, o.place); sure {
				c.at("received-before-sent", g.place, "CF %v from node %d: %d ns", id, g.peer, ns)
			}
		}
		for _, o := range out[min(len(out), len(in)):] {
			c.at("lost-on-the-way", o.place, "CF %v leaves for node %d", id, o.peer)
		}
		for _, g := range in[min(len(out), len(in)):] {
			c.at("lost-on-the-way", g.place, "CF %v arrives from node %d", id, g.peer)
		}
	}
}

// checkPassage compares what the sender and the receiver of a message or request tell.
func (c *checker) checkPassage(what string, n uint64, x *passage, sent, received trace.Kind) {
	name := trace.CF(n) // it looks the same
	switch {
	case x.sends > 1:
		c.at("number-twice", x.sent, what+" %v: sent %d times, received %d times", name, x.sends, x.receipts)
	case x.receipts > 1:
		c.at("number-twice", x.received, what+" %v: sent %d times, received %d times", name, x.sends, x.receipts)
	case x.sends == 0 && c.count[sent] == 0, x.receipts == 0 && c.count[received] == 0:
		// Only one side is recorded.
	case x.sends == 0:
		c.at("received-not-sent", x.received, what+" %v from node %d", name, x.from)
	case x.receipts == 0:
		c.at("sent-not-received", x.sent, what+" %v to node %d", name, x.to)
	default:
		if ns, sure := c.early(x.received, x.sent); sure {
			c.at("received-before-sent", x.received, what+" %v from node %d: %d ns", name, x.sent.node, ns)
		}
		if x.to != x.received.node || x.from != x.sent.node || x.df != x.gotDF || x.bytes != x.gotBytes ||
			x.request != x.gotAnswer {
			size, gotSize := "", ""
			if sent == trace.KindDFSent {
				size, gotSize = fmt.Sprintf(", %d bytes", x.bytes), fmt.Sprintf(", %d bytes", x.gotBytes)
			}
			c.at("other-message", x.received,
				what+" %v: sent by node %d to node %d%s; received by node %d from node %d%s", name, x.sent.node,
				x.to, size, x.received.node, x.from, gotSize)
		}
	}
}

func (c *checker) checkRequest(n uint64, q *request) {
	name := trace.CF(n) // it looks the same
	if q.sends == 0 && q.receipts == 0 {
		if c.count[trace.KindDFRequested] > 0 {
			c.at("received-not-sent", q.answered, "request %v, answered but never made", name)
		}
		return
	}
	c.checkPassage("request", n, &q.passage, trace.KindDFRequested, trace.KindDFRequestReceived)
	switch {
	case q.sends > 1, q.receipts > 1, q.sends == 0 && c.count[trace.KindDFRequested] == 0:
	case q.answers > 1:
		c.at("answered-twice", q.answered, "request %v, %d times", name, q.answers)
	case q.answers == 0 && q.sends > 0:
		c.at("unanswered", q.sent, "request %v to node %d", name, q.to)
	case q.sends > 0 && (q.answeredTo != q.sent.node || q.answeredWithDF != q.df):
		c.at("other-message", q.answered, "request %v of node %d is answered to node %d or with another DF", name,
			q.sent.node, q.answeredTo)
	}
}

func (c *checker) checkDF(d *df) {
	slices.SortStableFunc(d.changes, func(a, b change) int { return cmp.Compare(a.common, b.common) })
	var first *change
	alive, told := 0, 0
	for i := range d.changes {
		if d.changes[i].twice {
			told++
		}
	}
	for i := range d.changes {
		ch := &d.changes[i]
		switch {
		case ch.twice:
		case ch.gone:
			alive = max(alive-1, 0)
		default:
			if first == nil {
				first = ch
			}
			if alive++; alive > 1+told {
				c.at("df-created-twice", ch.place, "%s", c.dfText(d.ref))
			}
		}
	}
	if d.what == 0 {
		return
	}
	if first == nil {
		c.at("df-before-creation", d.used, "%v with %s, which is never created", d.what, c.dfText(d.ref))
		return
	}
	if ns, sure := c.before(d.used, first.place); sure {
		c.at("df-before-creation", d.used, "%v with %s %d ns before onCreate", d.what, c.dfText(d.ref), ns)
	}
}

func (c *checker) checkCopy(h *held) {
	switch {
	case h.stored > h.dropped:
		c.at("never-dropped", h.last, "%s: stored %d times, dropped %d times", c.dfText(h.ref), h.stored,
			h.dropped)
	case h.stored < h.dropped:
		c.at("not-stored", h.last, "%s: stored %d times, dropped %d times", c.dfText(h.ref), h.stored,
			h.dropped)
	}
	if h.user != 0 && (h.stored == 0 || h.used.time < h.first.time) {
		c.at("input-not-here", h.used, "CF %v starts with %s", h.user, c.dfText(h.ref))
	}
}
