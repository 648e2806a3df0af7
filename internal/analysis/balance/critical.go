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
	come := slices.Repeat([]int64{-1}, nodes)
	for i, x := range order {
		if i&0xfff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		here, everywhere := p.arrivals(x, node, ended, done, come)
		best, bestWorker, bestEnd := 0, 0, int64(-1)
		for on := range nodes {
			if c := chosen[p.units.execution[x]]; c != 0 && int(c)-1 != on {
				continue
			}
			start := everywhere
			if come[on] >= 0 {
				start = come[on]
			}
			w := on * workers
			for j := w + 1; j < (on+1)*workers; j++ {
				if free[j] < free[w] {
					w = j
				}
			}
			end := max(start, free[w], p.Start[x]) + p.Own(int(x))
			if bestEnd < 0 || end < bestEnd {
				best, bestWorker, bestEnd = on, w, end
			}
		}
		for _, on := range here {
			come[on] = -1
		}
		node[x], ended[x], done[x] = uint16(best), bestEnd, true
		free[bestWorker] = bestEnd
		chosen[p.units.execution[x]] = int32(best) + 1
	}
	return nil
}

// message is what it takes to send so many bytes to another node, in nanoseconds.
func (p *Program) message(bytes int64) int64 {
	m := &p.Machine
	ns := m.Latency + m.Costs.TransportNS + m.Costs.SendNS
	if m.Bandwidth > 0 {
		ns += float64(bytes) / m.Bandwidth * 1e9
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

// arrivals tells when an execution's inputs are at a node: come[on] where some of them are made there (here
// lists those nodes, come of all others is -1), everywhere else everywhere.
func (p *Program) arrivals(x uint32, node []uint16, ended []int64, done []bool, come []int64) (here []int,
	everywhere int64) {
	inputs := p.Inputs(int(x))
	for _, v := range inputs {
		by := p.Maker(v)
		if by < 0 || !done[by] {
			continue
		}
		everywhere = max(everywhere, ended[by]+p.message(p.Size(v)))
		if on := int(node[by]); come[on] < 0 {
			come[on] = 0
			here = append(here, on)
		}
	}
	for _, on := range here {
		t := int64(0)
		for _, v := range inputs {
			by := p.Maker(v)
			if by < 0 || !done[by] {
				continue
			}
			at := ended[by]
			if int(node[by]) != on {
				at += p.message(p.Size(v))
			}
			t = max(t, at)
		}
		come[on] = t
	}
	return here, everywhere
}
