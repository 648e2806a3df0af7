package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/testkit/replicate"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
	"golang.org/x/sys/unix"
)

// manyNodes writes a trace of twelve nodes, a recorded run of three repeated, into a folder.
func manyNodes(t *testing.T, dir string) {
	t.Helper()
	text, err := replicate.Recording("cholesky")
	if err != nil {
		t.Fatal(err)
	}
	one := t.TempDir()
	if err := twin.Parse(bytes.NewReader(text), one); err != nil {
		t.Fatal(err)
	}
	r, err := trace.Open(one)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := replicate.Write(context.Background(), dir, r,
		replicate.Options{Copies: 4, Crossing: 0.5}); err != nil {
		t.Fatal(err)
	}
}

// TestMPIReport analyses a trace with several processes: the report is that of one, written by rank 0 alone.
func TestMPIReport(t *testing.T) {
	needMPI(t)
	t.Parallel()
	home, dir := lunaHome(t), t.TempDir()
	manyNodes(t, filepath.Join(dir, "many.trace"))
	run := func(want int, command string) (stdout, stderr string) {
		t.Helper()
		stdout, stderr, code, err := shell(dir, home, command)
		if err != nil || code != want {
			t.Fatalf("%s: exit code %d, %v\n%s%s", command, code, err, stdout, stderr)
		}
		return stdout, stderr
	}
	one, _ := run(0, "whyslow report --json many.trace")
	for _, n := range []string{"2", "3", "5"} {
		many, _ := run(0, "mpirun -n "+n+" whyslow report --json many.trace")
		if one != many {
			t.Errorf("%s processes:\n%s\none:\n%s", n, many, one)
		}
	}
	text, stderr := run(0, "mpirun -n 3 whyslow report --by node many.trace")
	if strings.Count(text, "Useful work") != 1 || strings.Contains(text, "\x1b") || stderr != "" {
		t.Errorf("%s%s", text, stderr)
	}
	run(0, "mpirun -n 2 whyslow report --html page.html --csv table.csv many.trace")
	for _, name := range []string{"page.html", "table.csv"} {
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || st.Size() < 1000 {
			t.Error(name, err)
		}
	}
	run(5, "mpirun -n 2 whyslow report --fail-if 'S>1%' many.trace")
	if _, stderr := run(2, "mpirun -n 3 whyslow report nothing.trace"); strings.Count(stderr,
		"nothing.trace") != 1 {
		t.Error(stderr)
	}
	// What one process misses all know.
	if err := os.Remove(filepath.Join(dir, "many.trace", tracefile.FileName(7))); err != nil {
		t.Fatal(err)
	}
	one, _ = run(4, "whyslow report --json many.trace")
	many, stderr := run(4, "mpirun -n 3 whyslow report --json many.trace")
	if one != many {
		t.Errorf("without a file:\n%s\none:\n%s", many, one)
	}
	if strings.Count(stderr, "the file of node 7 is missing") != 1 {
		t.Error(stderr)
	}
}

// TestMPIReportInterrupt ends an analysis that never does: a file cannot be opened.
func TestMPIReportInterrupt(t *testing.T) {
	needMPI(t)
	t.Parallel()
	home, dir := lunaHome(t), t.TempDir()
	manyNodes(t, filepath.Join(dir, "many.trace"))
	file := filepath.Join(dir, "many.trace", "run.json")
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(file, 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("mpirun", "-n", "2", "sh", "-c",
		`echo $$ >pid.$OMPI_COMM_WORLD_RANK; exec "$0" report many.trace`, filepath.Join(home, "bin", "whyslow"))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), longGrace)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	// For a moment any process opens something.
	for end, seen := time.Now().Add(4*time.Minute), 0; seen < 20; time.Sleep(10 * time.Millisecond) {
		if seen++; !opening(filepath.Join(dir, "pid.0")) || !opening(filepath.Join(dir, "pid.1")) {
			seen = 0
		}
		if time.Now().After(end) {
			t.Fatal("nobody opens the file")
		}
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
	defer late.Stop()
	if cmd.Wait() == nil {
		t.Error("mpirun is content")
	}
	if strings.Count(stderr.String(), "whyslow: interrupted\n") != 1 || stdout.Len() > 0 {
		t.Errorf("%s%s", &stdout, &stderr)
	}
}

// opening tells whether a thread of the process whose number is in a file waits for a file to open.
func opening(pidFile string) bool {
	pid, err := os.ReadFile(pidFile)
	if err != nil {
		return false
	}
	calls, err := filepath.Glob(fmt.Sprintf("/proc/%s/task/*/syscall", bytes.TrimSpace(pid)))
	if err != nil {
		return false
	}
	for _, path := range calls {
		if text, err := os.ReadFile(path); err == nil && strings.HasPrefix(string(text),
			fmt.Sprint(unix.SYS_OPENAT, " ")) {
			return true
		}
	}
	return false
}
