package slou

import (
	"github.com/whyslow/whyslow/internal/model"
)

// facts answers the rule's questions from a whole model. Control inputs are worked out once for every
// execution of a structured CF: the chain of ancestors of a CF is as long as the program is deep, and
// thousands of siblings share it.
type facts struct {
	m        *model.Model
	controls []control // 0 and 1 stand for nothing
	of       []uint32  // by execution: index into controls, 0 not worked out
}

// control sums up the inputs of an execution and of all its ancestors.
type control struct {
	source Source
	// receipt is the last receipt, at the node of the execution, of an input of an ancestor that ran there.
	receipt model.DF
	message uint32
	node    int32
}

// NewLookup gives the facts about a model that a rule asks for. It may be used by any number of goroutines.
func NewLookup(m *model.Model, rule Rule) Lookup { return newFacts(m, rule.dataOnly()) }

func newFacts(m *model.Model, dataOnly bool) *facts {
	f := &facts{m: m, controls: make([]control, 2)}
	if !dataOnly {
		f.findControls()
	}
	return f
}

// parent gives the execution that created a CF.
func (f *facts) parent(cf model.CF) (int, bool) {
	p := f.m.Parent[cf]
	if p == 0 {
		return 0, false
	}
	return f.m.Execution(p, f.m.ParentExec[cf])
}

func (f *facts) findControls() {
	f.of = make([]uint32, f.m.Executions())
	var chain []int
	for e, cf := range f.m.ExecCF {
		if f.m.Atomic(cf) {
			continue
		}
		// Up to the nearest ancestor that is worked out, then down again. 1 marks the way, so that a circle
		// of parents, which only a damaged trace has, ends.
		for at, ok := e, true; ok && f.of[at] == 0; at, ok = f.parent(f.m.ExecCF[at]) {
			f.of[at] = 1
			chain = append(chain, at)
		}
		for len(chain) > 0 {
			at := chain[len(chain)-1]
			chain = chain[:len(chain)-1]
			f.add(at)
		}
	}
}

func (f *facts) add(e int) {
	_, node := f.m.WorkerOf(e)
	c := control{node: node}
	up, ok := f.parent(f.m.ExecCF[e])
	above := uint32(1)
	if ok && f.m.Atomic(f.m.ExecCF[up]) {
		c.source, ok = f.creator(f.m.ExecCF[e]), false
	}
	if ok {
		above = f.of[up]
		c.source = f.controls[above].source
		// The nearest ancestor on this node; it is nearly always the parent.
		for i := 0; ok && i < maxHops && f.controls[f.of[up]].node != node; i++ {
			up, ok = f.parent(f.m.ExecCF[up])
		}
		if ok && f.controls[f.of[up]].node == node {
			c.receipt, c.message = f.controls[f.of[up]].receipt, f.controls[f.of[up]].message
		}
	}
	start := f.m.ExecStart[e]
	for _, df := range f.m.Inputs(e) {
		if s := f.Made(df, start); s.Known && (!c.source.Known || s.End > c.source.End) {
			c.source = s
		}
		if g, ok := f.m.LastReceipt(df, node, start); ok &&
			(c.message == 0 || f.m.DFMessages[g].Received > f.m.DFMessages[c.message].Received) {
			c.receipt, c.message = df, g
		}
	}
	if above != 1 && c == f.controls[above] {
		f.of[e] = above
		return
	}
	f.of[e] = uint32(len(f.controls))
	f.controls = append(f.controls, c)
}

func (f *facts) Inputs(execution int) []model.DF { return f.m.Inputs(execution) }

func (f *facts) Made(df model.DF, t int64) Source {
	i, ok := f.m.Creation(df, t)
	if !ok {
		first, ok := f.m.FirstSeen(df)
		return Source{DF: df, End: first, Known: ok}
	}
	s := Source{DF: df, Producer: f.m.MadeBy[i], End: f.m.MadeTime[i], Known: true}
	if s.Producer == 0 || !f.m.Atomic(s.Producer) {
		return s
	}
	if e, ok := f.m.ExecutionAt(s.Producer, s.End); ok && f.m.ExecEnd[e] != model.None {
		s.End = f.m.ExecEnd[e]
	}
	return s
}

func (f *facts) above(cf model.CF) *control {
	if e, ok := f.parent(cf); ok && f.of != nil {
		return &f.controls[f.of[e]]
	}
	return &f.controls[0]
}

func (f *facts) Control(cf model.CF) Source {
	if p := f.m.Parent[cf]; p != 0 && f.of != nil && f.m.Atomic(p) {
		return f.creator(cf)
	}
	return f.above(cf).source
}

// creator gives the creation of a CF as the source of what it needs: what an atomic CF creates, it produces.
func (f *facts) creator(cf model.CF) Source {
	t := f.m.Created[cf]
	return Source{Producer: f.m.Parent[cf], End: t, Known: t != model.None}
}

func (f *facts) ControlReceipt(cf model.CF) (model.DF, Message) {
	c := f.above(cf)
	if c.message == 0 || int(c.node) != f.m.CFID(cf).Node() {
		return 0, Message{}
	}
	return c.receipt, MessageOf(&f.m.DFMessages[c.message])
}

func (f *facts) Ready(cf model.CF, node int32, t int64) (int64, bool) {
	return f.m.LastReady(cf, node, t)
}

func (f *facts) Created(cf model.CF) (int64, int32, bool) {
	t := f.m.Created[cf]
	return t, int32(f.m.CFID(cf).Node()), t != model.None
}

// MessageOf gives what the rule needs to know about a message of a model.
func MessageOf(g *model.Message) Message {
	return Message{From: g.From, Sent: g.Sent, Received: g.Received, WasSent: g.Sent != model.None,
		Arrived: g.Received != model.None, Stolen: g.Stolen, Request: g.Request}
}

func (f *facts) Came(cf model.CF, node int32, t int64) Message {
	if g, ok := f.m.LastMove(cf, node, t); ok {
		return MessageOf(g)
	}
	return Message{}
}

func (f *facts) Receipt(df model.DF, node int32, t int64) Message {
	if g, ok := f.m.LastReceipt(df, node, t); ok {
		return MessageOf(&f.m.DFMessages[g])
	}
	return Message{}
}

func (f *facts) MadeAt(df model.DF, node int32, t int64) (int64, bool) {
	return f.m.CreationAt(df, node, t)
}

func (f *facts) Request(request uint32) Message {
	return MessageOf(&f.m.Requests[request])
}
