package counters

import (
	"encoding/binary"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// meeting says who follows which CFs: the process of the node that created them. nil: this process has them all.
type meeting struct {
	c *computation
	// by has the events, in order, of the CFs that are followed here and of which other processes know something.
	by map[trace.CF][]moment
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
func (x *meeting) others(l *life) {
	if x == nil {
		return
	}
	for id, moments := range x.by {
		l.walk(int32(id.Node()), moments)
	}
}

// meet sends what happened here to CFs that others follow to them.
func (c *computation) meet() (*meeting, error) {
	if c.group.Size() == 1 {
		return nil, nil
	}
	m, s := c.m, c.group
	out := make([][]byte, s.Size())
	var list []moment
	for i := 1; i < len(m.Created); i++ {
		cf := model.CF(i)
		id := m.CFID(cf)
		to := m.Owner(id.Node())
		if id == 0 || to == s.Rank() {
			continue
		}
		if list = momentsOf(m, cf, list[:0]); len(list) > 0 {
			out[to] = appendMoments(out[to], id, list)
		}
	}
	in, err := s.Exchange(out)
	if err != nil {
		return nil, err
	}
	x := &meeting{c: c, by: map[trace.CF][]moment{}}
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
			list = momentsOf(m, cf, list)
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
		list = append(list, moment{t: p.varint(), node: int32(p.varint()), number: uint32(p.uvarint()),
			what: cfEvent(p.uvarint())})
	}
	return list
}
