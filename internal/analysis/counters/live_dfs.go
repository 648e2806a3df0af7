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

// creation is one of several creations of a DF; all of them are in more.
type creation struct {
	model.Value
	node, stream uint16
}

// holding is what one node has of a DF.
type holding struct {
	df, next        uint32
	facts           uint32
	stored, dropped int32
	number          uint64 // of the DF in the node's file
	node            uint16
	used            bool
	t               int64 // latest fact
}

// copyFact is an event of a copy, or the end of a DF, on its node's clock. Lists of them are in the order of
// nodes and streams, and within a stream as they came.
type copyFact struct {
	t            int64
	next         uint32
	node, stream uint16
	end          bool
}

// holding finds or adds what a node has of a DF; nil if the event comes too late.
func (l *Live) holding(p *origin, number uint64, t int64) (*holding, *liveDF) {
	if i := p.n.held.get(number); i != 0 {
		h := l.copies.at(i)
		return h, l.dfs.at(h.df)
	}
	if l.tooLate(t) {
		return nil, nil
	}
	at := l.copies.get()
	p.n.held.set(number, at)
	h := l.copies.at(at)
	*h = holding{node: p.node, number: number, used: true, t: none}
	id := uint64(0)
	// Only a damaged trace has a number far beyond the defined ones; it counts as not defined.
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
		eachHeld(int32(h.node), &l.held[i], l.delta.adder(sign))
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
	d.t = none
	for _, v := range made {
		l.delta.add(change{v.Time, 0, whole, dfMade}, sign)
		d.t = max(d.t, v.Time)
	}
	for i, c := range gone {
		if i >= len(gone)-len(made) { // as tooOften has it
			l.delta.add(change{c.Time, 0, whole, dfGone}, sign)
		}
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
		// No drop is left out, so the facts do not depend on each other.
		kind := copyStored
		if dropped {
			kind = copyDropped
		}
		l.make(change{t, d.creation.Bytes, int32(h.node), kind})
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
		for i > 0 && (d.more[i-1].node > c.node ||
			d.more[i-1].node == c.node && d.more[i-1].stream > c.stream) {
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
		l.make(change{t, 0, whole, dfGone})
		d.t = max(d.t, t)
		return
	}
	l.emitDF(d, 1)
	l.apply()
}
