package balance

import (
	"cmp"
	"context"
	"slices"
)

// critical is list scheduling by critical path (HEFT): CFs in the order of what hangs on them, each to the
// node where it ends first, by when its inputs are there and a worker is free.
type critical struct{}

func (critical) Name() string { return "critical" }

func (critical) Place(ctx context.Context, p *Program, node []uint16) error {
	n := p.Executions()
	rank := p.ranks()
	order := make([]uint32, 0, n)
	for _, x := range p.Started() {
		if p.units.execution[x] >= 0 {
			order = append(order, x)
		}
	}
	slices.SortStableFunc(order, func(a, b uint32) int { return cmp.Compare(rank[b], rank[a]) })
	nodes, workers := p.Machine.Nodes, p.Machine.Workers
	free := make([]int64, nodes*workers) // by worker: when
	ended := make([]int64, n)
	done := make([]bool, n)
	chosen := make([]int32, len(p.units.ofCF)) // by unit: 1 + the node of those before
	a := arrivals{p, node, ended, done, slices.Repeat([]int64{-1}, nodes), make([]int64, p.Machine.Groups())}
	for i, x := range order {
		if i&0xfff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		here := a.of(x)
		best, bestWorker, bestEnd := 0, 0, int64(-1)
		for on := range nodes {
			if c := chosen[p.units.execution[x]]; c != 0 && int(c)-1 != on {
				continue
			}
			start := a.come[on]
			if start < 0 {
				start = a.others[p.Machine.GroupOf(on)]
			}
			w := on * workers
			for j := w + 1; j < (on+1)*workers; j++ {
				if free[j] < free[w] {
					w = j
				}
			}
			end := max(start, free[w], p.Start[x]) + p.on(on, p.Own(int(x)))
			if bestEnd < 0 || end < bestEnd {
				best, bestWorker, bestEnd = on, w, end
			}
		}
		for _, on := range here {
			a.come[on] = -1
		}
		node[x], ended[x], done[x] = uint16(best), bestEnd, true
		free[bestWorker] = bestEnd
		chosen[p.units.execution[x]] = int32(best) + 1
	}
	return nil
}

// message is what it takes to send so many bytes to another node, in nanoseconds. Where links differ, it is
// the slower kind, for that is what a distribution can avoid.
func (p *Program) message(bytes int64) int64 {
	m := &p.Machine
	ns := p.wire(m.Latency, m.Bandwidth, bytes)
	if u := m.Uneven; u != nil {
		ns = max(ns, p.wire(u.Latency, u.Bandwidth, bytes))
	}
	return ns
}

// wire is what it takes to send so many bytes over a link.
func (p *Program) wire(latency, bandwidth float64, bytes int64) int64 {
	ns := latency + p.Machine.Costs.TransportNS + p.Machine.Costs.SendNS
	if bandwidth > 0 {
		ns += float64(bytes) / bandwidth * 1e9
	}
	return int64(ns)
}

// ranks gives for each execution the longest way to the end of the program, in nanoseconds: its own time, and
// that of what needs its values, with a message before each.
func (p *Program) ranks() []int64 {
	rank := make([]int64, p.Executions())
	started := p.Started()
	for i := len(started) - 1; i >= 0; i-- {
		x := int(started[i])
		rank[x] += p.Own(x)
		for _, v := range p.Inputs(x) {
			if by := p.Maker(v); by >= 0 {
				rank[by] = max(rank[by], rank[x]+p.message(p.Size(v)))
			}
		}
		if c := p.Creator(x); c >= 0 {
			rank[c] = max(rank[c], rank[x])
		}
	}
	return rank
}

// arrivals tells when the inputs of an execution are at a node.
type arrivals struct {
	p      *Program
	node   []uint16
	ended  []int64
	done   []bool
	come   []int64 // by node where some of them are made; -1 for others
	others []int64 // by group of nodes: at its other nodes
}

// of finds them, and the nodes for which come is set.
func (a *arrivals) of(x uint32) (here []int) {
	clear(a.others)
	a.each(x, func(v uint32, by int) {
		if on := int(a.node[by]); a.come[on] < 0 {
			a.come[on] = 0
			here = append(here, on)
		}
	})
	m := &a.p.Machine
	a.each(x, func(v uint32, by int) {
		from, size := int(a.node[by]), a.p.Size(v)
		for _, on := range here {
			at := a.ended[by]
			if from != on {
				latency, bandwidth := m.Link(from, on)
				at += a.p.wire(latency, bandwidth, size)
			}
			a.come[on] = max(a.come[on], at)
		}
		inside := a.p.wire(m.Latency, m.Bandwidth, size)
		for g := range a.others {
			at := a.ended[by] + inside
			if g != m.GroupOf(from) {
				at = a.ended[by] + a.p.wire(m.Uneven.Latency, m.Uneven.Bandwidth, size)
			}
			a.others[g] = max(a.others[g], at)
		}
	})
	return here
}

// each visits the inputs whose makers have a node already.
func (a *arrivals) each(x uint32, visit func(v uint32, by int)) {
	for _, v := range a.p.Inputs(int(x)) {
		if by := a.p.Maker(v); by >= 0 && a.done[by] {
			visit(v, by)
		}
	}
}
