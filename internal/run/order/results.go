package order

import (
	"encoding/gob"
	"fmt"
	"hash/fnv"
	"io"
	"path/filepath"

	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/trace"
)

// Results is a gate that notes what atomic CFs got and made, and leaves all decisions to another one.
type Results struct {
	gate    engine.Gate // nil: all pass
	list    []Result
	running map[trace.CF]running
}

// running is an execution whose outputs are to come.
type running struct {
	at     int      // in list
	inputs []uint64 // sums of them
}

// Result is what an execution of an atomic CF got and made.
type Result struct {
	Key    uint64
	Code   string
	Name   string // of the CF, with its indices
	Place  string // of its statement, file:line
	Inputs uint64 // a sum of their values
	// Changed is an input that has another value after the execution than before, "" for none.
	Changed string
	Outputs []Output
}

// Output is a DF that an execution made.
type Output struct {
	Name string // with its indices
	Sum  uint64 // of its value
}

// NewResults notes what executions get and make under a gate, which may be nil.
func NewResults(gate engine.Gate) *Results {
	return &Results{gate: gate, running: map[trace.CF]running{}}
}

// Begin implements engine.Gate.
func (r *Results) Begin(c *engine.Control) {
	if r.gate != nil {
		r.gate.Begin(c)
	}
}

// Pass implements engine.Gate.
func (r *Results) Pass(x *engine.Execution) (bool, []*engine.Execution) {
	if r.gate != nil {
		return r.gate.Pass(x)
	}
	return true, nil
}

// Started implements engine.Gate.
func (r *Results) Started(x *engine.Execution) {
	if r.gate != nil {
		r.gate.Started(x)
	}
	if x.Stmt.Kind != luna.Atomic {
		return
	}
	inputs := x.Inputs()
	now := running{at: len(r.list)}
	for _, v := range inputs {
		now.inputs = append(now.inputs, sumOf([]engine.NamedValue{v}))
	}
	r.running[x.CF] = now
	r.list = append(r.list, Result{Key: x.Key(), Name: x.Name(), Code: x.Stmt.Routine.Name,
		Place: fmt.Sprintf("%s:%d", filepath.Base(x.Stmt.Pos.File), x.Stmt.Pos.Line), Inputs: sumOf(inputs)})
}

// Made implements engine.Gate.
func (r *Results) Made(x *engine.Execution) {
	if r.gate != nil {
		r.gate.Made(x)
	}
	was := r.running[x.CF]
	delete(r.running, x.CF)
	res := &r.list[was.at]
	for _, v := range x.Outputs() {
		res.Outputs = append(res.Outputs, Output{v.Name, sumOf([]engine.NamedValue{v})})
	}
	for i, v := range x.Inputs() {
		// Whose only holder is the CF may be used for its outputs.
		if v.Value.Shared() && sumOf([]engine.NamedValue{v}) != was.inputs[i] {
			res.Changed = v.Name
			break
		}
	}
}

// Done implements engine.Gate.
func (r *Results) Done(x *engine.Execution) []*engine.Execution {
	if r.gate != nil {
		return r.gate.Done(x)
	}
	return nil
}

// Quiet implements engine.Gate.
func (r *Results) Quiet() ([]*engine.Execution, bool) {
	if r.gate != nil {
		return r.gate.Quiet()
	}
	return nil, false
}

// sumOf is a sum of values, FNV-1a of their types and bytes.
func sumOf(list []engine.NamedValue) uint64 {
	h := fnv.New64a()
	for _, v := range list {
		head := [9]byte{byte(v.Value.Type)}
		if v.Value.Type == cpp.Int || v.Value.Type == cpp.Real {
			for i := range 8 {
				head[1+i] = byte(v.Value.Bits >> (8 * i))
			}
		}
		h.Write(head[:])
		h.Write(v.Value.Bytes())
	}
	return h.Sum64()
}

// Differs says how the order of executions, or what they made, differs from that of another run, "" for not
// at all. With several workers only CFs that did not run at the same time have an order.
func (r *Results) Differs(o *Results) string {
	if len(r.list) != len(o.list) {
		return fmt.Sprintf("%d executions, and %d", len(r.list), len(o.list))
	}
	if s := Compare(r.list, o.list, func(string) bool { return false }); s != nil {
		return s.String()
	}
	return ""
}

// Write writes what was noted, for ReadResults.
func (r *Results) Write(w io.Writer) error { return gob.NewEncoder(w).Encode(r.list) }

// ReadResults reads what Write wrote.
func ReadResults(rd io.Reader) (list []Result, err error) {
	err = gob.NewDecoder(rd).Decode(&list)
	return list, err
}

// Suspect is an execution that explains why two runs differ.
type Suspect struct {
	Result
	Output string // that it made differently of the same inputs; "": it changed the input Changed
}

// String says it in a sentence.
func (s *Suspect) String() string {
	if s.Output == "" {
		return fmt.Sprintf("%s (%s) writes to its input %s, which others read too", s.Name, s.Place, s.Changed)
	}
	return fmt.Sprintf("%s (%s) made another %s of the same inputs: its code depends on more than them", s.Name,
		s.Place, s.Output)
}

// Compare finds the first execution of a later run that made something else than in an earlier one although
// its inputs were the same, or that changed an input; nil if there is none. Code fragments that are to be
// ignored are not looked at.
func Compare(earlier, later []Result, ignore func(code string) bool) *Suspect {
	was := map[uint64][]*Result{}
	for i := range earlier {
		r := &earlier[i]
		was[r.Key] = append(was[r.Key], r)
	}
	for i := range later {
		r := &later[i]
		list := was[r.Key]
		if len(list) > 0 {
			was[r.Key] = list[1:]
		}
		if ignore(r.Code) {
			continue
		}
		if r.Changed != "" {
			return &Suspect{Result: *r}
		}
		if len(list) == 0 || list[0].Inputs != r.Inputs {
			continue
		}
		for k, o := range r.Outputs {
			if k >= len(list[0].Outputs) || list[0].Outputs[k].Sum != o.Sum {
				return &Suspect{*r, o.Name}
			}
		}
	}
	return nil
}
