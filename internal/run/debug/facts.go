package debug

import (
	"fmt"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/trace"
)

// CFState is a CF that exists. The Worker of one that is kept is that which came to it.
type CFState struct {
	engine.CFState
	Held  bool // one of the holds keeps it
	Ready bool // it is kept with its inputs; others that are kept are about to request them
}

// States gives the CFs that exist; of those in queues of each process as many as most.
func (d *Debugger) States(most int) (list []CFState, err error) {
	err = d.each(order{Op: opStates, N: most}, func(a *answer) { list = append(list, a.CFs...) })
	if d.ranks != nil {
		slices.SortStableFunc(list, func(a, b CFState) int { return strings.Compare(a.State, b.State) })
	}
	return list, err
}

func (d *Debugger) states(most int) (list []CFState, err error) {
	err = d.do(func() []*engine.Execution {
		kept := make(map[trace.CF]*engine.Execution, d.keeps())
		for _, x := range slices.Concat(d.kept, d.held) {
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
	engine.DFState          // without the Value
	Shown          Shown    // its value; that of a DF without one has no Type
	Next           []string // kept CFs that have it as an input, or are about to request it
}

// mostDFs is how many DFs of each process are looked at.
const mostDFs = 10_000

// DFs calls f for the DFs whose name, without indices, or with them, or whose ID is name; "" for all. It
// stops where f returns false, and after the first 10,000 of each process.
func (d *Debugger) DFs(name string, f func(*DFState) bool) error {
	var all []DFState
	next := map[string][]string{}
	if err := d.each(order{Op: opDFs, Text: name, N: mostDFs}, func(a *answer) {
		all = append(all, a.DFs...)
		for id, list := range a.Uses {
			next[id] = append(next[id], list...)
		}
	}); err != nil {
		return err
	}
	for i := range all {
		if all[i].Next = next[all[i].ID]; !f(&all[i]) {
			break
		}
	}
	return nil
}

// stores looks for the DFs of that name here, and for what uses them.
func (d *Debugger) stores(name string, most int) (list []DFState, uses map[string][]string, err error) {
	err = d.do(func() []*engine.Execution {
		uses = map[string][]string{}
		use := func(x *engine.Execution) {
			for _, id := range x.Uses() {
				uses[id] = append(uses[id], x.Name())
			}
		}
		for _, x := range slices.Concat(d.kept, d.held) {
			use(x)
		}
		for _, x := range d.later {
			use(x)
		}
		d.ctl.DFs(func(s *engine.DFState) bool {
			if !named(s, name) {
				return true
			}
			f := DFState{DFState: *s}
			if f.Value = (cpp.Value{}); s.Stored && s.Keeper < 0 {
				f.Shown = Show(s.Name, s.Value)
			}
			list = append(list, f)
			return len(list) < most
		})
		return nil
	})
	return list, uses, err
}

// named reports whether a DF has a name, without indices or with them, or an ID; every one has the name "".
func named(s *engine.DFState, name string) bool {
	base, _, _ := strings.Cut(s.Name, "[")
	return name == "" || name == s.Name || name == base || name == s.ID
}

// Value calls f with the value of a stored DF, which is borrowed.
func (d *Debugger) Value(name string, f func(v cpp.Value) error) error {
	a, err := d.one(order{Op: opValue, Text: name})
	if err != nil {
		return err
	}
	defer a.value.Release()
	return f(a.value)
}

// value gives a reference of the value of a DF that is stored here.
func (d *Debugger) value(name string) (v cpp.Value, err error) {
	found := false
	failed := d.do(func() []*engine.Execution {
		d.ctl.DFs(func(s *engine.DFState) bool {
			if found = s.Stored && s.Keeper < 0 && (s.Name == name || s.ID == name); found {
				v = s.Value
				v.Retain()
			}
			return !found
		})
		return nil
	})
	if failed == nil && !found {
		failed = noDF(name)
	}
	return v, failed
}

func noDF(name string) error { return fmt.Errorf("%s: %w", name, engine.ErrNoDF) }

// Told is what the debugger was told to do, and has done.
type Told struct {
	Points  []*Point
	Holds   []string // patterns
	Firsts  []string // patterns of CFs that are to end before others begin
	Changes []string // values changed by hand, a line each
}

// Told gives what is in force now.
func (d *Debugger) Told() (t Told, err error) {
	if err := d.countHits(); err != nil {
		return t, err
	}
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
