package debug

import (
	"slices"

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

// Told is what the debugger was told to do, and has done.
type Told struct {
	Points  []*Point
	Holds   []string // patterns
	Changes []string // values changed by hand, a line each
}

// Told gives what is in force now.
func (d *Debugger) Told() (t Told, err error) {
	err = d.do(func() []*engine.Execution {
		t.Points, t.Changes = slices.Clone(d.points), slices.Clone(d.changed)
		for _, p := range d.holds {
			t.Holds = append(t.Holds, p.Text)
		}
		return nil
	})
	return t, err
}
