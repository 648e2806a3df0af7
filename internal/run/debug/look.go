package debug

// What is there, and how it is changed.

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// CFs gives the CFs that exist, as many as most.
func (d *Debugger) CFs(most int) (list []engine.CFState, err error) {
	err = d.do(func() []*engine.Execution {
		list = d.ctl.CFs(most)
		return nil
	})
	return list, err
}

// Look calls f with an execution that is kept, or that waits for DFs: with its inputs, and the numbers that its
// code sees.
func (d *Debugger) Look(cf trace.CF, f func(x *engine.Execution)) (err error) {
	return d.look(cf, true, f)
}

func (d *Debugger) look(cf trace.CF, waiting bool, f func(x *engine.Execution)) (err error) {
	failed := d.do(func() []*engine.Execution {
		i := slices.IndexFunc(d.kept, func(x *engine.Execution) bool { return x.CF == cf })
		switch {
		case i >= 0:
			f(d.kept[i])
		case d.later[cf] != nil:
			f(d.later[cf])
		case !waiting:
			err = errors.New("that CF is not kept: only the inputs of kept CFs can be changed")
		case !d.ctl.Waiting(cf, f):
			err = errors.New("that CF is neither kept nor waits: its inputs cannot be seen")
		}
		return nil
	})
	return cmp.Or(failed, err)
}

// Above gives the CFs that created a CF, the nearest first.
func (d *Debugger) Above(parent trace.CF) (list []Frame, err error) {
	err = d.do(func() []*engine.Execution {
		for parent != 0 && len(list) < 1000 {
			f, ok := d.parents[parent]
			if !ok {
				break
			}
			list = append(list, f)
			parent = f.Parent
		}
		return nil
	})
	return list, err
}

// SetDF changes a stored DF for all that request it from now on.
func (d *Debugger) SetDF(name, text string) (err error) {
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
			err = fmt.Errorf("%s: %w", name, engine.ErrNoDF)
			return nil
		}
		var v cpp.Value
		if v, err = parseValue(text, at.Value.Type); err != nil {
			return nil
		}
		if err = d.ctl.SetDF(name, v); err == nil {
			d.note(at.Node, at.DF, 0, at.Name, was, text)
		}
		return nil
	})
	return cmp.Or(failed, err)
}

// SetInput changes an input of a kept CF, for it alone.
func (d *Debugger) SetInput(cf trace.CF, name, text string) (err error) {
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
				d.note(x.Node, in.DF, cf, name+" as an input of "+x.Name(), was, text)
			}
			return
		}
		err = fmt.Errorf("%s has no input %s", x.Name(), name)
	})
	return cmp.Or(failed, err)
}

// note notes and records that a value was changed; cf is the one that alone gets it, 0 for all.
func (d *Debugger) note(node int, df trace.DF, cf trace.CF, what, was, is string) {
	d.changed = append(d.changed, fmt.Sprintf("%s: %s instead of %s", what, is, was))
	if d.onChanged == nil {
		return
	}
	d.ctl.Emit(node, func(s *prof.Stream, t int64) {
		if err := d.onChanged.EmitAt(s, t, df, cf, was, is); err != nil {
			d.log(err.Error())
		}
	})
}
