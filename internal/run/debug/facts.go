package debug

import (
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/trace"
)

// CFState is a CF that exists. The Worker of one that is kept is that which came to it.
type CFState struct {
	engine.CFState
	Held  bool // one of the holds keeps it
	Ready bool // it is kept with its inputs; others that are kept are about to request them
}

// States gives the CFs that exist; of those in queues as many as most.
func (d *Debugger) States(most int) (list []CFState, err error) {
	err = d.do(func() []*engine.Execution {
		kept := make(map[trace.CF]*engine.Execution, len(d.kept))
		for _, x := range d.kept {
			kept[x.CF] = x
		}
		for _, s := range d.ctl.CFs(most) {
			x := kept[s.CF]
			if x != nil {
				s.Worker = x.Worker
			}
			list = append(list, CFState{s, x != nil && d.isHeld(x), x != nil && x.Point == engine.AtStart})
		}
		return nil
	})
	return list, err
}

// DFState is a DF that a node stores, or that CFs wait for there.
type DFState struct {
	engine.DFState
	Next []string // kept CFs that have it as an input, or are about to request it
}

// DFs calls f for the DFs whose name, without indices, or with them, or whose ID is name; "" for all.
func (d *Debugger) DFs(name string, f func(*DFState) bool) error {
	return d.do(func() []*engine.Execution {
		next := map[string][]string{}
		use := func(x *engine.Execution) {
			for _, id := range x.Uses() {
				next[id] = append(next[id], x.Name())
			}
		}
		for _, x := range d.kept {
			use(x)
		}
		for _, x := range d.later {
			use(x)
		}
		d.ctl.DFs(func(s *engine.DFState) bool {
			if base, _, _ := strings.Cut(s.Name, "["); name != "" && name != s.Name && name != base && name != s.ID {
				return true
			}
			return f(&DFState{*s, next[s.ID]})
		})
		return nil
	})
}

// Told is what the debugger was told to do, and has done.
type Told struct {
	Points  []*Point
	Holds   []string // patterns
	Firsts  []string // patterns of CFs that are to end before others begin
	Changes []string // values changed by hand, a line each
}

// Told gives what is in force now.
func (d *Debugger) Told() (t Told, err error) {
	err = d.do(func() []*engine.Execution {
		t.Points, t.Changes = slices.Clone(d.points), slices.Clone(d.changed)
		for _, p := range d.holds {
			t.Holds = append(t.Holds, p.Text)
		}
		for _, p := range d.firsts {
			t.Firsts = append(t.Firsts, p.Text)
		}
		return nil
	})
	return t, err
}
