package cli

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-dap"

	"github.com/whyslow/whyslow/internal/console"
)

// TestMPIDebuggedPage: what the page asks and does, under mpirun: it stops at a CF of another rank, sees and
// changes what that gets, and goes on. The answers are those of the page of one process.
func TestMPIDebuggedPage(t *testing.T) {
	needMPI(t)
	t.Parallel()
	home, dir := lunaHome(t), manyDir(t, map[string]string{"pair.fa": `
C++ sub start(name x) ${{ x = 1; $}}
C++ sub more(int v, name y) ${{ y = v + 1; $}}
C++ sub show(int v) ${{ std::printf("%d\n", v); $}}
sub main()
{
    df x, y;
    start(x);
    cf turn: more(x, y) @ { locator_cyclic: 1; };
    show(y);
}
`})
	cmd := exec.Command("mpirun", "-n", "2", filepath.Join(home, "bin", "whyslow"), "run", "-q", "-w", "1",
		"--live", "--debug", "--no-browser", "--insecure", "pair.fa")
	cmd.Dir = dir
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Signal(syscall.SIGTERM) // mpirun ends its ranks
	await := func(r *bufio.Reader, prefix string, parts ...string) string {
		t.Helper()
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				t.Fatalf("no %q %q: %v", prefix, parts, err)
			}
			rest, ok := strings.CutPrefix(line, prefix)
			for _, p := range parts {
				ok = ok && strings.Contains(rest, p)
			}
			if ok {
				return strings.TrimSpace(rest)
			}
		}
	}
	stderr := bufio.NewReader(pipe)
	url, _, _ := strings.Cut(await(stderr, "whyslow: live at "), "?")
	ask := func(method, what, args string) string {
		t.Helper()
		r, err := http.NewRequest(method, url+"api/debug/"+what, strings.NewReader(args))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode >= http.StatusBadRequest {
			t.Fatalf("%s: %v, %s", what, err, text)
		}
		return string(text)
	}
	updates, err := http.Get(url + "api/debug/updates")
	if err != nil {
		t.Fatal(err)
	}
	defer updates.Body.Close()
	states := bufio.NewReader(updates.Body)
	await(states, "data: ", `"phase":"stopped"`, `"reason":"entry"`)
	ask(http.MethodPut, "until", `{"text":"turn"}`)
	at := await(states, "data: ", `"phase":"stopped"`, `"reason":"breakpoint"`)
	_, cf, _ := strings.Cut(at, `"cf":"`)
	cf, _, _ = strings.Cut(cf, `"`)
	has := func(question string, parts ...string) {
		t.Helper()
		text := ask(http.MethodGet, question, "")
		for _, p := range parts {
			if !strings.Contains(text, p) {
				t.Errorf("%s: no %s in %s", question, p, text)
			}
		}
	}
	has("cf?cf="+cf, `"node":1`, `"state":"ready"`, `"above":[{"name":"main"`,
		`"inputs":[{"name":"x","type":"int","size":4,"text":"1"}]`)
	has("df?df=x", `"text":"1"`, `"next":["turn"]`)
	ask(http.MethodPut, "input", `{"cf":"`+cf+`","df":"x","value":"40"}`)
	ask(http.MethodPut, "continue", "{}")
	await(stderr, "whyslow: the run is over; the page stays at ")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	await(stderr, "pair.001.trace")
	_ = cmd.Wait() // how mpirun ends after Ctrl+C is its own
	if stdout.String() != "41\n" {
		t.Errorf("it printed %q", stdout.String())
	}
}

// TestMPIDebugAdapter: an editor debugs a program under mpirun, through rank 0: it stops at a CF of another
// rank, sees and changes what that gets, steps it, and shows what all ranks print.
func TestMPIDebugAdapter(t *testing.T) {
	needMPI(t)
	t.Parallel()
	home, dir := lunaHome(t), manyDir(t, map[string]string{"chain.fa": `
C++ sub start(name x) ${{ x = 1; std::puts("started"); $}}
C++ sub more(int v, name y) ${{ y = v + 1; std::printf("more than %d\n", v); $}}
sub main()
{
    df x;
    start(x[0]);
    for i = 0 .. 3
        cf turn[i]: more(x[i], x[i + 1]) @ { locator_cyclic: i; };
} @ {
    locator_cyclic x[i] => i;
}
`})
	start := func(trace string) *dapClient {
		t.Helper()
		cmd := exec.Command("mpirun", "-n", "3", filepath.Join(home, "bin", "whyslow"), "debug", "--dap", "-q",
			"--fresh", "-w", "1", "-o", trace, "chain.fa")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "XDG_STATE_HOME="+t.TempDir())
		return editorOf(t, cmd)
	}
	c := start("done.trace")
	c.initialized()
	c.does("launch", map[string]any{"stopOnEntry": true}, &dap.LaunchResponse{})
	var set dap.SetBreakpointsResponse
	c.does("setBreakpoints", dap.SetBreakpointsArguments{Source: dap.Source{Path: "chain.fa"},
		Breakpoints: []dap.SourceBreakpoint{{Line: 9, Condition: "i == 2"}}}, &set)
	var functions dap.SetFunctionBreakpointsResponse
	c.does("setFunctionBreakpoints", dap.SetFunctionBreakpointsArguments{Breakpoints: []dap.FunctionBreakpoint{
		{Name: "made x[2]"}}}, &functions)
	c.does("configurationDone", nil, &dap.ConfigurationDoneResponse{})
	c.stopped("entry", "before the program begins")
	c.does("continue", dap.ContinueArguments{}, &dap.ContinueResponse{})
	c.stopped("breakpoint", "x[2]: turn[1] on node 1")
	c.does("continue", dap.ContinueArguments{}, &dap.ContinueResponse{})
	at := c.stopped("breakpoint", "turn[2] on node 2").Body
	if !slices.Equal(at.HitBreakpointIds, []int{set.Body.Breakpoints[0].Id}) {
		t.Errorf("stopped at %+v", at)
	}
	var threads dap.ThreadsResponse
	c.does("threads", nil, &threads)
	if !slices.Contains(threads.Body.Threads, dap.Thread{Id: at.ThreadId, Name: "turn[2] (kept)"}) ||
		!slices.ContainsFunc(threads.Body.Threads, func(x dap.Thread) bool {
			return x.Name == "turn[3] (waiting)"
		}) {
		t.Errorf("threads: %+v", threads.Body.Threads)
	}
	var stack dap.StackTraceResponse
	c.does("stackTrace", dap.StackTraceArguments{ThreadId: at.ThreadId}, &stack)
	var names []string
	for _, f := range stack.Body.StackFrames {
		names = append(names, f.Name)
	}
	if !slices.Equal(names, []string{"turn[2]", "for i", "main"}) {
		t.Fatalf("the stack is %+v", stack.Body.StackFrames)
	}
	var scopes dap.ScopesResponse
	c.does("scopes", dap.ScopesArguments{FrameId: stack.Body.StackFrames[0].Id}, &scopes)
	values := map[string]string{}
	for _, s := range scopes.Body.Scopes {
		var v dap.VariablesResponse
		c.does("variables", dap.VariablesArguments{VariablesReference: s.VariablesReference}, &v)
		for _, x := range v.Body.Variables {
			values[s.Name+" "+x.Name] = x.Value
		}
		if s.Name == "Inputs" {
			c.does("setVariable", dap.SetVariableArguments{VariablesReference: s.VariablesReference, Name: "x[2]",
				Value: "40"}, &dap.SetVariableResponse{})
		}
	}
	if values["Counters and parameters i"] != "2" || values["Inputs x[2]"] != "3" || values["DFs x[2]"] != "3" {
		t.Errorf("variables: %v", values)
	}
	var value dap.EvaluateResponse
	c.does("evaluate", dap.EvaluateArguments{FrameId: stack.Body.StackFrames[0].Id, Expression: "x[2] + i"},
		&value)
	if value.Body.Result != "42" {
		t.Errorf("x[2] + i is %s", value.Body.Result)
	}
	c.does("next", dap.NextArguments{ThreadId: at.ThreadId}, &dap.NextResponse{})
	c.stopped("step", "has ended")
	c.does("evaluate", dap.EvaluateArguments{Context: "repl", Expression: "dfs x[3]"}, &value)
	if !strings.HasPrefix(value.Body.Result, "x[3] on node 0: 41, made by more") {
		t.Errorf("dfs x[3] prints %s", value.Body.Result)
	}
	c.does("continue", dap.ContinueArguments{}, &dap.ContinueResponse{})
	code := c.ends()
	lines := strings.Split(strings.TrimSpace(c.output), "\n")
	slices.Sort(lines)
	if want := []string{"more than 1", "more than 2", "more than 40", "more than 41", "started"}; code != 0 ||
		!slices.Equal(lines, want) {
		t.Errorf("exit code %d, it printed %q\n%s", code, lines, c.stderr)
	}

	for name, end := range map[string]func(c *dapClient){
		"disconnected": func(c *dapClient) {
			c.does("disconnect", dap.DisconnectArguments{}, &dap.DisconnectResponse{})
		},
		"gone": func(c *dapClient) { _ = c.in.Close() },
	} {
		c := start(name + ".trace")
		c.initialized()
		c.does("launch", map[string]any{"stopOnEntry": true}, &dap.LaunchResponse{})
		c.does("setFunctionBreakpoints", dap.SetFunctionBreakpointsArguments{Breakpoints: []dap.FunctionBreakpoint{
			{Name: "turn[1]"}}}, &functions)
		c.does("configurationDone", nil, &dap.ConfigurationDoneResponse{})
		c.stopped("entry", "before the program begins")
		c.does("continue", dap.ContinueArguments{}, &dap.ContinueResponse{})
		c.stopped("breakpoint", "turn[1] on node 1")
		end(c)
		if code := c.ends(); code != console.Interrupted {
			t.Errorf("%s: exit code %d\n%s", name, code, c.stderr)
		}
	}
	for _, name := range []string{"done", "disconnected", "gone"} {
		if out, _ := must(t, dir, home, 0, "whyslow doctor "+name+".trace"); !strings.Contains(out,
			"consistent: no contradictions") {
			t.Errorf("%s: whyslow doctor says\n%s", name, out)
		}
	}
}
