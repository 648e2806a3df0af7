package critical

import (
	"cmp"
	"slices"
	"sort"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// The graph of all processes' executions. Those of a process are neighbours there, in the order of processes,
// and begin with a stretch of their own: so its stretches of edges are taken as they are.

// wholeGraph is a graph put together.
type wholeGraph struct {
	*graph
	base []uint32       // by process: the first of its executions; one more at the end
	keys []executionKey // by execution, until the order is known
}

// executionKey is what the order of before goes by; of equal ones, executions.
type executionKey struct {
	Start, Created int64
	CF             trace.CF
	Lasts          bool // it did not end when it started
}

func (k *executionKey) compare(o *executionKey) int {
	switch {
	case k.Start != o.Start:
		return cmp.Compare(k.Start, o.Start)
	case k.Lasts != o.Lasts:
		if o.Lasts {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(k.Created, o.Created), cmp.Compare(k.CF, o.CF))
}

func keyOf(m *model.Model, e int) executionKey {
	cf, start := m.ExecCF[e], m.ExecStart[e]
	return executionKey{start, m.Created[cf], m.CFID(cf), m.EndOf(e) > start}
}

// graphShare is the part of the graph that a process has: its own executions. The executions that edges come
// from have the numbers that they have for all processes.
type graphShare struct {
	Keys        []executionKey
	Useful, End []int64
	Code        []uint32
	Hops        []pathHop
	Edges       []edges
	Order       []uint32
}

// share gives the part of this process. Its edges cannot be used here any more.
func (g *graph) share(p *peers) *graphShare {
	out := &graphShare{Useful: g.useful[p.first:p.end], End: g.end[p.first:p.end],
		Code: g.code[p.first:p.end], Hops: g.hops[p.first:p.end], Edges: g.edges}
	for e := p.first; e < p.end; e++ {
		out.Keys = append(out.Keys, keyOf(g.m, e))
	}
	for i := range g.edges {
		g.edges[i].renumber(func(e uint32) uint32 { return p.numbers[e] })
	}
	for _, e := range g.order {
		out.Order = append(out.Order, e-uint32(p.first))
	}
	return out
}

// renumber changes the numbers of the executions that edges come from.
func (s *edges) renumber(number func(e uint32) uint32) {
	for i, e := range s.From {
		s.From[i] = number(e&^workerBit) | e&workerBit
	}
}

// gather puts the graphs of all processes together at the first one; the others get nil.
func (g *graph) gather(p *peers) (*wholeGraph, error) {
	w := &wholeGraph{graph: &graph{m: g.m, budget: g.budget}, base: []uint32{0}}
	for k := range p.Size() {
		w.base = append(w.base, w.base[k]+(p.base[k+1]-p.base[k]+stretchLen-1)&^(stretchLen-1))
	}
	own := func() *graphShare { return g.share(p) }
	if p.Rank() != 0 {
		return nil, procs.Collect(p, own, nil)
	}
	n := w.base[p.Size()]
	w.keys, w.hops, w.code = make([]executionKey, n), make([]pathHop, n), make([]uint32, n)
	w.useful, w.end, w.edges = make([]int64, n), make([]int64, n), make([]edges, n>>stretchBits)
	var lists [][]uint32
	take := func(rank int, s **graphShare) error {
		if !w.fits(p, rank, *s) {
			return procs.Told(rank, errBroken)
		}
		lists = append(lists, w.take(p, rank, *s))
		return nil
	}
	s := own()
	if err := take(0, &s); err != nil {
		return nil, err
	}
	if err := procs.Collect(p, own, take); err != nil {
		return nil, err
	}
	w.order = procs.Merge(lists, func(a, b uint32) bool {
		return cmp.Or(w.keys[a].compare(&w.keys[b]), cmp.Compare(a, b)) < 0
	})
	w.keys = nil
	return w, nil
}

// fits tells whether a process's part of the graph makes sense.
func (w *wholeGraph) fits(p *peers, rank int, s *graphShare) bool {
	n, all := int(p.base[rank+1]-p.base[rank]), p.base[p.Size()]
	left := n
	for i := range s.Edges {
		x, edges := &s.Edges[i], len(s.Edges[i].From)
		many := min(left, stretchLen)
		if left -= many; len(x.At) != many+1 || x.At[0] != 0 || !slices.IsSorted(x.At) ||
			int(x.At[many]) != edges || len(x.Play) != edges || len(x.Early) != edges && x.Early != nil ||
			len(x.Flight) != edges && x.Flight != nil ||
			slices.ContainsFunc(x.From, func(e uint32) bool { return e&^workerBit >= all }) {
			return false
		}
	}
	return left == 0 && len(s.Keys) == n && len(s.Useful) == n && len(s.End) == n && len(s.Code) == n &&
		len(s.Hops) == n &&
		!slices.ContainsFunc(s.Order, func(e uint32) bool { return int(e) >= n }) &&
		!slices.ContainsFunc(s.Code, func(c uint32) bool { return int(c) >= len(w.m.Codes) })
}

// take adds the part of a process and gives its order.
func (w *wholeGraph) take(p *peers, rank int, s *graphShare) []uint32 {
	first := w.base[rank]
	copy(w.keys[first:], s.Keys)
	copy(w.hops[first:], s.Hops)
	copy(w.code[first:], s.Code)
	copy(w.useful[first:], s.Useful)
	copy(w.end[first:], s.End)
	copy(w.edges[first>>stretchBits:], s.Edges)
	for i := range s.Edges {
		s.Edges[i].renumber(func(e uint32) uint32 {
			k := sort.Search(p.Size(), func(k int) bool { return p.base[k+1] > e })
			return w.base[k] + e - p.base[k]
		})
	}
	order := make([]uint32, len(s.Order))
	for i, e := range s.Order {
		order[i] = first + e
	}
	return order
}

// pathVisit is a point of the path: when it comes, from later, to an execution, by its number there.
type pathVisit struct {
	Index uint32
	At    int64
}

// path gives, by process, where the path comes to from an execution and a time on.
func (w *wholeGraph) path(e uint32, at int64) [][]pathVisit {
	list := make([][]pathVisit, len(w.base)-1)
	for at = min(at, w.m.End); at > w.m.Start; {
		rank := sort.Search(len(list), func(k int) bool { return w.base[k+1] > e })
		list[rank] = append(list[rank], pathVisit{e - w.base[rank], at})
		h := w.hops[e]
		s, i, k := w.of(e)
		if h.Edge == 0 || h.Edge > k-i {
			break
		}
		e, at = s.From[i+h.Edge-1]&^workerBit, min(at, h.At)
	}
	return list
}
