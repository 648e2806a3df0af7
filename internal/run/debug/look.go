package debug

// What is there, and how it is changed.

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/debug/gdb"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// CFs gives the CFs that exist, as many as most of each process. Those that are kept have no Worker.
func (d *Debugger) CFs(most int) (list []engine.CFState, err error) {
	states, err := d.States(most)
	for _, s := range states {
		if s.State == engine.StateKept {
			s.Worker = -1
		}
		list = append(list, s.CFState)
	}
	return list, err
}

// Sight is what can be seen of a CF that is kept, or that waits for DFs.
type Sight struct {
	Name    string
	Stmt    *luna.Stmt `json:"-"`
	Node    int
	Ready   bool    // it is kept with its inputs
	Inputs  []Shown // those that are here
	Scalars []Shown // the numbers that its code sees, see engine.Execution.Scalars
	GDB     string  // what to type to have gdb stop in its C++ function; "": it is not about to execute one
}

// Shown is a named value.
type Shown struct {
	Name, Type string
	Size       int64  // bytes
	Text       string // see Text
}

// Show shows a value.
func Show(name string, v cpp.Value) Shown { return Shown{name, v.Type.String(), v.Size(), Text(v)} }

// Look looks at a CF that is kept, or that waits for DFs.
func (d *Debugger) Look(cf trace.CF) (*Sight, error) {
	a, err := d.one(order{Op: opLook, CF: cf})
	return a.Sight, err
}

func (d *Debugger) sight(cf trace.CF) (s *Sight, err error) {
	return s, d.look(cf, true, func(x *engine.Execution) {
		s = &Sight{Name: x.Name(), Stmt: x.Stmt, Node: x.Node, Ready: x.Point == engine.AtStart}
		for _, v := range x.Inputs() {
			s.Inputs = append(s.Inputs, Show(v.Name, v.Value))
		}
		for _, v := range x.Scalars() {
			s.Scalars = append(s.Scalars, Show(v.Name, v.Value))
		}
		if s.Ready && x.Stmt.Kind == luna.Atomic {
			s.GDB = gdb.Line(cpp.Symbol(x.Stmt.Routine))
		}
	})
}

// Errors about CFs that are not as they would have to be.
var (
	errNotKept = errors.New("that CF is not kept: only the inputs of kept CFs can be changed")
	errUnseen  = errors.New("that CF is neither kept nor waits: its inputs cannot be seen")
)

func (d *Debugger) look(cf trace.CF, waiting bool, f func(x *engine.Execution)) (err error) {
	failed := d.do(func() []*engine.Execution {
		list, at := d.find(func(x *engine.Execution) bool { return x.CF == cf })
		switch {
		case at >= 0:
			f((*list)[at])
		case d.later[cf] != nil:
			f(d.later[cf])
		case !waiting:
			err = errNotKept
		case !d.ctl.Waiting(cf, f):
			err = errUnseen
		}
		return nil
	})
	return cmp.Or(failed, err)
}

// Above gives the CFs that created a CF, the nearest first.
func (d *Debugger) Above(parent trace.CF) (list []Frame, err error) {
	for parent != 0 && len(list) < 1000 {
		a, err := d.one(order{Op: opParent, CF: parent})
		if errors.Is(err, errNoFrame) {
			break
		}
		if err != nil {
			return nil, err
		}
		list = append(list, *a.Frame)
		parent = a.Frame.Parent
	}
	return list, nil
}

var errNoFrame = errors.New("that CF has created nothing")

func (d *Debugger) frame(cf trace.CF) (f Frame, err error) {
	failed := d.do(func() []*engine.Execution {
		var ok bool
		if f, ok = d.parents[cf]; !ok {
			err = errNoFrame
		}
		return nil
	})
	return f, cmp.Or(failed, err)
}

// SetDF changes a stored DF for all that request it from now on.
func (d *Debugger) SetDF(name, text string) error {
	return d.everyCopy(order{Op: opSet, Text: name, Value: text})
}

func (d *Debugger) setDF(name, text string) (line string, err error) {
	failed := d.do(func() []*engine.Execution {
		var at engine.DFState
		var was string
		d.ctl.DFs(func(s *engine.DFState) bool {
			if !s.Stored || s.Name != name && s.ID != name {
				return true
			}
			at, was = *s, Text(s.Value)
			return false
		})
		if !at.Stored {
			err = noDF(name)
			return nil
		}
		var v cpp.Value
		if v, err = parseValue(text, at.Value.Type); err != nil {
			return nil
		}
		if err = d.ctl.SetDF(name, v); err == nil {
			line = d.note(at.Node, at.DF, 0, at.Name, was, text)
		}
		return nil
	})
	return line, cmp.Or(failed, err)
}

// SetInput changes an input of a kept CF, for it alone.
func (d *Debugger) SetInput(cf trace.CF, name, text string) error {
	_, err := d.one(order{Op: opInput, CF: cf, Text: name, Value: text})
	return err
}

func (d *Debugger) setInput(cf trace.CF, name, text string) (line string, err error) {
	failed := d.look(cf, false, func(x *engine.Execution) {
		for _, in := range x.Inputs() {
			if in.Name != name {
				continue
			}
			was := Text(in.Value)
			var v cpp.Value
			if v, err = parseValue(text, in.Value.Type); err != nil {
				return
			}
			if err = x.SetInput(name, v); err == nil {
				line = d.note(x.Node, in.DF, cf, name+" as an input of "+x.Name(), was, text)
			}
			return
		}
		err = fmt.Errorf("%s has no input %s", x.Name(), name)
	})
	return line, cmp.Or(failed, err)
}

// note notes and records that a value was changed, and gives the line about it; cf is the one that alone gets
// it, 0 for all.
func (d *Debugger) note(node int, df trace.DF, cf trace.CF, what, was, is string) (line string) {
	line = fmt.Sprintf("%s: %s instead of %s", what, is, was)
	d.changed = append(d.changed, line)
	if d.onChanged == nil {
		return line
	}
	d.ctl.Emit(node, func(s *prof.Stream, t int64) {
		if err := d.onChanged.EmitAt(s, t, df, cf, was, is); err != nil {
			d.log(err.Error())
		}
	})
	return line
}
