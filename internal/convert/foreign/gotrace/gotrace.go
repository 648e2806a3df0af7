// Package gotrace reads execution traces of Go programs, as runtime/trace and go test -trace write them.
//
// # What becomes what
//
// A P, the right to execute Go code, is a worker of node 0. A goroutine is a chain of CFs that execute its
// function. A CF ends where the goroutine blocks, is pre-empted or ends. It ends also where the goroutine
// starts another one or wakes one up: what it does afterwards is no reason for that one's wait.
//
// Each of these steps is a DF. "chan receive server.go:41" is made by the CF that woke up the goroutine which
// had blocked there, and is an input of the CF with which that one goes on. "go server.go:30" is made by the
// CF that started a goroutine there. What the run-time system itself woke up, for a timer or the network,
// has no maker: the DF tells what was waited for. "continues" leads from one CF of a goroutine to its next.
//
// A worker waits, within a CF or between two, while it is in a system call, while the world is stopped, while
// its goroutine helps the garbage collector, and while it runs the collector's own workers. A system call
// that takes so long that the P is given to others ends the CF like any other blocking.
//
// The trace does not tell what values are passed on, nor when threads had a core.
package gotrace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strings"

	exptrace "golang.org/x/exp/trace"

	"github.com/whyslow/whyslow/internal/convert/foreign"
	"github.com/whyslow/whyslow/trace"
)

// Format is that of Go's execution traces.
var Format = foreign.Format{Name: "go", Is: is, Read: read}

func is(head []byte) bool {
	head = head[:min(len(head), 16)]
	return bytes.HasPrefix(head, []byte("go 1.")) && bytes.Contains(head, []byte(" trace\x00"))
}

// checkEvery is after how many events a reader looks whether it is still wanted.
const checkEvery = 1 << 12

func read(ctx context.Context, in io.Reader, to *foreign.Run) (err error) {
	bytes := &foreign.Counter{Reader: in}
	defer func() {
		// The library gives up on some malformed traces by a panic.
		if p := recover(); p != nil {
			err = &foreign.Error{Offset: bytes.N, Msg: fmt.Sprintf("not a valid execution trace: %v", p)}
		}
	}()
	node, err := to.Node(0)
	if err != nil {
		return err
	}
	events, err := exptrace.NewReader(bytes)
	if err != nil {
		return &foreign.Error{Offset: bytes.N, Msg: err.Error()}
	}
	r := &reader{node: node, to: to, info: &to.Info, system: &stream{node.System(), 0},
		procs: map[exptrace.ProcID]*proc{}, goroutines: map[exptrace.GoID]*goroutine{}, start: -1}
	defer r.finish()
	for n := 0; ; n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		e, err := events.ReadEvent()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return &foreign.Error{Offset: bytes.N, Msg: err.Error()}
		}
		if err := r.event(&e); err != nil {
			return &foreign.Error{Offset: bytes.N, Msg: err.Error()}
		}
	}
	if len(r.procs) == 0 {
		return &foreign.Error{Offset: bytes.N, Msg: "an execution trace without events"}
	}
	return nil
}

// reader goes through the events. They come in the order in which they happened, each later than the last.
type reader struct {
	node       *foreign.Node
	to         *foreign.Run
	info       *trace.RunInfo
	system     *stream // of what happens on no P
	procs      map[exptrace.ProcID]*proc
	goroutines map[exptrace.GoID]*goroutine
	start, now int64
	stopped    bool // the world is
}

// stream is one of the trace. Some events are known for certain only after later ones: they get the time of
// the last.
type stream struct {
	*trace.Stream
	last int64
}

func (s *stream) emit(t int64, k trace.Kind, args ...uint64) {
	s.last = max(t, s.last)
	s.Emit(s.last, k, args...)
}

// proc is a P.
type proc struct {
	*stream
	g      *goroutine // that it runs, or that is in a system call; nil: none
	parked bool
}

// none is the time of what has not happened.
const none = math.MinInt64

// goroutine is one that has not ended.
type goroutine struct {
	id   exptrace.GoID
	code uint32     // its function; 0: not known yet
	site trace.Site // where it was started, or blocked last
	cf   trace.CF   // that runs, or is to run next; 0: none
	// inputs of the CF that is to run next
	inputs   []uint64
	on       *proc
	syscall  int64    // when it entered the system call that it is in; none: it is in none
	blocked  string   // what it waits for
	ranges   []string // what it does beside its own work, such as helping the garbage collector
	collects bool     // it is one of the garbage collector's workers
}

// proc gives a P.
func (r *reader) proc(id exptrace.ProcID) (*proc, error) {
	p := r.procs[id]
	if p == nil {
		if id < 0 || id >= foreign.MostWorkers {
			return nil, fmt.Errorf("processor P%d: there cannot be more than %d", id, foreign.MostWorkers)
		}
		p = &proc{stream: &stream{r.node.Worker(int(id), r.start), r.start}}
		r.procs[id] = p
		if r.stopped {
			p.emit(r.now, trace.KindWaitStarted, r.text(stopTheWorld))
		}
	}
	return p, nil
}

func (r *reader) text(s string) uint64 { return uint64(r.node.Name(s)) }

func (r *reader) event(e *exptrace.Event) error {
	r.now = int64(e.Time())
	if r.start < 0 {
		r.start = r.now
	}
	switch e.Kind() {
	case exptrace.EventSync:
		if s := e.Sync(); s.ClockSnapshot != nil && r.info.Started.IsZero() {
			r.info.Started = s.ClockSnapshot.Wall
		}
	case exptrace.EventMetric:
		if m := e.Metric(); m.Name == "/sched/gomaxprocs:threads" && m.Value.Kind() == exptrace.ValueUint64 {
			if n := m.Value.Uint64(); n > 0 && n <= foreign.MostWorkers {
				_, err := r.proc(exptrace.ProcID(n - 1)) // those below are there too, see Node.Finish
				return err
			}
		}
	case exptrace.EventLabel:
		if l := e.Label(); l.Resource.Kind == exptrace.ResourceGoroutine && strings.HasPrefix(l.Label, "GC (") {
			if g := r.goroutines[l.Resource.Goroutine()]; g != nil {
				r.collector(g)
			}
		}
	case exptrace.EventTaskBegin, exptrace.EventRegionBegin:
		r.to.Skip("tasks")
	case exptrace.EventLog:
		r.to.Skip("logs")
	case exptrace.EventStackSample:
		r.to.Skip("samples")
	case exptrace.EventRangeBegin, exptrace.EventRangeActive:
		return r.rangeBegins(e)
	case exptrace.EventRangeEnd:
		return r.rangeEnds(e)
	case exptrace.EventStateTransition:
		t := e.StateTransition()
		switch t.Resource.Kind {
		case exptrace.ResourceProc:
			return r.procChanges(t)
		case exptrace.ResourceGoroutine:
			return r.goroutineChanges(e, t)
		}
	}
	return nil
}

func (r *reader) procChanges(t exptrace.StateTransition) error {
	p, err := r.proc(t.Resource.Proc())
	if err != nil {
		return err
	}
	switch _, to := t.Proc(); {
	case to == exptrace.ProcIdle:
		if p.g != nil { // in a system call
			r.detach(p.g)
		}
		if !p.parked {
			p.parked = true
			p.emit(r.now, trace.KindIdle)
		}
	case p.parked:
		p.parked = false
		p.emit(r.now, trace.KindBusy)
	}
	return nil
}

func (r *reader) goroutineChanges(e *exptrace.Event, t exptrace.StateTransition) error {
	id := t.Resource.Goroutine()
	from, to := t.Goroutine()
	g := r.goroutines[id]
	if g == nil {
		g = &goroutine{id: id, syscall: none}
		r.goroutines[id] = g
	}
	var at *proc // where the event happened
	if id := e.Proc(); id != exptrace.NoProc {
		var err error
		if at, err = r.proc(id); err != nil {
			return err
		}
	}
	r.learn(g, t.Stack)
	switch to {
	case exptrace.GoRunnable:
		switch {
		case from == exptrace.GoRunning: // pre-empted, or it gave way
			if g.on == nil {
				return nil
			}
			stream := g.on.stream
			r.stop(g, r.now, true)
			r.ready(g, stream)
		case from == exptrace.GoNotExist:
			g.blocked = "go" + place(e.Stack())
			r.wake(g, at, r.goroutines[e.Goroutine()])
		case from == exptrace.GoSyscall:
			r.detach(g)
			r.wake(g, at, nil)
		case from != exptrace.GoUndetermined || g.cf == 0:
			r.wake(g, at, r.goroutines[e.Goroutine()])
		}
	case exptrace.GoRunning:
		if from == exptrace.GoSyscall && g.on != nil && g.on == at {
			if g.syscall != none && !g.collects {
				at.emit(g.syscall, trace.KindWaitStarted, r.text(systemCall))
				at.emit(r.now, trace.KindWaitEnded, r.text(systemCall))
			}
			g.syscall = none
			return nil
		}
		if from == exptrace.GoSyscall {
			r.detach(g)
			r.wake(g, at, nil)
		}
		if at != nil {
			r.run(g, at)
		}
	case exptrace.GoSyscall:
		if from == exptrace.GoUndetermined && at != nil && at.g == nil && e.Goroutine() == id {
			r.run(g, at)
		}
		g.syscall = r.now
		r.site(g, t.Stack)
		g.blocked = systemCall + place(t.Stack)
	case exptrace.GoWaiting:
		r.detach(g)
		r.stop(g, r.now, true)
		g.blocked = reason(t.Reason) + place(t.Stack)
		r.site(g, t.Stack)
	case exptrace.GoNotExist:
		r.detach(g)
		r.stop(g, r.now, false)
		delete(r.goroutines, id)
	}
	return nil
}

// reason says what a goroutine waits for.
func reason(r string) string {
	switch r {
	case "", "unspecified":
		return "wait"
	case "sync":
		return "lock or condition"
	case "select":
		return "select"
	}
	return r
}

// collectors are the functions of the garbage collector's own goroutines.
var collectors = []string{"runtime.gcBgMarkWorker", "runtime.bgsweep", "runtime.bgscavenge"}

// learn finds out which function a goroutine executes, if its stack tells.
func (r *reader) learn(g *goroutine, s exptrace.Stack) {
	if g.code != 0 {
		return
	}
	var last exptrace.StackFrame
	for f := range s.Frames() {
		last = f
	}
	if last.Func == "" {
		return
	}
	g.code = r.node.Code(last.Func, trace.Atomic, last.File, int(last.Line))
	g.site = r.node.Site(g.code, last.File, int(last.Line))
	if slices.Contains(collectors, last.Func) {
		r.collector(g)
	}
}

// frame gives the innermost call of a stack that is the program's own. Packages of the standard library that
// wait on behalf of others say nothing that the reason does not.
func frame(s exptrace.Stack) (at exptrace.StackFrame, ok bool) {
	for f := range s.Frames() {
		if !ok {
			at, ok = f, true
		}
		pkg, _, _ := strings.Cut(path.Base(f.Func), ".")
		if dir := path.Dir(f.Func); dir != "." {
			pkg = dir + "/" + pkg
		}
		switch first, _, _ := strings.Cut(pkg, "/"); first {
		case "runtime", "internal", "sync", "syscall", "time", "os", "io", "bufio", "net", "context":
			continue
		}
		return f, true
	}
	return at, ok
}

// place names where a stack is, as " server.go:41"; "" where that is not known.
func place(s exptrace.Stack) string {
	f, ok := frame(s)
	if !ok {
		return ""
	}
	return fmt.Sprintf(" %s:%d", path.Base(f.File), f.Line)
}

// site notes where a goroutine is.
func (r *reader) site(g *goroutine, s exptrace.Stack) {
	if f, ok := frame(s); ok && g.code != 0 {
		g.site = r.node.Site(g.code, f.File, int(f.Line))
	}
}
