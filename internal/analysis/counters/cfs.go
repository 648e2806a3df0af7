package counters

import (
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// spreadState tells what changes when a CF goes from one state to another at a node; see model.Life. A CF
// that moves exists, but on no node.
func spreadState(out sink, t int64, node int32, from, to model.CFState, sign, weighs int64) {
	count := func(state model.CFState, d int64) {
		q := quantity(state) // the states of CFs are the first quantities
		if state < model.CFMoving {
			out.add(q, node, t, d)
		}
		if state <= model.CFMoving {
			out.add(q, whole, t, d)
		}
	}
	exists := func(place int32, before, after bool) {
		d := sign
		switch {
		case before == after:
			return
		case before:
			d = -sign
		}
		out.add(cfs, place, t, d)
		out.add(objects, place, t, d)
		out.add(weight, place, t, d*weighs)
	}
	count(from, -sign)
	count(to, sign)
	exists(whole, from <= model.CFMoving, to <= model.CFMoving)
	exists(node, from < model.CFMoving, to < model.CFMoving)
}

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
	list, err := levels(c, states, len(c.m.Nodes), 4*len(c.m.ExecCF),
		func(emit func(t int64, key int32, d int32)) {
			lives := c.m.Lives(func(t int64, node int32, from, to model.CFState) {
				emit(t, node, int32(from)<<8|int32(to))
			})
			for cf := model.CF(1); int(cf) < len(c.m.Created); cf++ {
				if met.alone(cf) {
					lives.Follow(cf)
				}
			}
			met.others(lives)
		}, func(out sink, x *change[int32]) {
			spreadState(out, x.t, x.key, model.CFState(x.d>>8), model.CFState(x.d&0xff), 1, 0)
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
