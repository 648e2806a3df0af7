package counters

import (
	"cmp"
	"maps"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
)

// peaks finds what was held at the peak of each node and of all, which is last in the list.
func (c *computation) peaks(list []level) (*Memory, error) {
	m := c.m
	all := len(list) - 1
	mem := &Memory{Nodes: []Peak{}}
	held := [2][]Holder{make([]Holder, len(m.Names)), make([]Holder, len(m.Names))} // of a node, of all
	named := func(held []Holder) map[string]Holder {
		out := map[string]Holder{}
		for name, h := range held {
			if h != (Holder{}) {
				out[m.Names[name]] = h
			}
		}
		return out
	}
	node := -1
	finish := func() {
		if node >= 0 {
			mem.Nodes = append(mem.Nodes, c.peak(node, &list[node], named(held[0])))
			clear(held[0])
		}
	}
	for h := range m.Holdings() {
		if h.Node != node {
			finish()
			node = h.Node
		}
		if h.From == model.None {
			mem.Unmatched++
			continue
		}
		if first, end := m.Creations(h.DF); first == end {
			mem.Unsized++
		}
		from, to := c.grid.clamp(h.From), c.grid.clamp(h.To)
		for i, l := range [2]*level{&list[node], &list[all]} {
			e := &held[i][m.DFName[h.DF]]
			if from <= l.peakAt {
				e.add(h.Bytes, 1)
			}
			if h.To != model.None && to <= l.peakAt {
				e.add(-h.Bytes, -1)
			}
		}
	}
	finish()
	total := named(held[1])
	mem, err := c.joinMemory(mem, total)
	if err != nil {
		return nil, err
	}
	mem.Total = c.peak(-1, &list[all], total)
	return mem, nil
}

// peak tells of a peak; held is what was held then, by the names of DFs.
func (c *computation) peak(node int, l *level, held map[string]Holder) Peak {
	p := Peak{Node: node, NS: l.peakAt, Bytes: l.peak, EndBytes: l.end, Holders: []Holder{}}
	for name, h := range held {
		p.Copies += h.Copies
		h.DF = name
		p.Holders = append(p.Holders, h)
	}
	slices.SortFunc(p.Holders, func(a, b Holder) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Copies, a.Copies), cmp.Compare(a.DF, b.DF))
	})
	if n := c.opt.Holders; n >= 0 && n < len(p.Holders) {
		for _, h := range p.Holders[n:] {
			p.Others.add(h.Bytes, h.Copies)
		}
		p.Holders = p.Holders[:n]
	}
	return p
}

func (h *Holder) add(bytes, copies int64) {
	h.Bytes += bytes
	h.Copies += copies
}

// joinMemory puts together what the processes know of the peaks of memory. total is what was held at the peak
// of the whole run, by the names of DFs; the processes' totals are added up in it.
func (c *computation) joinMemory(own *Memory, total map[string]Holder) (*Memory, error) {
	type known struct {
		Memory Memory
		Total  map[string]Holder
	}
	all, err := procs.AllOf(c.group, known{*own, maps.Clone(total)})
	mem := &Memory{Nodes: []Peak{}}
	clear(total)
	for i := range all {
		k := &all[i]
		mem.Nodes = append(mem.Nodes, k.Memory.Nodes...)
		mem.Unsized += k.Memory.Unsized
		mem.Unmatched += k.Memory.Unmatched
		for name, h := range k.Total {
			sum := total[name]
			sum.add(h.Bytes, h.Copies)
			total[name] = sum
		}
	}
	maps.DeleteFunc(total, func(_ string, h Holder) bool { return h == Holder{} })
	slices.SortFunc(mem.Nodes, func(a, b Peak) int { return cmp.Compare(a.Node, b.Node) })
	return mem, err
}
