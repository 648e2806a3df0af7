package critical

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sort"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// The graph of all processes' executions. Those of a process are neighbours there, in the order of processes.

// whole is a graph put together.
type whole struct {
	*graph
	base []uint32 // by process: the first of its executions; one more at the end
	keys []key    // by execution, until the order is known
}

// key is what the order of before goes by; of equal ones, executions.
type key struct {
	start, created int64
	cf             trace.CF
	lasts          bool
}

func (k *key) compare(o *key) int {
	switch {
	case k.start != o.start:
		return cmp.Compare(k.start, o.start)
	case k.lasts != o.lasts:
		if o.lasts {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(k.created, o.created), cmp.Compare(k.cf, o.cf))
}

// gather puts the graphs of all processes together at the first one; the others get nil.
func (g *graph) gather(p *peers) (*whole, error) {
	all, err := procs.Gather(p, 0, g.wire(p))
	if err != nil || p.Rank() != 0 {
		return nil, err
	}
	w := &whole{graph: &graph{m: g.m, budget: g.budget}, base: []uint32{0}}
	parts := make([]wire, len(all))
	for k, b := range all {
		parts[k].b = b
		w.base = append(w.base, w.base[k]+uint32(parts[k].uvarint()))
	}
	n := int(w.base[p.Size()])
	w.useful, w.end, w.code, w.hops = make([]int64, 0, n), make([]int64, 0, n), make([]uint32, 0, n), make([]hop, 0, n)
	w.keys = make([]key, 0, n)
	lists := make([][]uint32, len(all))
	for k := range parts {
		lists[k] = w.take(k, &parts[k])
		if parts[k].bad {
			return nil, procs.Told(k, errBroken)
		}
		all[k], parts[k] = nil, wire{}
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

// What is known of an execution.
const (
	wireEnded = 1 << iota
	wireLasts
	wireCreated
)

// wire puts the own part into words that the first process understands.
func (g *graph) wire(p *peers) []byte {
	m := g.m
	b := binary.AppendUvarint(nil, uint64(p.end-p.first))
	for e := p.first; e < p.end; e++ {
		cf := m.ExecCF[e]
		state := uint64(0)
		if g.end[e] != model.None {
			state |= wireEnded
		}
		if endOf(m, e) > m.ExecStart[e] {
			state |= wireLasts
		}
		if m.Created[cf] != model.None {
			state |= wireCreated
		}
		b = binary.AppendUvarint(b, state)
		b = binary.AppendVarint(binary.AppendUvarint(b, uint64(g.code[e])), g.useful[e])
		b = binary.AppendUvarint(binary.AppendVarint(b, m.ExecStart[e]-m.Start), uint64(m.CFID(cf)))
		if state&wireEnded != 0 {
			b = binary.AppendVarint(b, g.end[e]-m.ExecStart[e])
		}
		if state&wireCreated != 0 {
			b = binary.AppendVarint(b, m.Created[cf]-m.ExecStart[e])
		}
		s, i, k := g.of(uint32(e))
		b = binary.AppendUvarint(b, uint64(k-i))
		for ; i < k; i++ {
			b = g.wireEdge(b, p, s, i, e)
		}
		h := g.hops[e]
		if b = binary.AppendUvarint(b, uint64(h.edge)); h.edge > 0 {
			b = binary.AppendVarint(b, h.at-m.ExecStart[e])
		}
	}
	b = binary.AppendUvarint(b, uint64(len(g.order)))
	last := int64(0)
	for _, e := range g.order {
		at := int64(e) - int64(p.first)
		b = binary.AppendVarint(b, at-last)
		last = at
	}
	return b
}

// What an edge has.
const (
	wireWorker = 1 << iota
	wireEarly
	wireFlight
	wireTheirs
)

func (g *graph) wireEdge(b []byte, p *peers, s *edges, i uint32, e int) []byte {
	state, from := uint64(0), int(s.from[i]&^workerBit)
	if s.from[i]&workerBit != 0 {
		state |= wireWorker
	}
	if s.early != nil && s.early[i] != 0 {
		state |= wireEarly
	}
	if s.flight != nil && s.flight[i] != 0 {
		state |= wireFlight
	}
	if !p.own(from) {
		state |= wireTheirs
	}
	b = binary.AppendUvarint(b, state)
	if state&wireTheirs == 0 {
		b = binary.AppendVarint(b, int64(e-from))
	} else {
		k := sort.Search(len(p.theirs), func(k int) bool { return int(p.theirs[k].e) >= from })
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(p.theirs[k].rank)), uint64(p.theirs[k].index))
	}
	b = binary.AppendVarint(b, s.play[i])
	if state&wireEarly != 0 {
		b = binary.AppendVarint(b, s.early[i])
	}
	if state&wireFlight != 0 {
		b = binary.AppendVarint(b, s.flight[i])
	}
	return b
}

// take adds the part of a process and gives its order.
func (w *whole) take(rank int, in *wire) []uint32 {
	m := w.m
	first, end := w.base[rank], w.base[rank+1]
	for e := first; e < end && !in.bad; e++ {
		state := in.uvarint()
		w.code, w.useful = append(w.code, uint32(in.uvarint())), append(w.useful, in.varint())
		k := key{start: in.varint() + m.Start, cf: trace.CF(in.uvarint()), created: model.None, lasts: state&wireLasts != 0}
		over := model.None
		if state&wireEnded != 0 {
			over = k.start + in.varint()
		}
		if state&wireCreated != 0 {
			k.created = k.start + in.varint()
		}
		w.end, w.keys = append(w.end, over), append(w.keys, k)
		in.bad = in.bad || int(w.code[e]) >= len(m.Codes)
		n := in.uvarint()
		for w.edgesOf(e); n > 0 && !in.bad; n-- {
			w.takeEdge(e, first, in)
		}
		h := hop{edge: uint32(in.uvarint())}
		if h.edge > 0 {
			h.at = k.start + in.varint()
		}
		w.hops = append(w.hops, h)
	}
	n, at := in.uvarint(), int64(first)
	list := make([]uint32, 0, min(n, uint64(end-first)))
	for ; n > 0 && !in.bad; n-- {
		at += in.varint()
		in.bad = in.bad || at < int64(first) || at >= int64(end)
		list = append(list, uint32(at))
	}
	return list
}

// edgesOf begins the edges of an execution.
func (w *whole) edgesOf(e uint32) {
	if int(e>>stretchBits) == len(w.edges) {
		if n := len(w.edges); n > 0 {
			w.edges[n-1].close()
		}
		w.edges = append(w.edges, edges{at: make([]uint32, 0, stretchLen+1)})
	}
	s := &w.edges[e>>stretchBits]
	s.at = append(s.at, uint32(len(s.from)))
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

func (w *whole) takeEdge(e, first uint32, in *wire) {
	s := &w.edges[e>>stretchBits]
	state := in.uvarint()
	var from int64
	if state&wireTheirs == 0 {
		from = int64(e) - in.varint()
		in.bad = in.bad || from < int64(first)
	} else if rank := in.uvarint(); rank < uint64(len(w.base)-1) {
		from = int64(w.base[rank]) + int64(in.uvarint())
	} else {
		in.bad = true
	}
	if from < 0 || from >= int64(w.base[len(w.base)-1]) {
		in.bad = true
		return
	}
	n := len(s.from)
	edge := uint32(from)
	if state&wireWorker != 0 {
		edge |= workerBit
	}
	s.from, s.play = append(s.from, edge), append(s.play, in.varint())
	set := func(list *[]int64, bit uint64) {
		if state&bit != 0 {
			*list = append(append(*list, make([]int64, n-len(*list))...), in.varint())
		}
	}
	set(&s.early, wireEarly)
	set(&s.flight, wireFlight)
}

// visit is a point of the path: when it comes, from later, to an execution, by its number there.
type visit struct {
	Index uint32
	At    int64
}

// path gives, by process, where the path comes to from an execution and a time on.
func (w *whole) path(e uint32, at int64) [][]visit {
	list := make([][]visit, len(w.base)-1)
	for at = min(at, w.m.End); at > w.m.Start; {
		rank := sort.Search(len(list), func(k int) bool { return w.base[k+1] > e })
		list[rank] = append(list[rank], visit{e - w.base[rank], at})
		h := w.hops[e]
		s, i, k := w.of(e)
		if h.edge == 0 || h.edge > k-i {
			break
		}
		e, at = s.from[i+h.edge-1]&^workerBit, min(at, h.at)
	}
	return list
}
