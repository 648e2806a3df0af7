package engine

// A gate of a run of many processes. Each process has its own, which knows only the CFs here; they speak with
// each other through the network of the run. That nothing moves is known to node 0 alone, by what quiet.go
// counts: so Gate.Quiet is not called, and the gate of node 0 is told instead.

import (
	"errors"

	"github.com/whyslow/whyslow/internal/run/transport"
)

// ManyGate is a gate of a run of many processes.
type ManyGate interface {
	Gate
	// Heard takes what the gate of another node has told this one (Control.Tell). Those of one node come in
	// their order, also before Begin. It must not wait for the program, or for others.
	Heard(from int, text []byte)
	// AllQuiet tells the gate of node 0 that nothing moves in any process, and what Control.Acts was at each.
	// Something has moved since then where it is not that any more: AllQuiet comes again. The run goes on
	// waiting until the gate of some node lets an execution go, Control.LookAgain has it told anew, or
	// Control.Finish ends it. It must not wait.
	AllQuiet(acts []int64)
}

// ErrQuit is returned by Run, at node 0, where Control.Quit ended a run of many processes.
var ErrQuit = errors.New("the run was ended")

// Tell brings text to the gate of another node.
func (c *Control) Tell(node int, text []byte) {
	e := c.e
	e.net.Send(&transport.Message{Kind: msgGate, From: e.here[0].id, To: node, Head: text})
}

// LookAgain has the gate of node 0, which calls it, told anew where nothing moves.
func (c *Control) LookAgain() {
	c.e.acts.Add(1)
	c.e.part.rest()
}

// Acts grows whenever a gate lets executions go here. It is called within Do.
func (c *Control) Acts() int64 { return c.e.acts.Load() }

// Finish ends the run, as the gate of node 0 knows that nothing is left to do.
func (c *Control) Finish() { c.e.finish(nil) }

// Quit ends the run at node 0 before it is over.
func (c *Control) Quit() { c.e.finish(ErrQuit) }

// Remains is what is left to do in this process, for LeftOf.
func (c *Control) Remains() []byte {
	k := packing(nil)
	k.remains(c.e.here[0].remains())
	return k.b
}

// LeftOf is Left of many processes, given the Remains of each by its node.
func (c *Control) LeftOf(list [][]byte) *StuckError {
	all := make([]*remains, len(list))
	for node, b := range list {
		all[node] = &remains{node: node}
		unpacking(c.e.prog, b).remains(all[node])
	}
	if left := joined(all); len(left) > 0 {
		return c.e.stuck(left, all)
	}
	return nil
}
