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
// However many CFs are queued, a stop takes few of them from the queues (mostKept), and going on looks at
// these alone.
//
// # Many processes
//
// Each process of a run under MPI has a debugger for the CFs and DFs there. That of node 0 is the one that
// people talk to: see ranks.go.
//
// All fields below mu are guarded by the engine, which asks one question at a time; methods that come from
// outside use Control.Do for that.
package debug

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// Reason is why a program stopped.
type Reason string

// Reasons.
const (
	Entry      Reason = "entry"      // it is about to begin
	Paused     Reason = "pause"      // somebody asked for it
	Reached    Reason = "until"      // the time, or the wait, that it was to go on to
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
	Node   int      // of the CF, and the worker
	Worker int
	Break  int // number of the breakpoint

	once string // the text of a breakpoint that is there once
}

// ErrEnded says that the run is over.
var ErrEnded = errors.New("the run is over")

// changeFields are those of DebugEvents.onChanged: the DF, the CF that alone gets the new value or - for all
// that request it later, and both values.
var changeFields = []trace.Field{{Name: "df", Type: trace.FieldDF}, {Name: "cf", Type: trace.FieldCF},
	{Name: "was", Type: trace.FieldName}, {Name: "is", Type: trace.FieldName}}

// Options of a debugger.
type Options struct {
	Program *luna.Program
	Session *prof.Session // tells of DFs that are sent, received and dropped; nil: nobody does
	Under   engine.Gate   // decides about the order of what the debugger lets go on; nil: the engine alone
	Saved   *Saved        // keeps breakpoints and holds for the next time; nil: nobody does
	AtEntry bool          // stop before the program begins
	Node    int           // of many processes: the one that is here
	Nodes   int           // how many processes there are; 0 or 1: this one alone
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
	entering  bool  // it has not been told that the program stopped before it begins
	began     int64 // clock ns
	since     int64 // when the program stopped, clock ns; 0: it runs
	stopped   []trace.Span
	changed   []string
	onChanged *prof.UserEvent                // onChanged; nil: there is no session
	kept      []*engine.Execution            // in the order in which they came, but for
	held      []*engine.Execution            // those that a hold keeps
	came      int                            // how many were kept since the stop, and are
	unseen    map[trace.CF]bool              // kept, and breakpoints were not looked at
	later     map[trace.CF]*engine.Execution // that Under keeps
	points    []*Point
	last      atomic.Int64 // number of the last point
	holds     []*Point
	firsts    []*Point // of CFs that are to end before others begin
	moves     []move
	underWay  map[trace.CF]underWay
	stepping  trace.CF
	named     bool  // the step is of that CF, held or not
	until     int64 // when to stop, ns after the start (see ran); 0: never
	timer     *time.Timer
	toldStuck bool
	goesOn    chan struct{} // closed when the program goes on; nil: it runs
	parents   map[trace.CF]Frame
	untilWait atomic.Bool // stop at the next wait
	restored  []string    // what was said about it, see Restored
	ranks     *ranks      // nil: this is the only process
}

// Frame is a structured CF that created others.
type Frame struct {
	Name   string
	Stmt   *luna.Stmt `json:"-"`
	Parent trace.CF
}

// New makes a debugger, to be given to engine.Config.Gate.
func New(ctx context.Context, o Options) (*Debugger, error) {
	d := &Debugger{opt: o, stops: make(chan Stop, 1), ready: make(chan struct{}), ended: make(chan struct{}),
		wanted: make(chan struct{}, 1), parents: map[trace.CF]Frame{}, unseen: map[trace.CF]bool{},
		later: map[trace.CF]*engine.Execution{}, underWay: map[trace.CF]underWay{}}
	if o.Nodes > 1 {
		d.ranks = newRanks(o.Nodes)
	}
	d.restore()
	if o.Session == nil {
		return d, nil
	}
	for k, event := range map[kind][2]string{dfSent: {"DFEvents", "onSent"},
		dfReceived: {"DFEvents", "onReceived"}, dfDropped: {"DFEvents", "onDropped"},
		duplicate: {"DFEvents", "onDuplicate"}, cfWaits: {"CFEvents", "onWaiting"}} {
		err := o.Session.ConnectAny(event[0], event[1], "debugger", 0, func(s *prof.Stream, a *prof.Any) {
			d.happened(ctx, k, s.Node(), a)
		})
		if err != nil {
			return nil, err
		}
	}
	var err error
	if d.onChanged, err = o.Session.Define("DebugEvents", "onChanged", changeFields...); err != nil {
		return nil, err
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
	d.hand(Stop{Reason: Ended, Text: "the run is over"})
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

// tell tells of a stop.
func (d *Debugger) tell(s Stop) {
	if d.ranks == nil {
		d.hand(s)
		return
	}
	d.report(event{Stop: &s, Once: s.once})
}

// hand hands a stop over; the one before was taken, or is replaced.
func (d *Debugger) hand(s Stop) {
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
	d.halt()
	d.tell(s)
}

// halt stops the program without a word.
func (d *Debugger) halt() {
	d.stepping, d.until = 0, 0
	d.untilWait.Store(false)
	if d.timer != nil {
		d.timer.Stop()
	}
	d.pauseClock()
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

// ran is for how long the program has run, without the time at which it was stopped, in ns.
func (d *Debugger) ran() int64 {
	now := clock.Now()
	if d.since != 0 {
		now = d.since
	}
	for _, v := range d.stopped {
		now -= v.To - v.From
	}
	return now - d.began
}

// Begin implements engine.Gate.
func (d *Debugger) Begin(c *engine.Control) {
	d.ctl, d.began = c, clock.Now()
	if d.opt.Under != nil {
		d.opt.Under.Begin(c)
	}
	if d.opt.AtEntry {
		d.entering = d.opt.Node == 0 // where the first CF is
		d.pauseClock()
	}
	close(d.ready)
	if d.ranks != nil {
		go d.serveRanks()
	}
}

// Pass implements engine.Gate.
func (d *Debugger) Pass(x *engine.Execution) (bool, []*engine.Execution) {
	if d.entering { // it is told only now, so that there is a CF that can make a step
		d.entering = false
		defer d.tell(Stop{Reason: Entry, Text: "before the program begins"})
	}
	if d.opt.Under == nil {
		return d.admit(x), nil
	}
	pass, others := d.opt.Under.Pass(x)
	if pass {
		return d.admit(x), d.admitted(others)
	}
	d.later[x.CF] = x
	return false, d.admitted(others)
}

// admitted are those of the executions, whose turn has come, that go on.
func (d *Debugger) admitted(list []*engine.Execution) (goOn []*engine.Execution) {
	for _, x := range list {
		delete(d.later, x.CF)
		if d.admit(x) {
			goOn = append(goOn, x)
		}
	}
	return goOn
}

// admit reports whether an execution, whose turn has come, goes on; else it is kept.
func (d *Debugger) admit(x *engine.Execution) bool {
	if d.stepping != 0 && x.CF == d.stepping && (d.named || !d.isHeld(x)) {
		return true
	}
	d.stopIfAsked()
	d.timeIsUp()
	came, moved := d.underWay[x.CF]
	goes := d.goes(x, !came.looked)
	if !goes {
		d.keep(x)
	}
	if moved {
		delete(d.underWay, x.CF)
		close(came.here)
	}
	return goes
}

// goes reports whether an execution goes on, after a look at the breakpoints, unless that was done before.
func (d *Debugger) goes(x *engine.Execution, unseen bool) bool {
	if !d.paused {
		if d.sent(x) {
			return true
		}
		if unseen {
			d.reach(x)
			unseen = false
		}
	}
	if unseen {
		d.unseen[x.CF] = true
	}
	return !d.paused && !d.isHeld(x) && !d.comesAfter(x)
}

// mostKept is how many CFs a stop takes from the queues of a process.
const mostKept = 10_000

// keep keeps an execution. Once a stop has enough of them, the queues are left alone.
func (d *Debugger) keep(x *engine.Execution) {
	if d.isHeld(x) {
		d.held = append(d.held, x)
	} else {
		d.kept = append(d.kept, x)
	}
	if d.paused {
		d.came++
		d.leaveQueued()
	}
}

func (d *Debugger) leaveQueued() { d.ctl.LeaveQueued(d.paused && d.came >= mostKept) }

// find finds a kept execution, in one of the lists.
func (d *Debugger) find(fits func(x *engine.Execution) bool) (list *[]*engine.Execution, at int) {
	for _, list := range []*[]*engine.Execution{&d.kept, &d.held} {
		if i := slices.IndexFunc(*list, fits); i >= 0 {
			return list, i
		}
	}
	return nil, -1
}

// take takes a kept execution of a CF out of its list; nil: it is not kept.
func (d *Debugger) take(cf trace.CF) *engine.Execution {
	return d.takeAt(d.find(func(x *engine.Execution) bool { return x.CF == cf }))
}

func (d *Debugger) takeAt(list *[]*engine.Execution, at int) *engine.Execution {
	if list == nil {
		return nil
	}
	x := (*list)[at]
	*list = slices.Delete(*list, at, at+1)
	delete(d.unseen, x.CF)
	d.came--
	d.leaveQueued()
	return x
}

// letGo lets what is kept go on, in the order in which it came, up to a stop.
func (d *Debugger) letGo() (list []*engine.Execution) {
	all := d.kept
	d.kept, d.came = nil, 0
	for _, x := range all {
		unseen := d.unseen[x.CF]
		delete(d.unseen, x.CF)
		if !d.goes(x, unseen) {
			d.keep(x)
			continue
		}
		list = append(list, d.anywhere(x))
	}
	d.leaveQueued()
	return list
}

// anywhere lets an execution go on at any worker, unless the order says at which.
func (d *Debugger) anywhere(x *engine.Execution) *engine.Execution {
	if d.opt.Under == nil {
		x.Worker = engine.AnyWorker
	}
	return x
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
	s := Stop{Reason: Breakpoint, Text: text, CF: x.CF, Node: x.Node, Worker: x.Worker, Break: p.ID}
	if p.once {
		s.once = p.Text
		d.points = slices.DeleteFunc(d.points, func(o *Point) bool { return o == p })
	}
	d.stop(s)
}

// log has a line shown.
func (d *Debugger) log(line string) {
	switch {
	case d.ranks != nil && d.opt.Node != 0:
		d.report(event{Log: line})
	case d.opt.Log != nil:
		d.opt.Log(line)
	}
}

func place(st *luna.Stmt) string {
	return fmt.Sprintf("%s:%d", filepath.Base(st.Pos.File), st.Pos.Line)
}

func (d *Debugger) isHeld(x *engine.Execution) bool {
	return x.Point == engine.AtStart &&
		slices.ContainsFunc(d.holds, func(p *Point) bool { return p.matchesCF(x) })
}

// Started implements engine.Gate.
func (d *Debugger) Started(x *engine.Execution) {
	if d.opt.Under != nil {
		d.opt.Under.Started(x)
	}
	if x.Stmt.Kind != luna.Atomic {
		d.parents[x.CF] = Frame{x.Name(), x.Stmt, x.Parent()}
		return
	}
	for _, p := range d.firsts {
		if p.first == 0 && p.matchesCF(x) {
			p.first = x.CF
			return
		}
	}
}

// Made implements engine.Gate.
func (d *Debugger) Made(x *engine.Execution) {
	if d.opt.Under != nil {
		d.opt.Under.Made(x)
	}
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
func (d *Debugger) Done(x *engine.Execution) (list []*engine.Execution) {
	if x.Point == engine.AtStart && d.stepping == x.CF {
		d.stop(Stop{Reason: Stepped, Text: "a CF of " + x.Stmt.Text + " has ended (" + place(x.Stmt) + ")",
			CF: x.CF, Node: x.Node, Worker: x.Worker})
	}
	if d.opt.Under != nil {
		list = d.admitted(d.opt.Under.Done(x))
	}
	if d.endsFirst(x) && !d.paused {
		list = append(list, d.letGo()...)
	}
	return list
}

// Quiet implements engine.Gate.
func (d *Debugger) Quiet() ([]*engine.Execution, bool) {
	d.stopIfAsked()
	if !d.paused {
		if list := d.next(); len(list) > 0 {
			return list, false
		}
	}
	switch {
	case d.stepping != 0:
		d.stepWaits()
	case d.keeps() > 0 && !d.paused:
		d.stop(onlyHeld(d.keeps()))
	case d.keeps()+len(d.later) == 0 && !d.toldStuck:
		if left := d.ctl.Left(); left != nil {
			d.toldStuck = true
			d.paused = false
			d.stop(stuck(left))
		}
	}
	return nil, d.keeps() > 0 ||
		d.paused && (len(d.later) > 0 || d.toldStuck || d.since != 0 && d.ctl.Left() != nil)
}

// keeps is how many CFs are kept.
func (d *Debugger) keeps() int { return len(d.kept) + len(d.held) }

// stepWaits ends a step of a CF that cannot go on.
func (d *Debugger) stepWaits() {
	why := "it waits for its inputs, or for its turn"
	if _, at := d.find(func(x *engine.Execution) bool { return x.CF == d.stepping }); at >= 0 {
		why = "it is held"
	}
	d.stop(Stop{Reason: Stepped, Text: why, CF: d.stepping})
}

func onlyHeld(n int) Stop {
	return Stop{Reason: Held, Text: words.Plural(int64(n), "held CF is all that can go on",
		"held CFs are all that can go on")}
}

func stuck(left *engine.StuckError) Stop {
	return Stop{Reason: Stuck, Text: left.Error(), CF: left.CFs[0].ID}
}

// next is what goes on where nothing else does: what an order has next, or one of those that wait for another
// to be first.
func (d *Debugger) next() []*engine.Execution {
	for d.opt.Under != nil && !d.paused {
		others, _ := d.opt.Under.Quiet()
		if list := d.admitted(others); len(list) > 0 {
			return list
		}
		if len(others) == 0 {
			break
		}
	}
	i := slices.IndexFunc(d.kept, func(x *engine.Execution) bool { return !d.isHeld(x) })
	if i < 0 || d.paused {
		return nil
	}
	return []*engine.Execution{d.anywhere(d.takeAt(&d.kept, i))}
}
