package balance

import (
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/simulate"
	"github.com/whyslow/whyslow/internal/model"
)

// complete makes a placement of the nodes of executions: each unit gets the node where it has most to do, and
// DFs follow the CFs.
func (p *Program) complete(node []uint16) *simulate.Placement {
	executions := vote(node, p.units.execution, len(p.units.ofCF), p.Located.Executions,
		func(x int) int64 { return 1 + p.Own(x) })
	values := slices.Clone(p.Located.Values)
	for v := 1; v < p.Values(); v++ {
		if p.units.value[v] >= 0 {
			values[v] = p.follow(uint32(v), executions)
		}
	}
	return &simulate.Placement{Executions: executions, Values: vote(values, p.units.value, len(p.units.ofDF),
		p.Located.Values, func(v int) int64 { return 1 + p.Size(uint32(v)) })}
}

// follow chooses the node of a value: where all its readers are, so that it is sent there at once, or else
// where it is made, so that it reaches each of them with one message.
func (p *Program) follow(v uint32, executions []uint16) uint16 {
	readers := p.readers(v)
	by := p.Maker(v)
	if len(readers) > 0 {
		node := executions[readers[0]]
		if by < 0 || !slices.ContainsFunc(readers, func(x uint32) bool { return executions[x] != node }) {
			return node
		}
	}
	if by < 0 {
		return p.Located.Values[v]
	}
	return executions[by]
}

// vote gives all members of each unit the node that has most weight among them; those without a unit keep
// theirs.
func vote(node []uint16, unit []int32, units int, located []uint16, weight func(i int) int64) []uint16 {
	count := make([]int32, units)
	for _, u := range unit {
		if u >= 0 {
			count[u]++
		}
	}
	votes := map[int32]map[uint16]int64{}
	for i, u := range unit {
		if u >= 0 && count[u] > 1 {
			if votes[u] == nil {
				votes[u] = map[uint16]int64{}
			}
			votes[u][node[i]] += weight(i)
		}
	}
	out := slices.Clone(node)
	for i, u := range unit {
		switch {
		case u < 0:
			out[i] = located[i]
		case count[u] > 1:
			best, most := uint16(0), int64(-1)
			for n, w := range votes[u] {
				if w > most || w == most && n < best {
					best, most = n, w
				}
			}
			out[i] = best
		}
	}
	return out
}

// peak is the most bytes that a node holds of the DFs kept there: each from its creation until it was
// destroyed, at the times of the recorded run. Copies that nodes keep for CFs about to run do not count.
func (p *Program) peak(place *simulate.Placement) (most int64) {
	m := p.Model()
	type change struct{ t, bytes int64 }
	changes := make([][]change, p.Machine.Nodes)
	end := make([]int64, p.Values())
	for h := range m.Holdings() {
		if c, ok := m.Creation(h.DF, h.From); ok {
			to := h.To
			if to == model.None {
				to = m.End
			}
			end[c+1] = max(end[c+1], to)
		}
	}
	for v := 1; v < p.Values(); v++ {
		n := place.Values[v]
		changes[n] = append(changes[n], change{m.MadeTime[v-1], p.Size(uint32(v))})
		if t := end[v]; t != 0 && t < m.End { // 0: not told
			changes[n] = append(changes[n], change{t, -p.Size(uint32(v))})
		}
	}
	for _, list := range changes {
		slices.SortStableFunc(list, func(a, b change) int { return int(min(max(a.t-b.t, -1), 1)) })
		held := int64(0)
		for _, c := range list {
			held += c.bytes
			most = max(most, held)
		}
	}
	return most
}
