// Package debug stops a program, lets single CFs go on, and shows and changes what is there. A Debugger is a
// gate of the engine; what shows it to people (the terminal, an editor over the Debug Adapter Protocol) calls
// its methods.
//
// # Stopping
//
// A stopped program keeps every CF that is about to request its inputs or to execute; what runs in user code
// runs to its end. So a stop is complete once no worker is in user code any more. A step lets one CF go on up
// to the end of its execution. Whatever is held stays kept when the rest goes on.
//
// All fields below mu are guarded by the engine, which asks one question at a time; methods that come from
// outside use Control.Do for that.
package debug

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// Reason is why a program stopped.
type Reason string

// Reasons.
const (
	Entry      Reason = "entry"      // it is about to begin
	Paused     Reason = "pause"      // somebody asked for it
	Breakpoint Reason = "breakpoint" // one was reached
	Stepped    Reason = "step"       // a step is over
	Held       Reason = "held"       // nothing but held CFs can go on
	Stuck      Reason = "stuck"      // nothing can ever go on
	Ended      Reason = "end"        // the run is over
)

// Stop is a stop of the program.
type Stop struct {
	Reason Reason
	Text   string   // one line
	CF     trace.CF // where; 0 for none
	Break  int      // number of the breakpoint
}

// ErrEnded says that the run is over.
var ErrEnded = errors.New("the run is over")

// Options of a debugger.
type Options struct {
	Program *luna.Program
	Session *prof.Session // tells of DFs that are sent, received and dropped; nil: nobody does
	AtEntry bool          // stop before the program begins
	Log     func(line string)
}

// Debugger debugs one run.
type Debugger struct {
	opt   Options
	ctl   *engine.Control
	stops chan Stop
	ready chan struct{} // closed by Begin
	ended chan struct{} // closed by End

	// asked is a stop that an event of a DF wants, by whoever emitted it.
	asked  atomic.Pointer[Stop]
	wanted chan struct{}
	dfs    atomic.Pointer[[]*Point]

	paused    bool
	since     int64 // when the program stopped, clock ns; 0: it runs
	stopped   []trace.Span
	changed   []string
	kept      []*engine.Execution // in the order in which they came
	points    []*Point
	last      int // number of the last point
	holds     []*Point
	stepping  trace.CF
	toldStuck bool
	goesOn    chan struct{} // closed when the program goes on; nil: it runs
	parents   map[trace.CF]Frame
}

// Frame is a structured CF that created others.
type Frame struct {
	Name   string
	Stmt   *luna.Stmt
	Parent trace.CF
}

// New makes a debugger, to be given to engine.Config.Gate.
func New(ctx context.Context, o Options) (*Debugger, error) {
	d := &Debugger{opt: o, stops: make(chan Stop, 1), ready: make(chan struct{}), ended: make(chan struct{}),
		wanted: make(chan struct{}, 1), parents: map[trace.CF]Frame{}}
	if o.Session == nil {
		return d, nil
	}
	for event, k := range map[string]kind{"onSent": dfSent, "onReceived": dfReceived, "onDropped": dfDropped,
		"onDuplicate": duplicate} {
		err := o.Session.ConnectAny("DFEvents", event, "debugger", 0, func(s *prof.Stream, a *prof.Any) {
			d.happened(ctx, k, s.Node(), a)
		})
		if err != nil {
			return nil, err
		}
	}
	go d.serveWanted()
	return d, nil
}

// Stops yields each stop of the program. After each, the program stays as it is until it is told to go on.
func (d *Debugger) Stops() <-chan Stop { return d.stops }

// End tells that the run is over.
func (d *Debugger) End() {
	close(d.ended)
	d.resumeClock()
	d.tell(Stop{Reason: Ended, Text: "the run is over"})
}

// StoppedTimes are the times at which the program was stopped.
func (d *Debugger) StoppedTimes() []trace.Span { return d.stopped }

// Changes are the values that were changed by hand, a line each.
func (d *Debugger) Changes() []string { return d.changed }

// do calls f under the engine's lock.
func (d *Debugger) do(f func() []*engine.Execution) error {
	select {
	case <-d.ready:
	case <-d.ended:
		return ErrEnded
	}
	if !d.ctl.Do(f) {
		return ErrEnded
	}
	return nil
}

// tell hands a stop over; the one before was taken, or is replaced.
func (d *Debugger) tell(s Stop) {
	for {
		select {
		case d.stops <- s:
			return
		default:
		}
		select {
		case <-d.stops:
		default:
		}
	}
}

// stop stops the program, unless it is stopped.
func (d *Debugger) stop(s Stop) {
	if d.paused && d.stepping == 0 {
		return
	}
	d.stepping = 0
	d.pauseClock()
	d.tell(s)
}

func (d *Debugger) pauseClock() {
	d.paused = true
	if d.since == 0 {
		d.since = clock.Now()
	}
	if d.goesOn == nil {
		d.goesOn = make(chan struct{})
	}
}

func (d *Debugger) resumeClock() {
	if d.since != 0 {
		d.stopped = append(d.stopped, trace.Span{From: d.since, To: clock.Now()})
		d.since = 0
	}
	if d.goesOn != nil {
		close(d.goesOn)
		d.goesOn = nil
	}
}

// Begin implements engine.Gate.
func (d *Debugger) Begin(c *engine.Control) {
	d.ctl = c
	if d.opt.AtEntry {
		d.stop(Stop{Reason: Entry, Text: "before the program begins"})
	}
	close(d.ready)
}

// Pass implements engine.Gate.
func (d *Debugger) Pass(x *engine.Execution) (bool, []*engine.Execution) {
	if d.stepping != 0 && x.CF == d.stepping {
		return true, nil
	}
	if s := d.asked.Swap(nil); s != nil {
		d.stop(*s)
	}
	if !d.paused {
		d.reach(x)
	}
	if d.paused || d.isHeld(x) {
		d.kept = append(d.kept, x)
		return false, nil
	}
	return true, nil
}

// reach stops the program if a breakpoint is reached.
func (d *Debugger) reach(x *engine.Execution) {
	for _, p := range d.points {
		names := []string(nil)
		switch {
		case p.kind == cfStarts && x.Point == engine.AtStart:
			if !p.matchesCF(x) {
				continue
			}
		case p.kind == dfRequested && x.Point == engine.AtRequest:
			if names = p.matching(x.Wanted()); len(names) == 0 {
				continue
			}
		default:
			continue
		}
		d.hit(p, x, names)
	}
}

// hit counts that a breakpoint was reached, and stops the program if it is to.
func (d *Debugger) hit(p *Point, x *engine.Execution, names []string) {
	if p.node >= 0 && x.Node != p.node {
		return
	}
	text := x.Name()
	if len(names) > 0 {
		text = names[0] + ": " + text
	}
	text = fmt.Sprintf("%s on node %d (%s)", text, x.Node, place(x.Stmt))
	holds, err := p.holds(x)
	if err != nil {
		text += ": " + err.Error()
	} else if !holds {
		return
	}
	if p.hits.Add(1) < int64(p.hit) {
		return
	}
	if p.log != "" {
		d.log(fmt.Sprintf("%s: %s", text, p.logText(x)))
		return
	}
	if p.once {
		d.points = slices.DeleteFunc(d.points, func(o *Point) bool { return o == p })
	}
	d.stop(Stop{Reason: Breakpoint, Text: text, CF: x.CF, Break: p.ID})
}

func (d *Debugger) log(line string) {
	if d.opt.Log != nil {
		d.opt.Log(line)
	}
}

func place(st *luna.Stmt) string {
	return fmt.Sprintf("%s:%d", filepath.Base(st.Pos.File), st.Pos.Line)
}

func (d *Debugger) isHeld(x *engine.Execution) bool {
	return x.Point == engine.AtStart && slices.ContainsFunc(d.holds, func(p *Point) bool { return p.matchesCF(x) })
}

// Started implements engine.Gate.
func (d *Debugger) Started(x *engine.Execution) {
	if x.Stmt.Kind != luna.Atomic {
		d.parents[x.CF] = Frame{x.Name(), x.Stmt, x.Parent()}
	}
}

// Made implements engine.Gate.
func (d *Debugger) Made(x *engine.Execution) {
	var names []string
	for _, p := range d.points {
		if p.kind != dfMade {
			continue
		}
		if names == nil {
			for _, v := range x.Outputs() {
				names = append(names, v.Name)
			}
		}
		if m := p.matching(names); len(m) > 0 {
			d.hit(p, x, m)
		}
	}
}

// Done implements engine.Gate.
func (d *Debugger) Done(x *engine.Execution) []*engine.Execution {
	if x.Point == engine.AtStart && d.stepping == x.CF {
		d.stop(Stop{Reason: Stepped, Text: "a CF of " + x.Stmt.Text + " has ended (" + place(x.Stmt) + ")", CF: x.CF})
	}
	return nil
}

// Quiet implements engine.Gate.
func (d *Debugger) Quiet() ([]*engine.Execution, bool) {
	if s := d.asked.Swap(nil); s != nil {
		d.stop(*s)
	}
	switch {
	case d.stepping != 0:
		d.stop(Stop{Reason: Stepped, Text: "it waits for its inputs", CF: d.stepping})
	case len(d.kept) > 0 && !d.paused:
		d.stop(Stop{Reason: Held, Text: fmt.Sprintf("%d held CFs are all that can go on", len(d.kept))})
	case len(d.kept) == 0 && !d.toldStuck:
		if left := d.ctl.Left(); left != nil {
			d.toldStuck = true
			d.paused = false
			d.stop(Stop{Reason: Stuck, Text: left.Error(), CF: left.CFs[0].ID})
		}
	}
	return nil, len(d.kept) > 0 || d.paused && (d.toldStuck || d.since != 0 && d.ctl.Left() != nil)
}

// Pause stops the program.
func (d *Debugger) Pause() error {
	return d.do(func() []*engine.Execution {
		d.stop(Stop{Reason: Paused, Text: "paused"})
		return nil
	})
}

// Continue lets everything go on that is not held.
func (d *Debugger) Continue() error {
	return d.do(func() (list []*engine.Execution) {
		d.paused = false
		d.resumeClock()
		return d.takeKept(func(x *engine.Execution) bool { return !d.isHeld(x) })
	})
}

// takeKept takes kept executions that are to go on.
func (d *Debugger) takeKept(which func(*engine.Execution) bool) (list []*engine.Execution) {
	d.kept = slices.DeleteFunc(d.kept, func(x *engine.Execution) bool {
		if !which(x) {
			return false
		}
		x.Worker = engine.AnyWorker
		list = append(list, x)
		return true
	})
	return list
}

// ErrNothing says that no CF can make a step.
var ErrNothing = errors.New("no CF is about to go on")

// Step lets one kept CF go on to the end of its execution: the one named by its id, or, for 0, the one that has
// been kept longest and is not held. node and worker say where: -1 for any.
func (d *Debugger) Step(cf trace.CF, node, worker int) (err error) {
	failed := d.do(func() []*engine.Execution {
		i := slices.IndexFunc(d.kept, func(x *engine.Execution) bool {
			return (cf == x.CF || cf == 0 && !d.isHeld(x)) && (node < 0 || x.Node == node)
		})
		if i < 0 {
			err = ErrNothing
			return nil
		}
		x := d.kept[i]
		d.kept = slices.Delete(d.kept, i, i+1)
		x.Worker = worker
		d.resumeClock()
		d.stepping = x.CF
		return []*engine.Execution{x}
	})
	return cmp.Or(failed, err)
}

// Let lets one kept CF go on, held or not, and nothing else.
func (d *Debugger) Let(cf trace.CF) (err error) {
	failed := d.do(func() []*engine.Execution {
		list := d.takeKept(func(x *engine.Execution) bool { return x.CF == cf })
		if len(list) == 0 {
			err = ErrNothing
		}
		return list
	})
	return cmp.Or(failed, err)
}

// Hold keeps the CFs that a pattern names, such as step or step[3][*], until Release.
func (d *Debugger) Hold(pattern string) error {
	p, err := parse(d.opt.Program, pattern)
	if err == nil && (p.kind != cfStarts || p.condition != nil || p.log != "" || p.hit > 1) {
		err = fmt.Errorf("%s: CFs are held by name: CODE or LABEL[3][*]", pattern)
	}
	if err != nil {
		return err
	}
	return d.do(func() []*engine.Execution {
		d.holds = append(d.holds, p)
		return nil
	})
}

// Release ends Hold of that pattern.
func (d *Debugger) Release(pattern string) (err error) {
	failed := d.do(func() []*engine.Execution {
		n := len(d.holds)
		d.holds = slices.DeleteFunc(d.holds, func(p *Point) bool { return p.Text == pattern })
		if n == len(d.holds) {
			err = fmt.Errorf("%s is not held", pattern)
		}
		if d.paused {
			return nil
		}
		return d.takeKept(func(x *engine.Execution) bool { return !d.isHeld(x) })
	})
	return cmp.Or(failed, err)
}

// Break sets a breakpoint; see Point for what may be said. It returns its number.
func (d *Debugger) Break(text string) (int, error) {
	p, err := parse(d.opt.Program, text)
	if err != nil {
		return 0, err
	}
	return p.ID, d.do(func() []*engine.Execution {
		d.last++
		p.ID = d.last
		d.points = append(d.points, p)
		d.publish()
		return nil
	})
}

// Until is Continue up to a breakpoint that is there once.
func (d *Debugger) Until(text string) error {
	p, err := parse(d.opt.Program, text)
	if err != nil {
		return err
	}
	p.once = true
	if err := d.do(func() []*engine.Execution {
		d.points = append(d.points, p)
		d.publish()
		return nil
	}); err != nil {
		return err
	}
	return d.Continue()
}

// Clear removes a breakpoint, or with 0 all.
func (d *Debugger) Clear(id int) (err error) {
	failed := d.do(func() []*engine.Execution {
		n := len(d.points)
		d.points = slices.DeleteFunc(d.points, func(p *Point) bool { return id == 0 || p.ID == id })
		if id != 0 && n == len(d.points) {
			err = fmt.Errorf("there is no breakpoint %d", id)
		}
		d.publish()
		return nil
	})
	return cmp.Or(failed, err)
}

// Points gives the breakpoints.
func (d *Debugger) Points() (list []*Point, err error) {
	err = d.do(func() []*engine.Execution {
		list = slices.Clone(d.points)
		return nil
	})
	return list, err
}

// CFs gives the CFs that exist, as many as most.
func (d *Debugger) CFs(most int) (list []engine.CFState, err error) {
	err = d.do(func() []*engine.Execution {
		list = d.ctl.CFs(most)
		return nil
	})
	return list, err
}

// Look calls f with a kept execution: with its inputs, and the numbers that its code sees.
func (d *Debugger) Look(cf trace.CF, f func(x *engine.Execution)) (err error) {
	failed := d.do(func() []*engine.Execution {
		i := slices.IndexFunc(d.kept, func(x *engine.Execution) bool { return x.CF == cf })
		if i < 0 {
			err = errors.New("that CF is not kept: only the inputs of kept CFs can be seen")
			return nil
		}
		f(d.kept[i])
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

// DFs calls f for the DFs whose name, without indices, or with them, is name; "" for all.
func (d *Debugger) DFs(name string, f func(*engine.DFState) bool) error {
	return d.do(func() []*engine.Execution {
		d.ctl.DFs(func(s *engine.DFState) bool {
			if base, _, _ := strings.Cut(s.Name, "["); name != "" && name != s.Name && name != base && name != s.ID {
				return true
			}
			return f(s)
		})
		return nil
	})
}

// SetDF changes a stored DF for all that request it from now on.
func (d *Debugger) SetDF(name, text string) error {
	return d.change(name, func(t cpp.Type) (cpp.Value, error) { return parseValue(text, t) }, text)
}

func (d *Debugger) change(name string, value func(cpp.Type) (cpp.Value, error), text string) (err error) {
	failed := d.do(func() []*engine.Execution {
		typ, was, found := cpp.Unset, "", false
		d.ctl.DFs(func(s *engine.DFState) bool {
			if s.Stored && (s.Name == name || s.ID == name) {
				typ, was, found = s.Value.Type, Text(s.Value), true
			}
			return !found
		})
		if !found {
			err = fmt.Errorf("%s: %w", name, engine.ErrNoDF)
			return nil
		}
		var v cpp.Value
		if v, err = value(typ); err == nil {
			if err = d.ctl.SetDF(name, v); err == nil {
				d.changed = append(d.changed, fmt.Sprintf("%s: %s instead of %s", name, text, was))
			}
		}
		return nil
	})
	return cmp.Or(failed, err)
}

// SetInput changes an input of a kept CF, for it alone.
func (d *Debugger) SetInput(cf trace.CF, name, text string) (err error) {
	failed := d.Look(cf, func(x *engine.Execution) {
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
				d.changed = append(d.changed, fmt.Sprintf("%s as an input of %s: %s instead of %s", name, x.Name(), text,
					was))
			}
			return
		}
		err = fmt.Errorf("%s has no input %s", x.Name(), name)
	})
	return cmp.Or(failed, err)
}

// ReleaseAll ends all holds.
func (d *Debugger) ReleaseAll() error {
	return d.do(func() []*engine.Execution {
		d.holds = nil
		return nil
	})
}
