//go:build cgo && linux

package native

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/trace"
)

const childVariable = "WHYSLOW_NATIVE_CHILD"

// Handlers of crashes are those of this package and of internal/run/cpp; whichever is set first, each crash
// comes to the right one. A process sets them once, so each order has a process of its own.
func TestCrashWithPrograms(t *testing.T) {
	order := os.Getenv(childVariable)
	if order == "" {
		for _, order := range []string{"program first", "module first"} {
			cmd := exec.Command(os.Args[0], "-test.run=^TestCrashWithPrograms$")
			cmd.Env = append(os.Environ(), childVariable+"="+order)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", order, err, out)
			}
		}
		return
	}
	program := func() {
		// sets the handlers nevertheless
		if _, err := cpp.Open("/nowhere/program.so", new(luna.Program)); err == nil {
			t.Fatal("there is a library")
		}
	}
	if order == "program first" {
		program()
	}
	u := use(t, "plain_module", map[string]any{"mode": "crash"})
	if order != "program first" {
		program()
	}
	for range 2 {
		ses := newSession(t)
		if err := ses.start(t, u); err != nil {
			t.Fatal(err)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic in Go")
				}
			}()
			var p *int
			*p = 1
		}()
		s := ses.Stream(0, 0, nil)
		ses.CFFinished.Emit(s, trace.MakeCF(0, 1), 1, 0)
		if !strings.Contains(ses.told(),
			"crashed in its handler of CFEvents.onFinished: segmentation fault (SIGSEGV): access to address 0x10") {
			t.Error(ses.told())
		}
		ses.finish(t)
	}
}

// A crash while a library is loaded is an error. The loader stays locked, so that a process of its own has
// it, which leaves without the race detector's last words: they need the loader.
func TestCrashWhileLoading(t *testing.T) {
	if path := os.Getenv(childVariable); path != "" {
		_, err := Open(path)
		os.Stdout.WriteString(err.Error())
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestCrashWhileLoading$")
	cmd.Env = append(os.Environ(), childVariable+"="+library(t, "broken_loading", "testdata/broken.c",
		"-DCRASHES"))
	out, _ := cmd.CombinedOutput()
	if !strings.HasSuffix(string(out),
		"libbroken_loading.so: it crashed while it was being loaded: segmentation fault (SIGSEGV): access to "+
			"address 0x30 in libbroken_loading.so") {
		t.Errorf("%s", out)
	}
}

// A module that calls exit ends the process, but not without a word.
func TestExit(t *testing.T) {
	if os.Getenv(childVariable) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestExit$")
		cmd.Env = append(os.Environ(), childVariable+"=1")
		out, _ := cmd.CombinedOutput()
		if got, want := string(out),
			"whyslow: module plain_module called exit: this ends the run, and the trace is not complete\n"; got !=
			want || cmd.ProcessState.ExitCode() != 5 {
			t.Errorf("exit code %d, %q", cmd.ProcessState.ExitCode(), got)
		}
		return
	}
	ses := newSession(t)
	if err := ses.start(t, use(t, "plain_module", map[string]any{"mode": "exit"})); err != nil {
		t.Fatal(err)
	}
	ses.CFFinished.Emit(ses.Stream(0, 0, nil), trace.MakeCF(0, 1), 1, 0)
}
