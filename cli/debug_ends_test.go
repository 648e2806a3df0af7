package cli

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	signals "os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-dap"

	"github.com/whyslow/whyslow/internal/console"
)

// longChain is a program that runs for minutes, and says when it has begun.
const longChain = `C++ head ${<H}
#include <unistd.h>
H
C++ sub nap(int i) ${{ if (i == 4) { std::printf("ready\n"); std::fflush(stdout); } usleep(1000); $}}
sub main()
{
    for i = 0 .. 49999
        cf turn[i]: nap(i);
}
`

// TestDebuggerEnds ends a debugged program from outside, with a real signal or as an editor does, while it
// runs and while it is stopped: its trace is whole and has what ran.
func TestDebuggerEnds(t *testing.T) {
	if !canRun {
		t.Skip("built without the engine")
	}
	if signals.Ignored(syscall.SIGINT) {
		t.Skip("these tests were started with SIGINT ignored, by nohup perhaps")
	}
	home, dir := lunaHome(t), t.TempDir()
	program := filepath.Join(dir, "endless.fa")
	if err := os.WriteFile(program, []byte(longChain), 0o666); err != nil {
		t.Fatal(err)
	}
	whyslow := filepath.Join(home, "bin", "whyslow")
	// kept checks the trace of an interrupted run, in which at least so many CFs have begun.
	kept := func(t *testing.T, trace string, least int) {
		t.Helper()
		for _, args := range [][]string{{"doctor", trace}, {"report", "--json", trace}, {"dump", trace}} {
			out, err := exec.Command(whyslow, args...).Output()
			switch {
			case err != nil:
				t.Errorf("%v: %v\n%s", args, err, out)
			case args[0] == "report" && !strings.Contains(string(out), `"ended": "interrupted"`):
				t.Errorf("the run did not end by an interrupt: %.300s", out)
			case args[0] == "dump" && strings.Count(string(out), "CFEvents.onStarted") < least:
				t.Errorf("%d of %d starts are recorded", strings.Count(string(out), "CFEvents.onStarted"), least)
			}
		}
	}
	start := func(t *testing.T, args ...string) (d *debugged, in io.Writer, out *bufio.Reader) {
		t.Helper()
		d = &debugged{trace: filepath.Join(t.TempDir(), "t")}
		d.Cmd = exec.Command(whyslow, append([]string{"debug", "-q", "-w", "1", "-o", d.trace}, args...)...)
		d.Env = append(os.Environ(), "XDG_STATE_HOME="+t.TempDir())
		stderr, err := d.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdin, err := d.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := d.StdoutPipe()
		if err == nil {
			err = d.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Process.Kill() }) // it may be no more
		d.err = bufio.NewScanner(stderr)
		return d, stdin, bufio.NewReader(stdout)
	}
	ready := func(t *testing.T, out *bufio.Reader) {
		t.Helper()
		if line, err := out.ReadString('\n'); line != "ready\n" {
			t.Fatalf("%q %v", line, err)
		}
	}
	interrupted := func(t *testing.T, d *debugged) {
		t.Helper()
		if code := d.interrupt(t); code != console.Interrupted {
			t.Errorf("exit code %d", code)
		}
	}

	t.Run("terminal, stopped", func(t *testing.T) {
		t.Parallel()
		d, in, _ := start(t, program)
		fmt.Fprintln(in, "break turn[3]\ncontinue")
		d.says(t, "stopped (breakpoint): turn[3]")
		interrupted(t, d)
		kept(t, d.trace, 4)
	})
	t.Run("terminal, running", func(t *testing.T) {
		t.Parallel()
		d, in, out := start(t, program)
		fmt.Fprintln(in, "continue")
		ready(t, out)
		interrupted(t, d)
		kept(t, d.trace, 5)
	})
	t.Run("page, stopped", func(t *testing.T) {
		t.Parallel()
		d, _, _ := start(t, "--page", "--no-browser", program)
		d.says(t, "whyslow: live at ")
		interrupted(t, d)
		kept(t, d.trace, 0)
	})
	t.Run("page, running", func(t *testing.T) {
		t.Parallel()
		d, _, out := start(t, "--page", "--no-browser", "--insecure", program)
		url, _, _ := strings.Cut(d.says(t, "whyslow: live at "), "?")
		url += "api/debug/continue"
		for { // the program may not have begun
			r, err := http.NewRequest(http.MethodPut, url, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			if answer.StatusCode == http.StatusNoContent {
				break
			}
			if err != nil || !strings.Contains(string(text), "has not begun") {
				t.Fatalf("%s: %s (%v)", answer.Status, text, err)
			}
		}
		ready(t, out)
		interrupted(t, d)
		kept(t, d.trace, 5)
	})
	for name, end := range map[string]func(c *dapClient){
		"disconnects": func(c *dapClient) {
			c.does("disconnect", dap.DisconnectArguments{}, &dap.DisconnectResponse{})
		},
		"terminates": func(c *dapClient) {
			c.does("terminate", dap.TerminateArguments{}, &dap.TerminateResponse{})
		},
		"is gone": func(c *dapClient) { _ = c.in.Close() }, // nothing more can be read
		"is interrupted": func(c *dapClient) {
			if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
				c.Fatal(err)
			}
		},
	} {
		t.Run("editor "+name, func(t *testing.T) {
			t.Parallel()
			c := debugs(t, home, program)
			c.initialized()
			c.does("launch", map[string]any{}, &dap.LaunchResponse{})
			c.does("configurationDone", nil, &dap.ConfigurationDoneResponse{})
			for c.output != "ready\n" {
				if _, err := c.message(); err != nil {
					t.Fatalf("%v\n%s", err, c.stderr)
				}
			}
			c.does("pause", dap.PauseArguments{}, &dap.PauseResponse{})
			at := c.stopped("pause", "paused")
			var threads dap.ThreadsResponse
			c.does("threads", nil, &threads)
			if at.Body.ThreadId != 0 || len(threads.Body.Threads) == 0 {
				t.Fatalf("it stopped at %+v, with %+v", at.Body, threads.Body)
			}
			// Running code ends on its own: then there is one that can make a step.
			for stepped := false; !stepped; {
				c.does("threads", nil, &threads)
				for _, x := range threads.Body.Threads {
					var r dap.StepOutResponse
					if c.ask("stepOut", dap.StepOutArguments{ThreadId: x.Id}, &r); r.Success {
						stepped = true
						break
					}
				}
			}
			c.stopped("step", "has ended")
			end(c)
			if code := c.ends(); code != console.Interrupted {
				t.Errorf("exit code %d, messages %v\n%s", code, c.kinds, c.stderr)
			}
			kept(t, filepath.Join(c.cmd.Dir, "t"), 5)
		})
	}
}

// TestDebuggerLeavesQueues: a stop takes few of many queued CFs from their queue, and they go on in their order.
func TestDebuggerLeavesQueues(t *testing.T) {
	if !canRun {
		t.Skip("built without the engine")
	}
	const n = 25_000
	home, dir := lunaHome(t), manyDir(t, map[string]string{"many.fa": `
C++ sub one(int i) ${{ std::printf("%d\n", i); $}}
sub main(int n)
{
    for i = 0 .. n - 1
        cf t[i]: one(i);
}
`, "look.txt": "break t[5]\ncontinue\nstep\nstep\ncfs\nbreak t[15000]\ncontinue\nstep\nstep t[15002]\nclear\n" +
		"hold t[20000]\ncontinue\nrelease t[20000]\ncontinue\n", "quit.txt": "until t[5]\nquit\n"})
	stdout, stderr := must(t, dir, home, 0,
		fmt.Sprintf("whyslow debug -q -w 1 --commands look.txt many.fa %d", n))
	got := strings.Fields(stdout)
	at := map[string]int{}
	for i, line := range got {
		at[line] = i
	}
	if len(got) != n || len(at) != n || at["15002"] > at["15001"] || at["20000"] != n-1 {
		t.Errorf("%d lines, %d of them differ; 15002 is at %d, 15001 at %d, 20000 at %d", len(got), len(at),
			at["15002"], at["15001"], at["20000"])
	}
	// What the worker holds when the program goes on comes before what was kept.
	late := 0
	for i := range n {
		if d := at[strconv.Itoa(i)] - i; d > 1 || i < 15000 && d < -1 {
			late++
		}
	}
	if late > 10 {
		t.Errorf("%d of %d CFs did not run in their order", late, n)
	}
	kept := strings.Count(stderr, "\nkept ")
	if kept > 10_100 || !strings.Contains(stderr, "\nqueued ") {
		t.Errorf("%d of %d CFs are kept, queued ones are shown: %v", kept, n, strings.Contains(stderr, "\nqueued "))
	}
	must(t, dir, home, console.Interrupted,
		fmt.Sprintf("whyslow debug -w 2 --commands quit.txt -o t many.fa %d", n))
	out, _ := must(t, dir, home, 0, "whyslow doctor t")
	if !strings.Contains(out, "consistent: no contradictions") {
		t.Errorf("whyslow doctor says\n%s", out)
	}
}
