// Package editor lets editors debug, over the Debug Adapter Protocol: CFs are its threads, those that created
// them the frames above, their inputs and all DFs its variables.
package editor

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/google/go-dap"

	"github.com/whyslow/whyslow/internal/run/debug"
	"github.com/whyslow/whyslow/internal/run/debug/terminal"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/trace"
)

// Server speaks with one editor.
type Server struct {
	d    *debug.Debugger
	quit func()
	in   *bufio.Reader

	outMu sync.Mutex
	out   io.Writer
	seq   int

	// turn is held while a request is obeyed: a stop that it causes is told after its answer.
	turn sync.Mutex

	atEntry   bool
	entered   chan struct{}    // closed at the first stop
	points    map[string][]int // numbers of breakpoints, by the file they are in; "" for those of functions
	ids       map[trace.CF]int // threads
	cfs       []trace.CF       // by thread, from 1
	frames    []frame          // by id, from 1; until the program goes on
	variables []variables      // by reference, from 1; likewise
}

// frame is a frame of a thread's stack: a CF, or one above.
type frame struct {
	cf   trace.CF // of the thread
	self bool     // the CF itself
}

// variables are what a reference stands for: the inputs or numbers of a CF, or all DFs.
type variables struct {
	cf   trace.CF
	what string
}

// What variables are.
const (
	inputs  = "Inputs"
	numbers = "Counters and parameters"
	allDFs  = "DFs"
)

// mostShown is how many threads and variables an editor gets.
const mostShown = 1000

// New makes a server. quit ends the run.
func New(d *debug.Debugger, in io.Reader, out io.Writer, quit func()) *Server {
	return &Server{d: d, quit: quit, in: bufio.NewReader(in), out: out, entered: make(chan struct{}),
		points: map[string][]int{}, ids: map[trace.CF]int{}}
}

// Print has the editor show text of a category: stdout, stderr or console.
func (s *Server) Print(category, text string) {
	s.send(&dap.OutputEvent{Event: event("output"), Body: dap.OutputEventBody{Category: category, Output: text}})
}

// Write implements io.Writer: the editor shows what the program prints. It never fails.
func (s *Server) Write(text []byte) (int, error) {
	s.Print("stdout", string(text))
	return len(text), nil
}

// Terminated tells the editor that the program has ended and printed everything.
func (s *Server) Terminated() { s.send(&dap.TerminatedEvent{Event: event("terminated")}) }

// Serve obeys the editor until it disconnects, and tells it about stops until the run is over.
func (s *Server) Serve() {
	go s.obeyAll()
	first := true
	for stop := range s.d.Stops() {
		switch stop.Reason {
		case debug.Ended:
			return
		case debug.Entry:
			if first {
				first = false
				for _, line := range s.d.Restored() {
					s.Print("console", line+"\n")
				}
				close(s.entered)
				continue
			}
		}
		s.turn.Lock()
		s.stopped(stop)
		s.turn.Unlock()
	}
}

// stopped tells the editor of a stop.
func (s *Server) stopped(stop debug.Stop) {
	reason := map[debug.Reason]string{debug.Breakpoint: "breakpoint", debug.Stepped: "step",
		debug.Paused: "pause", debug.Entry: "entry", debug.Reached: "pause"}[stop.Reason]
	s.outMu.Lock()
	s.frames, s.variables = nil, nil
	body := dap.StoppedEventBody{Reason: cmp.Or(reason, "exception"), Description: stop.Text, Text: stop.Text,
		AllThreadsStopped: true}
	if stop.CF != 0 {
		body.ThreadId = s.thread(stop.CF)
	}
	if stop.Break > 0 {
		body.HitBreakpointIds = []int{stop.Break}
	}
	s.outMu.Unlock()
	s.send(&dap.StoppedEvent{Event: event("stopped"), Body: body})
}

func event(name string) dap.Event {
	return dap.Event{ProtocolMessage: dap.ProtocolMessage{Type: "event"}, Event: name}
}

// send numbers a message and sends it. An editor that is gone is noticed when nothing can be read any more.
func (s *Server) send(m dap.Message) {
	s.outMu.Lock()
	defer s.outMu.Unlock()
	s.seq++
	switch m := m.(type) {
	case dap.ResponseMessage:
		m.GetResponse().Seq = s.seq
	case dap.EventMessage:
		m.GetEvent().Seq = s.seq
	}
	_ = dap.WriteProtocolMessage(s.out, m)
}

// thread is the number of a CF's thread. outMu is held.
func (s *Server) thread(cf trace.CF) int {
	id, ok := s.ids[cf]
	if !ok {
		s.cfs = append(s.cfs, cf)
		id = len(s.cfs)
		s.ids[cf] = id
	}
	return id
}

// obeyAll obeys requests. When there are no more the run is ended.
func (s *Server) obeyAll() {
	for {
		m, err := dap.ReadProtocolMessage(s.in)
		var unknown *dap.DecodeProtocolMessageFieldError
		if errors.As(err, &unknown) {
			s.send(&dap.ErrorResponse{Response: response(dap.Request{
				ProtocolMessage: dap.ProtocolMessage{Seq: unknown.Seq}, Command: unknown.FieldValue},
				fmt.Errorf("%s is not supported", unknown.FieldValue))})
			continue
		}
		r, ok := m.(dap.RequestMessage)
		var wrong *json.UnmarshalTypeError
		switch {
		case errors.As(err, &wrong) && ok:
			s.fail(*r.GetRequest(), fmt.Errorf("%s: a %s is not %v", wrong.Field, wrong.Value, wrong.Type))
		case err != nil:
			s.quit()
			return
		case ok:
			s.turn.Lock()
			s.obey(r)
			s.turn.Unlock()
		}
	}
}

// response is what every answer to a request begins with.
func response(r dap.Request, err error) dap.Response {
	x := dap.Response{ProtocolMessage: dap.ProtocolMessage{Type: "response"}, RequestSeq: r.Seq,
		Success: err == nil, Command: r.Command}
	if err != nil {
		x.Message = err.Error()
	}
	return x
}

// fail answers that a request cannot be obeyed.
func (s *Server) fail(r dap.Request, err error) {
	x := &dap.ErrorResponse{Response: response(r, err)}
	x.Body.Error = &dap.ErrorMessage{Id: 1, Format: err.Error(), ShowUser: true}
	s.send(x)
}

// done answers a request that has nothing to say but that it is done, or not.
func (s *Server) done(r dap.Request, err error, answer dap.Message) {
	if err != nil {
		s.fail(r, err)
		return
	}
	s.send(answer)
}

// obey obeys one request.
func (s *Server) obey(m dap.RequestMessage) {
	r := *m.GetRequest()
	ok := response(r, nil)
	switch m := m.(type) {
	case *dap.InitializeRequest:
		s.send(&dap.InitializeResponse{Response: ok, Body: dap.Capabilities{SupportsConfigurationDoneRequest: true,
			SupportsFunctionBreakpoints: true, SupportsConditionalBreakpoints: true,
			SupportsHitConditionalBreakpoints: true, SupportsLogPoints: true, SupportsSetVariable: true,
			SupportsEvaluateForHovers: true, SupportsTerminateRequest: true}})
		<-s.entered
		s.send(&dap.InitializedEvent{Event: event("initialized")})
	case *dap.LaunchRequest:
		s.atEntry = strings.Contains(string(m.Arguments), `"stopOnEntry":true`)
		s.send(&dap.LaunchResponse{Response: ok})
	case *dap.AttachRequest:
		s.fail(r, errors.New("the debugger starts the program itself: use launch"))
	case *dap.ConfigurationDoneRequest:
		s.send(&dap.ConfigurationDoneResponse{Response: ok})
		if s.atEntry {
			s.stopped(debug.Stop{Reason: debug.Entry, Text: "before the program begins"})
		} else {
			_ = s.d.Continue() // the run is over: then it says so itself
		}
	case *dap.SetBreakpointsRequest:
		s.send(&dap.SetBreakpointsResponse{Response: ok, Body: dap.SetBreakpointsResponseBody{
			Breakpoints: s.setLines(&m.Arguments)}})
	case *dap.SetFunctionBreakpointsRequest:
		s.send(&dap.SetFunctionBreakpointsResponse{Response: ok, Body: dap.SetFunctionBreakpointsResponseBody{
			Breakpoints: s.setFunctions(m.Arguments.Breakpoints)}})
	case *dap.SetExceptionBreakpointsRequest:
		s.send(&dap.SetExceptionBreakpointsResponse{Response: ok})
	case *dap.ThreadsRequest:
		list, err := s.threads()
		s.done(r, err, &dap.ThreadsResponse{Response: ok, Body: dap.ThreadsResponseBody{Threads: list}})
	case *dap.StackTraceRequest:
		list, err := s.stack(m.Arguments.ThreadId)
		s.done(r, err, &dap.StackTraceResponse{Response: ok, Body: dap.StackTraceResponseBody{StackFrames: list,
			TotalFrames: len(list)}})
	case *dap.ScopesRequest:
		list, err := s.scopes(m.Arguments.FrameId)
		s.done(r, err, &dap.ScopesResponse{Response: ok, Body: dap.ScopesResponseBody{Scopes: list}})
	case *dap.VariablesRequest:
		list, err := s.values(m.Arguments.VariablesReference)
		s.done(r, err, &dap.VariablesResponse{Response: ok, Body: dap.VariablesResponseBody{Variables: list}})
	case *dap.SetVariableRequest:
		s.done(r, s.set(&m.Arguments), &dap.SetVariableResponse{Response: ok,
			Body: dap.SetVariableResponseBody{Value: m.Arguments.Value}})
	case *dap.EvaluateRequest:
		text, err := s.evaluate(&m.Arguments)
		s.done(r, err, &dap.EvaluateResponse{Response: ok, Body: dap.EvaluateResponseBody{Result: text}})
	case *dap.ContinueRequest:
		s.done(r, s.d.Continue(), &dap.ContinueResponse{Response: ok,
			Body: dap.ContinueResponseBody{AllThreadsContinued: true}})
	case *dap.NextRequest:
		s.done(r, s.step(m.Arguments.ThreadId), &dap.NextResponse{Response: ok})
	case *dap.StepInRequest:
		s.done(r, s.step(m.Arguments.ThreadId), &dap.StepInResponse{Response: ok})
	case *dap.StepOutRequest:
		s.done(r, s.step(m.Arguments.ThreadId), &dap.StepOutResponse{Response: ok})
	case *dap.PauseRequest:
		s.done(r, s.d.Pause(), &dap.PauseResponse{Response: ok})
	case *dap.TerminateRequest:
		s.send(&dap.TerminateResponse{Response: ok})
		s.quit()
	case *dap.DisconnectRequest:
		s.send(&dap.DisconnectResponse{Response: ok})
		s.quit()
	default:
		s.fail(r, fmt.Errorf("%s is not supported", r.Command))
	}
}

// setLines replaces the breakpoints of a file.
func (s *Server) setLines(a *dap.SetBreakpointsArguments) []dap.Breakpoint {
	list := []dap.Breakpoint{}
	file := filepath.Base(a.Source.Path)
	s.clear(file)
	for _, b := range a.Breakpoints {
		text := fmt.Sprintf("%s:%d", file, b.Line)
		list = append(list, s.set1(file, text, b.HitCondition, b.LogMessage, b.Condition, b.Line))
	}
	return list
}

// setFunctions replaces those that are no lines: the name is what the debugger takes, as made u[4].
func (s *Server) setFunctions(all []dap.FunctionBreakpoint) []dap.Breakpoint {
	list := []dap.Breakpoint{}
	s.clear("")
	for _, b := range all {
		list = append(list, s.set1("", b.Name, b.HitCondition, "", b.Condition, 0))
	}
	return list
}

func (s *Server) clear(file string) {
	for _, id := range s.points[file] {
		_ = s.d.Clear(id) // it may be gone
	}
	s.points[file] = nil
}

func (s *Server) set1(file, text, hit, log, condition string, line int) dap.Breakpoint {
	for _, x := range [][2]string{{" hit ", hit}, {" log ", log}, {" if ", condition}} {
		if x[1] != "" {
			text += x[0] + x[1]
		}
	}
	id, err := s.d.BreakNow(text)
	if err != nil {
		return dap.Breakpoint{Message: err.Error(), Line: line}
	}
	s.points[file] = append(s.points[file], id)
	return dap.Breakpoint{Id: id, Verified: true, Line: line}
}

func (s *Server) threads() (list []dap.Thread, err error) {
	all, err := s.d.CFs(mostShown)
	s.outMu.Lock()
	defer s.outMu.Unlock()
	list = []dap.Thread{}
	for _, c := range all {
		if c.State == engine.StateQueued || len(list) == mostShown {
			continue
		}
		list = append(list, dap.Thread{Id: s.thread(c.CF), Name: fmt.Sprintf("%s (%s)", c.Name, c.State)})
	}
	return list, err
}

// cf is the CF of a thread.
func (s *Server) cf(thread int) (trace.CF, error) {
	s.outMu.Lock()
	defer s.outMu.Unlock()
	if thread < 1 || thread > len(s.cfs) {
		return 0, fmt.Errorf("there is no thread %d", thread)
	}
	return s.cfs[thread-1], nil
}

func (s *Server) stack(thread int) ([]dap.StackFrame, error) {
	cf, err := s.cf(thread)
	if err != nil {
		return nil, err
	}
	all, err := s.d.CFs(mostShown)
	i := slices.IndexFunc(all, func(c engine.CFState) bool { return c.CF == cf })
	if i < 0 {
		return []dap.StackFrame{}, err // it has ended meanwhile
	}
	above, err := s.d.Above(all[i].Parent)
	if err != nil {
		return nil, err
	}
	list := []dap.StackFrame{s.frame(frame{cf, true}, all[i].Name, all[i].Stmt)}
	for _, f := range above {
		list = append(list, s.frame(frame{cf, false}, f.Name, f.Stmt))
	}
	return list, nil
}

func (s *Server) frame(f frame, name string, st *luna.Stmt) dap.StackFrame {
	s.outMu.Lock()
	defer s.outMu.Unlock()
	s.frames = append(s.frames, f)
	path := st.Pos.File
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return dap.StackFrame{Id: len(s.frames), Name: name, Line: st.Pos.Line, Column: st.Pos.Col,
		Source: &dap.Source{Name: filepath.Base(path), Path: path}}
}

func (s *Server) scopes(id int) ([]dap.Scope, error) {
	s.outMu.Lock()
	defer s.outMu.Unlock()
	if id < 1 || id > len(s.frames) {
		return nil, fmt.Errorf("there is no frame %d", id)
	}
	f := s.frames[id-1]
	list := []dap.Scope{}
	for _, what := range []string{inputs, numbers, allDFs} {
		if !f.self && what != allDFs {
			continue
		}
		s.variables = append(s.variables, variables{f.cf, what})
		list = append(list, dap.Scope{Name: what, VariablesReference: len(s.variables), Expensive: what == allDFs})
	}
	return list, nil
}

// reference is what a reference stands for.
func (s *Server) reference(n int) (variables, error) {
	s.outMu.Lock()
	defer s.outMu.Unlock()
	if n < 1 || n > len(s.variables) {
		return variables{}, fmt.Errorf("there is no reference %d", n)
	}
	return s.variables[n-1], nil
}

func (s *Server) values(n int) ([]dap.Variable, error) {
	v, err := s.reference(n)
	if err != nil {
		return nil, err
	}
	list := []dap.Variable{}
	add := func(values ...debug.Shown) {
		for _, x := range values {
			list = append(list, dap.Variable{Name: x.Name, Value: x.Text, Type: x.Type})
		}
	}
	if v.what != allDFs {
		x, err := s.d.Look(v.cf)
		switch {
		case err != nil:
			return nil, err
		case v.what == inputs:
			add(x.Inputs...)
		default:
			add(x.Scalars...)
		}
		return list, nil
	}
	err = s.d.DFs("", func(f *debug.DFState) bool {
		if f.Stored && f.Keeper < 0 {
			add(f.Shown)
		}
		return len(list) < mostShown
	})
	return list, err
}

func (s *Server) set(a *dap.SetVariableArguments) error {
	v, err := s.reference(a.VariablesReference)
	switch {
	case err != nil:
		return err
	case v.what == allDFs:
		return s.d.SetDF(a.Name, a.Value)
	case v.what == inputs:
		return s.d.SetInput(v.cf, a.Name, a.Value)
	}
	return errors.New("counters and parameters cannot be changed: CFs that run later use them, too")
}

// evaluate evaluates an expression over the inputs of a CF; in the debug console it obeys the commands of the
// terminal.
func (s *Server) evaluate(a *dap.EvaluateArguments) (string, error) {
	s.outMu.Lock()
	var cf trace.CF
	if a.FrameId >= 1 && a.FrameId <= len(s.frames) {
		cf = s.frames[a.FrameId-1].cf
	}
	s.outMu.Unlock()
	if a.Context == "repl" {
		if text, known, err := terminal.Obey(s.d, cf, a.Expression, s.quit); known {
			return text, err
		}
	}
	return s.d.Evaluate(cf, a.Expression)
}

// step lets the CF of a thread go on to its end.
func (s *Server) step(thread int) error {
	cf, err := s.cf(thread)
	if err != nil {
		return err
	}
	return s.d.Step(cf, -1, engine.AnyWorker)
}
