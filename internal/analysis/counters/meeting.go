package counters

import (
	"encoding/binary"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// meeting says who follows which CFs: the process of the node that created them. nil: this process has them
// all.
type meeting struct {
	c *computation
	// by has the events, in order, of the CFs that are followed here and of which other processes know
	// something.
	by map[trace.CF][]model.CFEvent
}

// alone tells whether a CF is to be followed here, and all that happened to it is in this process's model.
func (x *meeting) alone(cf model.CF) bool {
	if x == nil {
		return true
	}
	id := x.c.m.CFID(cf)
	_, met := x.by[id]
	return !met && x.c.m.Owner(id.Node()) == x.c.group.Rank()
}

// others follows the CFs that are not alone.
func (x *meeting) others(lives *model.Lives) {
	if x == nil {
		return
	}
	for id, events := range x.by {
		lives.Walk(int32(id.Node()), events)
	}
}

// meet sends what happened here to CFs that others follow to them.
func (c *computation) meet() (*meeting, error) {
	if c.group.Size() == 1 {
		return nil, nil
	}
	m, s := c.m, c.group
	out := make([][]byte, s.Size())
	var list []model.CFEvent
	for i := 1; i < len(m.Created); i++ {
		cf := model.CF(i)
		id := m.CFID(cf)
		to := m.Owner(id.Node())
		if id == 0 || to == s.Rank() {
			continue
		}
		if list = m.CFEvents(cf, true, list[:0]); len(list) > 0 {
			out[to] = appendEvents(out[to], id, list)
		}
	}
	in, err := s.Exchange(out)
	if err != nil {
		return nil, err
	}
	x := &meeting{c: c, by: map[trace.CF][]model.CFEvent{}}
	for _, b := range in {
		p := reader{b: b}
		for len(p.b) > 0 {
			id := trace.CF(p.uvarint())
			x.by[id] = p.events(x.by[id])
		}
		if p.bad {
			return nil, errBadShare
		}
	}
	for id, list := range x.by {
		if cf := m.FindCF(id); cf != 0 {
			list = m.CFEvents(cf, true, list)
		}
		model.SortCFEvents(list)
		x.by[id] = list
	}
	return x, nil
}

func appendEvents(b []byte, id trace.CF, list []model.CFEvent) []byte {
	b = binary.AppendUvarint(b, uint64(id))
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, v := range list {
		b = binary.AppendVarint(b, v.T)
		b = binary.AppendVarint(b, int64(v.Node))
		b = binary.AppendUvarint(b, uint64(v.Number))
		b = append(b, byte(v.What))
	}
	return b
}

func (p *reader) events(list []model.CFEvent) []model.CFEvent {
	for n := p.uvarint(); n > 0 && !p.bad; n-- {
		list = append(list, model.CFEvent{T: p.varint(), Node: int32(p.varint()), Number: uint32(p.uvarint()),
			What: model.CFChange(p.uvarint())})
	}
	return list
}
