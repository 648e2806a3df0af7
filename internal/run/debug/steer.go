package debug

// How the program is told to go on, and where to stop.

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/trace"
)

// Pause stops the program.
func (d *Debugger) Pause() error {
	s := Stop{Reason: Paused, Text: "paused"}
	if d.ranks != nil {
		return d.pauseAll(s)
	}
	return d.do(func() []*engine.Execution {
		d.stop(s)
		return nil
	})
}

// Continue lets everything go on that is not held.
func (d *Debugger) Continue() error { return d.going(order{Op: opContinue}) }

// goOn lets everything go on that is not held, up to a stop.
func (d *Debugger) goOn() []*engine.Execution {
	d.paused = false
	d.resumeClock()
	return d.letGo()
}

// ErrNothing says that no CF can make a step.
var ErrNothing = errors.New("no CF is about to go on")

// Step lets one kept CF go on to the end of its execution: the one named by its id, or, for 0, the one that
// has been kept longest and is not held, of a node, or of those that a worker was about to go on with. node
// and worker are -1 for any.
func (d *Debugger) Step(cf trace.CF, node, worker int) error {
	o := order{Op: opStep, CF: cf, Node: node, Worker: worker}
	if d.ranks != nil {
		return d.stepOne(o)
	}
	_, err := d.obey(o)
	return err
}

func (d *Debugger) step(cf trace.CF, node, worker int) (err error) {
	failed := d.do(func() []*engine.Execution {
		fits := func(x *engine.Execution) bool {
			return (cf == x.CF || cf == 0 && !d.isHeld(x)) && (node < 0 || x.Node == node)
		}
		list, at := d.find(func(x *engine.Execution) bool { return fits(x) && x.Worker == worker })
		if at < 0 {
			list, at = d.find(fits)
		}
		x := d.takeAt(list, at)
		if x == nil {
			if err = ErrNothing; d.later[cf] != nil {
				err = errors.New("its turn in the recorded order has not come")
			}
			return nil
		}
		if d.anywhere(x); worker >= 0 {
			x.Worker = worker
		}
		d.resumeClock()
		d.stepping, d.named = x.CF, cf != 0
		return []*engine.Execution{x}
	})
	return cmp.Or(failed, err)
}

// Let lets one kept CF go on, held or not, and nothing else.
func (d *Debugger) Let(cf trace.CF) error {
	_, err := d.one(order{Op: opLet, CF: cf})
	return err
}

func (d *Debugger) let(cf trace.CF) (err error) {
	failed := d.do(func() []*engine.Execution {
		x := d.take(cf)
		if x == nil {
			err = ErrNothing
			return nil
		}
		return []*engine.Execution{d.anywhere(x)}
	})
	return cmp.Or(failed, err)
}

// cfs reads a pattern of CFs, such as step or step[3][*].
func (d *Debugger) cfs(pattern string) (*Point, error) {
	p, err := parse(d.opt.Program, pattern)
	if err == nil && (p.kind != cfStarts || p.condition != nil || p.log != "" || p.hit > 1) {
		err = fmt.Errorf("%s: CFs are named by CODE, LABEL[3][*] or FILE:LINE alone", pattern)
	}
	return p, err
}

// Hold keeps the CFs that a pattern names, such as step or step[3][*], until Release.
func (d *Debugger) Hold(pattern string) error { return d.all(order{Op: opHold, Text: pattern}) }

func (d *Debugger) hold(pattern string) error {
	p, err := d.cfs(pattern)
	if err != nil {
		return err
	}
	return d.saving(func() []*engine.Execution {
		if !slices.ContainsFunc(d.holds, func(h *Point) bool { return h.Text == p.Text }) {
			d.holds = append(d.holds, p)
		}
		return nil
	})
}

// First has the CF that a pattern names run before all others that have not started: they start when it has
// ended. What it needs is made before, by one CF after the other.
func (d *Debugger) First(pattern string) error { return d.all(order{Op: opFirst, Text: pattern}) }

func (d *Debugger) first(pattern string) error {
	p, err := d.cfs(pattern)
	if err != nil {
		return err
	}
	return d.do(func() []*engine.Execution {
		d.firsts = append(d.firsts, p)
		return nil
	})
}

// comesAfter reports whether an execution waits for another to be first.
func (d *Debugger) comesAfter(x *engine.Execution) bool {
	return len(d.firsts) > 0 && x.Point == engine.AtStart && x.Stmt.Kind == luna.Atomic &&
		!slices.ContainsFunc(d.firsts, func(p *Point) bool { return p.matchesCF(x) })
}

// endsFirst reports whether the last of those that were to be first has ended.
func (d *Debugger) endsFirst(x *engine.Execution) bool {
	if len(d.firsts) == 0 || x.Point != engine.AtStart || x.Stmt.Kind != luna.Atomic {
		return false
	}
	i := slices.IndexFunc(d.firsts, func(p *Point) bool { return p.first == x.CF })
	if i < 0 {
		return false
	}
	if d.ranks != nil {
		d.report(event{First: d.firsts[i].Text})
	}
	d.firsts = slices.Delete(d.firsts, i, i+1)
	return len(d.firsts) == 0
}

// endedFirst has those go on that waited for a CF, which has ended in another process.
func (d *Debugger) endedFirst(pattern string) error {
	return d.do(func() []*engine.Execution {
		i := slices.IndexFunc(d.firsts, func(p *Point) bool { return p.Text == pattern })
		if i < 0 {
			return nil
		}
		if d.firsts = slices.Delete(d.firsts, i, i+1); len(d.firsts) > 0 || d.paused {
			return nil
		}
		return d.letGo()
	})
}

// move is a rule: CFs that have not started go to a node.
type move struct {
	*Point
	to int
}

// Move has CFs that have not started run at another node: the kept one of that id, or all that a pattern
// names and that are not there yet. Their inputs go along; what they make is stored where their locators say.
func (d *Debugger) Move(cf trace.CF, pattern string, to int) error {
	o := order{Op: opMove, CF: cf, Text: pattern, Node: to}
	if cf == 0 {
		return d.all(o)
	}
	return d.moveOne(o)
}

// move gives 1 if breakpoints were looked at for the CF.
func (d *Debugger) move(cf trace.CF, pattern string, to int) (looked int, err error) {
	if d.opt.Under != nil {
		return 0, errors.New("the order says where CFs run")
	}
	var p *Point
	here := make(chan struct{})
	if cf == 0 {
		if p, err = d.cfs(pattern); err != nil {
			return 0, err
		}
	}
	failed := d.do(func() []*engine.Execution {
		if cf != 0 {
			list, at := d.find(func(x *engine.Execution) bool { return x.CF == cf })
			if at < 0 {
				close(here)
				err = ErrNothing
				return nil
			}
			x := (*list)[at]
			if err = x.MoveTo(to); err != nil || to == x.Node {
				close(here)
				return nil
			}
			if d.ranks != nil {
				close(here) // moveOne waits for it
			} else {
				d.underWay[cf] = underWay{!d.unseen[cf], here}
			}
			if !d.unseen[cf] {
				looked = 1
			}
			return []*engine.Execution{d.anywhere(d.takeAt(list, at))}
		}
		close(here)
		switch {
		case d.ctl.HasNode(to) != nil:
			err = d.ctl.HasNode(to)
		case !slices.ContainsFunc(d.opt.Program.Stmts, func(st *luna.Stmt) bool {
			return p.matchesStmt(d.opt.Program, st) && engine.Movable(st)
		}):
			err = engine.ErrStays
		default:
			d.moves = append(d.moves, move{p, to})
		}
		return nil
	})
	if failed == nil { // it is kept again when it has arrived, unless the program has gone on meanwhile
		select {
		case <-here:
		case <-d.ended:
		case <-time.After(time.Second):
		}
	}
	return looked, cmp.Or(failed, err)
}

// underWay is a kept CF on its way to another node.
type underWay struct {
	looked bool          // at the breakpoints
	here   chan struct{} // closed when it is kept there
}

// sent sends an execution to the node where a rule wants it, if it is not there.
func (d *Debugger) sent(x *engine.Execution) bool {
	for _, m := range slices.Backward(d.moves) {
		if m.matchesCF(x) {
			return m.to != x.Node && x.MoveTo(m.to) == nil
		}
	}
	return false
}

// Release ends Hold of that pattern.
func (d *Debugger) Release(pattern string) error { return d.all(order{Op: opRelease, Text: pattern}) }

func (d *Debugger) release(pattern string) (err error) {
	failed := d.saving(func() []*engine.Execution {
		n := len(d.holds)
		d.holds = slices.DeleteFunc(d.holds, func(p *Point) bool { return p.Text == pattern })
		if n == len(d.holds) {
			err = fmt.Errorf("%s is not held", pattern)
		}
		d.held = slices.DeleteFunc(d.held, func(x *engine.Execution) bool {
			held := d.isHeld(x)
			if !held {
				d.kept = append(d.kept, x)
			}
			return !held
		})
		if d.paused {
			return nil
		}
		return d.letGo()
	})
	return cmp.Or(failed, err)
}

// Break sets a breakpoint; see Point for what may be said. It returns its number.
func (d *Debugger) Break(text string) (int, error) { return d.breakAt(text, false) }

// BreakNow is Break, but it is not saved for the next time: who asks for it will ask again.
func (d *Debugger) BreakNow(text string) (int, error) { return d.breakAt(text, true) }

func (d *Debugger) breakAt(text string, fleeting bool) (int, error) {
	if _, err := parse(d.opt.Program, text); err != nil {
		return 0, err
	}
	id := int(d.last.Add(1))
	return id, d.all(order{Op: opBreak, Text: text, Fleeting: fleeting, N: id})
}

func (d *Debugger) setBreak(text string, id int, fleeting bool) error {
	p, err := parse(d.opt.Program, text)
	if err != nil {
		return err
	}
	p.ID, p.fleeting = id, fleeting
	return d.saving(func() []*engine.Execution {
		d.points = append(d.points, p)
		d.publish()
		return nil
	})
}

// Until is Continue up to a breakpoint that is there once, up to a time after the program's start, such as
// 1.5ms, in which the time at which it was stopped does not count, or up to "wait": the next time a CF waits
// for a DF.
func (d *Debugger) Until(text string) error { return d.going(order{Op: opUntil, Text: text}) }

func (d *Debugger) goUntil(text string) error {
	if text == "wait" {
		if d.opt.Session == nil {
			return errors.New("waits are not recorded: CFEvents.onWaiting is off")
		}
		d.untilWait.Store(true)
		return d.do(d.goOn)
	}
	if t, err := time.ParseDuration(text); err == nil {
		if d.opt.Node != 0 { // node 0 has the clock
			return d.do(d.goOn)
		}
		return d.untilTime(t)
	}
	p, err := parse(d.opt.Program, text)
	if err != nil {
		return err
	}
	p.once = true
	return d.do(func() []*engine.Execution {
		d.points = append(d.points, p)
		d.publish()
		return d.goOn()
	})
}

// untilTime is Continue up to a time after the program's start.
func (d *Debugger) untilTime(t time.Duration) (err error) {
	failed := d.do(func() []*engine.Execution {
		left := int64(t) - d.ran()
		if left <= 0 {
			err = fmt.Errorf("the program has run for %v already", time.Duration(d.ran()))
			return nil
		}
		d.until = int64(t)
		d.timer = time.AfterFunc(time.Duration(left), func() {
			_ = d.do(func() []*engine.Execution { // the run may be over
				if left := d.timeIsUp(); left > 0 {
					d.timer.Reset(time.Duration(left))
				}
				return nil
			})
		})
		return d.goOn()
	})
	return cmp.Or(failed, err)
}

// timeIsUp stops the program at the time up to which it was to go on; else it gives the time left, if any.
func (d *Debugger) timeIsUp() (left int64) {
	if d.until == 0 || d.paused {
		return 0
	}
	if left = d.until - d.ran(); left <= 0 {
		d.stop(Stop{Reason: Reached, Text: fmt.Sprintf("the program has run for %v",
			time.Duration(d.ran()).Round(time.Microsecond))})
	}
	return left
}

// Clear removes a breakpoint, or with 0 all.
func (d *Debugger) Clear(id int) error { return d.all(order{Op: opClear, N: id}) }

func (d *Debugger) clear(id int) (err error) {
	failed := d.saving(func() []*engine.Execution {
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
	if err := d.countHits(); err != nil {
		return nil, err
	}
	err = d.do(func() []*engine.Execution {
		list = slices.Clone(d.points)
		return nil
	})
	return list, err
}

// Rules says, in lines, what else than breakpoints decides about CFs: holds, those that are to be first,
// moves.
func (d *Debugger) Rules() (list []string, err error) {
	err = d.do(func() []*engine.Execution {
		for _, p := range d.holds {
			list = append(list, "hold "+p.Text)
		}
		for _, p := range d.firsts {
			list = append(list, "first "+p.Text)
		}
		for _, m := range d.moves {
			list = append(list, fmt.Sprintf("move %s %d", m.Text, m.to))
		}
		return nil
	})
	return list, err
}

// LetGo ends all debugging: breakpoints, holds and moves are removed, and the program goes on. What is saved
// stays.
func (d *Debugger) LetGo() error { return d.going(order{Op: opLetGo}) }

func (d *Debugger) forgetAll() []*engine.Execution {
	d.points, d.holds, d.firsts, d.moves = nil, nil, nil, nil
	d.kept, d.held = append(d.kept, d.held...), nil
	d.publish()
	return d.goOn()
}
