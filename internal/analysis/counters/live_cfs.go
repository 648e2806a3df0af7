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
	id     uint64
	used   bool
	life   model.Life
	weight int64
	facts  uint32
	// Where its weight, if it is not 1, was recorded.
	weightNode, weightStream  uint16
	created, moved, destroyed bool
}

// cf finds or adds the CF of an event at a time; nil if the event comes too late.
func (l *Live) cf(id uint64, t int64) *cfRecord {
	r := l.knownCF(id)
	if r == nil && !l.tooLate(t) {
		i := l.cfs.get()
		r = l.cfs.at(i)
		*r = cfRecord{id: id, used: true, life: model.NewLife(homeOf(id)), weight: weightUnit}
		l.cfByID.set(id, i)
	}
	return r
}

func (l *Live) knownCF(id uint64) *cfRecord {
	if i := l.cfByID.get(id); i != 0 {
		return l.cfs.at(i)
	}
	return nil
}

// homeOf gives the node that numbered a CF.
func homeOf(id uint64) int32 { return int32(trace.CF(id).Node()) }

// step gives a step of the CF's life that hands on the change.
func (r *cfRecord) step(emit func(c change)) model.Step {
	return func(t int64, node int32, from, to model.CFState) { emit(stateChange(t, node, from, to, r.weight)) }
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
		if g.Sent != none && (g.Received == none || g.Received > g.Sent) { // as model.CFEvents has it
			list = append(list, model.CFEvent{T: g.Sent, Node: g.From, What: model.CFLeft})
		}
		if g.Received != none {
			list = append(list, model.CFEvent{T: g.Received, Node: g.To, What: model.CFReceived})
		}
	}
	model.SortCFEvents(list)
	l.cfEvents = list
	r.life = model.NewLife(homeOf(id))
	step := r.step(l.delta.adder(sign))
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
	again := f.what == model.CFCreated && r.created ||
		f.what == model.CFLeft && r.moved
	if f.what == model.CFLeft || f.what == model.CFReceived {
		r.moved = true
	}
	if r.life.Fits(&v) && !again {
		r.life.Take(&v, r.step(l.make))
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
			if !l.weighted {
				l.weigh()
			}
			// What the CF has changed so far was counted with another weight.
			l.emitLife(a[0], r, -1)
			r.weight = w
			l.emitLife(a[0], r, 1)
			l.apply()
		}
		r.created = true
	}
}

// destroyedCF notes that a CF will not run again.
func (l *Live) destroyedCF(id uint64) {
	if r := l.knownCF(id); r != nil {
		r.destroyed = true
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
		r := l.knownCF(id)
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
			r.life.Take(&v, r.step(l.make))
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
	l.emitMoves(id, r, l.killed, -1)
	if id == 0 {
		l.addFact(p, r, f)
	} else {
		l.lives(p, id, r, f, t)
	}
	r.moved = true
	l.emitMoves(id, r, l.killed, 1)
	l.apply()
}

// emitMoves tells what the moves of a CF change on links.
func (l *Live) emitMoves(id uint64, r *cfRecord, killed bool, sign int64) {
	for _, g := range l.movesOf(id, r) {
		l.emitFlight(&g, killed, sign)
	}
}

func (l *Live) movesOf(id uint64, r *cfRecord) []model.Message {
	if !r.moved {
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
	moves := make([]model.Move, 0, 8)
	for _, f := range facts {
		moves = append(moves, model.Move{CF: model.CF(min(id, 1)), Time: f.t, Bytes: f.end, Node: int32(f.node),
			Peer: int32(f.peer), Out: f.what == model.CFLeft})
	}
	return model.PairMoves(nil, moves)
}
