package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-dap"
)

// dapClient is an editor, as far as the protocol goes.
type dapClient struct {
	*testing.T
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *bytes.Buffer
	cmd    *exec.Cmd
	seq    int            // of the last request
	heard  int            // messages
	output string         // what the program has printed
	kinds  map[string]int // how many messages of each kind have come, by the names of the schema
}

// debugs starts an adapter for a program, in a folder of its own, where its trace is t.
func debugs(t *testing.T, home, program string, args ...string) *dapClient {
	t.Helper()
	args = append([]string{"debug", "--dap", "-q", "-w", "1", "-o", "t", program}, args...)
	cmd := exec.Command(filepath.Join(home, "bin", "whyslow"), args...)
	cmd.Dir = t.TempDir()
	return editorOf(t, cmd)
}

// editorOf starts an adapter.
func editorOf(t *testing.T, cmd *exec.Cmd) *dapClient {
	t.Helper()
	c := &dapClient{T: t, stderr: new(bytes.Buffer), kinds: map[string]int{}, cmd: cmd}
	c.cmd.Stderr = c.stderr
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.cmd.Process.Signal(syscall.SIGTERM) }) // it may be no more; mpirun ends its ranks
	return c
}

// initialized has the adapter initialized.
func (c *dapClient) initialized() (can dap.Capabilities) {
	c.Helper()
	var r dap.InitializeResponse
	c.does("initialize", dap.InitializeRequestArguments{AdapterID: "whyslow"}, &r)
	if _, ok := c.read().(*dap.InitializedEvent); !ok {
		c.Fatal("it is not initialized")
	}
	return r.Body
}

// ends reads all messages that are left, and gives the exit code.
func (c *dapClient) ends() int {
	c.Helper()
	for {
		m, err := c.message()
		if err != nil || m == nil {
			break
		}
	}
	_ = c.cmd.Wait() // the exit code tells
	if c.kinds["TerminatedEvent"] != 1 {
		c.Errorf("the end was told %d times", c.kinds["TerminatedEvent"])
	}
	return c.cmd.ProcessState.ExitCode()
}

// message gives the next message, which conforms to the protocol's schema and has consecutive numbers.
func (c *dapClient) message() (dap.Message, error) {
	c.Helper()
	text, err := dap.ReadBaseMessage(c.out)
	if err != nil {
		return nil, err
	}
	kind, err := conforms(c.T, text)
	if err != nil {
		c.Errorf("%s: %v", text, err)
	}
	c.kinds[kind]++
	m, err := dap.DecodeProtocolMessage(text)
	if err == nil {
		if c.heard++; m.GetSeq() != c.heard {
			c.Errorf("message %d has the number %d", c.heard, m.GetSeq())
		}
	}
	if o, ok := m.(*dap.OutputEvent); ok {
		c.output += o.Body.Output
	}
	return m, err
}

// read gives the next message that is no output.
func (c *dapClient) read() dap.Message {
	c.Helper()
	for {
		m, err := c.message()
		if err != nil {
			c.Fatalf("%v\n%s", err, c.stderr)
		}
		if _, ok := m.(*dap.OutputEvent); !ok {
			return m
		}
	}
}

// ask sends a request, whose command and arguments are given, and reads its answer into a value.
func (c *dapClient) ask(command string, args any, answer dap.ResponseMessage) {
	c.Helper()
	c.seq++
	text, err := json.Marshal(map[string]any{"seq": c.seq, "type": "request", "command": command,
		"arguments": args})
	if err == nil {
		err = dap.WriteBaseMessage(c.in, text)
	}
	if err != nil {
		c.Fatal(err)
	}
	m := c.read()
	text, err = json.Marshal(m)
	if err == nil {
		err = json.Unmarshal(text, answer)
	}
	r := answer.GetResponse()
	if err != nil || r.RequestSeq != c.seq || r.Command != command {
		c.Fatalf("%s is answered by %s (%v)", command, text, err)
	}
}

// does is ask for what must work.
func (c *dapClient) does(command string, args any, answer dap.ResponseMessage) {
	c.Helper()
	if c.ask(command, args, answer); !answer.GetResponse().Success {
		c.Fatalf("%s: %s", command, answer.GetResponse().Message)
	}
}

// fails is ask for what must not work.
func (c *dapClient) fails(command string, args any, why string) {
	c.Helper()
	var r dap.ErrorResponse
	if c.ask(command, args, &r); r.Success || !strings.Contains(r.Message, why) {
		c.Errorf("%s %v: %+v", command, args, r)
	}
}

// stopped reads the event that says where the program stopped.
func (c *dapClient) stopped(reason, text string) *dap.StoppedEvent {
	c.Helper()
	m := c.read()
	e, ok := m.(*dap.StoppedEvent)
	if !ok || e.Body.Reason != reason || !strings.Contains(e.Body.Text, text) {
		c.Fatalf("not stopped by %s at %s: %+v", reason, text, m)
	}
	return e
}

// TestDebugAdapter debugs a program as an editor does.
func TestDebugAdapter(t *testing.T) {
	if !canRun {
		t.Skip("built without the engine")
	}
	program, err := filepath.Abs("../examples/races/races.fa")
	if err != nil {
		t.Fatal(err)
	}
	c := debugs(t, lunaHome(t), program, "1")

	can := c.initialized()
	if !can.SupportsFunctionBreakpoints || !can.SupportsSetVariable || !can.SupportsLogPoints {
		t.Errorf("it can %+v", can)
	}
	c.does("launch", map[string]any{"stopOnEntry": true}, &dap.LaunchResponse{})
	var set dap.SetBreakpointsResponse
	c.does("setBreakpoints", dap.SetBreakpointsArguments{Source: dap.Source{Path: program},
		Breakpoints: []dap.SourceBreakpoint{{Line: 19, Condition: "i == 3"}, {Line: 1}}}, &set)
	if b := set.Body.Breakpoints; len(b) != 2 || !b[0].Verified || b[1].Verified || b[1].Message == "" {
		t.Errorf("breakpoints: %+v", b)
	}
	var functions dap.SetFunctionBreakpointsResponse
	c.does("setFunctionBreakpoints", dap.SetFunctionBreakpointsArguments{Breakpoints: []dap.FunctionBreakpoint{
		{Name: "made a[4]"}, {Name: "nothing"}}}, &functions)
	if b := functions.Body.Breakpoints; len(b) != 2 || !b[0].Verified || b[1].Verified {
		t.Errorf("function breakpoints: %+v", b)
	}
	c.does("setExceptionBreakpoints", dap.SetExceptionBreakpointsArguments{Filters: []string{}},
		&dap.SetExceptionBreakpointsResponse{})
	c.does("configurationDone", nil, &dap.ConfigurationDoneResponse{})
	c.stopped("entry", "before the program begins")

	c.does("continue", dap.ContinueArguments{}, &dap.ContinueResponse{})
	at := c.stopped("breakpoint", "counted[3]").Body
	if !slices.Equal(at.HitBreakpointIds, []int{set.Body.Breakpoints[0].Id}) || !at.AllThreadsStopped {
		t.Errorf("stopped at %+v", at)
	}
	var threads dap.ThreadsResponse
	c.does("threads", nil, &threads)
	if !slices.ContainsFunc(threads.Body.Threads, func(x dap.Thread) bool {
		return x.Id == at.ThreadId && x.Name == "counted[3] (kept)"
	}) {
		t.Errorf("threads: %+v", threads.Body.Threads)
	}
	var stack dap.StackTraceResponse
	c.does("stackTrace", dap.StackTraceArguments{ThreadId: at.ThreadId}, &stack)
	var names []string
	for _, f := range stack.Body.StackFrames {
		names = append(names, f.Name)
	}
	if f := stack.Body.StackFrames; !slices.Equal(names, []string{"counted[3]", "for i", "if", "main"}) ||
		f[0].Line != 19 || f[0].Source.Path != program {
		t.Errorf("the stack is %+v", f)
	}
	var scopes dap.ScopesResponse
	c.does("scopes", dap.ScopesArguments{FrameId: stack.Body.StackFrames[0].Id}, &scopes)
	values := map[string]string{}
	refs := map[string]int{}
	for _, s := range scopes.Body.Scopes {
		var v dap.VariablesResponse
		c.does("variables", dap.VariablesArguments{VariablesReference: s.VariablesReference}, &v)
		refs[s.Name] = s.VariablesReference
		for _, x := range v.Body.Variables {
			values[s.Name+" "+x.Name] = x.Value
		}
	}
	if values["Counters and parameters i"] != "3" || values["DFs a[1]"] != "1" {
		t.Errorf("variables: %v", values)
	}
	c.does("setVariable", dap.SetVariableArguments{VariablesReference: refs["DFs"], Name: "a[1]", Value: "70"},
		&dap.SetVariableResponse{})
	c.fails("setVariable", dap.SetVariableArguments{VariablesReference: refs["DFs"], Name: "a[1]", Value: "x"},
		"not a 32-bit int")
	c.fails("setVariable", dap.SetVariableArguments{VariablesReference: 99}, "no reference")
	var value dap.EvaluateResponse
	c.does("evaluate", dap.EvaluateArguments{FrameId: stack.Body.StackFrames[0].Id, Expression: "i * 2"}, &value)
	if value.Body.Result != "6" {
		t.Errorf("i * 2 is %s", value.Body.Result)
	}
	c.does("evaluate", dap.EvaluateArguments{Context: "repl", Expression: "dfs a[1]"}, &value)
	if !strings.HasPrefix(value.Body.Result, "a[1] on node 0: 70, made by count") {
		t.Errorf("dfs a[1] prints %s", value.Body.Result)
	}
	c.fails("stackTrace", dap.StackTraceArguments{ThreadId: 999}, "no thread 999")
	c.fails("modules", nil, "not supported")
	c.fails("attach", map[string]any{}, "use launch")
	c.fails("dance", nil, "not supported")
	c.fails("stackTrace", map[string]any{"threadId": "one"}, "threadId: a string is not int")

	c.does("next", dap.NextArguments{ThreadId: at.ThreadId}, &dap.NextResponse{})
	c.stopped("step", "has ended")
	c.fails("stepIn", dap.StepInArguments{ThreadId: at.ThreadId}, "about to go on")
	c.does("continue", dap.ContinueArguments{}, &dap.ContinueResponse{})
	c.stopped("breakpoint", "a[4]")
	c.does("continue", dap.ContinueArguments{}, &dap.ContinueResponse{})
	if code := c.ends(); code != 0 {
		t.Errorf("exit code %d\n%s", code, c.stderr)
	}
	if !strings.Contains(c.output, "3 11\n") {
		t.Errorf("the program printed %q", c.output)
	}
}
