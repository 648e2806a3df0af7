package balance

import (
	"cmp"
	"context"
	"slices"
)

// diffusion goes through the run window by window. Nodes that have more to do than a neighbour hand tracks
// over, those first that exchange most with the neighbour's own; the next window starts from there. So the
// distribution follows work that wanders through the program.
type diffusion struct{}

func (diffusion) Name() string { return "diffusion" }

// sweeps is how often the nodes compare their work in a window.
const sweeps = 8

func (diffusion) Place(ctx context.Context, p *Program, node []uint16) error {
	on := make([]int, len(p.Tracks))
	for i, t := range p.Tracks {
		on[i] = int(p.Located.Executions[t.Executions[0]])
	}
	near := p.neighbours()
	nodes := p.Machine.Nodes
	for w := range windowCount {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		load := make([]int64, nodes)
		var active []int
		for i := range p.Tracks {
			if ns := p.Tracks[i].Windows[w]; ns > 0 {
				active = append(active, i)
				load[on[i]] += ns
			}
		}
		for range sweeps {
			moved := false
			for a := range nodes {
				for _, b := range []int{a + 1, a - 1} {
					if b >= 0 && b < nodes && p.on(a, load[a]) > p.on(b, load[b]) {
						moved = p.handOver(active, on, load, near, w, a, b) || moved
					}
				}
			}
			if !moved {
				break
			}
		}
		for i, t := range p.Tracks {
			for _, x := range t.Executions {
				if int(p.Window[x]) == w {
					node[x] = uint16(on[i])
				}
			}
		}
	}
	return nil
}

// handOver gives tracks of one node to another, as long as both are closer then. active are those that have
// something to do in the window.
func (p *Program) handOver(active []int, on []int, load []int64, near []map[int32]int64,
	window, from, to int) (moved bool) {
	var list []int
	score := map[int]int64{}
	for _, i := range active {
		if on[i] != from {
			continue
		}
		list = append(list, i)
		score[i] = p.Tracks[i].Windows[window] / 1000 // of two that exchange nothing, the longer one
		for j, cost := range near[i] {
			if on[j] == to {
				score[i] += cost
			}
		}
	}
	slices.SortStableFunc(list, func(i, j int) int { return cmp.Compare(score[j], score[i]) })
	for _, i := range list {
		if ns := p.Tracks[i].Windows[window]; p.on(to, load[to]+ns) < p.on(from, load[from]) {
			on[i] = to
			load[from] -= ns
			load[to] += ns
			moved = true
		}
	}
	return moved
}

// neighbours tells which tracks exchange values, and how long that would take by messages.
func (p *Program) neighbours() []map[int32]int64 {
	near := make([]map[int32]int64, len(p.Tracks))
	for i := range near {
		near[i] = map[int32]int64{}
	}
	for x, to := range p.TrackOf {
		for _, v := range p.Inputs(x) {
			by := p.Maker(v)
			if to < 0 || by < 0 || p.TrackOf[by] < 0 || p.TrackOf[by] == to {
				continue
			}
			from, cost := p.TrackOf[by], p.message(p.Size(v))
			near[from][to] += cost
			near[to][from] += cost
		}
	}
	return near
}
