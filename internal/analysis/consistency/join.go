package consistency

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/trace"
)

// at adds a case that happened at a place.
func (c *checker) at(r int, p place, format string, args ...any) {
	c.found.add(r, int(p.node), int(p.stream), p.time, format, args...)
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
			c.checkMessage(n, m)
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
	last := place{node: 0}
	for k, q := range c.queues {
		if q.length != 0 {
			if k[1] < 0 {
				c.at(left, q.place, "%d ready CFs", q.length)
			} else {
				c.at(left, q.place, "%d messages to node %d", q.length, k[1])
			}
		}
	}
	if c.inner != 0 || c.outer != 0 {
		c.at(left, last, "%d neighbour relations within nodes, %d between nodes", c.inner, c.outer)
	}
}

func (c *checker) checkCF(id trace.CF, f *cf) {
	if f.creations > 1 {
		c.at(createdTwice, f.created, "CF %v, %d times", id, f.creations)
	}
	if f.destructs > 1 {
		c.at(destroyedTwice, f.destroyed, "CF %v, %d times", id, f.destructs)
	}
	if f.creations == 0 {
		p, k := f.first, f.firstKind
		if k == 0 {
			p, k = f.destroyed, trace.KindCFDestroyed
		}
		c.at(notCreated, p, "%v of CF %v", k, id)
	}
	if f.creations > 0 && f.firstKind != 0 {
		if ns, sure := c.before(f.first, f.created); sure {
			c.at(beforeCreation, f.first, "%v of CF %v %d ns before onCreated", f.firstKind, id, ns)
		}
	}
	if f.creations > 0 && f.destructs > 0 {
		if ns, sure := c.before(f.destroyed, f.created); sure {
			c.at(beforeCreation, f.destroyed, "%v of CF %v %d ns before onCreated", trace.KindCFDestroyed, id,
				ns)
		}
	}
	if f.destructs > 0 && f.lastKind != 0 {
		if ns, sure := c.before(f.destroyed, f.last); sure {
			c.at(afterEnd, f.last, "%v of CF %v %d ns after onDestroyed", f.lastKind, id, ns)
		}
	}
	if f.destructs == 0 && f.creations > 0 {
		c.at(neverDestroyed, f.created, "CF %v", id)
	}
	if f.starts > 0 && uint64(f.starts) != f.maxNumber {
		c.at(executions, f.first, "CF %v: %d executions, the highest number is %d", id, f.starts, f.maxNumber)
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
				c.at(lostOnTheWay, o.place, "CF %v leaves for node %d; node %d receives it from node %d", id,
					o.peer, g.place.node, g.peer)
			}
			if ns, sure := c.before(g.place, o.place); sure {
				c.at(beforeSending, g.place, "CF %v from node %d: %d ns", id, g.peer, ns)
			}
		}
		for _, o := range out[min(len(out), len(in)):] {
			c.at(lostOnTheWay, o.place, "CF %v leaves for node %d", id, o.peer)
		}
		for _, g := range in[min(len(out), len(in)):] {
			c.at(lostOnTheWay, g.place, "CF %v arrives from node %d", id, g.peer)
		}
	}
}

func (c *checker) checkMessage(n uint64, m *message) {
	name := trace.CF(n) // it looks the same
	if m.sends > 1 || m.receipts > 1 {
		p := m.sent
		if m.sends <= 1 {
			p = m.received
		}
		c.at(numberTwice, p, "message %v: sent %d times, received %d times", name, m.sends, m.receipts)
		return
	}
	switch {
	case m.sends == 0 && c.count[trace.KindDFSent] == 0, m.receipts == 0 &&
		c.count[trace.KindDFReceived] == 0:
		// Only one side is recorded.
	case m.sends == 0:
		c.at(receivedNotSent, m.received, "message %v from node %d", name, m.from)
	case m.receipts == 0:
		c.at(sentNotReceived, m.sent, "message %v to node %d", name, m.to)
	default:
		if ns, sure := c.before(m.received, m.sent); sure {
			c.at(beforeSending, m.received, "message %v from node %d: %d ns", name, m.sent.node, ns)
		}
		if m.to != m.received.node || m.from != m.sent.node || m.sentDF != m.receivedDF ||
			m.sentBytes != m.bytes || m.request != m.gotRequest {
			c.at(otherMessage, m.received,
				"message %v: sent by node %d to node %d, %d bytes; received by node %d from node %d, %d bytes",
				name, m.sent.node, m.to, m.sentBytes, m.received.node, m.from, m.bytes)
		}
	}
}

func (c *checker) checkRequest(n uint64, q *request) {
	name := trace.CF(n)
	if q.asks > 1 || q.comes > 1 {
		p := q.asked
		if q.asks <= 1 {
			p = q.came
		}
		c.at(numberTwice, p, "request %v: sent %d times, received %d times", name, q.asks, q.comes)
		return
	}
	switch {
	case q.asks == 0 && c.count[trace.KindDFRequested] == 0:
		return
	case q.asks == 0 && q.comes == 0:
		c.at(receivedNotSent, q.answered, "request %v, answered and never made", name)
		return
	case q.asks == 0:
		c.at(receivedNotSent, q.came, "request %v from node %d", name, q.from)
	case q.comes == 0 && c.count[trace.KindDFRequestReceived] > 0:
		c.at(sentNotReceived, q.asked, "request %v to node %d", name, q.to)
	case q.comes > 0:
		if ns, sure := c.before(q.came, q.asked); sure {
			c.at(beforeSending, q.came, "request %v from node %d: %d ns", name, q.asked.node, ns)
		}
		if q.to != q.came.node || q.from != q.asked.node || q.df != q.gotDF {
			c.at(otherMessage, q.came,
				"request %v: sent by node %d to node %d; received by node %d from node %d", name,
				q.asked.node, q.to, q.came.node, q.from)
		}
	}
	switch {
	case q.answers > 1:
		c.at(answeredTwice, q.answered, "request %v, %d times", name, q.answers)
	case q.answers == 0 && q.asks > 0:
		c.at(unanswered, q.asked, "request %v to node %d", name, q.to)
	case q.asks > 0 && (q.answeredTo != q.asked.node || q.answeredWithDF != q.df):
		c.at(otherMessage, q.answered, "request %v of node %d is answered to node %d or with another DF",
			name, q.asked.node, q.answeredTo)
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
				c.at(dfTwice, ch.place, "%s", c.dfText(d.ref))
			}
		}
	}
	if d.what == 0 {
		return
	}
	if first == nil {
		c.at(notMade, d.used, "%v with %s, which is never created", d.what, c.dfText(d.ref))
		return
	}
	if ns, sure := c.before(d.used, first.place); sure {
		c.at(notMade, d.used, "%v with %s %d ns before onCreate", d.what, c.dfText(d.ref), ns)
	}
}

func (c *checker) checkCopy(h *held) {
	switch {
	case h.stored > h.dropped:
		c.at(neverDropped, h.last, "%s: stored %d times, given up %d times", c.dfText(h.ref), h.stored,
			h.dropped)
	case h.stored < h.dropped:
		c.at(notStored, h.last, "%s: stored %d times, given up %d times", c.dfText(h.ref), h.stored,
			h.dropped)
	}
	if h.user != 0 && (h.stored == 0 || h.used.time < h.first.time) {
		c.at(notHere, h.used, "CF %v starts with %s", h.user, c.dfText(h.ref))
	}
}
