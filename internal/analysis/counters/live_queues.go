package counters

import (
	"cmp"
	"slices"
	"sort"
)

// samples are recorded lengths of a queue, or relations, in order of time on the node's clock.
type samples struct {
	base int64 // length of a queue before the first
	list []sample
}

type sample struct{ t, a, b int64 }

// relationsPeer stands in a queueKey for the relations of a node.
const relationsPeer = -2

// emitSamples tells what the samples from i up to but not including j change.
func (l *Live) emitSamples(k queueKey, s *samples, i, j int, sign int64) {
	c := &l.nodes[k.node].clock
	what, at, list := readyLength, k.node, s.list
	switch {
	case k.peer == relationsPeer:
		for _, v := range list[i:min(j, len(list))] {
			t := c.common(v.t)
			l.delta.add(change{t, v.a, k.node, innerChanged}, sign)
			l.delta.add(change{t, v.b, k.node, outerChanged}, sign)
		}
		return
	case k.peer >= 0:
		what, at = sendLength, l.links.number(k.node, k.peer)
	}
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
		l.delta.add(change{c.common(list[i].t), d, at, what}, sign)
	}
}

// sample notes a sample, to be taken in later.
func (l *Live) sample(k queueKey, v sample) {
	l.sampled[k] = append(l.sampled[k], v)
	l.untaken++
}

// fewSamples wait until they are taken in.
const fewSamples = 1 << 12

// takeSamples takes in the samples that wait, each after those of the same time. What follows the earliest is
// put in order again, so blocks that go back in time wait until they are a part of all there is.
func (l *Live) takeSamples() {
	for k, list := range l.sampled {
		s := l.queues[k]
		if s == nil {
			s = &samples{}
			l.queues[k] = s
		}
		byTime := func(a, b sample) int { return cmp.Compare(a.t, b.t) }
		first := slices.MinFunc(list, byTime).t
		i := sort.Search(len(s.list), func(i int) bool { return s.list[i].t > first })
		l.emitSamples(k, s, i, len(s.list), -1)
		l.apply()
		s.list = append(s.list, list...)
		slices.SortStableFunc(s.list[i:], byTime)
		l.emitSamples(k, s, i, len(s.list), 1)
		l.apply()
	}
	clear(l.sampled)
	l.taken += l.untaken
	l.untaken = 0
}
