package balance

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/simulate"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// paths are those of CFs, as placement files have them: numbers of iterations and calls, outermost first.
// Equal paths have the same number.
type paths struct {
	of   []int32 // by CF; -1 where it is not known
	list []step
	is   map[step]int32
	rank []int32 // by path: its place in the order of the program
}

// step is a path: that of another, and one number more. Path 0 is empty.
type step struct{ up, last int32 }

// newPaths finds the paths of all CFs.
func newPaths(t simulate.Tasks) paths {
	m := t.Model()
	p := paths{of: make([]int32, len(m.Created)), list: []step{{-1, 0}}, is: map[step]int32{}}
	for cf := range p.of {
		p.of[cf] = -1
	}
	calls := callNumbers(m)
	created := map[uint32]int32{} // by statement: how often an execution has created it
	for cf := range m.CFs() {
		if m.Parent[cf] == 0 {
			p.of[cf] = 0
		}
	}
	// Creators come before what they create: their executions started first.
	for _, x := range t.Started() {
		cf, number := t.CF(int(x))
		above, kind := p.of[cf], kindOf(m, cf)
		clear(created)
		for _, kid := range t.Children(int(x)) {
			site := m.SiteOf[kid]
			path := above
			switch {
			case above < 0:
			case kind == trace.For:
				path = p.add(above, created[site])
				created[site]++
			case kind == trace.While:
				path = p.add(above, int32(number))
			case kind == trace.Call:
				path = p.add(above, calls[m.SiteOf[cf]])
			}
			p.of[kid] = path
		}
	}
	p.sort()
	return p
}

// sort ranks the paths: each comes before those that begin with it, those by their next number.
func (p *paths) sort() {
	n := len(p.list)
	size, next := make([]int32, n), make([]int32, n) // how many begin with a path; the rank of the next of them
	p.rank = make([]int32, n)
	order := make([]int32, 0, n-1)
	for i := n - 1; i > 0; i-- {
		size[i]++
		size[p.list[i].up] += size[i]
		order = append(order, int32(i))
	}
	slices.SortFunc(order, func(a, b int32) int {
		x, y := p.list[a], p.list[b]
		return cmp.Or(cmp.Compare(x.up, y.up), cmp.Compare(x.last, y.last))
	})
	next[0] = 1
	for _, i := range order { // what a path begins with was added before it
		up := p.list[i].up
		p.rank[i] = next[up]
		next[up] += size[i]
		next[i] = p.rank[i] + 1
	}
}

// callNumbers gives each statement that calls a sub its number, from 0, among those of its block that call
// the same sub. All statements of a block create CFs each time it is entered.
func callNumbers(m *model.Model) map[uint32]int32 {
	type place struct {
		parent uint32 // the statement that has the block
		code   int
	}
	sites := map[place][]uint32{}
	seen := map[uint32]bool{}
	for cf := range m.CFs() {
		site := m.SiteOf[cf]
		if kindOf(m, cf) == trace.Call && !seen[site] {
			seen[site] = true
			at := place{m.SiteOf[m.Parent[cf]], m.CodeOf(cf)}
			sites[at] = append(sites[at], site)
		}
	}
	numbers := map[uint32]int32{}
	for _, list := range sites {
		slices.Sort(list)
		for i, site := range list {
			numbers[site] = int32(i)
		}
	}
	return numbers
}

func (p *paths) add(up, last int32) int32 {
	s := step{up, last}
	n, ok := p.is[s]
	if !ok {
		n = int32(len(p.list))
		p.list = append(p.list, s)
		p.is[s] = n
	}
	return n
}

// at gives the numbers of a path.
func (p *paths) at(path int32) []int32 {
	list := []int32{}
	for ; path > 0; path = p.list[path].up {
		list = append(list, p.list[path].last)
	}
	slices.Reverse(list)
	return list
}

// compare puts CFs in the order of the program: by path, then by statement.
func (p *paths) compare(m *model.Model, a, b model.CF) int {
	return cmp.Or(cmp.Compare(p.rank[max(p.of[a], 0)], p.rank[max(p.of[b], 0)]),
		cmp.Compare(m.SiteOf[a], m.SiteOf[b]))
}
