package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// The test binary is whyslow, luna and rts as well, by the name it is called.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"whyslow": main, "luna": main, "rts": main})
}

// compiledCode is where C++ compiled by tests is kept: content addressed, so it may outlive a test run.
func compiledCode() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return dir
}

func TestScript(t *testing.T) {
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_CACHE_HOME", compiledCode())
			env.Setenv("EXAMPLES", examples)
			env.Setenv("NO_COLOR", "1")
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "engine":
				return canRun, nil
			case "root":
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":     exits,
			"lastline":  lastLine,
			"truncated": truncated,
			"sumsup":    sumsUp,
		},
		RequireExplicitExec: true,
	})
}

// exits CODE COMMAND...: the command must end with this exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if exit, ok := err.(*exec.ExitError); ok {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

// lastline TEXT: the last line on standard error is TEXT.
func lastLine(ts *testscript.TestScript, neg bool, args []string) {
	lines := strings.Split(strings.TrimSpace(ts.ReadFile("stderr")), "\n")
	if last := lines[len(lines)-1]; (last == args[0]) == neg {
		ts.Fatalf("last line of stderr is %q", last)
	}
}

// truncated FILE BYTES: cuts that many bytes off the end.
func truncated(ts *testscript.TestScript, neg bool, args []string) {
	path := ts.MkAbs(args[0])
	info, err := os.Stat(path)
	ts.Check(err)
	var cut int64
	_, err = fmt.Sscan(args[1], &cut)
	ts.Check(err)
	ts.Check(os.Truncate(path, max(0, info.Size()-cut)))
}

// sumsup FILE: the factors of a JSON report add up to its total exactly.
func sumsUp(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(checkSums([]byte(ts.ReadFile(args[0]))))
}

const endless = `C++ sub spin(int i) ${{
    if (i == 0) { printf("ready\n"); fflush(stdout); }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
$}}
sub main() for i = 0 .. 1000000 spin(i);
`

// TestInterrupt presses Ctrl+C: the trace of what ran so far must be whole.
func TestInterrupt(t *testing.T) {
	if !canRun {
		t.Skip("built without the engine")
	}
	home := lunaHome(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "endless.fa"), []byte(endless), 0o666); err != nil {
		t.Fatal(err)
	}
	whyslow := filepath.Join(home, "bin", "whyslow")
	cmd := exec.Command(whyslow, "run", "endless.fa")
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q %v\n%s", line, err, stderr.String())
	}
	time.Sleep(50 * time.Millisecond)
	cmd.Process.Signal(syscall.SIGINT)
	io.Copy(io.Discard, stdout)
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
	lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
	if last := lines[len(lines)-1]; last != "endless.001.trace" {
		t.Errorf("last line %q", last)
	}
	if !strings.Contains(stderr.String(), "whyslow: interrupted") {
		t.Errorf("does not say that it was interrupted:\n%s", stderr.String())
	}
	report := exec.Command(whyslow, "report", "--json", "endless.001.trace")
	report.Dir = dir
	out, err := report.Output()
	if err != nil {
		t.Fatalf("report: %v", err)
	}
	if err := checkSums(out); err != nil {
		t.Error(err)
	}
	if !bytes.Contains(out, []byte(`"ended": "interrupted"`)) {
		t.Errorf("%.300s", out)
	}
}
