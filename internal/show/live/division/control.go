package division

import (
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
)

// Control inputs: those of a CF's ancestors. They are summed up per execution of a structured CF, when somebody asks, and
// forgotten with those of all its descendants when something they were worked out of changes. What nobody has asked for has
// no descendants that were asked for, so forgetting stops there.
//
// As in slou, an atomic CF passes on control inputs only if structured CFs below it ran: such an execution is chained.

// control sums up the inputs of an execution and of all its ancestors.
type control struct {
	source  slou.Source
	receipt model.DF // the last, at the node of the execution, of an input of an ancestor that ran there
	message uint32
	node    int32
	epoch   uint32
}

// maxHops bounds a walk up that a damaged trace could make circular; as in slou.
const maxHops = 256

// Control gives the latest source among the inputs of all ancestors of a CF.
func (f *facts) Control(c model.CF) slou.Source { return f.above(uint32(c)).source }

// ControlReceipt gives the latest receipt, at the node where the CF was created, of an input of an ancestor that ran there.
func (f *facts) ControlReceipt(c model.CF) (model.DF, slou.Message) {
	a := f.above(uint32(c))
	if a.message == 0 || a.node != int32(f.cfs.at(uint32(c)).home) {
		return 0, slou.Message{}
	}
	if x := f.execs.at(f.gap); x.fetched != uint32(a.receipt) {
		// What becomes known of that DF concerns this gap from now on.
		x.fetched = uint32(a.receipt)
		f.use(uint32(a.receipt), f.gap)
	}
	return a.receipt, f.way(a.message)
}

func (f *facts) use(d, e uint32) {
	r := f.dfs.at(d)
	latest := f.started(e)
	if r.uses != 0 {
		latest = max(latest, f.uses.at(r.uses).latest)
	}
	r.uses = f.uses.add(use{e, r.uses, latest})
}

func (f *facts) above(c uint32) *control {
	e, ok := f.parent(c)
	if !ok || f.dataOnly || !f.passesOn(e) {
		return f.controls.at(0)
	}
	return f.controls.at(f.control(e))
}

func (f *facts) passesOn(e uint32) bool {
	x := f.execs.at(e)
	return x.chained || f.cfs.at(x.cf).structured
}

func (f *facts) hasControl(e uint32) bool {
	c := f.execs.at(e).control
	return c != 0 && f.controls.at(c).epoch == f.epoch
}

// nodeOf gives the node of an execution on a worker, else -1.
func (f *facts) nodeOf(e uint32) int32 {
	if s := f.streams[f.execs.at(e).stream]; s.worker != nil {
		return int32(s.node.number)
	}
	return -1
}

// control gives what is known of an execution and all its ancestors, working it out where need be.
func (f *facts) control(e uint32) uint32 {
	x := f.execs.at(e)
	if f.hasControl(e) {
		return x.control
	}
	c := control{node: f.nodeOf(e), epoch: f.epoch}
	if x.control == 0 {
		if n := len(f.spare); n > 0 {
			x.control = f.spare[n-1]
			f.spare = f.spare[:n-1]
		} else {
			x.control = f.controls.add(control{})
		}
	}
	*f.controls.at(x.control) = control{epoch: f.epoch} // ends a circle of parents
	if up, ok := f.parent(x.cf); ok {
		a := f.controls.at(f.control(up))
		c.source = a.source
		for i := 0; ok && i < maxHops && a.node != c.node; i++ {
			if up, ok = f.parent(f.execs.at(up).cf); ok {
				a = f.controls.at(f.control(up))
			}
		}
		if ok && a.node == c.node {
			c.receipt, c.message = a.receipt, a.message
		}
	}
	start := f.started(e)
	for _, d := range f.inputs.at(x.inputs, x.count) {
		if s := f.Made(d, start); s.Known && (!c.source.Known || s.End > c.source.End) {
			c.source = s
		}
		if g := f.receiptAt(uint32(d), c.node, start); g != 0 && (c.message == 0 || f.receivedAt(g) > f.receivedAt(c.message)) {
			c.receipt, c.message = d, g
		}
	}
	*f.controls.at(x.control) = c
	return x.control
}

func (f *facts) receivedAt(message uint32) int64 {
	g := f.messages.at(message)
	return f.at(g.received, g.receiver)
}

// forget drops what was worked out of an execution's inputs, with all that was worked out of that.
func (d *Division) forget(e uint32) {
	if d.hasControl(e) {
		x := d.execs.at(e)
		d.spare = append(d.spare, x.control)
		x.control = 0
		d.descend(e)
	}
}

// descend tells the CFs that an execution created that their control inputs may have changed.
func (d *Division) descend(e uint32) {
	x := d.execs.at(e)
	for c := d.children[childKey(x.cf, x.number)]; c != 0; c = d.cfs.at(c).sibling {
		d.cfChanged(c)
		for g := range d.executions(c) {
			d.forget(g)
		}
	}
}

// chain marks the atomic ancestors of an execution that passes control inputs on: so do they.
func (d *Division) chain(e uint32) {
	for d.passesOn(e) {
		up, ok := d.parent(d.execs.at(e).cf)
		if !ok || d.passesOn(up) {
			return
		}
		d.execs.at(up).chained = true
		d.descend(up)
		e = up
	}
}

// chainBelow does the same from below for an execution that has come to be known after its descendants.
func (d *Division) chainBelow(e uint32) {
	x := d.execs.at(e)
	for c := d.children[childKey(x.cf, x.number)]; c != 0; c = d.cfs.at(c).sibling {
		for g := range d.executions(c) {
			d.chain(g)
		}
	}
}
