package counters

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// liveDF is a DF.
type liveDF struct {
	id       uint64      // hash of its identity; 0 if it is known on one node only
	creation model.Value // the only one, on its node's clock
	more     []creation
	holdings uint32 // list of the nodes' copies
	gone     uint32 // list of its destructions
	ends     int32
	node     uint16 // of the creation
	stream   uint16 // likewise
	used     bool
	made     bool
	t        int64 // latest creation or destruction
}

// creation is one of several of a DF, all of which are in more.
type creation struct {
	model.Value
	node, stream uint16
}

// holding is what one node has of a DF.
type holding struct {
	df, next        uint32
	facts           uint32
	stored, dropped int32
	number          uint32 // of the DF in the node's file
	node            uint16
	used            bool
	t               int64 // latest fact
}

// heldLen is how many neighbouring numbers of DFs share a part of liveNode.held.
const heldLen = 64

// copyFact is an event of a copy, or the end of a DF, on its node's clock. In their list they are in the order of nodes and
// streams, and in one of them as they came.
type copyFact struct {
	t            int64
	next         uint32
	node, stream uint16
	end          bool
}

// holding finds or adds what a node has of a DF; nil if the event comes too late.
func (l *Live) holding(p *origin, number uint64, t int64) (*holding, *liveDF) {
	n := p.n
	key := uint32(number / heldLen)
	part := n.heldPart
	if part == nil || n.heldAt != key {
		if part = n.held[key]; part != nil {
			n.heldAt, n.heldPart = key, part
		}
	}
	if part != nil {
		if i := part[number%heldLen]; i != 0 {
			h := l.copies.at(i)
			return h, l.dfs.at(h.df)
		}
	}
	if l.tooLate(t) {
		return nil, nil
	}
	if part == nil {
		part = &[heldLen]uint32{}
		n.held[key], n.heldAt, n.heldPart = part, key, part
	}
	at := l.copies.get()
	part[number%heldLen] = at
	h := l.copies.at(at)
	*h = holding{node: p.node, number: uint32(number), used: true, t: none}
	id := uint64(0)
	// A number far beyond those defined, which only a damaged trace has, is as if it were not defined.
	if number <= uint64(4*p.defs.DFCount()+1024) {
		_, identity, ok := p.defs.DF(trace.DF(number), l.identity[:0])
		if l.identity = identity; ok && len(identity) > 0 {
			id = trace.IdentityID(identity)
		}
	}
	if h.df = l.byID[id]; id == 0 || h.df == 0 {
		h.df = l.dfs.get()
		*l.dfs.at(h.df) = liveDF{id: id, used: true, t: none}
		if id != 0 {
			l.byID[id] = h.df
		}
	}
	d := l.dfs.at(h.df)
	h.next, d.holdings = d.holdings, at
	return h, d
}

// insertFact puts a fact into its place in a list.
func (l *Live) insertFact(head *uint32, f copyFact) {
	at := head
	for *at != 0 {
		o := l.dfFacts.at(*at)
		if o.node > f.node || o.node == f.node && o.stream > f.stream {
			break
		}
		at = &o.next
	}
	i := l.dfFacts.get()
	f.next = *at
	*l.dfFacts.at(i) = f
	*at = i
}

// changes gives the facts of a list on the common clock.
func (l *Live) changes(head uint32) []model.CopyFact {
	var list []model.CopyFact
	for i := head; i != 0; {
		f := l.dfFacts.at(i)
		list = append(list, model.CopyFact{Time: l.nodes[f.node].clock.common(f.t), Dropped: f.end})
		i = f.next
	}
	return list
}

// values gives the creations of a DF in order of time.
func (l *Live) values(d *liveDF) []model.Value {
	if len(d.more) == 0 {
		if !d.made {
			return nil
		}
		return []model.Value{{Time: l.nodes[d.node].clock.common(d.creation.Time), Bytes: d.creation.Bytes}}
	}
	list := make([]model.Value, 0, len(d.more))
	for _, c := range d.more {
		list = append(list, model.Value{Time: l.nodes[c.node].clock.common(c.Time), Bytes: c.Bytes})
	}
	slices.SortStableFunc(list, func(a, b model.Value) int { return cmp.Compare(a.Time, b.Time) })
	return list
}

// emitHolding tells what the copies of a DF at a node change.
func (l *Live) emitHolding(h *holding, d *liveDF, sign int64) {
	list := l.changes(h.facts)
	l.held = model.HoldCopies(l.held[:0], list, l.values(d))
	for i := range l.held {
		emitHeld(&l.delta, int32(h.node), &l.held[i], sign)
	}
	h.t = none
	for _, c := range list {
		h.t = max(h.t, c.Time)
	}
}

// emitHoldings does so for all nodes.
func (l *Live) emitHoldings(d *liveDF, sign int64) {
	for i := d.holdings; i != 0; {
		h := l.copies.at(i)
		l.emitHolding(h, d, sign)
		i = h.next
	}
}

// emitDF tells what a DF changes beside its copies.
func (l *Live) emitDF(d *liveDF, sign int64) {
	made, gone := l.values(d), l.changes(d.gone)
	emitDF(&l.delta, made, gone, sign)
	d.t = none
	for _, v := range made {
		d.t = max(d.t, v.Time)
	}
	for _, c := range gone {
		d.t = max(d.t, c.Time)
	}
}

// copied takes in that a copy was stored or dropped.
func (l *Live) copied(p *origin, local int64, number uint64, dropped bool) {
	if number == 0 {
		return
	}
	t := p.n.clock.common(local)
	h, d := l.holding(p, number, t)
	if h == nil {
		return
	}
	f := copyFact{t: local, node: p.node, stream: p.stream, end: dropped}
	simple := len(d.more) == 0 && h.dropped <= h.stored && (!dropped || h.dropped < h.stored)
	if !simple {
		l.emitHolding(h, d, -1)
	}
	l.insertFact(&h.facts, f)
	if dropped {
		h.dropped++
	} else {
		h.stored++
	}
	if simple {
		// No drop is left out, so facts have nothing to do with each other.
		sign := int64(1)
		if dropped {
			sign = -1
		}
		spreadCopy(l, t, int32(h.node), d.creation.Bytes, sign)
		h.t = max(h.t, t)
		return
	}
	l.emitHolding(h, d, 1)
	l.apply()
}

// made takes in the creation of a DF.
func (l *Live) made(p *origin, local int64, number uint64, size int64) {
	t := p.n.clock.common(local)
	if number == 0 {
		return
	}
	_, d := l.holding(p, number, t)
	if d == nil {
		return
	}
	l.emitHoldings(d, -1)
	l.emitDF(d, -1)
	c := creation{model.Value{Time: local, Bytes: size}, p.node, p.stream}
	if !d.made {
		d.made, d.creation, d.node, d.stream = true, c.Value, p.node, p.stream
	} else {
		if d.more == nil {
			d.more = []creation{{d.creation, d.node, d.stream}}
		}
		i := len(d.more)
		for i > 0 && (d.more[i-1].node > c.node || d.more[i-1].node == c.node && d.more[i-1].stream > c.stream) {
			i--
		}
		d.more = slices.Insert(d.more, i, c)
	}
	l.emitHoldings(d, 1)
	l.emitDF(d, 1)
	l.apply()
}

// destroyed takes in the end of a DF.
func (l *Live) destroyed(p *origin, local int64, number uint64) {
	t := p.n.clock.common(local)
	if number == 0 {
		return
	}
	_, d := l.holding(p, number, t)
	if d == nil {
		return
	}
	simple := len(d.more) == 0 && d.ends == 0 && d.made
	if !simple {
		l.emitDF(d, -1)
	}
	l.insertFact(&d.gone, copyFact{t: local, node: p.node, stream: p.stream, end: true})
	d.ends++
	if simple {
		l.add(dfs, whole, t, -1)
		d.t = max(d.t, t)
		return
	}
	l.emitDF(d, 1)
	l.apply()
}

// liveMessage is a DF on its way, each end on its node's clock.
type liveMessage struct {
	id                       uint64 // 0: of a receipt without a number
	sent, received           int64
	sender, receiver         uint16 // nodes that recorded the ends
	sentTo, receivedFrom     uint16
	sentStream, gotStream    uint16
	bytes, receivedBytes     int64
	used, isSent, isReceived bool
	t                        int64
}

// message takes one end of a message.
func (l *Live) message(p *origin, local int64, a []uint64, sent bool) {
	id, t := a[3], p.n.clock.common(local)
	if id == 0 && sent {
		return // a node that has the DF itself does not send it
	}
	i := l.byNumber[id]
	if id == 0 || i == 0 {
		if l.tooLate(t) {
			return
		}
		i = l.messages.get()
		l.messages.at(i).used = true
		l.messages.at(i).id = id
		if id != 0 {
			l.byNumber[id] = i
		}
	}
	g := l.messages.at(i)
	l.emitMessage(g, l.history.killed, -1)
	// Where a number was used twice the last one counts, in the order of nodes and streams.
	if later := p.node > g.sender || p.node == g.sender && p.stream >= g.sentStream; sent && (!g.isSent || later) {
		g.isSent, g.sent, g.sender, g.sentStream, g.sentTo, g.bytes = true, local, p.node, p.stream, uint16(a[1]), int64(a[2])
	}
	if later := p.node > g.receiver || p.node == g.receiver && p.stream >= g.gotStream; !sent && (!g.isReceived || later) {
		g.isReceived, g.received, g.receiver, g.gotStream, g.receivedFrom, g.receivedBytes = true, local, p.node, p.stream, uint16(a[1]), int64(a[2])
	}
	l.emitMessage(g, l.history.killed, 1)
	l.apply()
}

// on gives a message on the common clock.
func (l *Live) on(g *liveMessage) message {
	m := message{sent: none, received: none}
	if g.isSent {
		m.sent, m.from, m.to, m.bytes = l.nodes[g.sender].clock.common(g.sent), int32(g.sender), int32(g.sentTo), g.bytes
	}
	if g.isReceived {
		m.received, m.from, m.to = l.nodes[g.receiver].clock.common(g.received), int32(g.receivedFrom), int32(g.receiver)
		if !g.isSent {
			m.bytes = g.receivedBytes
		}
	}
	return m
}

func (l *Live) emitMessage(g *liveMessage, killed bool, sign int64) {
	if !g.isSent && !g.isReceived {
		return
	}
	m := l.on(g)
	g.t = max(m.sent, m.received)
	m.emit(&l.delta, l.history.links.number(m.from, m.to), killed, sign)
}

// samples are what was recorded of a queue or of relations, in order of time on the node's clock.
type samples struct {
	base int64 // length of a queue before the first
	list []sample
}

type sample struct{ t, a, b int64 }

// put gives the place at which a sample belongs: behind those of the same time.
func (s *samples) put(t int64) int {
	i := len(s.list)
	for i > 0 && s.list[i-1].t > t {
		i--
	}
	return i
}

// emitQueue tells what the samples from the i-th up to but not including the j-th change.
func (l *Live) emitQueue(k queueKey, s *samples, i, j int, sign int64) {
	c := &l.nodes[k.node].clock
	q, at := readyQueue, k.node
	if k.peer >= 0 {
		q, at = sendQueue, l.history.links.number(k.node, k.peer)
	}
	list := s.list
	if c.back {
		// The order is another one on the common clock, so each may follow any other.
		i, j = 0, len(list)
		list = slices.Clone(list)
		slices.SortStableFunc(list, func(a, b sample) int { return cmp.Compare(c.common(a.t), c.common(b.t)) })
	}
	for ; i < min(j, len(list)); i++ {
		d := list[i].a - s.base
		if i > 0 {
			d += s.base - list[i-1].a
		}
		t := c.common(list[i].t)
		l.delta.add(q, at, t, sign*d)
		l.delta.add(q, whole, t, sign*d)
	}
}

func (l *Live) queue(p *origin, k queueKey, t, length int64) {
	s := l.queues[k]
	if s == nil {
		s = &samples{}
		l.queues[k] = s
	}
	i := s.put(t)
	l.emitQueue(k, s, i, i+1, -1)
	s.list = slices.Insert(s.list, i, sample{t, length, 0})
	l.emitQueue(k, s, i, i+2, 1)
	l.apply()
}

func (l *Live) emitRelations(node int32, s *samples, i, j int, sign int64) {
	c := &l.nodes[node].clock
	for _, v := range s.list[i:j] {
		t := c.common(v.t)
		for _, at := range [...]int32{node, whole} {
			l.delta.add(inner, at, t, sign*v.a)
			l.delta.add(outer, at, t, sign*v.b)
		}
	}
}

func (l *Live) relations(p *origin, t, in, out int64) {
	s := &p.n.relation
	i := s.put(t)
	s.list = slices.Insert(s.list, i, sample{t, in, out})
	l.emitRelations(int32(p.node), s, i, i+1, 1)
	l.apply()
}
