package cli

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	signals "os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/console"
)

// Programs that do not end by themselves; they print "ready" once they run.
var endless = map[string]string{
	"many CFs": `C++ sub spin(int i) ${{
    if (i == 0) { printf("ready\n"); fflush(stdout); }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
$}}
sub main() for i = 0 .. 50000 spin(i);
`,
	"one CF that never returns": `C++ sub spin(int i) ${{
    if (i < 100) return;
    printf("ready\n");
    fflush(stdout);
    for (;;) std::this_thread::sleep_for(std::chrono::milliseconds(1));
$}}
sub main() for i = 0 .. 100 spin(i);
`,
	// What a signal would end early, if the thread got it.
	"CFs that sleep": `C++ sub nap(int i) ${{
    if (i == 0) { printf("ready\n"); fflush(stdout); }
    struct timespec t = {3600, 0};
    if (nanosleep(&t, nullptr) != 0) fprintf(stderr, "cut short\n");
$}}
sub main() for i = 0 .. 7 nap(i);
`,
}

// TestSignals ends runs from outside: the trace of what ran so far must be usable.
func TestSignals(t *testing.T) {
	if !canRun {
		t.Skip("built without the engine")
	}
	home := lunaHome(t)
	for name, source := range endless {
		for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
			t.Run(signal.String()+" "+name, func(t *testing.T) {
				t.Parallel()
				trace, stderr, code := endBy(t, home, source, signal)
				if strings.Contains(stderr, "goroutine") {
					t.Errorf("Go's stacks:\n%s", stderr)
				}
				if code != console.Interrupted {
					t.Errorf("exit code %d", code)
				}
				if strings.Contains(stderr, "cut short") {
					t.Errorf("a thread that ran user code got the signal:\n%s", stderr)
				}
				if !strings.Contains(stderr, "whyslow: interrupted") {
					t.Errorf("does not say that it was interrupted:\n%s", stderr)
				}
				if !strings.HasSuffix(strings.TrimSpace(stderr), "\n"+trace) {
					t.Errorf("the last line is not %s:\n%s", trace, stderr)
				}
				stdout, stderr, code, err := shell(".", home, "whyslow report --json "+trace)
				if err != nil || code != console.Done {
					t.Fatalf("report: exit code %d, %v\n%s", code, err, stderr)
				}
				if err := checkSums([]byte(stdout)); err != nil {
					t.Error(err)
				}
				if !strings.Contains(stdout, `"ended": "interrupted"`) {
					t.Errorf("%.300s", stdout)
				}
			})
		}
		t.Run("kill "+name, func(t *testing.T) {
			t.Parallel()
			trace, _, _ := endBy(t, home, source, os.Kill)
			// What had been written is there; early on that may be nothing at all.
			_, stderr, code, err := shell(".", home, "whyslow report "+trace)
			if err != nil || code != console.Damaged && code != console.BadUsage || strings.Contains(stderr,
				"goroutine") {
				t.Errorf("report: exit code %d, %v\n%s", code, err, stderr)
			}
		})
	}
}

// TestOwnHandler: a handler that user code has installed is called, and the program goes on.
func TestOwnHandler(t *testing.T) {
	if !canRun {
		t.Skip("built without the engine")
	}
	home, dir := lunaHome(t), t.TempDir()
	for name, text := range map[string]string{
		"own.fa": "import c_handle() as handle;\nsub main() handle();\n",
		"own.cpp": `#include <csignal>
#include <cstdio>
#include <unistd.h>
static volatile sig_atomic_t handled;
extern "C" void c_handle()
{
    std::signal(SIGINT, [](int) { handled = 1; });
    printf("ready\n");
    fflush(stdout);
    while (!handled) usleep(1000);
    fprintf(stderr, "handled\n");
}
`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	stderr, code := interrupt(t, syscall.SIGINT, dir, filepath.Join(home, "bin", "whyslow"), "run", "own.fa")
	handled, interrupted := strings.Contains(stderr, "handled\n"), strings.Contains(stderr, "interrupted")
	if code != console.Done || !handled || interrupted {
		t.Errorf("exit code %d:\n%s", code, stderr)
	}
}

var mainStays bool // the main goroutine stays on the main thread

// stays tells whether this goroutine stays on the main thread while others run.
func stays() bool {
	for range 1000 {
		c := make(chan bool)
		go func() {
			runtime.LockOSThread() // so it is another thread that wakes this goroutine
			c <- true
		}()
		if <-c; syscall.Gettid() != os.Getpid() {
			return false
		}
	}
	return true
}

// TestMainThread: the main thread, which gets the signals, never runs user code.
func TestMainThread(t *testing.T) {
	if !mainStays {
		t.Error("another goroutine may run on the main thread, and call user code there")
	}
}

// endBy runs a program until it is ready and a little longer, and sends it the signal.
func endBy(t *testing.T, home, source string, signal os.Signal) (trace, stderr string, code int) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "endless.fa"), []byte(source), 0o666); err != nil {
		t.Fatal(err)
	}
	trace = filepath.Join(dir, "endless.trace")
	// Named from its folder it is the same program to the compiler's cache wherever that is.
	stderr, code = interrupt(t, signal, dir, filepath.Join(home, "bin", "whyslow"), "run", "-o", trace,
		"endless.fa")
	return trace, stderr, code
}

// interrupt starts a command in a folder, sends it the signal a little after it has printed "ready", and
// waits for its end.
func interrupt(t *testing.T, signal os.Signal, dir, name string, args ...string) (stderr string, code int) {
	t.Helper()
	if s, ok := signal.(syscall.Signal); ok && signals.Ignored(s) {
		t.Skipf("these tests were started with %v ignored, by nohup perhaps", s)
	}
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var errs bytes.Buffer
	cmd.Stderr = &errs
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q %v\n%s", line, err, errs.String())
	}
	time.Sleep(50 * time.Millisecond)
	if err := cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(10*time.Minute, func() { cmd.Process.Kill() })
	defer late.Stop()
	if _, err := io.Copy(io.Discard, stdout); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() // its exit code is the answer
	return errs.String(), cmd.ProcessState.ExitCode()
}
