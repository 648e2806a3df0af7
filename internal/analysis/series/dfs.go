package series

import (
	"cmp"
	"maps"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// Bytes held. A node may hold several copies of a DF: each CF that asked for it is sent one. So copies are counted: stored
// less dropped. Only a trace of which something is lost drops more than it stored; of such drops the first ones are left
// out, as those of copies that were stored before the trace knows.

// holdings lists what nodes hold, again and again without keeping the list.
type holdings struct {
	m *model.Model
	// odd gives the sizes of copies of DFs that were created several times, by index into Copies.
	odd                map[int]int64
	unsized, unmatched int64 // of the last walk
}

func newHoldings(m *model.Model) *holdings {
	h := &holdings{m: m}
	h.findOdd()
	return h
}

// findOdd sizes the copies of DFs that were created several times: that of the value there when a copy was stored; the
// oldest copy is dropped first.
func (h *holdings) findOdd() {
	m := h.m
	var odd []int
	for i := range m.Copies {
		if first, end := m.Creations(m.Copies[i].DF); end > first+1 && m.Copies[i].What <= model.CopyDropped && m.Own(int(m.Copies[i].Node)) {
			odd = append(odd, i)
		}
	}
	if len(odd) == 0 {
		return
	}
	h.odd = make(map[int]int64, len(odd))
	slices.SortStableFunc(odd, func(a, b int) int {
		x, y := &m.Copies[a], &m.Copies[b]
		return cmp.Or(cmp.Compare(x.Node, y.Node), cmp.Compare(x.DF, y.DF), cmp.Compare(x.Time, y.Time))
	})
	for i := 0; i < len(odd); {
		key := &m.Copies[odd[i]]
		var sizes []int64
		end := i
		for ; end < len(odd) && m.Copies[odd[end]].DF == key.DF && m.Copies[odd[end]].Node == key.Node; end++ {
			if c := &m.Copies[odd[end]]; c.What == model.CopyStored {
				made, _ := m.Creation(c.DF, c.Time)
				h.odd[odd[end]] = m.MadeSize[made]
				sizes = append(sizes, m.MadeSize[made])
			}
		}
		for ; i < end; i++ {
			if m.Copies[odd[i]].What == model.CopyDropped && len(sizes) > 0 {
				h.odd[odd[i]], sizes = sizes[0], sizes[1:]
			}
		}
	}
}

// walk visits every copy stored at a node of this process, with its size, and dropped, with the size negative, node by node.
func (h *holdings) walk(visit func(c *model.Copy, bytes int64)) {
	m := h.m
	h.unsized, h.unmatched = 0, 0
	balance := make([]int32, m.DFs()) // of one node: copies stored less dropped; below 0, drops to leave out
	for i := 0; i < len(m.Copies); {
		from, node := i, m.Copies[i].Node
		for ; i < len(m.Copies) && m.Copies[i].Node == node; i++ {
			switch c := &m.Copies[i]; c.What {
			case model.CopyStored:
				balance[c.DF]++
			case model.CopyDropped:
				balance[c.DF]--
			}
		}
		for k := from; k < i; k++ {
			c := &m.Copies[k]
			if c.What > model.CopyDropped || !m.Own(int(node)) {
				continue
			}
			if c.What == model.CopyDropped && balance[c.DF] < 0 {
				balance[c.DF]++
				h.unmatched++
				continue
			}
			first, end := m.Creations(c.DF)
			bytes := int64(0)
			switch {
			case end == first+1:
				bytes = m.MadeSize[first]
			case end > first:
				bytes = h.odd[k]
			case c.What == model.CopyStored:
				h.unsized++
			}
			if c.What == model.CopyDropped {
				bytes = -bytes
			}
			visit(c, bytes)
		}
		for k := from; k < i; k++ {
			balance[m.Copies[k].DF] = 0
		}
	}
}

// copies follows bytes and copies held.
func (r *run) copies() error {
	if !r.wants(BytesHeld, CopiesHeld) || r.m.Count[trace.KindDFStored] == 0 {
		return nil
	}
	h := newHoldings(r.m)
	nodes := len(r.m.Nodes)
	// The levels of bytes, then those of copies, each by node and of all.
	list, err := levels(r, 2*(nodes+1), len(r.m.Copies), func(emit func(t int64, key int32, d int64)) {
		h.walk(func(c *model.Copy, bytes int64) { emit(c.Time, int32(c.Node)<<1|int32(c.What), bytes) })
	}, func(l []level, c *change[int64]) {
		node, copies := int(c.key>>1), int64(1)
		if c.key&1 == int32(model.CopyDropped) {
			copies = -1
		}
		l[node].add(c.t, c.d)
		l[nodes].add(c.t, c.d)
		l[nodes+1+node].add(c.t, copies)
		l[nodes+1+nodes].add(c.t, copies)
	})
	if err != nil {
		return err
	}
	if r.wants(CopiesHeld) {
		r.addLevels(CopiesHeld, "count", list[nodes+1:])
	}
	if r.wants(BytesHeld) {
		r.addLevels(BytesHeld, "bytes", list[:nodes+1])
		r.res.Memory, err = r.peaks(h, list[:nodes+1])
	}
	return err
}

// peaks finds what was held at the peak of each node and of all, which is last in the list.
func (r *run) peaks(h *holdings, list []level) (*Memory, error) {
	m := r.m
	all := len(list) - 1
	mem := &Memory{Nodes: []Peak{}}
	held := [2][]Holder{make([]Holder, len(m.Names)), make([]Holder, len(m.Names))} // of a node, of all
	node := -1
	finish := func() {
		if node >= 0 {
			own := map[string]Holder{}
			for name, h := range held[0] {
				if h != (Holder{}) {
					own[m.Names[name]] = h
				}
			}
			mem.Nodes = append(mem.Nodes, r.peak(node, &list[node], own))
			clear(held[0])
		}
	}
	h.walk(func(c *model.Copy, bytes int64) {
		if int(c.Node) != node {
			finish()
			node = int(c.Node)
		}
		copies := int64(1)
		if c.What == model.CopyDropped {
			copies = -1
		}
		t := r.grid.clamp(c.Time)
		for i, l := range [2]*level{&list[node], &list[all]} {
			if t <= l.peakAt {
				e := &held[i][m.DFName[c.DF]]
				e.Bytes += bytes
				e.Copies += copies
			}
		}
	})
	finish()
	mem.Unsized, mem.Unmatched = h.unsized, h.unmatched
	total := map[string]Holder{}
	for name, h := range held[1] {
		if h != (Holder{}) {
			total[m.Names[name]] = h
		}
	}
	if err := r.shareMemory(mem, total); err != nil {
		return nil, err
	}
	mem.Total = r.peak(-1, &list[all], total)
	return mem, nil
}

// peak tells of a peak; held is what was held then, by the names of DFs.
func (r *run) peak(node int, l *level, held map[string]Holder) Peak {
	p := Peak{Node: node, NS: l.peakAt, Bytes: l.peak, EndBytes: l.end, Holders: []Holder{}}
	for name, h := range held {
		p.Copies += h.Copies
		h.DF = name
		p.Holders = append(p.Holders, h)
	}
	slices.SortFunc(p.Holders, func(a, b Holder) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Copies, a.Copies), cmp.Compare(a.DF, b.DF))
	})
	if n := r.opt.Holders; n >= 0 && n < len(p.Holders) {
		for _, h := range p.Holders[n:] {
			p.Others.Bytes += h.Bytes
			p.Others.Copies += h.Copies
		}
		p.Holders = p.Holders[:n]
	}
	return p
}

// dfs follows the DFs that exist. Of a DF destroyed more often than it was created the first destructions are left out.
func (r *run) dfs() error {
	m := r.m
	if !r.wants(DFs) || m.Count[trace.KindDFCreate] == 0 {
		return nil
	}
	extra, err := r.destroyedTooOften()
	if err != nil {
		return err
	}
	list, err := levels(r, 1, 2*len(m.MadeTime), func(emit func(t int64, key int32, d int32)) {
		for i, t := range m.MadeTime {
			if m.Own(int(m.MadeNode[i])) {
				emit(t, 0, 1)
			}
		}
		left := maps.Clone(extra)
		for i := range m.Copies {
			c := &m.Copies[i]
			switch {
			case c.What <= model.CopyDropped || !m.Own(int(c.Node)):
			case left[c.DF] > 0:
				left[c.DF]--
			default:
				emit(c.Time, 0, -1)
			}
		}
	}, single)
	if err == nil {
		r.addLevels(DFs, "count", list)
	}
	return err
}

// destroyedTooOften tells of which DFs destructions are to be left out, and how many.
func (r *run) destroyedTooOften() (map[model.DF]int32, error) {
	m := r.m
	balance := make([]int32, m.DFs()) // creations less destructions
	for df := range balance {
		for i, end := m.Creations(model.DF(df)); i < end; i++ {
			if m.Own(int(m.MadeNode[i])) {
				balance[df]++
			}
		}
	}
	for i := range m.Copies {
		if c := &m.Copies[i]; c.What > model.CopyDropped && m.Own(int(c.Node)) {
			balance[c.DF]--
		}
	}
	extra := map[model.DF]int32{}
	if r.share != nil {
		return extra, r.shareBalance(balance, extra)
	}
	for df, n := range balance {
		if n < 0 {
			extra[model.DF(df)] = -n
		}
	}
	return extra, nil
}
