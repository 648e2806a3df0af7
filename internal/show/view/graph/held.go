package graph

import (
	"cmp"
	"math"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// holding is a change in the bytes that a node holds.
type holding struct {
	t, bytes int64
	node     int32
}

// bytes gives the mean of the bytes that each node holds.
func (g *Graph) bytes(s span) []float64 {
	g.heldOnce.Do(g.findHeld)
	out := make([]float64, len(g.m.Nodes))
	for i := range g.held {
		if h := &g.held[i]; h.t < s.to || h.t <= s.from {
			share := 1.0
			if s.to > s.from {
				share = float64(s.to-max(h.t, s.from)) / float64(s.to-s.from)
			}
			out[h.node] += share * float64(h.bytes)
		}
	}
	for n := range out {
		out[n] = max(math.Round(out[n]*1e3)/1e3, 0)
	}
	return out
}

// findHeld lists the copies stored and dropped, as package series counts them: drops of copies that were never stored, which only
// a trace has that lacks something, are left out.
func (g *Graph) findHeld() {
	m := g.m
	odd := g.findOdd()
	balance := make([]int32, m.DFs()) // of one node: copies stored less dropped; below 0, drops to leave out
	for from, end := 0, 0; from < len(m.Copies); from = end {
		node := m.Copies[from].Node
		for ; end < len(m.Copies) && m.Copies[end].Node == node; end++ {
			switch c := &m.Copies[end]; c.What {
			case model.CopyStored:
				balance[c.DF]++
			case model.CopyDropped:
				balance[c.DF]--
			}
		}
		for i := from; i < end; i++ {
			c := &m.Copies[i]
			if c.What > model.CopyDropped {
				continue
			}
			if c.What == model.CopyDropped && balance[c.DF] < 0 {
				balance[c.DF]++
				continue
			}
			bytes, several := odd[i]
			if first, last := m.Creations(c.DF); !several && last > first {
				bytes = m.MadeSize[first]
			}
			if c.What == model.CopyDropped {
				bytes = -bytes
			}
			if bytes != 0 {
				g.held = append(g.held, holding{c.Time, bytes, int32(node)})
			}
		}
		for i := from; i < end; i++ {
			balance[m.Copies[i].DF] = 0
		}
	}
}

// findOdd gives the sizes of copies of DFs that were created several times, by index into Copies: a copy has the value there was
// when it was stored; the oldest one is dropped first.
func (g *Graph) findOdd() map[int]int64 {
	m := g.m
	odd := map[int]int64{}
	var list []int
	for i := range m.Copies {
		c := &m.Copies[i]
		if first, end := m.Creations(c.DF); end > first+1 && c.What <= model.CopyDropped {
			list = append(list, i)
		}
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(m.Copies[a].Time, m.Copies[b].Time) })
	type place struct {
		node uint16
		df   model.DF
	}
	stored := map[place][]int64{}
	for _, i := range list {
		if c := &m.Copies[i]; c.What == model.CopyStored {
			odd[i] = g.size(c.DF, c.Time)
			stored[place{c.Node, c.DF}] = append(stored[place{c.Node, c.DF}], odd[i])
		}
	}
	for _, i := range list { // clocks may tell that one was dropped before it was stored
		c := &m.Copies[i]
		if c.What != model.CopyDropped {
			continue
		}
		odd[i] = 0
		if sizes := stored[place{c.Node, c.DF}]; len(sizes) > 0 {
			odd[i], stored[place{c.Node, c.DF}] = sizes[0], sizes[1:]
		}
	}
	return odd
}
