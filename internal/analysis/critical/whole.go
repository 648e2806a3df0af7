package critical

import (
	"cmp"
	"slices"
	"sort"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// The graph of all processes' executions. Those of a process are neighbours there, in the order of processes.

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
	return executionKey{start, m.Created[cf], m.CFID(cf), endOf(m, e) > start}
}

// graphShare is the part of the graph that a process has: its own executions, and their edges in one list.
type graphShare struct {
	Keys        []executionKey
	Useful, End []int64
	Code        []uint32
	Hops        []pathHop
	Edges       []uint32 // by execution: how many edges it has
	Order       []uint32

	// By edge: the process of the execution waited for and its number there, with workerBit as in edges.
	Rank, From          []uint32
	Play, Early, Flight []int64
}

// share gives the part of this process.
func (g *graph) share(p *peers) *graphShare {
	m := g.m
	out := &graphShare{Useful: g.useful[p.first:p.end], End: g.end[p.first:p.end],
		Code: g.code[p.first:p.end],
		Hops: g.hops[p.first:p.end]}
	for e := p.first; e < p.end; e++ {
		out.Keys = append(out.Keys, keyOf(m, e))
		s, i, k := g.of(uint32(e))
		out.Edges = append(out.Edges, k-i)
		for ; i < k; i++ {
			rank, number := p.place(s.from[i] &^ workerBit)
			out.Rank, out.From = append(out.Rank, rank), append(out.From, number|s.from[i]&workerBit)
			out.Play = append(out.Play, s.play[i])
			out.Early, out.Flight = append(out.Early, s.earlyAt(i)), append(out.Flight, s.flightAt(i))
		}
	}
	for _, e := range g.order {
		out.Order = append(out.Order, e-uint32(p.first))
	}
	return out
}

// gather puts the graphs of all processes together at the first one; the others get nil.
func (g *graph) gather(p *peers) (*wholeGraph, error) {
	sizes, err := procs.AllOf(p, uint32(p.end-p.first))
	if err != nil {
		return nil, err
	}
	w := &wholeGraph{graph: &graph{m: g.m, budget: g.budget}, base: []uint32{0}}
	for k, n := range sizes {
		w.base = append(w.base, w.base[k]+n)
	}
	var lists [][]uint32
	take := func(rank int, s **graphShare) error {
		if !w.fits(rank, *s) {
			return procs.Told(rank, errBroken)
		}
		lists = append(lists, w.take(rank, *s))
		return nil
	}
	own := func() *graphShare { return g.share(p) }
	if p.Rank() == 0 {
		s := own()
		if err := take(0, &s); err != nil {
			return nil, err
		}
	}
	if err := procs.Collect(p, own, take); err != nil || p.Rank() != 0 {
		return nil, err
	}
	if n := len(w.edges); n > 0 {
		w.edges[n-1].close()
	}
	w.order = merge(lists, func(a, b uint32) bool {
		return cmp.Or(w.keys[a].compare(&w.keys[b]), cmp.Compare(a, b)) < 0
	})
	w.keys = nil
	return w, nil
}

// fits tells whether a process's part of the graph makes sense.
func (w *wholeGraph) fits(rank int, s *graphShare) bool {
	n, edges := int(w.base[rank+1]-w.base[rank]), 0
	for _, k := range s.Edges {
		edges += int(k)
	}
	for i, k := range s.Rank {
		if int(k) >= len(w.base)-1 || i >= len(s.From) || s.From[i]&^workerBit >= w.base[k+1]-w.base[k] {
			return false
		}
	}
	return len(s.Keys) == n && len(s.Useful) == n && len(s.End) == n && len(s.Code) == n &&
		len(s.Hops) == n &&
		len(s.Edges) == n && len(s.Rank) == edges && len(s.From) == edges && len(s.Play) == edges &&
		len(s.Early) == edges && len(s.Flight) == edges &&
		!slices.ContainsFunc(s.Order, func(e uint32) bool { return int(e) >= n }) &&
		!slices.ContainsFunc(s.Code, func(c uint32) bool { return int(c) >= len(w.m.Codes) })
}

// take adds the part of a process and gives its order.
func (w *wholeGraph) take(rank int, s *graphShare) []uint32 {
	w.keys, w.hops, w.code = append(w.keys, s.Keys...), append(w.hops, s.Hops...), append(w.code, s.Code...)
	w.useful, w.end = append(w.useful, s.Useful...), append(w.end, s.End...)
	i := 0
	for e, n := range s.Edges {
		to := w.edgesOf(w.base[rank] + uint32(e))
		for ; n > 0; n-- {
			worker := s.From[i] & workerBit
			at := len(to.from)
			to.from = append(to.from, w.base[s.Rank[i]]+s.From[i]&^workerBit|worker)
			to.play = append(to.play, s.Play[i])
			set(&to.early, at, s.Early[i])
			set(&to.flight, at, s.Flight[i])
			i++
		}
	}
	order := make([]uint32, len(s.Order))
	for i, e := range s.Order {
		order[i] = w.base[rank] + e
	}
	return order
}

// set puts a number that is not 0 at the end of a list, which is only as long as it has to be.
func set(list *[]int64, at int, v int64) {
	if v != 0 {
		*list = append(append(*list, make([]int64, at-len(*list))...), v)
	}
}

// edgesOf begins the edges of an execution.
func (w *wholeGraph) edgesOf(e uint32) *edges {
	if int(e>>stretchBits) == len(w.edges) {
		if n := len(w.edges); n > 0 {
			w.edges[n-1].close()
		}
		w.edges = append(w.edges, edges{at: make([]uint32, 0, stretchLen+1)})
	}
	s := &w.edges[e>>stretchBits]
	s.at = append(s.at, uint32(len(s.from)))
	return s
}

// close ends the last execution's edges.
func (s *edges) close() {
	s.at = append(s.at, uint32(len(s.from)))
	s.from, s.play = slices.Clip(s.from), slices.Clip(s.play)
	for _, list := range []*[]int64{&s.early, &s.flight} {
		if *list != nil {
			*list = append(*list, make([]int64, len(s.from)-len(*list))...)
		}
	}
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
		e, at = s.from[i+h.Edge-1]&^workerBit, min(at, h.At)
	}
	return list
}
