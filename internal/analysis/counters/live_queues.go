package counters

import (
	"cmp"
	"slices"
)

// samples are recorded lengths of a queue, or relations, in order of time on the node's clock.
type samples struct {
	base int64 // length of a queue before the first
	list []sample
}

type sample struct{ t, a, b int64 }

// put gives the place of a new sample: after those of the same time.
func (s *samples) put(t int64) int {
	i := len(s.list)
	for i > 0 && s.list[i-1].t > t {
		i--
	}
	return i
}

// emitQueue tells what the samples from i up to but not including j change.
func (l *Live) emitQueue(k queueKey, s *samples, i, j int, sign int64) {
	c := &l.nodes[k.node].clock
	q, at := readyQueue, k.node
	if k.peer >= 0 {
		q, at = sendQueue, l.history.links.number(k.node, k.peer)
	}
	list := s.list
	if c.back {
		// On the common clock the order is another one, so each sample may follow any other.
		i, j = 0, len(list)
		list = slices.Clone(list)
		slices.SortStableFunc(list, func(a, b sample) int {
			return cmp.Compare(c.common(a.t), c.common(b.t))
		})
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
