package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/testkit/cctest"
)

// hasMPICC tells whether MPI programs can be compiled and started here.
func hasMPICC() bool {
	_, compiler := exec.LookPath("mpicc")
	_, launcher := exec.LookPath("mpirun")
	return compiler == nil && launcher == nil
}

// mpiEnvironment lets mpirun start more ranks than cores, as root.
const mpiEnvironment = "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1" +
	" OMPI_MCA_rmaps_base_oversubscribe=1; "

// recordedMPI runs an MPI program and gives what it prints, and what the search for patterns found in it.
func recordedMPI(t *testing.T, source string, ranks int, args string) (stdout string, found *pattern.Result) {
	t.Helper()
	if !hasMPICC() {
		t.Skip("no compiler of MPI programs here")
	}
	home, dir := lunaHome(t), t.TempDir()
	path, err := filepath.Abs(source)
	if err != nil {
		t.Fatal(err)
	}
	program := cctest.Make(t, cctest.Program{Name: strings.TrimSuffix(filepath.Base(source), ".c"),
		Compiler: []string{"mpicc"}, Flags: []string{"-g", "-O2"}, Sources: []string{path}, Link: []string{"-lm"}})
	stdout, stderr, code, err := shell(dir, home, fmt.Sprintf(mpiEnvironment+
		"whyslow mpi -q --json=report.json -o run.trace -- mpirun -n %d %s %s", ranks, program, args))
	if err != nil || code != 0 {
		t.Fatalf("exit code %d, %v\n%s%s", code, err, stdout, stderr)
	}
	text, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := checkSums(text); err != nil {
		t.Error(err)
	}
	var report struct{ PGAS *pattern.Result }
	if err := json.Unmarshal(text, &report); err != nil || report.PGAS == nil {
		t.Fatalf("%v %.300s", err, text)
	}
	return stdout, report.PGAS
}

// TestMPIPatterns compares what patterns find with what a program that waits on purpose says of itself.
func TestMPIPatterns(t *testing.T) {
	t.Parallel()
	stdout, found := recordedMPI(t, "../testdata/mpi/patterns.c", 3, "")
	var sends int64
	for _, thread := range found.Threads {
		sends += thread.Sends
	}
	checked, waits := 0, 0
	for line := range strings.Lines(stdout) {
		var id string
		var want int64
		if _, err := fmt.Sscan(line, &id, &want); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		checked++
		if id == "sends" {
			if sends != want {
				t.Errorf("%d messages sent, the program says %d", sends, want)
			}
			continue
		}
		// Its clock is read before it enters a call: in between it may lose its core. Ranks that have no core when
		// they should wait do not.
		got, room := found.Sum(id, nil).Total, max(want/5, 4_000_000)
		if want > room {
			waits++
		}
		if got < want-room || got > want+room {
			t.Errorf("%s: %d ns, by the program's own clock %d", id, got, want)
		}
	}
	if checked != 9 || waits < 3 {
		t.Errorf("%d waits; the program said:\n%s", waits, stdout)
	}
	if n := len(found.Problems); n > 0 {
		t.Errorf("problems: %q", found.Problems)
	}
}
