package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/testkit/replicate"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// manyNodes writes a trace, a recorded run of three nodes so many times, into a folder.
func manyNodes(t *testing.T, dir string, times int) {
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
		replicate.Options{Copies: times, Crossing: 0.5}); err != nil {
		t.Fatal(err)
	}
}

// TestMPIReport analyses a trace with several processes: the report is that of one, written by rank 0 alone.
func TestMPIReport(t *testing.T) {
	needMPI(t)
	t.Parallel()
	home, dir := lunaHome(t), t.TempDir()
	manyNodes(t, filepath.Join(dir, "many.trace"), 4)
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

// TestMPIReportInterrupt ends an analysis while its processes work together: one of them is stopped as soon
// as it reads, and the other waits for it.
func TestMPIReportInterrupt(t *testing.T) {
	needMPI(t)
	t.Parallel()
	home, dir := lunaHome(t), t.TempDir()
	manyNodes(t, filepath.Join(dir, "many.trace"), 200)
	for range 20 { // it may be over before it is stopped
		if interruptReport(t, home, dir) {
			return
		}
	}
	t.Error("no report was seen to read its trace")
}

// interruptReport tells whether it could interrupt a report.
func interruptReport(t *testing.T, home, dir string) bool {
	t.Helper()
	files := []string{filepath.Join(dir, "pid.0"), filepath.Join(dir, "pid.1")}
	for _, file := range files {
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("mpirun", "-n", "2", "sh", "-c",
		`echo $$ >pid.$OMPI_COMM_WORLD_RANK; exec "$0" report many.trace`,
		filepath.Join(home, "bin", "whyslow"))
	cmd.Dir = dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var pids [2]int
	for !reads(pids[1]) {
		for rank, file := range files {
			text, _ := os.ReadFile(file) // not there yet
			fmt.Sscan(string(text), &pids[rank])
		}
		select {
		case <-ended:
			return false
		case <-time.After(time.Millisecond):
		}
	}
	send := func(rank int, sig syscall.Signal) { _ = syscall.Kill(pids[rank], sig) } // it may have gone
	send(1, syscall.SIGSTOP)
	time.Sleep(100 * time.Millisecond) // for the other one to need it
	// mpirun does the same some seconds after its own Ctrl+C, and kills them if they are slow.
	send(0, syscall.SIGTERM)
	send(1, syscall.SIGTERM)
	send(1, syscall.SIGCONT)
	late := time.AfterFunc(4*time.Minute, func() { cmd.Process.Kill() })
	defer late.Stop()
	if <-ended == nil {
		return false
	}
	if strings.Count(stderr.String(), "whyslow: interrupted\n") != 1 || stdout.Len() > 0 {
		t.Errorf("%s%s", &stdout, &stderr)
	}
	return true
}

// reads tells whether a process has a file of a trace open.
func reads(pid int) bool {
	open, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid)) // the process may have gone
	return slices.ContainsFunc(open, func(fd string) bool {
		file, err := os.Readlink(fd)
		return err == nil && strings.HasSuffix(file, ".wst")
	})
}
