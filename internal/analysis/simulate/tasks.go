package simulate

import "github.com/whyslow/whyslow/internal/model"

// Tasks is the recorded program as it is simulated: executions, numbered from 0 in the order of CFs, and
// values, numbered from 1. Value 0 stands for DFs whose creation was not recorded. Callers must not change
// the slices that it gives.
type Tasks struct{ g *graph }

// Tasks gives the program.
func (s *Simulator) Tasks() Tasks { return Tasks{s.g} }

// Model is what the program was recorded in.
func (t Tasks) Model() *model.Model { return t.g.m }

// Executions is how many there are.
func (t Tasks) Executions() int { return len(t.g.cf) }

// Values is how many there are, with value 0.
func (t Tasks) Values() int { return len(t.g.home) }

// CF gives the CF of an execution, and which of its executions it is, from 0.
func (t Tasks) CF(x int) (cf model.CF, number int) {
	return model.CF(t.g.cf[x]), x - int(t.g.first[t.g.cf[x]])
}

// Own is how long an execution of user code takes, in nanoseconds; 0 for one of a structured CF.
func (t Tasks) Own(x int) int64 {
	if !t.g.atomic(t.g.cf[x]) {
		return 0
	}
	return t.g.own[x]
}

// Inputs gives the values that an execution needs.
func (t Tasks) Inputs(x int) []uint32 { return t.g.in[t.g.inAt[x]:t.g.inAt[x+1]] }

// Pushed tells whether an execution gets a value that is sent to it unasked.
func (t Tasks) Pushed(x int) bool {
	for _, pushed := range t.g.pushed[t.g.inAt[x]:t.g.inAt[x+1]] {
		if pushed {
			return true
		}
	}
	return false
}

// Outputs gives the values that an execution makes, in the order of their creation.
func (t Tasks) Outputs(x int) []uint32 { return t.g.out[t.g.outAt[x]:t.g.outAt[x+1]] }

// Children gives the CFs that an execution creates, in order.
func (t Tasks) Children(x int) []uint32 { return t.g.kid[t.g.kidAt[x]:t.g.kidAt[x+1]] }

// Creator gives the execution that created the CF of an execution, -1 where there is none.
func (t Tasks) Creator(x int) int { return int(t.g.maker[t.g.cf[x]]) - 1 }

// Maker gives the execution that made a value, -1 where none is known.
func (t Tasks) Maker(v uint32) int { return int(t.g.madeIn[v]) - 1 }

// Size of a value in bytes.
func (t Tasks) Size(v uint32) int64 { return t.g.size[v] }

// Replicated tells whether several nodes kept a value.
func (t Tasks) Replicated(v uint32) bool { return t.g.step[v] > 0 }

// Started lists the executions in the order in which they started.
func (t Tasks) Started() []uint32 { return t.g.started }
