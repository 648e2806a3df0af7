package series

import (
	"encoding/binary"
	"maps"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// CFs and DFs that several processes know something of.

// meeting says who follows which CFs: the process of the node that created them. A nil one: this process has them all.
type meeting struct {
	r  *run
	by map[trace.CF][]moment // of CFs that are followed here and of which other processes know something; in order of time
}

// alone tells whether a CF is to be followed here, and all that happened to it is in this process's model.
func (x *meeting) alone(cf model.CF) bool {
	if x == nil {
		return true
	}
	id := x.r.m.CFID(cf)
	_, met := x.by[id]
	return !met && x.r.m.Owner(id.Node()) == x.r.share.Rank()
}

// others follows the CFs that are not alone.
func (x *meeting) others(l *life) {
	if x == nil {
		return
	}
	for id, moments := range x.by {
		l.list = append(l.list[:0], moments...)
		l.walk(int32(id.Node()))
	}
}

// meet sends what happened here to CFs that others follow to them.
func (r *run) meet() (*meeting, error) {
	if r.share == nil {
		return nil, nil
	}
	m, s := r.m, r.share
	out := make([][]byte, s.Size())
	own := life{m: m}
	for i := 1; i < len(m.Created); i++ {
		cf := model.CF(i)
		id := m.CFID(cf)
		to := s.m.Owner(id.Node())
		if id == 0 || to == s.Rank() {
			continue
		}
		if own.collectOwn(cf); len(own.list) > 0 {
			out[to] = appendMoments(out[to], id, own.list)
		}
	}
	in, err := s.Exchange(out)
	if err != nil {
		return nil, err
	}
	x := &meeting{r: r, by: map[trace.CF][]moment{}}
	for _, b := range in {
		p := reader{b: b}
		for len(p.b) > 0 {
			id := trace.CF(p.uvarint())
			x.by[id] = p.moments(x.by[id])
		}
		if p.bad {
			return nil, errBadShare
		}
	}
	for id, list := range x.by {
		if cf := m.FindCF(id); cf != 0 {
			own.collectOwn(cf)
			list = append(list, own.list...)
		}
		sortMoments(list)
		x.by[id] = list
	}
	return x, nil
}

func appendMoments(b []byte, id trace.CF, list []moment) []byte {
	b = binary.AppendUvarint(b, uint64(id))
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, v := range list {
		b = binary.AppendVarint(b, v.t)
		b = binary.AppendVarint(b, int64(v.node))
		b = binary.AppendUvarint(b, uint64(v.number))
		b = append(b, byte(v.what))
	}
	return b
}

func (p *reader) moments(list []moment) []moment {
	for n := p.uvarint(); n > 0 && !p.bad; n-- {
		list = append(list, moment{t: p.varint(), node: int32(p.varint()), number: uint32(p.uvarint()), what: what(p.uvarint())})
	}
	return list
}

// collectOwn lists the events of a CF at this process's nodes.
func (l *life) collectOwn(cf model.CF) {
	m := l.m
	l.list = l.list[:0]
	number := uint32(0)
	add := func(t int64, node int32, what what) {
		if t != model.None && (node < 0 || m.Own(int(node))) { // -1: executed on a stream that is no worker
			l.list = append(l.list, moment{t, node, number, what})
		}
	}
	add(m.Created[cf], int32(m.CFID(cf).Node()), created)
	m.AllReady(cf, func(t int64, node int) { add(t, int32(node), becameReady) })
	for _, g := range m.MovesOf(cf) {
		if flew(&g) {
			add(g.Sent, g.From, left)
		}
		add(g.Received, g.To, arrived)
	}
	first, end := m.OwnExecutions()
	for e := range m.ExecutionsOf(cf) {
		if e < first || e >= end {
			continue
		}
		_, node := m.WorkerOf(e)
		number = m.ExecNumber[e]
		add(m.ExecStart[e], node, started)
		if t := m.ExecEnd[e]; t != model.None {
			add(max(t, m.ExecStart[e]), node, ended)
		}
	}
}

// shareBalance finds, of all processes' balances of DFs, which are negative, and fills in how many destructions this process is to
// leave out: the first ones, in the order of nodes.
func (r *run) shareBalance(balance []int32, extra map[model.DF]int32) error {
	m, s := r.m, r.share
	// Each DF is added up by one process.
	out := make([][]byte, s.Size())
	number := map[uint64]model.DF{}
	for i, n := range balance {
		if n == 0 {
			continue
		}
		id := m.DFID(model.DF(i))
		if id == 0 { // not defined: nobody else knows it
			if n < 0 {
				extra[model.DF(i)] = -n
			}
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
	negative, err := allGather(s, sums)
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
		if c := &m.Copies[i]; c.What > model.CopyDropped && m.Own(int(c.Node)) && c.DF != 0 {
			if id := m.DFID(c.DF); left[id] < 0 {
				destroyed[id]++
				number[id] = c.DF
			}
		}
	}
	all, err := allGather(s, destroyed)
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

// word reads 8 bytes.
func (p *reader) word() uint64 {
	if len(p.b) < 8 {
		p.b, p.bad = nil, true
		return 0
	}
	v := binary.LittleEndian.Uint64(p.b)
	p.b = p.b[8:]
	return v
}
