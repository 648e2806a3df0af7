package debug

// A run of many processes. The debugger of node 0 is the one that people talk to. It has the others obey
// orders, one at a time, and waits for their answers; they tell it of events: stops, lines of logpoints, CFs
// that were to be first and have ended. It takes events one after the other:
//
//   - A stop stops all others, and is then told. Breakpoints that others reach before they know are told when
//     the program is next to go on: none is missed.
//   - Where nothing moves in any process (engine.ManyGate), every process is asked whether something can go
//     on there. If not, node 0 knows what is held, and what is left to do everywhere.
//
// Who gives orders holds ranks.mu. The engine asks the gate under a lock of its own, so reports never wait.

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/trace"
)

// event is what a process tells node 0.
type event struct {
	Stop  *Stop   `json:",omitempty"`
	Once  string  `json:",omitempty"` // with Stop: the breakpoint was there once
	First string  `json:",omitempty"` // a pattern of First, whose CF has ended
	Log   string  `json:",omitempty"`
	quiet []int64 // nothing moves; what Control.Acts was at each node
	node  int
}

// What a text between processes begins with.
const (
	anOrder  = 'o'
	anAnswer = 'a'
	anEvent  = 'e'
)

// ranks is what a debugger knows of the others.
type ranks struct {
	nodes   int
	orders  chan []byte // not of node 0: those that it is to obey
	answers chan []byte // of the node that was asked

	eventsMu sync.Mutex
	events   []event
	woken    chan struct{}

	mu        sync.Mutex // one order, or one event, at a time
	running   bool       // it was told to go on, and no stop was told since
	pending   []Stop     // that other processes made before they stopped
	entered   bool
	toldStuck bool
}

func newRanks(nodes int) *ranks {
	return &ranks{nodes: nodes, orders: make(chan []byte, 1024), answers: make(chan []byte, 1),
		woken: make(chan struct{}, 1), running: true}
}

// report tells node 0 of an event. It does not wait.
func (d *Debugger) report(e event) {
	r := d.ranks
	if d.opt.Node != 0 {
		text, _ := json.Marshal(e) // texts and numbers: it cannot fail
		d.ctl.Tell(0, append([]byte{anEvent}, text...))
		return
	}
	r.eventsMu.Lock()
	r.events = append(r.events, e)
	r.eventsMu.Unlock()
	select {
	case r.woken <- struct{}{}:
	default:
	}
}

// Heard implements engine.ManyGate.
func (d *Debugger) Heard(from int, text []byte) {
	if d.ranks == nil || len(text) == 0 {
		return
	}
	switch rest := text[1:]; text[0] {
	case anOrder:
		d.ranks.orders <- rest
	case anAnswer:
		d.ranks.answers <- rest
	case anEvent:
		e := event{node: from}
		if json.Unmarshal(rest, &e) == nil {
			d.report(e)
		}
	}
}

// AllQuiet implements engine.ManyGate.
func (d *Debugger) AllQuiet(acts []int64) { d.report(event{quiet: acts}) }

// serveRanks obeys the orders of node 0 or, there, takes what is reported, until the run is over.
func (d *Debugger) serveRanks() {
	select {
	case <-d.ready:
	case <-d.ended:
		return
	}
	r := d.ranks
	for {
		select {
		case <-d.ended:
			return
		case text := <-r.orders:
			var o order
			a := answer{}
			err := json.Unmarshal(text, &o)
			if err == nil {
				a, err = d.obey(o)
			}
			a.pack(err)
			packed, _ := json.Marshal(a) // texts, numbers and bytes: it cannot fail
			d.ctl.Tell(0, append([]byte{anAnswer}, packed...))
		case <-r.woken:
			r.mu.Lock()
			for _, e := range r.take() {
				if err := d.heed(e); err != nil && !errors.Is(err, ErrEnded) {
					d.log(err.Error())
				}
			}
			r.mu.Unlock()
		}
	}
}

func (r *ranks) take() []event {
	r.eventsMu.Lock()
	defer r.eventsMu.Unlock()
	list := r.events
	r.events = nil
	return list
}

// have has a process obey an order, and waits for its answer. ranks.mu is held.
func (d *Debugger) have(node int, o order) (a answer, err error) {
	if node == 0 {
		return d.obey(o)
	}
	text, _ := json.Marshal(o) // texts and numbers: it cannot fail
	d.ctl.Tell(node, append([]byte{anOrder}, text...))
	select {
	case text = <-d.ranks.answers:
	case <-d.ended:
		return a, ErrEnded
	}
	if err = json.Unmarshal(text, &a); err == nil {
		err = d.unpack(&a)
	}
	return a, err
}

// each has an order obeyed in all processes, here first, and calls f with the answers; the first error ends
// it.
func (d *Debugger) each(o order, f func(a *answer)) error {
	nodes := 1
	if d.ranks != nil {
		d.ranks.mu.Lock()
		defer d.ranks.mu.Unlock()
		nodes = d.ranks.nodes
	}
	return d.eachOf(nodes, o, f)
}

func (d *Debugger) eachOf(nodes int, o order, f func(a *answer)) error {
	if nodes > 1 {
		select { // the network comes with the program
		case <-d.ready:
		case <-d.ended:
			return ErrEnded
		}
	}
	for node := range nodes {
		a, err := d.have(node, o)
		if err != nil {
			return err
		}
		if f != nil {
			f(&a)
		}
	}
	return nil
}

// all is each without answers.
func (d *Debugger) all(o order) error { return d.each(o, nil) }

// one has the first process obey an order that can.
func (d *Debugger) one(o order) (a answer, err error) {
	if d.ranks == nil {
		return d.obey(o)
	}
	d.ranks.mu.Lock()
	defer d.ranks.mu.Unlock()
	a, _, err = d.firstOf(o)
	return a, err
}

func (d *Debugger) firstOf(o order) (a answer, node int, err error) {
	for node := range d.ranks.nodes {
		b, failed := d.have(node, o)
		if failed == nil {
			return b, node, d.noteLine(b.Line)
		}
		if err = cmp.Or(err, failed); !slices.ContainsFunc(notHere, func(e error) bool {
			return errors.Is(failed, e)
		}) {
			return a, node, failed
		}
	}
	return a, 0, err
}

// noteLine notes what was changed by hand, perhaps in another process.
func (d *Debugger) noteLine(line string) error {
	if line == "" {
		return nil
	}
	return d.do(func() []*engine.Execution {
		if !slices.Contains(d.changed, line) {
			d.changed = append(d.changed, line)
		}
		return nil
	})
}

// everyCopy has a DF changed wherever it is.
func (d *Debugger) everyCopy(o order) error {
	if d.ranks == nil {
		_, err := d.obey(o)
		return err
	}
	d.ranks.mu.Lock()
	defer d.ranks.mu.Unlock()
	missing, found := error(nil), false
	for node := range d.ranks.nodes {
		a, err := d.have(node, o)
		switch {
		case errors.Is(err, engine.ErrNoDF):
			missing = err
		case err != nil:
			return err
		default:
			found = true
			if err := d.noteLine(a.Line); err != nil {
				return err
			}
		}
	}
	if found {
		return nil
	}
	return missing
}

// going has the program go on.
func (d *Debugger) going(o order) error {
	r := d.ranks
	if r == nil {
		_, err := d.obey(o)
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if o.Op == opLetGo {
		r.pending = nil
	}
	if len(r.pending) > 0 {
		s := r.pending[0]
		r.pending = r.pending[1:]
		d.hand(s)
		return nil
	}
	if err := d.eachOf(r.nodes, o, nil); err != nil {
		return err
	}
	r.running = true
	d.ctl.LookAgain()
	return nil
}

// stepOne has one CF make a step, in whatever process it is.
func (d *Debugger) stepOne(o order) error {
	r := d.ranks
	r.mu.Lock()
	defer r.mu.Unlock()
	for node := range r.nodes {
		if o.Node >= 0 && node != o.Node {
			continue
		}
		_, err := d.have(node, o)
		if errors.Is(err, ErrNothing) {
			continue
		}
		if err != nil {
			return err
		}
		return d.stepsAt(node)
	}
	return ErrNothing
}

// stepsAt tells all that a CF of one process makes a step.
func (d *Debugger) stepsAt(node int) error {
	r := d.ranks
	r.running = true
	for other := range r.nodes {
		if other == node {
			continue
		}
		if _, err := d.have(other, order{Op: opClock}); err != nil {
			return err
		}
	}
	return nil
}

// pauseAll stops the program, unless it is stopped.
func (d *Debugger) pauseAll(s Stop) error {
	d.ranks.mu.Lock()
	defer d.ranks.mu.Unlock()
	if !d.ranks.running {
		return nil
	}
	return d.stopAll(s, "")
}

// stopAll stops all processes, and tells of it. once is a breakpoint that was there once.
func (d *Debugger) stopAll(s Stop, once string) error {
	r := d.ranks
	r.running = false
	if err := d.eachOf(r.nodes, order{Op: opHalt, Text: once}, nil); err != nil {
		return err
	}
	d.hand(s)
	return nil
}

// heed deals with an event.
func (d *Debugger) heed(e event) error {
	r := d.ranks
	switch {
	case e.Log != "":
		d.log(e.Log)
	case e.quiet != nil:
		return d.allQuiet(e.quiet)
	case e.First != "":
		for node := range r.nodes {
			if node == e.node {
				continue
			}
			if _, err := d.have(node, order{Op: opEnded, Text: e.First}); err != nil {
				return err
			}
		}
	case e.Stop != nil:
		if !r.entered {
			r.entered = true
			if err := d.passOn(); err != nil {
				return err
			}
		}
		if !r.running {
			if e.Stop.Reason == Breakpoint { // the others are over: one wait, one time is enough
				r.pending = append(r.pending, *e.Stop)
			}
			return nil
		}
		return d.stopAll(*e.Stop, e.Once)
	}
	return nil
}

// passOn brings what was saved to the others.
func (d *Debugger) passOn() error {
	var list []order
	if err := d.do(func() []*engine.Execution {
		for _, p := range d.points {
			list = append(list, order{Op: opBreak, Text: p.Text, N: p.ID})
		}
		for _, p := range d.holds {
			list = append(list, order{Op: opHold, Text: p.Text})
		}
		return nil
	}); err != nil {
		return err
	}
	for _, o := range list {
		for node := 1; node < d.ranks.nodes; node++ {
			if _, err := d.have(node, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// allQuiet finds out, where nothing moves, whether anything will.
func (d *Debugger) allQuiet(acts []int64) error {
	r := d.ranks
	kept, paused := 0, false
	for node := range r.nodes {
		a, err := d.have(node, order{Op: opQuiet, Acts: acts[node]})
		if err != nil || a.Quiet.Moved || a.Quiet.Stepping {
			return err
		}
		kept += a.Quiet.Kept
		paused = paused || a.Quiet.Paused
	}
	switch {
	case paused && r.running: // by a stop that is about to be told
		return nil
	case kept > 0 && r.running:
		return d.stopAll(onlyHeld(kept), "")
	case kept > 0:
		return nil
	}
	left, err := d.leftAnywhere()
	switch {
	case err != nil:
		return err
	case left != nil && !r.toldStuck:
		r.toldStuck = true
		return d.stopAll(stuck(left), "")
	case left == nil || r.running:
		d.ctl.Finish()
	}
	return nil
}

// leftAnywhere says which CFs are left over in all processes.
func (d *Debugger) leftAnywhere() (*engine.StuckError, error) {
	var list [][]byte
	err := d.eachOf(d.ranks.nodes, order{Op: opLeft}, func(a *answer) { list = append(list, a.Raw) })
	if err != nil {
		return nil, err
	}
	return d.ctl.LeftOf(list), nil
}

// Quit ends a run of many processes; its trace is kept.
func (d *Debugger) Quit() {
	select {
	case <-d.ready:
		d.ctl.Quit()
	case <-d.ended:
	}
}

// moveOne moves a kept CF, and waits until it is kept where it goes.
func (d *Debugger) moveOne(o order) error {
	a, err := d.one(o)
	if err != nil || d.ranks == nil {
		return err
	}
	for range 200 { // unless the program has gone on meanwhile
		list, err := d.States(1)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(list, func(s CFState) bool {
			return s.CF == o.CF && s.Node == o.Node && s.State == engine.StateKept
		}) {
			return d.all(order{Op: opSeen, CF: o.CF, N: a.N})
		}
		select {
		case <-d.ended:
			return ErrEnded
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}

// countHits learns how often breakpoints were reached in other processes.
func (d *Debugger) countHits() error {
	if d.ranks == nil {
		return nil
	}
	sum := map[int]int64{}
	first := true
	if err := d.each(order{Op: opHits}, func(a *answer) {
		if !first {
			for id, n := range a.Hits {
				sum[id] += n
			}
		}
		first = false
	}); err != nil {
		return err
	}
	return d.do(func() []*engine.Execution {
		for _, p := range d.points {
			p.elsewhere.Store(sum[p.ID])
		}
		return nil
	})
}

// dropOnce removes a breakpoint that was there once and was reached in some process.
func (d *Debugger) dropOnce(text string) {
	d.points = slices.DeleteFunc(d.points, func(p *Point) bool { return p.once && p.Text == text })
	d.publish()
}

// owner is the process that has a CF that is kept or waits.
func (d *Debugger) owner(cf trace.CF) (*Sight, int, error) {
	d.ranks.mu.Lock()
	defer d.ranks.mu.Unlock()
	a, node, err := d.firstOf(order{Op: opLook, CF: cf})
	return a.Sight, node, err
}

// gdbElsewhere attaches gdb in another process.
func (d *Debugger) gdbElsewhere(cf trace.CF, commands string, node int, line string) (string, error) {
	if commands == "" {
		return "", fmt.Errorf("its process has no terminal: give commands, such as gdb . bt; info args, or type on"+
			" the computer of node %d: %s", node, line)
	}
	d.ranks.mu.Lock()
	defer d.ranks.mu.Unlock()
	if err := d.stepsAt(node); err != nil {
		return "", err
	}
	a, err := d.have(node, order{Op: opGDB, CF: cf, Text: commands})
	return a.Text, err
}
