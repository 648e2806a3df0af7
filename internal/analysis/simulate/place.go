package simulate

import (
	"math"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// places are what locators say, before it is taken modulo the number of nodes. What ran where its locator
// wanted it has the number of that node.
type places struct {
	execution []int32 // creator: where the CF was created
	value     []int32
}

// creator in place of a locator's value: the CF stays with its creator.
const creator = math.MinInt32

// newPlaces finds the locators' values of a graph.
func newPlaces(g *graph) places {
	m := g.m
	p := places{make([]int32, len(g.cf)), make([]int32, len(g.home))}
	for x, node := range g.node {
		p.execution[x] = int32(node)
		if m.Codes[m.CodeOf(model.CF(g.cf[x]))].Kind == trace.Sub {
			p.execution[x] = creator
		}
	}
	for v, node := range g.home {
		p.value[v] = int32(node)
	}
	for i := range m.Placed {
		place := &m.Placed[i]
		if place.CF != 0 {
			x := g.first[place.CF]
			for e := range m.ExecutionsOf(place.CF) {
				if m.ExecStart[e] >= place.Time {
					p.execution[x] = int32(place.Place)
					break
				}
				x++
			}
		} else if first, end := m.Creations(place.DF); first < end {
			k, _ := slices.BinarySearch(m.MadeTime[first:end], place.Time)
			p.value[min(first+k, end-1)+1] = int32(place.Place)
		}
	}
	return p
}

// Placement says on which nodes a program runs in place of where its locators want it: by execution and by
// value, as Tasks numbers them. Bodies of subs stay with the CFs that call them all the same.
type Placement struct {
	Executions []uint16
	Values     []uint16
}

// Located is where locators place the program on so many nodes; where it was, if it had as many when it was
// recorded. Callers must not change it.
func (s *Simulator) Located(nodes int) *Placement {
	x, v := s.g.on(&Machine{Nodes: nodes}, s.recorded.Nodes)
	return &Placement{x, v}
}

// on gives the node of every execution and value on a machine; recorded is the nodes of the recorded one.
func (g *graph) on(m *Machine, recorded int) (executions, values []uint16) {
	if m.Place == nil && m.Nodes == recorded {
		return g.node, g.home
	}
	node := func(place int32) uint16 {
		n := int(place) % m.Nodes
		if n < 0 {
			n += m.Nodes
		}
		return uint16(n)
	}
	executions, values = make([]uint16, len(g.cf)), make([]uint16, len(g.home))
	known := make([]bool, len(g.cf))
	var find func(x uint32) uint16
	find = func(x uint32) uint16 {
		if !known[x] {
			known[x] = true
			switch place := g.places.execution[x]; {
			case place != creator && m.Place != nil:
				executions[x] = m.Place.Executions[x]
			case place != creator:
				executions[x] = node(place)
			case g.maker[g.cf[x]] != 0:
				executions[x] = find(g.maker[g.cf[x]] - 1)
			}
		}
		return executions[x]
	}
	for x := range g.cf {
		find(uint32(x))
	}
	if m.Place != nil {
		return executions, m.Place.Values
	}
	for v := range values {
		values[v] = node(g.places.value[v])
	}
	return executions, values
}
