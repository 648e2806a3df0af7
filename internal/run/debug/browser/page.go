// Package browser lets people debug from the page. A Page has the state of the program for it, obeys its
// actions and answers its questions; internal/show/api brings them to the browser. web/src/api.ts says what
// they mean.
package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/whyslow/whyslow/internal/run/debug"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/trace"
)

// Phases of a program.
const (
	Starting = "starting" // it is about to begin
	Running  = "running"
	Stopped  = "stopped"
	Over     = "over"
)

// State is how a program stands.
type State struct {
	Version int    `json:"version"` // grows with every change
	Phase   string `json:"phase"`
	Reason  string `json:"reason"` // of the stop
	Text    string `json:"text"`   // of the stop, one line
	CF      string `json:"cf"`     // where it stopped; "": at none
	Node    int    `json:"node"`   // of that CF; -1: it stopped at none
	Worker  int    `json:"worker"` // likewise
	Break   int    `json:"break"`  // number of the breakpoint that was reached; 0: none

	Points  []point  `json:"points"`
	Holds   []string `json:"holds"`
	Firsts  []string `json:"firsts"`  // CFs that are to end before others begin
	Changes []string `json:"changes"` // values changed by hand
	Log     []string `json:"log"`     // the newest lines of logpoints
	Logged  int      `json:"logged"`  // how many there were
}

// point is a breakpoint.
type point struct {
	ID   int    `json:"id"`
	Text string `json:"text"`
	Hits int64  `json:"hits"`
}

// mostLog is how many lines of logpoints are kept.
const mostLog = 200

// Page debugs one run.
type Page struct {
	mu      sync.Mutex
	d       *debug.Debugger // nil: the run has not begun
	quit    func()
	state   State
	changed chan struct{} // closed when the state changes
	turns   int           // how often it was stopped or told to go on
}

// New makes a page of a run that has not begun.
func New() *Page {
	return &Page{changed: make(chan struct{}), state: State{Phase: Starting, Node: -1, Worker: engine.AnyWorker,
		Points: []point{}, Holds: []string{}, Firsts: []string{}, Changes: []string{}, Log: []string{}}}
}

// State gives the state, and a channel that is closed when there is another.
func (p *Page) State() (any, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.state
	s.Log = slices.Clone(s.Log)
	return s, p.changed
}

// change changes the state. Whoever calls must not wait for the engine in f: the engine may wait for Log.
func (p *Page) change(f func(s *State)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(&p.state)
	p.state.Version++
	close(p.changed)
	p.changed = make(chan struct{})
}

// Log shows a line of a logpoint.
func (p *Page) Log(line string) {
	p.change(func(s *State) {
		s.Logged++
		s.Log = append(s.Log, line)
		s.Log = slices.Clone(s.Log[max(0, len(s.Log)-mostLog):])
	})
}

// Serve tells of the stops of a run until it is over; quit ends it.
func (p *Page) Serve(d *debug.Debugger, quit func()) {
	p.mu.Lock()
	p.d, p.quit = d, quit
	p.mu.Unlock()
	for stop := range d.Stops() {
		p.change(func(s *State) {
			p.turns++
			s.Phase, s.Reason, s.Text, s.CF, s.Break = Stopped, string(stop.Reason), stop.Text, "", stop.Break
			s.Node, s.Worker = -1, engine.AnyWorker
			if stop.CF != 0 {
				s.CF, s.Node, s.Worker = stop.CF.String(), stop.Node, stop.Worker
			}
			if stop.Reason == debug.Ended {
				s.Phase = Over
			}
		})
		if stop.Reason == debug.Ended {
			return
		}
		p.tell(d)
	}
}

// tell brings what the debugger was told into the state.
func (p *Page) tell(d *debug.Debugger) {
	told, err := d.Told()
	if err != nil {
		return // the run is over, and the last state stays
	}
	points := []point{}
	for _, b := range told.Points {
		points = append(points, point{b.ID, b.Text, b.Hits()})
	}
	p.change(func(s *State) {
		s.Points = points
		s.Holds, s.Firsts = append([]string{}, told.Holds...), append([]string{}, told.Firsts...)
		s.Changes = append([]string{}, told.Changes...)
	})
}

// args are what an action is given.
type args struct {
	CF     string `json:"cf"`
	Node   *int   `json:"node"`   // nil: any
	Worker *int   `json:"worker"` // likewise
	Text   string `json:"text"`   // a breakpoint, or a pattern of CFs
	ID     int    `json:"id"`     // of a breakpoint
	DF     string `json:"df"`     // its name with indices, or its ID
	Value  string `json:"value"`
}

// actions are what the page may have done. Those that say so let the program go on.
var actions = map[string]struct {
	goes bool
	run  func(p *Page, d *debug.Debugger, a *args) error
}{
	"pause":    {false, func(_ *Page, d *debug.Debugger, _ *args) error { return d.Pause() }},
	"continue": {true, func(_ *Page, d *debug.Debugger, _ *args) error { return d.Continue() }},
	"step":     {true, step},
	"until":    {true, func(_ *Page, d *debug.Debugger, a *args) error { return d.Until(a.Text) }},
	"break": {false, func(_ *Page, d *debug.Debugger, a *args) error {
		_, err := d.Break(a.Text)
		return err
	}},
	"clear":   {false, func(_ *Page, d *debug.Debugger, a *args) error { return d.Clear(a.ID) }},
	"hold":    {false, func(_ *Page, d *debug.Debugger, a *args) error { return d.Hold(a.Text) }},
	"release": {false, func(_ *Page, d *debug.Debugger, a *args) error { return d.Release(a.Text) }},
	"let":     {false, let},
	"first":   {false, func(_ *Page, d *debug.Debugger, a *args) error { return d.First(a.Text) }},
	"move":    {false, move},
	"set":     {false, func(_ *Page, d *debug.Debugger, a *args) error { return d.SetDF(a.DF, a.Value) }},
	"input":   {false, input},
	"quit": {true, func(p *Page, _ *debug.Debugger, _ *args) error {
		p.quit()
		return nil
	}},
}

// Do has an action done, with arguments as JSON.
func (p *Page) Do(action string, text []byte) error {
	do, ok := actions[action]
	if !ok {
		return fmt.Errorf("%s: there is no such action", action)
	}
	a := &args{}
	if len(text) > 0 {
		if err := json.Unmarshal(text, a); err != nil {
			return fmt.Errorf("these are no arguments: %w", err)
		}
	}
	d, before, err := p.debugger()
	if err != nil {
		return err
	}
	if !do.goes {
		if err = do.run(p, d, a); err == nil {
			p.tell(d)
		}
		return err
	}
	// It runs from now on, as the next stop may come before the action returns.
	turn := 0
	p.change(func(s *State) {
		p.turns++
		s.Phase, s.Reason, s.Text, turn = Running, "", "", p.turns
	})
	if err = do.run(p, d, a); err == nil {
		return nil
	}
	p.change(func(s *State) {
		if p.turns == turn {
			s.Phase, s.Reason, s.Text = before.Phase, before.Reason, before.Text
		}
	})
	return err
}

var (
	errStarting = errors.New("the program has not begun")
	errGone     = errors.New("it does not exist now")
)

// debugger gives the debugger of the run, and the state.
func (p *Page) debugger() (*debug.Debugger, State, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch p.state.Phase {
	case Starting:
		return nil, State{}, errStarting
	case Over:
		return nil, State{}, debug.ErrEnded
	}
	return p.d, p.state, nil
}

// find gives a CF that exists.
func find(d *debug.Debugger, name string) (*debug.CFState, error) {
	list, err := d.States(mostCFs)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(c debug.CFState) bool { return c.CF.String() == name })
	if i < 0 {
		return nil, fmt.Errorf("%s: %w", name, errGone)
	}
	return &list[i], nil
}

func step(_ *Page, d *debug.Debugger, a *args) error {
	cf, node, worker := trace.CF(0), -1, engine.AnyWorker
	if a.Node != nil {
		node = *a.Node
	}
	if a.Worker != nil {
		worker = *a.Worker
	}
	if a.CF != "" {
		c, err := find(d, a.CF)
		if err != nil {
			return err
		}
		cf = c.CF
	}
	return d.Step(cf, node, worker)
}

func let(_ *Page, d *debug.Debugger, a *args) error {
	c, err := find(d, a.CF)
	if err != nil {
		return err
	}
	return d.Let(c.CF)
}

func move(_ *Page, d *debug.Debugger, a *args) error {
	c, err := find(d, a.CF)
	switch {
	case err != nil:
		return err
	case a.Node == nil:
		return errors.New("a node number is needed")
	}
	return d.Move(c.CF, "", *a.Node)
}

func input(_ *Page, d *debug.Debugger, a *args) error {
	c, err := find(d, a.CF)
	if err != nil {
		return err
	}
	return d.SetInput(c.CF, a.DF, a.Value)
}
