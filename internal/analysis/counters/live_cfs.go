package counters

import (
	"cmp"
	"math"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// cfFact is an event of a CF, on its node's clock.
type cfFact struct {
	t       int64
	end     int64  // of an execution, none if it has not ended; of a departure or arrival the bytes
	next    uint32 // the one that came before it
	node    uint16
	peer    uint16
	stream  uint16
	number  uint32 // of an execution
	what    model.CFChange
	nowhere bool // on a stream that is no worker
}

// cfRecord is a CF. Its facts are listed from the last that came to the first.
type cfRecord struct {
	life   model.Life
	weight int64
	facts  uint32
	// Where its weight, if it is not 1, was recorded.
	weightNode, weightStream uint16
	flags                    uint8
}

const (
	cfKnown   = 1 << iota // it is in use
	cfCreated             // its creation is known
	cfMoved
	cfDestroyed // it will not run again
)

// cfTable finds CFs by id. The counters of a node have no holes, so neighbours share a chunk.
type cfTable struct {
	chunks map[uint64]*cfChunk // by id >> chunkBits
	recent [1 << 8]struct {
		key   uint64
		chunk *cfChunk
	}
	n int64
}

const (
	chunkBits = 6
	chunkLen  = 1 << chunkBits
)

type cfChunk struct {
	list [chunkLen]cfRecord
	used int
}

// find gives the CF with an id, nil where there is none.
func (t *cfTable) find(id uint64) *cfRecord {
	if c := t.chunk(id >> chunkBits); c != nil {
		if r := &c.list[id&(chunkLen-1)]; r.flags != 0 {
			return r
		}
	}
	return nil
}

func (t *cfTable) chunk(key uint64) *cfChunk {
	e := &t.recent[t.slot(key)]
	if e.chunk == nil || e.key != key {
		c := t.chunks[key]
		if c == nil {
			return nil
		}
		e.key, e.chunk = key, c
	}
	return e.chunk
}

// each calls f for every CF.
func (t *cfTable) each(f func(id uint64, r *cfRecord)) {
	for key, c := range t.chunks {
		for i := range c.list {
			if r := &c.list[i]; r.flags != 0 {
				f(key<<chunkBits|uint64(i), r)
			}
		}
	}
}

// forget takes a CF out.
func (t *cfTable) forget(id uint64) {
	key := id >> chunkBits
	c := t.chunk(key)
	c.list[id&(chunkLen-1)] = cfRecord{}
	c.used--
	t.n--
	if c.used == 0 {
		delete(t.chunks, key)
		t.recent[t.slot(key)].chunk = nil
	}
}

func (t *cfTable) slot(key uint64) uint64 { return (key ^ key>>42) & uint64(len(t.recent)-1) }

// add makes a CF known.
func (t *cfTable) add(id uint64) *cfRecord {
	c := t.chunk(id >> chunkBits)
	if c == nil {
		c = &cfChunk{}
		t.chunks[id>>chunkBits] = c
	}
	c.used++
	t.n++
	r := &c.list[id&(chunkLen-1)]
	*r = cfRecord{life: model.NewLife(homeOf(id)), weight: weightUnit, flags: cfKnown}
	return r
}

// cf finds or adds the CF of an event at a time; nil if the event comes too late.
func (l *Live) cf(id uint64, t int64) *cfRecord {
	r := l.cfs.find(id)
	if r != nil {
		return r
	}
	if l.tooLate(t) {
		return nil
	}
	return l.cfs.add(id)
}

// homeOf gives the node that numbered a CF.
func homeOf(id uint64) int32 { return int32(trace.CF(id).Node()) }

// emit gives a step of the CF's life that sends what changes to a sink.
func (r *cfRecord) emit(out sink, sign int64) model.Step {
	return func(t int64, node int32, from, to model.CFState) {
		spreadState(out, t, node, from, to, sign, r.weight)
	}
}

// addFact puts a fact first in the list of a CF.
func (l *Live) addFact(p *origin, r *cfRecord, f cfFact) uint32 {
	i := l.cfFacts.get()
	f.next, f.node, f.stream, f.nowhere = r.facts, p.node, p.stream, !p.worker
	*l.cfFacts.at(i) = f
	r.facts = i
	return i
}

// emitLife walks through the whole life of a CF.
func (l *Live) emitLife(id uint64, r *cfRecord, sign int64) {
	if id == 0 {
		return
	}
	first := none
	list := l.cfEvents[:0]
	for i := r.facts; i != 0; {
		f := l.cfFacts.at(i)
		i = f.next
		t, node := l.nodes[f.node].clock.common(f.t), int32(f.node)
		switch f.what {
		case model.CFCreated:
			if first == none || t < first {
				first = t
			}
		case model.CFBecameReady:
			list = append(list, model.CFEvent{T: t, Node: node, What: model.CFBecameReady})
		case model.CFStarted:
			end := l.nodes[f.node].clock.common(f.end)
			if f.nowhere {
				node = -1
			}
			list = append(list, model.CFEvent{T: t, Node: node, Number: f.number, What: model.CFStarted})
			if f.end != none {
				list = append(list, model.CFEvent{T: max(t, end), Node: node, Number: f.number,
					What: model.CFEnded})
			}
		}
	}
	if first != none {
		list = append(list, model.CFEvent{T: first, Node: homeOf(id), What: model.CFCreated})
	}
	for _, g := range l.movesOf(id, r) {
		if g.sent != none && (g.received == none || g.received > g.sent) { // as model.CFEvents has it
			list = append(list, model.CFEvent{T: g.sent, Node: g.from, What: model.CFLeft})
		}
		if g.received != none {
			list = append(list, model.CFEvent{T: g.received, Node: g.to, What: model.CFReceived})
		}
	}
	model.SortCFEvents(list)
	l.cfEvents = list
	r.life = model.NewLife(homeOf(id))
	step := r.emit(&l.delta, sign)
	for i := range list {
		r.life.Take(&list[i], step)
	}
}

// cfEvent takes an event of a CF's life. Events mostly come in the order of the life and continue it.
func (l *Live) cfEvent(p *origin, id uint64, f cfFact) *cfRecord {
	if id == 0 {
		return nil
	}
	t := p.n.clock.common(f.t)
	r := l.cf(id, t)
	if r != nil {
		l.lives(p, id, r, f, t)
	}
	return r
}

func (l *Live) lives(p *origin, id uint64, r *cfRecord, f cfFact, t int64) uint32 {
	v := model.CFEvent{T: t, Node: int32(p.node), Number: f.number, What: f.what}
	switch {
	case f.what == model.CFCreated:
		v.Node = homeOf(id)
	case f.what == model.CFStarted && !p.worker:
		v.Node = -1
	}
	again := f.what == model.CFCreated && r.flags&cfCreated != 0 ||
		f.what == model.CFLeft && r.flags&cfMoved != 0
	if f.what == model.CFLeft || f.what == model.CFReceived {
		r.flags |= cfMoved
	}
	if r.life.Fits(&v) && !again {
		r.life.Take(&v, r.emit(l, 1))
		return l.addFact(p, r, f)
	}
	l.emitLife(id, r, -1)
	i := l.addFact(p, r, f)
	l.emitLife(id, r, 1)
	l.apply()
	return i
}

func (l *Live) created(p *origin, t int64, a []uint64) {
	w := fixed(math.Float64frombits(a[4]))
	if r := l.cfEvent(p, a[0], cfFact{t: t, what: model.CFCreated}); r != nil {
		// If several creations tell a weight, the last one counts, in the order of nodes and streams.
		later := p.node > r.weightNode || p.node == r.weightNode && p.stream >= r.weightStream
		if w != weightUnit && (r.weight == weightUnit || later) {
			r.weightNode, r.weightStream = p.node, p.stream
			if !l.history.weighted {
				l.weigh()
			}
			// What the CF has changed so far was counted with another weight.
			l.emitLife(a[0], r, -1)
			r.weight = w
			l.emitLife(a[0], r, 1)
			l.apply()
		}
		r.flags |= cfCreated
	}
}

// fixed gives a weight in units of 1/weightUnit, bounded so that weights can be added.
func fixed(w float64) int64 {
	const most = 1e9
	if w != w {
		return 0
	}
	return int64(math.Round(min(max(w, -most), most) * weightUnit))
}

// destroyedCF notes that a CF will not run again.
func (l *Live) destroyedCF(id uint64) {
	if r := l.cfs.find(id); r != nil {
		r.flags |= cfDestroyed
	}
}

func (l *Live) started(p *origin, t int64, id, number uint64) {
	p.s.ran = true
	if id == 0 {
		p.s.open = append(p.s.open, openRun{})
		return
	}
	at := p.n.clock.common(t)
	r := l.cf(id, at)
	if r == nil {
		return
	}
	i := l.lives(p, id, r, cfFact{t: t, end: none, number: uint32(number), what: model.CFStarted}, at)
	p.s.open = append(p.s.open, openRun{id, i})
}

func (l *Live) finished(p *origin, t int64, id uint64) {
	s := p.s
	for i := len(s.open) - 1; i >= 0; i-- {
		o := s.open[i]
		if o.cf != id {
			continue
		}
		// Executions that started later and have not ended never will: their ends were lost.
		s.open = s.open[:i]
		if id == 0 {
			return
		}
		r := l.cfs.find(id)
		if r == nil {
			l.late++
			return
		}
		f := l.cfFacts.at(o.fact)
		v := model.CFEvent{T: max(p.n.clock.common(t), p.n.clock.common(f.t)), Node: int32(p.node),
			Number: f.number, What: model.CFEnded}
		if f.nowhere {
			v.Node = -1
		}
		if v.T > r.life.T {
			f.end = t
			r.life.Take(&v, r.emit(l, 1))
		} else {
			l.emitLife(id, r, -1)
			f.end = t
			l.emitLife(id, r, 1)
			l.apply()
		}
		return
	}
}

// moveEvent takes the departure or arrival of a CF.
func (l *Live) moveEvent(p *origin, id uint64, f cfFact) {
	t := p.n.clock.common(f.t)
	r := l.cf(id, t)
	if r == nil {
		return
	}
	l.emitMoves(id, r, l.history.killed, -1)
	if id == 0 {
		l.addFact(p, r, f)
	} else {
		l.lives(p, id, r, f, t)
	}
	r.flags |= cfMoved
	l.emitMoves(id, r, l.history.killed, 1)
	l.apply()
}

// emitMoves tells what the moves of a CF change on links.
func (l *Live) emitMoves(id uint64, r *cfRecord, killed bool, sign int64) {
	for _, g := range l.movesOf(id, r) {
		g.emit(&l.delta, l.history.links.number(g.from, g.to), killed, sign)
	}
}

func (l *Live) movesOf(id uint64, r *cfRecord) []message {
	if r.flags&cfMoved == 0 {
		return nil
	}
	var facts []cfFact
	for i := r.facts; i != 0; {
		f := *l.cfFacts.at(i)
		if f.what == model.CFLeft || f.what == model.CFReceived {
			f.t = l.nodes[f.node].clock.common(f.t)
			facts = append(facts, f)
		}
		i = f.next
	}
	slices.Reverse(facts)
	slices.SortStableFunc(facts, func(a, b cfFact) int {
		return cmp.Or(cmp.Compare(a.t, b.t), cmp.Compare(a.node, b.node), cmp.Compare(a.stream, b.stream))
	})
	moves := make([]move, 0, 8)
	for _, f := range facts {
		moves = append(moves, move{t: f.t, bytes: f.end, node: int32(f.node), peer: int32(f.peer),
			out: f.what == model.CFLeft})
	}
	list := pairMoves(nil, moves)
	for i := range list {
		list[i].moved = id != 0
	}
	return list
}
