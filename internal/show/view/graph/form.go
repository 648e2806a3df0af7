package graph

import (
	"fmt"
	"net/url"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// form is what is open in the graph of a moment, with sums at some moments.
type form struct {
	key            string
	groups         []TaskGroup // of CFs, then of DFs
	dfs            int         // groups before the first of DFs
	boxes          []int       // those that are not open, of CFs
	heaps          []int       // the same of DFs
	left           room
	cfBox          []uint16 // by CF: 1 + its box
	dfBox          []uint16 // by DF: 1 + its heap
	nodes          int
	cfSums, dfSums checkpoints
}

// states is how many states of CFs are told apart.
const states = int(model.CFAbsent) + 1

// checkpoints are sums over the first 0, every, 2 every, and so on of some changes.
type checkpoints struct {
	every int
	sums  [][]int64
}

// budget is how many sums are kept at most for each of CFs and DFs: 16 MiB.
const budget = 1 << 21

// keep adds up n changes and keeps some sums.
func keep(n, size int, start []int64, add func(sums []int64, i int)) checkpoints {
	c := checkpoints{every: max(4096, n*max(size, 1)/budget+1)}
	sums := make([]int64, size)
	copy(sums, start)
	for i := range n {
		if i%c.every == 0 {
			c.sums = append(c.sums, slices.Clone(sums))
		}
		add(sums, i)
	}
	if n == 0 {
		c.sums = append(c.sums, sums)
	}
	return c
}

// at gives the sums over the first n changes.
func (c *checkpoints) at(n int, add func(sums []int64, i int)) []int64 {
	k := min(n/c.every, len(c.sums)-1)
	sums := slices.Clone(c.sums[k])
	for i := k * c.every; i < n; i++ {
		add(sums, i)
	}
	return sums
}

// cfRow is where the states of a box on a node begin among the sums; node -1: of CFs that are on none.
func (f *form) cfRow(box, node int) int {
	if node < 0 {
		node = f.nodes
	}
	return (box*(f.nodes+1) + node) * states
}

// dfRow is where the copies and bytes of a heap on a node stand among the sums.
func (f *form) dfRow(heap, node int) int { return (heap*f.nodes + node) * 2 }

func (f *form) addCF(c *cfChange, sums []int64) {
	b := int(f.cfBox[c.cf]) - 1
	if b < 0 {
		return
	}
	sums[f.cfRow(b, onNode(c.from, int(c.node)))+int(c.from)]--
	sums[f.cfRow(b, onNode(c.to, int(c.node)))+int(c.to)]++
}

// onNode is the node of a CF in a state, -1 none.
func onNode(s model.CFState, node int) int {
	if s >= model.CFMoving {
		return -1
	}
	return node
}

func (f *form) addDF(c *dfChange, sums []int64) {
	if h := int(f.dfBox[c.df]) - 1; h >= 0 {
		r := f.dfRow(h, int(c.node))
		sums[r] += int64(c.count)
		sums[r+1] += c.bytes
	}
}

// keptForms is how many of the last forms are kept: more than one, for those who look at the same run.
const keptForms = 3

// form gives the groups of what is open.
func (g *Graph) form(open []string, limit, parts int) *form {
	key := fmt.Sprint(open, limit, parts)
	g.formsMu.Lock()
	defer g.formsMu.Unlock()
	for i, f := range g.forms {
		if f.key == key {
			g.forms = append(slices.Delete(g.forms, i, i+1), f)
			return f
		}
	}
	f := g.newForm(open, limit, parts)
	f.key = key
	if len(g.forms) == keptForms {
		g.forms = slices.Delete(g.forms, 0, 1)
	}
	g.forms = append(g.forms, f)
	return f
}

func (g *Graph) newForm(open []string, limit, parts int) *form {
	m, p, cfs, dfs := g.m, g.places(), g.tasks(), g.dfs()
	f := &form{nodes: len(m.Nodes), cfBox: model.Make[uint16](m, len(m.Created)),
		dfBox: model.Make[uint16](m, m.DFs())}
	of := func(s sequence, limit int) ([]TaskGroup, []int) {
		c := cutter{s, parts}
		groups, boxes, left := c.groups(open, limit)
		f.left.more += left.more
		f.left.full = f.left.full || left.full
		return groups, boxes
	}
	var heaps []TaskGroup
	f.groups, f.boxes = of(cfs, limit-limit/2)
	heaps, f.heaps = of(dfs, limit/2)
	start := make([]int64, len(f.boxes)*(f.nodes+1)*states)
	for i, k := range f.boxes {
		v := &f.groups[k]
		for _, cf := range cfs.list[v.first:v.end] {
			f.cfBox[cf] = uint16(i + 1)
		}
		start[f.cfRow(i, -1)+int(model.CFAbsent)] = v.CFs
	}
	for i, k := range f.heaps {
		for _, df := range dfs.list[heaps[k].first:heaps[k].end] {
			f.dfBox[df] = uint16(i + 1)
		}
	}
	f.dfs = len(f.groups)
	for i := range f.heaps {
		f.heaps[i] += f.dfs
	}
	f.groups = append(f.groups, heaps...)
	f.cfSums = keep(len(p.cfs), len(start), start, func(sums []int64, i int) { f.addCF(&p.cfs[i], sums) })
	f.dfSums = keep(len(p.dfs), len(f.heaps)*f.nodes*2, nil,
		func(sums []int64, i int) { f.addDF(&p.dfs[i], sums) })
	return f
}

// escaped is a text in an id of a group; ids are in lists with commas between them, parts of them have
// slashes.
func escaped(kind, s string) string { return kind + "=" + url.QueryEscape(s) }
