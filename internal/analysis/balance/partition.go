package balance

import (
	"cmp"
	"context"
	"slices"
)

// partition cuts the graph of CFs into a part for each node. Vertices are units, weighted by their time in
// each window; edges are the values that pass between them, weighted by what a message with them takes. DFs
// follow their CFs afterwards.
//
// It is multilevel: vertices joined by heavy edges are merged, again and again, until few are left; those are
// dealt out; then, level by level back, vertices are moved as long as that makes the whole cheaper. What is
// cheap is one number, in nanoseconds: the sum over all windows of what the busiest node has to do, and the
// nodes' shares of all messages. So there is no balance to keep by force, and a run is never cut in time.
type partition struct{}

func (partition) Name() string { return "partition" }

func (partition) Place(ctx context.Context, p *Program, node []uint16) error {
	levels := []*level{p.units.graph(p)}
	parents := [][]int32{}
	most := levels[0].total/int64(2*p.Machine.Nodes) + 1
	for {
		last := levels[len(levels)-1]
		if len(last.at)-1 <= 16*p.Machine.Nodes || ctx.Err() != nil {
			break
		}
		next, parent := last.merge(most)
		if len(next.at) > len(last.at)*9/10 {
			break
		}
		levels, parents = append(levels, next), append(parents, parent)
	}
	var c *cutting
	for i := len(levels) - 1; i >= 0; i-- {
		l := levels[i]
		part := make([]uint16, len(l.at)-1)
		if c != nil {
			for v := range part {
				part[v] = c.part[parents[i][v]]
			}
		}
		first := c == nil
		c = newCutting(l, p, part, first)
		if err := c.refine(ctx); err != nil {
			return err
		}
	}
	for x, u := range p.units.execution {
		if u >= 0 {
			node[x] = c.part[u]
		}
	}
	return nil
}

// level is a graph: vertex v has edges at[v] up to at[v+1], and the weights of windowCount windows from
// v*windowCount on.
type level struct {
	at     []int32
	to     []int32
	weighs []int64 // by edge
	weight []int64
	sum    []int64 // by vertex: its weights together
	total  int64
}

// link is an edge while a level is made, both ways.
type link struct {
	a, b int32
	cost int64
}

func newLevel(vertices int, links []link, weight []int64) *level {
	slices.SortFunc(links, func(x, y link) int { return cmp.Or(cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b)) })
	l := &level{at: make([]int32, 1, vertices+1), weight: weight, sum: make([]int64, vertices)}
	for i := 0; i < len(links); {
		k := links[i]
		for i++; i < len(links) && links[i].a == k.a && links[i].b == k.b; i++ {
			k.cost += links[i].cost
		}
		for len(l.at)-1 <= int(k.a) {
			l.at = append(l.at, int32(len(l.to)))
		}
		l.to, l.weighs = append(l.to, k.b), append(l.weighs, k.cost)
		l.at[k.a+1] = int32(len(l.to))
	}
	for len(l.at) <= vertices {
		l.at = append(l.at, int32(len(l.to)))
	}
	for i, w := range weight {
		l.sum[i/windowCount] += w
		l.total += w
	}
	return l
}

// graph is that of all units.
func (u *units) graph(p *Program) *level {
	weight := make([]int64, len(u.ofCF)*windowCount)
	var links []link
	for x, a := range u.execution {
		if a < 0 {
			continue
		}
		weight[int(a)*windowCount+int(p.Window[x])] += p.Own(x)
		for _, v := range p.Inputs(x) {
			by := p.Maker(v)
			if by < 0 || u.execution[by] < 0 || u.execution[by] == a {
				continue
			}
			cost := p.message(p.Size(v))
			links = append(links, link{a, u.execution[by], cost}, link{u.execution[by], a, cost})
		}
	}
	return newLevel(len(u.ofCF), links, weight)
}

// merge joins each vertex with the free neighbour to which its edge is heaviest, unless both together have
// more than most to do.
func (l *level) merge(most int64) (next *level, parent []int32) {
	n := len(l.at) - 1
	parent = slices.Repeat([]int32{-1}, n)
	count := int32(0)
	for v := range n {
		if parent[v] >= 0 {
			continue
		}
		best, heaviest := int32(-1), int64(0)
		for e := l.at[v]; e < l.at[v+1]; e++ {
			o := l.to[e]
			if parent[o] < 0 && l.weighs[e] > heaviest && l.sum[v]+l.sum[o] <= most {
				best, heaviest = o, l.weighs[e]
			}
		}
		parent[v] = count
		if best >= 0 {
			parent[best] = count
		}
		count++
	}
	weight := make([]int64, int(count)*windowCount)
	var links []link
	for v := range n {
		for w := range windowCount {
			weight[int(parent[v])*windowCount+w] += l.weight[v*windowCount+w]
		}
		for e := l.at[v]; e < l.at[v+1]; e++ {
			if a, b := parent[v], parent[l.to[e]]; a != b {
				links = append(links, link{a, b, l.weighs[e]})
			}
		}
	}
	return newLevel(int(count), links, weight), parent
}

// cutting is a level with a part for each vertex.
type cutting struct {
	*level
	p      *Program
	parts  int
	part   []uint16
	load   []int64 // by window, then part
	square []float64
	near   []int64 // by part: what joins a vertex to it
	group  []int64 // by group of nodes: likewise
	inside float64 // the part of a message's cost that is saved inside a group
}

// newCutting takes parts as they are; or, with fresh, deals the vertices out, the longest first.
func newCutting(l *level, p *Program, part []uint16, fresh bool) *cutting {
	parts := p.Machine.Nodes
	c := &cutting{level: l, p: p, parts: parts, part: part, load: make([]int64, windowCount*parts),
		square: make([]float64, windowCount), near: make([]int64, parts),
		group: make([]int64, p.Machine.Groups())}
	m := &p.Machine
	c.inside = 1 - float64(p.wire(m.Latency, m.Bandwidth, 0))/float64(max(p.message(0), 1))
	if !fresh {
		for v := range part {
			c.add(v, int(part[v]), 1)
		}
		return c
	}
	order := make([]int, len(part))
	for v := range order {
		order[v] = v
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(l.sum[b], l.sum[a]) })
	dealt := make([]bool, len(part))
	for _, v := range order {
		c.look(v, func(o int32) bool { return dealt[o] })
		best, least := 0, 0.0
		for b := range parts {
			if cost := c.cost(v, b); b == 0 || cost < least {
				best, least = b, cost
			}
		}
		part[v], dealt[v] = uint16(best), true
		c.add(v, best, 1)
	}
	return c
}

// add adds a vertex's weights to a part, or with -1 takes them away.
func (c *cutting) add(v, part int, sign int64) {
	for w := range windowCount {
		if ns := sign * c.p.on(part, c.weight[v*windowCount+w]); ns != 0 {
			at := &c.load[w*c.parts+part]
			c.square[w] += float64(*at+ns)*float64(*at+ns) - float64(*at)*float64(*at)
			*at += ns
		}
	}
}

// unevenness is how much the square of loads counts beside the highest: it lets vertices leave a part that
// is not the only busiest one.
const unevenness = 0.25

// with is what the windows of a vertex cost with it in a part; it is in none.
func (c *cutting) with(v, part int) (cost float64) {
	for w := range windowCount {
		ns := c.p.on(part, c.weight[v*windowCount+w])
		if ns == 0 {
			continue
		}
		loads := c.load[w*c.parts : (w+1)*c.parts]
		here := float64(loads[part] + ns)
		highest := max(slices.Max(loads), loads[part]+ns)
		square := c.square[w] + here*here - float64(loads[part])*float64(loads[part])
		cost += float64(highest) + unevenness*square/float64(c.total+1)
	}
	return cost
}

// look finds what joins a vertex to parts and groups, of the neighbours that count.
func (c *cutting) look(v int, counts func(o int32) bool) {
	clear(c.near)
	clear(c.group)
	for e := c.at[v]; e < c.at[v+1]; e++ {
		if o := c.to[e]; counts(o) {
			part := int(c.part[o])
			c.near[part] += c.weighs[e]
			c.group[c.p.Machine.GroupOf(part)] += c.weighs[e]
		}
	}
}

// cost is what a vertex costs in a part, without what joins it to others there, or near it; look comes first.
func (c *cutting) cost(v, part int) float64 {
	near := float64(c.near[part])
	near += c.inside * float64(c.group[c.p.Machine.GroupOf(part)]-c.near[part])
	return c.with(v, part) - near/float64(c.parts)
}

// passes is how often all vertices are looked at on each level.
const passes = 6

// refine moves vertices while that makes the whole cheaper.
func (c *cutting) refine(ctx context.Context) error {
	for range passes {
		moved := false
		for v := range c.part {
			if v&0xfff == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			moved = c.improve(v) || moved
		}
		if !moved {
			break
		}
	}
	return nil
}

// improve moves a vertex to the part where it is cheapest.
func (c *cutting) improve(v int) bool {
	was := int(c.part[v])
	c.look(v, func(int32) bool { return true })
	c.add(v, was, -1)
	best, least := was, c.cost(v, was)*(1-1e-9)-1
	for b := range c.parts {
		// of many parts only those that it has to do with, and some others
		if b == was || c.parts > 32 && c.near[b] == 0 && (b+v)%16 != 0 {
			continue
		}
		if is := c.cost(v, b); is < least {
			best, least = b, is
		}
	}
	c.add(v, best, 1)
	c.part[v] = uint16(best)
	return best != was
}
