package simulate

import "slices"

// Values that several nodes keep, as `locator_replicating` says: the maker sends each of them one, and who
// needs it asks the nearest, as in package engine. Those of nodes 0, step, 2*step and so on are meant.

// copies are where a value is that several nodes keep.
type copies struct {
	step   int
	posted []bool   // by node: it is there
	first  []uint32 // by node: as first of a run, for those that wait there
}

// replicated finds the values that several nodes of the recorded run kept, with their steps.
func (g *graph) replicated(sent map[uint32]int) {
	for v, n := range sent {
		homes := g.m.Homes(g.m.DFMade(v - 1))
		if slices.Contains(homes, g.m.MadeNode[v-1]) {
			n++
		}
		step := 0
		for _, home := range homes {
			step = divisor(step, int(home))
		}
		if n > 1 && len(homes) > 1 && step > 0 {
			if g.step == nil {
				g.step = map[uint32]int{}
			}
			g.step[v] = step
		}
	}
}

// divisor is the greatest common one.
func divisor(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// replicate sets up the values that several nodes keep.
func (r *run) replicate() {
	set := func(v uint32, step int) {
		if r.copies == nil {
			r.copies = map[uint32]*copies{}
		}
		c := &copies{step, make([]bool, r.m.Nodes), make([]uint32, r.m.Nodes)}
		for n := range c.posted {
			c.posted[n] = r.posted[v]
		}
		r.copies[v] = c
	}
	for v, step := range r.g.step {
		set(v, step)
	}
	if len(r.m.Replicated) == 0 {
		return
	}
	for v := uint32(1); int(v) < len(r.g.home); v++ {
		if slices.Contains(r.m.Replicated, r.g.m.DFNameOf(r.g.m.DFMade(v-1))) {
			set(v, 1)
		}
	}
}

// homes are the nodes that keep a value: the first, and the step to the next, so large that there is none
// where only one does.
func (r *run) homes(v uint32) (first, step int) {
	if c := r.copies[v]; c != nil {
		return 0, c.step
	}
	return int(r.keeper[v]), r.m.Nodes
}

// askedNode is the node that is asked for a value at another one.
func (r *run) askedNode(v uint32, node int) int {
	c := r.copies[v]
	if c == nil {
		return int(r.keeper[v])
	}
	at := (node + c.step/2) / c.step * c.step
	if at >= r.m.Nodes {
		at -= c.step
	}
	return at
}

// isAt tells whether a value is at a node that keeps it.
func (r *run) isAt(v uint32, home int) bool {
	if c := r.copies[v]; c != nil {
		return c.posted[home]
	}
	return r.posted[v]
}
