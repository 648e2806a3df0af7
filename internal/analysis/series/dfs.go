package series

import (
	"cmp"
	"maps"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// copies follows bytes and copies held.
func (r *run) copies() error {
	if !r.wants(BytesHeld, CopiesHeld) || r.m.Count[trace.KindDFStored] == 0 {
		return nil
	}
	nodes := len(r.m.Nodes)
	// The levels of bytes, then those of copies, each by node and of all.
	list, err := levels(r, 2*(nodes+1), len(r.m.Copies), func(emit func(t int64, key int32, d int64)) {
		for h := range r.m.Holdings() {
			if h.From == model.None {
				continue
			}
			emit(h.From, int32(h.Node)<<1, h.Bytes)
			if h.To != model.None {
				emit(h.To, int32(h.Node)<<1|1, -h.Bytes)
			}
		}
	}, func(l []level, c *change[int64]) {
		node, copies := int(c.key>>1), int64(1)
		if c.key&1 != 0 {
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
		r.res.Memory, err = r.peaks(list[:nodes+1])
	}
	return err
}

// peaks finds what was held at the peak of each node and of all, which is last in the list.
func (r *run) peaks(list []level) (*Memory, error) {
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
	for h := range m.Holdings() {
		if h.Node != node {
			finish()
			node = h.Node
		}
		if first, end := m.Creations(h.DF); first == end && h.From != model.None {
			mem.Unsized++
		}
		if h.From == model.None {
			mem.Unmatched++
		}
		from, to := r.grid.clamp(h.From), r.grid.clamp(h.To)
		for i, l := range [2]*level{&list[node], &list[all]} {
			if h.From == model.None {
				continue
			}
			e := &held[i][m.DFName[h.DF]]
			if from <= l.peakAt {
				e.Bytes += h.Bytes
				e.Copies++
			}
			if h.To != model.None && to <= l.peakAt {
				e.Bytes -= h.Bytes
				e.Copies--
			}
		}
	}
	finish()
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
