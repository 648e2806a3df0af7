package balance

import (
	"cmp"
	"context"
	"slices"
)

// longest gives the longest track that is left to the node that is first to have done it (LPT).
type longest struct{}

func (longest) Name() string { return "lpt" }

func (longest) Place(_ context.Context, p *Program, node []uint16) error {
	order := make([]int, len(p.Tracks))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.Tracks[b].NS, p.Tracks[a].NS) })
	var all []*loads // of nodes that are equally fast
	ofSpeed := map[float64]*loads{}
	for n := range p.Machine.Nodes {
		speed := p.Machine.SpeedOf(n)
		l := ofSpeed[speed]
		if l == nil {
			l = &loads{ns: make([]int64, p.Machine.Nodes)}
			ofSpeed[speed], all = l, append(all, l)
		}
		l.heap = append(l.heap, n)
	}
	for _, i := range order {
		var best *loads
		var end, ns int64
		for _, l := range all {
			took := p.on(l.least(), p.Tracks[i].NS)
			if t := l.ns[l.least()] + took; best == nil || t < end {
				best, end, ns = l, t, took
			}
		}
		p.put(node, i, best.least())
		best.add(ns)
	}
	return nil
}

// loads is a heap of nodes by what they have to do, then by number.
type loads struct {
	ns   []int64 // by node
	heap []int
}

func (l *loads) before(i, j int) bool {
	a, b := l.heap[i], l.heap[j]
	return cmp.Or(cmp.Compare(l.ns[a], l.ns[b]), a-b) < 0
}

// least is the node with least to do.
func (l *loads) least() int { return l.heap[0] }

// add gives that node more to do.
func (l *loads) add(ns int64) {
	l.ns[l.heap[0]] += ns
	for i := 0; ; {
		down := 2*i + 1
		if down+1 < len(l.heap) && l.before(down+1, down) {
			down++
		}
		if down >= len(l.heap) || !l.before(down, i) {
			return
		}
		l.heap[i], l.heap[down] = l.heap[down], l.heap[i]
		i = down
	}
}
