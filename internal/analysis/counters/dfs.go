package counters

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// emitHeld tells what a copy at a node changes; see model.HoldCopies.
func emitHeld(out sink, node int32, h *model.HeldCopy, sign int64) {
	if h.From == model.None {
		return
	}
	spreadCopy(out, h.From, node, h.Bytes, sign)
	if h.To != model.None {
		spreadCopy(out, h.To, node, h.Bytes, -sign)
	}
}

// spreadCopy tells what one copy more at a node changes, or with sign -1 one less.
func spreadCopy(out sink, t int64, node int32, size, sign int64) {
	for _, place := range [...]int32{node, whole} {
		out.add(copies, place, t, sign)
		out.add(objects, place, t, sign)
		if size != 0 {
			out.add(bytes, place, t, sign*size)
		}
	}
}

// emitDF tells how a DF changes the number of DFs. Of one that is destroyed more often than it was created,
// the first destructions, in the order of nodes and streams, are left out.
func emitDF(out sink, made []model.Value, gone []model.CopyFact, sign int64) {
	for _, v := range made {
		out.add(dfs, whole, v.Time, sign)
	}
	for i := max(len(gone)-len(made), 0); i < len(gone); i++ {
		out.add(dfs, whole, gone[i].Time, -sign)
	}
}

// copies follows bytes and copies held.
func (c *computation) copies() error {
	if !c.wants(bytes, copies) || c.m.Count[trace.KindDFStored] == 0 {
		return nil
	}
	source := func(emit func(t int64, key int32, d int64)) {
		for h := range c.m.Holdings() {
			if h.From == model.None {
				continue
			}
			emit(h.From, int32(h.Node)<<1, h.Bytes)
			if h.To != model.None {
				emit(h.To, int32(h.Node)<<1|1, h.Bytes)
			}
		}
	}
	list, err := levels(c, []quantity{bytes, copies}, len(c.m.Nodes), len(c.m.Copies), source,
		func(out sink, x *change[int64]) { spreadCopy(out, x.t, x.key>>1, x.d, 1-2*int64(x.key&1)) })
	if err != nil {
		return err
	}
	c.addNodes(bytes, list[0])
	c.addNodes(copies, list[1])
	if c.wants(bytes) {
		c.res.Memory, err = c.peaks(list[0])
	}
	return err
}

// peaks finds what was held at the peak of each node and of all, which is last in the list.
func (c *computation) peaks(list []level) (*Memory, error) {
	m := c.m
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
			mem.Nodes = append(mem.Nodes, c.peak(node, &list[node], own))
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
		from, to := c.grid.clamp(h.From), c.grid.clamp(h.To)
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
			p.Others.Bytes += h.Bytes
			p.Others.Copies += h.Copies
		}
		p.Holders = p.Holders[:n]
	}
	return p
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
			sum.Bytes += h.Bytes
			sum.Copies += h.Copies
			total[name] = sum
		}
	}
	maps.DeleteFunc(total, func(_ string, h Holder) bool { return h == Holder{} })
	slices.SortFunc(mem.Nodes, func(a, b Peak) int { return cmp.Compare(a.Node, b.Node) })
	return mem, err
}

// dfs follows the DFs that exist.
func (c *computation) dfs() error {
	m := c.m
	if !c.wants(dfs) || m.Count[trace.KindDFCreate] == 0 {
		return nil
	}
	extra, err := c.destroyedTooOften()
	if err != nil {
		return err
	}
	list, err := levels(c, []quantity{dfs}, 0, 2*len(m.MadeTime),
		func(emit func(t int64, key int32, d int32)) {
			for i, t := range m.MadeTime {
				if m.Own(int(m.MadeNode[i])) {
					emit(t, 0, 1)
				}
			}
			left := maps.Clone(extra)
			for i := range m.Copies {
				x := &m.Copies[i]
				switch {
				case x.What <= model.CopyDropped || !m.Own(int(x.Node)):
				case left[x.DF] > 0:
					left[x.DF]--
				default:
					emit(x.Time, 0, -1)
				}
			}
		}, func(out sink, x *change[int32]) { out.add(dfs, whole, x.t, int64(x.d)) })
	if err == nil {
		c.addNodes(dfs, list[0])
	}
	return err
}

// destroyedTooOften tells of which DFs how many destructions this process is to leave out; see emitDF.
func (c *computation) destroyedTooOften() (map[model.DF]int32, error) {
	m := c.m
	balance := make([]int32, m.DFs()) // creations less destructions
	for df := range balance {
		for i, end := m.Creations(model.DF(df)); i < end; i++ {
			if m.Own(int(m.MadeNode[i])) {
				balance[df]++
			}
		}
	}
	for i := range m.Copies {
		if x := &m.Copies[i]; x.What > model.CopyDropped && m.Own(int(x.Node)) {
			balance[x.DF]--
		}
	}
	extra := map[model.DF]int32{}
	alone := c.group.Size() == 1
	for df, n := range balance {
		// Nobody else knows a DF that no definition tells of.
		if n < 0 && (alone || m.DFID(model.DF(df)) == 0) {
			extra[model.DF(df)] = -n
		}
	}
	if alone {
		return extra, nil
	}
	return extra, c.shareBalance(balance, extra)
}

// shareBalance adds up the balances of DFs of all processes. Where one is negative, it fills in how many
// destructions this process is to leave out: the first ones, in the order of nodes.
func (c *computation) shareBalance(balance []int32, extra map[model.DF]int32) error {
	m, s := c.m, c.group
	// Each DF is added up by one process.
	out := make([][]byte, s.Size())
	number := map[uint64]model.DF{}
	for i, n := range balance {
		if n == 0 {
			continue
		}
		id := m.DFID(model.DF(i))
		if id == 0 {
			continue
		}
		to := int(id % uint64(s.Size()))
		out[to] = binary.LittleEndian.AppendUint64(out[to], id)
		out[to] = binary.AppendVarint(out[to], int64(n))
	}
	in, err := s.Exchange(out)
	if err != nil {
		return err
	}
	sums := map[uint64]int64{}
	for _, b := range in {
		p := reader{b: b}
		for len(p.b) > 0 {
			id := p.word()
			sums[id] += p.varint()
		}
		if p.bad {
			return errBadShare
		}
	}
	maps.DeleteFunc(sums, func(_ uint64, n int64) bool { return n >= 0 })
	negative, err := procs.AllOf(s, sums)
	if err != nil {
		return err
	}
	left := map[uint64]int64{}
	for _, list := range negative {
		maps.Copy(left, list)
	}
	if len(left) == 0 {
		return nil
	}
	// That is rare: only now it matters how often each process saw them destroyed.
	destroyed := map[uint64]int64{}
	for i := range m.Copies {
		if x := &m.Copies[i]; x.What > model.CopyDropped && m.Own(int(x.Node)) && x.DF != 0 {
			if id := m.DFID(x.DF); left[id] < 0 {
				destroyed[id]++
				number[id] = x.DF
			}
		}
	}
	all, err := procs.AllOf(s, destroyed)
	if err != nil {
		return err
	}
	for rank, list := range all {
		for id, n := range list {
			n = min(n, -left[id])
			if left[id] += n; rank == s.Rank() && n > 0 {
				extra[number[id]] = int32(n)
			}
		}
	}
	return nil
}
