// Package prof is the Go SDK: event objects that a program emits, and what listens to them.
//
// A Session has one object per standard kind of event (see docs/events.md) and as
// many of user namespaces as are defined. Emitting one appends it to the trace of the
// stream it is emitted on, if that has one, and calls the handlers connected to it.
//
//	ses := prof.New()
//	s := ses.Stream(0, worker, writer.Stream(worker))
//	ses.CFStarted.Emit(s, cf, 1, inputs)
//
// An event that is switched off, or that nobody consumes, costs one load and one
// branch. What it would take to compute its arguments can be saved with On.
package prof

//go:generate go run ./gen

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/trace"
)

// Now is the time that Emit gives to events: nanoseconds since an arbitrary origin
// near the start of the process.
func Now() int64 { return clock.Now() }

// Session owns event objects.
//
// Handlers of one event are called in the order of their priorities, lower first, and of their connection
// among equals, in the goroutine that emits. They are called from many goroutines at once, and may emit
// events of their own on the stream they are given. Lists they are given are valid during the call only.
// Connecting and disconnecting is safe while others emit; an emission that has begun may still call what has
// just been disconnected. A handler that panics is disconnected, and Report gets a line.
type Session struct {
	Events

	mu      sync.Mutex
	hubs    []hub
	users   map[[2]string]*UserEvent
	later   []func(*UserEvent) error // what is connected to user events as they are made
	tracing bool
	choose  func(ns, name string) bool // which events are on that are not yet defined; nil: all
	report  atomic.Pointer[func(string)]

	standard  []hub // the first of hubs; never changes
	describer atomic.Pointer[Describer]
	locals    atomic.Int32 // kinds of state that streams have, see PerStream
}

// hub is what all event objects have in common.
type hub interface {
	core() *event
	disconnect(name string) bool
	connectAny(name string, priority int, f func(s *Stream, a *Any)) error
}

// event is the part of an event object that does not depend on its arguments.
type event struct {
	state atomic.Uint32 // 0: emitting does nothing
	list
	ses   *Session
	kind  trace.Kind
	title string // "Namespace.onName"
	// Guarded by ses.mu:
	off      bool
	handlers int
}

// Bits of event.state.
const (
	recorded = 1
	handled  = 2
)

func (e *event) core() *event { return e }

// update recomputes the state; the caller holds ses.mu.
func (e *event) update() {
	var s uint32
	if !e.off {
		if e.ses.tracing {
			s = recorded
		}
		if e.handlers > 0 {
			s |= handled
		}
	}
	e.state.Store(s)
}

// New makes a session with all standard events switched on.
func New() *Session {
	s := &Session{users: map[[2]string]*UserEvent{}}
	s.number()
	s.standard = s.all()
	s.hubs = slices.Clone(s.standard)
	for _, h := range s.hubs {
		e := h.core()
		e.ses, e.title = s, e.kind.String()
	}
	return s
}

// Stream is where one worker, or one part of the run-time system, emits its events.
// One goroutine at a time may use it.
type Stream struct {
	trace *trace.Stream
	ses   *Session
	node  int
	id    int
	kinds []trace.Kind // numbers of user events in the trace's file, by UserEvent.index
	ints  []int32      // lists being looked at by handlers
	dfs   []trace.DF
	words []uint64
	local []any  // by PerStream.id
	anys  []*Any // events being looked at by generic handlers
	depth int    // of them in use
	_     [64]byte
}

// Stream makes a stream of a node. Events emitted on it are recorded to ts unless that is nil.
func (s *Session) Stream(node, stream int, ts *trace.Stream) *Stream {
	if ts != nil {
		s.mu.Lock()
		if !s.tracing {
			s.tracing = true
			for _, h := range s.hubs {
				h.core().update()
			}
		}
		s.mu.Unlock()
	}
	return &Stream{trace: ts, ses: s, node: node, id: stream}
}

// Node returns the stream's node.
func (s *Stream) Node() int { return s.node }

// ID returns the stream's number in its node.
func (s *Stream) ID() int { return s.id }

// Trace returns where the stream is recorded, nil if nowhere.
func (s *Stream) Trace() *trace.Stream { return s.trace }

// Session returns the session the stream belongs to.
func (s *Stream) Session() *Session { return s.ses }

// Enable switches one event on or off. Standard events may be named by an alias.
func (s *Session) Enable(ns, name string, on bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var e *event
	if k, ok := trace.KindByName(ns, name); ok {
		i := slices.IndexFunc(s.hubs, func(h hub) bool { return h.core().kind == k })
		e = s.hubs[i].core()
	} else if u := s.users[[2]string{ns, name}]; u != nil {
		e = &u.event
	} else {
		return fmt.Errorf("there is no event %s.%s", ns, name)
	}
	e.off = !on
	e.update()
	return nil
}

// EnableAll switches all events on or off, those of user namespaces defined later included.
func (s *Session) EnableAll(on bool) { s.Choose(func(string, string) bool { return on }) }

// Choose switches on the events for which on returns true and all others off, those of user namespaces
// defined later included. Standard events are asked for by their own names, not by aliases.
func (s *Session) Choose(on func(ns, name string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.choose = on
	for _, h := range s.hubs {
		e := h.core()
		ns, name, _ := strings.Cut(e.title, ".")
		e.off = !on(ns, name)
		e.update()
	}
}

// Chosen tells whether the choice of events lets one through, also if it is not defined yet.
func (s *Session) Chosen(ns, name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.choose == nil || s.choose(ns, name)
}

// Off returns the names of the events that are switched off, "Namespace.onName".
func (s *Session) Off() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, h := range s.hubs {
		if e := h.core(); e.off {
			names = append(names, e.title)
		}
	}
	return names
}

// Disconnect removes every handler of that name from every event and returns how many it found.
func (s *Session) Disconnect(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, h := range s.hubs {
		for h.disconnect(name) {
			e := h.core()
			e.handlers--
			e.update()
			n++
		}
	}
	return n
}

// Report sets what is called with a line of text when a handler fails; by default it goes to standard error.
func (s *Session) Report(f func(message string)) { s.report.Store(&f) }

func (s *Session) tell(message string) {
	if f := s.report.Load(); f != nil && *f != nil {
		(*f)(message)
		return
	}
	fmt.Fprintln(os.Stderr, message)
}
