package counters

import (
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// cfs follows CFs by state.
func (c *computation) cfs() error {
	states := []quantity{waiting, ready, running, moving, cfs}
	if !c.wants(states...) || c.m.Count[trace.KindCFStarted] == 0 {
		return nil
	}
	met, err := c.meet()
	if err != nil {
		return err
	}
	list, err := levels(c, states, len(c.m.Nodes), 4*len(c.m.ExecCF), func(emit func(t int64, key int32, d int32)) {
		l := life{change: func(t int64, node int32, from, to quantity) { emit(t, node, int32(from)<<8|int32(to)) }}
		var list []moment
		for cf := model.CF(1); int(cf) < len(c.m.Created); cf++ {
			if met.alone(cf) {
				list = momentsOf(c.m, cf, list[:0])
				l.walk(int32(c.m.CFID(cf).Node()), list)
			}
		}
		met.others(&l)
	}, func(out sink, x *change[int32]) {
		spreadState(out, x.t, x.key, quantity(x.d>>8), quantity(x.d&0xff), 1, 0)
	})
	if err != nil {
		return err
	}
	for i, q := range states {
		switch {
		case q != moving:
			c.addNodes(q, list[i])
		case c.moved() > 0:
			c.addNodes(q, list[i][len(list[i])-1:])
		}
	}
	return nil
}

// moved counts the events of CFs that went from node to node.
func (c *computation) moved() uint64 {
	n := &c.m.Count
	return n[trace.KindCFMigrated] + n[trace.KindCFStolen] + n[trace.KindCFReceived]
}
