package counters

import (
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
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
	type metCF struct {
		ID     trace.CF
		Events []model.CFEvent
	}
	m, s := c.m, c.group
	out := make([][]metCF, s.Size())
	for i := 1; i < len(m.Created); i++ {
		cf := model.CF(i)
		id := m.CFID(cf)
		to := m.Owner(id.Node())
		if id == 0 || to == s.Rank() {
			continue
		}
		if list := m.CFEvents(cf, true, nil); len(list) > 0 {
			out[to] = append(out[to], metCF{id, list})
		}
	}
	in, err := procs.Swap(s, out)
	if err != nil {
		return nil, err
	}
	x := &meeting{c: c, by: map[trace.CF][]model.CFEvent{}}
	for _, list := range in {
		for _, v := range list {
			x.by[v.ID] = append(x.by[v.ID], v.Events...)
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
