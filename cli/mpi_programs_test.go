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
	"github.com/whyslow/whyslow/internal/console"
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

// mpiProgram is what is compiled of a source.
func mpiProgram(t *testing.T, source string) cctest.Program {
	t.Helper()
	path, err := filepath.Abs(source)
	if err != nil {
		t.Fatal(err)
	}
	return cctest.Program{Name: strings.TrimSuffix(filepath.Base(source), ".c"), Compiler: []string{"mpicc"},
		Flags: []string{"-g", "-O2"}, Sources: []string{path}, Link: []string{"-lm"}}
}

// recordedMPI runs an MPI program and gives what it prints, and what the search for patterns found in it.
func recordedMPI(t *testing.T, source string, ranks int, args string) (stdout string, found *pattern.Result) {
	t.Helper()
	if !hasMPICC() {
		t.Skip("no compiler of MPI programs here")
	}
	program := cctest.Make(t, mpiProgram(t, source))
	stdout, text := recordedBy(t, fmt.Sprintf(mpiEnvironment+
		"whyslow mpi -q --json=report.json -o run.trace -- mpirun -n %d %s %s", ranks, program, args))
	return stdout, patternsIn(t, text)
}

// recordedBy runs a command, and gives what it prints and the report that it leaves in report.json.
func recordedBy(t *testing.T, command string) (stdout string, report []byte) {
	t.Helper()
	dir := t.TempDir()
	stdout, stderr, code, err := shell(dir, lunaHome(t), command)
	if err != nil || code != 0 {
		t.Fatalf("exit code %d, %v\n%s%s", code, err, stdout, stderr)
	}
	if report, err = os.ReadFile(filepath.Join(dir, "report.json")); err != nil {
		t.Fatal(err)
	}
	if err := checkSums(report); err != nil {
		t.Error(err)
	}
	return stdout, report
}

// patternsIn is what the search for patterns found, in a report.
func patternsIn(t *testing.T, text []byte) *pattern.Result {
	t.Helper()
	var report struct{ PGAS *pattern.Result }
	if err := json.Unmarshal(text, &report); err != nil || report.PGAS == nil {
		t.Fatalf("%v %.300s", err, text)
	}
	return report.PGAS
}

// TestMPIPatterns compares what patterns find with what a program that waits on purpose says of itself.
func TestMPIPatterns(t *testing.T) {
	t.Parallel()
	stdout, found := recordedMPI(t, "../testdata/mpi/patterns.c", 3, "")
	checkPatterns(t, stdout, found, 9)
}

// TestMPIWaits is TestMPIPatterns for non-blocking collectives, windows and sleep.
func TestMPIWaits(t *testing.T) {
	t.Parallel()
	stdout, found := recordedMPI(t, "../testdata/mpi/waits.c", 3, "")
	checkPatterns(t, stdout, found, 10)
	if got := entered(found, "usleep"); got == 0 || found.Threads[0].Sends > 0 {
		t.Errorf("usleep was recorded %d times; rank 0 sent %d messages", got, found.Threads[0].Sends)
	}
}

// checkPatterns compares what a program says of so many figures with what was found.
func checkPatterns(t *testing.T, stdout string, found *pattern.Result, figures int) {
	t.Helper()
	var sends int64
	for _, thread := range found.Threads {
		sends += thread.Sends
	}
	checked, waits := 0, 0
	designed := func(call int) bool { // the program does not say how long it waits in these
		switch found.Regions[found.Calls[call].Region].Name {
		case "MPI_Comm_split", "MPI_Cart_create", "MPI_Win_allocate", "MPI_Win_free":
			return false
		}
		return true
	}
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
		got, room := found.Sum(id, designed).Total, max(want/5, 4_000_000)
		if want > room {
			waits++
		}
		if got < want-room || got > want+room {
			t.Errorf("%s: %d ns, by the program's own clock %d", id, got, want)
		}
	}
	if checked != figures || waits < 3 {
		t.Errorf("%d waits; the program said:\n%s", waits, stdout)
	}
	if n := len(found.Problems); n > 0 {
		t.Errorf("problems: %q", found.Problems)
	}
}

// TestMPIKernels runs programs as people write them: their results are those without recording, and what is
// sent is received.
func TestMPIKernels(t *testing.T) {
	t.Parallel()
	for _, ranks := range []int{1, 3, 16} { // 16: far more than there are cores
		stdout, found := recordedMPI(t, "../testdata/mpi/kernels.c", ranks, "")
		program := cctest.Make(t, mpiProgram(t, "../testdata/mpi/kernels.c"))
		alone, stderr, code, err := shell(t.TempDir(), lunaHome(t), fmt.Sprintf("%s mpirun -n %d %s", mpiEnvironment,
			ranks, program))
		if err != nil || code != 0 || alone != stdout || !strings.HasSuffix(stdout, "sort 0\n") {
			t.Errorf("%d ranks: exit code %d, %v\n%s%s\nrecorded:\n%s", ranks, code, err, alone, stderr, stdout)
		}
		var sent, received, sends, receives int64
		for _, thread := range found.Threads {
			sent, received = sent+thread.Sent, received+thread.Received
			sends, receives = sends+thread.Sends, receives+thread.Receives
		}
		// 50 steps with two messages of each rank, 20 with two between neighbours.
		if want := int64(100*ranks + 40*(ranks-1)); sends != want || receives != want || sent != received {
			t.Errorf("%d ranks: %d messages sent, %d received, not %d; %d bytes sent, %d received", ranks, sends, receives,
				want, sent, received)
		}
		if len(found.Problems) > 0 {
			t.Errorf("%d ranks: %q", ranks, found.Problems)
		}
	}
}

// entered is how often a function was called, by a run's regions.
func entered(found *pattern.Result, name string) int64 {
	return found.Sum("visits", func(call int) bool {
		return found.Regions[found.Calls[call].Region].Name == name
	}).Total
}

// TestMPICalls runs a program that calls what programs seldom call: each call is recorded, messages are
// paired, and the program finds what it expects.
func TestMPICalls(t *testing.T) {
	t.Parallel()
	stdout, found := recordedMPI(t, "../testdata/mpi/calls.c", 2, "")
	checkCalls(t, stdout, found)
}

// TestMPICH is TestMPICalls with the other implementation of MPI, which has partitioned messages.
func TestMPICH(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"mpicc.mpich", "mpiexec.mpich"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("no MPICH here: apt-get install mpich libmpich-dev")
		}
	}
	source := mpiProgram(t, "../testdata/mpi/calls.c")
	source.Name, source.Compiler = "calls-mpich", []string{"mpicc.mpich"}
	program := cctest.Make(t, source)
	stdout, text := recordedBy(t, "whyslow mpi -q --json=report.json -o run.trace -- mpiexec.mpich -n 2 "+program)
	if !strings.Contains(stdout, "MPI_Psend_init 1\n") {
		t.Errorf("no partitioned message: %s", stdout)
	}
	checkCalls(t, stdout, patternsIn(t, text))
}

// TestMPIFortran is TestMPICalls with the bindings of Fortran: mpi and mpi_f08, of each implementation.
func TestMPIFortran(t *testing.T) {
	t.Parallel()
	const f08 = "-DHANDLE(x)=type(x)|-DSTATUS=type(MPI_Status)|-DE=|-DE1="
	const f90 = "-DHANDLE(x)=integer|-DSTATUS=integer,dimension(MPI_STATUS_SIZE)|-DE=,err|-DE1=err"
	for _, c := range []struct{ module, compiler, launcher, flags string }{
		{"mpi", "mpifort.openmpi", "mpirun.openmpi", f90},
		{"mpi_f08", "mpifort.openmpi", "mpirun.openmpi", f08},
		{"mpi", "mpifort.mpich", "mpiexec.mpich", f90 + "|-fallow-argument-mismatch|-DMPICH"},
		{"mpi_f08", "mpifort.mpich", "mpiexec.mpich", f08 + "|-DMPICH"},
	} {
		t.Run(c.module+" "+c.compiler, func(t *testing.T) {
			t.Parallel()
			for _, name := range []string{"gfortran", c.compiler, c.launcher} {
				if _, err := exec.LookPath(name); err != nil {
					t.Skipf("no %s here", name)
				}
			}
			source := mpiProgram(t, "../testdata/mpi/fortran.f90")
			source.Name, source.Compiler, source.Link = c.module+"-"+c.compiler, []string{c.compiler}, nil
			source.Flags = append([]string{"-g", "-O1", "-cpp", "-DBINDING=" + c.module},
				strings.Split(c.flags, "|")...)
			program := cctest.Make(t, source)
			stdout, text := recordedBy(t, fmt.Sprintf(mpiEnvironment+
				"whyslow mpi -q --json=report.json -o run.trace -- %s -n 2 %s", c.launcher, program))
			found := patternsIn(t, text)
			first, rest, _ := strings.Cut(stdout, "\n")
			var spent int64
			if _, err := fmt.Sscanf(first, "MPI_Recv, ns %d", &spent); err != nil {
				t.Fatalf("%q: %v", stdout, err)
			}
			late := found.Sum("late-sender", func(call int) bool {
				return found.Regions[found.Calls[call].Region].Name == "MPI_Recv"
			}).Total
			if late <= 0 || late > spent {
				t.Errorf("%d ns of late senders in MPI_Recv, in which the program was for %d", late, spent)
			}
			names, messages := checkVisits(t, rest, found)
			if names < 20 || messages != 21 || len(found.Problems) > 0 {
				t.Errorf("%d functions, %d messages; problems %q\n%s", names, messages, found.Problems, stdout)
			}
		})
	}
}

// nearly compares a wait with what a program says by its own clock.
func nearly(t *testing.T, what string, got, want int64) {
	t.Helper()
	if room := max(want/5, 4_000_000); got < want-room || got > want+room {
		t.Errorf("%s: %d ns, by the program's own clock %d", what, got, want)
	}
}

// checkCalls compares what calls.c says it called with what was recorded.
func checkCalls(t *testing.T, stdout string, found *pattern.Result) {
	t.Helper()
	names, messages := checkVisits(t, stdout, found)
	for _, name := range []string{"MPI_Improbe", "MPI_Testany", "MPI_Testsome", "MPI_Testall"} {
		if entered(found, name) == 0 {
			t.Errorf("%s was not recorded", name)
		}
	}
	if names < 35 || messages < 21 || len(found.Problems) > 0 || found.Sum("io", nil).Total == 0 {
		t.Errorf("%d functions; %d messages; problems %q; files %v", names, messages, found.Problems,
			found.Sum("io", nil))
	}
}

// checkVisits compares how often a program says that it called functions with what was recorded. It gives how
// many functions that are, and how many messages were both sent and received.
func checkVisits(t *testing.T, stdout string, found *pattern.Result) (names int, messages int64) {
	t.Helper()
	for line := range strings.Lines(stdout) {
		var name string
		var want int64
		if _, err := fmt.Sscan(line, &name, &want); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		names++
		if got := entered(found, name); got != want {
			t.Errorf("%s: recorded %d times, called %d times", name, got, want)
		}
	}
	var receives int64
	for _, thread := range found.Threads {
		messages, receives = messages+thread.Sends, receives+thread.Receives
	}
	if messages != receives {
		t.Errorf("%d messages sent, %d received", messages, receives)
	}
	return names, messages
}

// TestMPIHybrid records ranks with threads: messages inside of parallel regions and outside, in one trace
// with the threads' CFs, and without --omp as lanes of their own.
func TestMPIHybrid(t *testing.T) {
	t.Parallel()
	if !hasMPICC() || !hasOMP() {
		t.Skip("no compiler of MPI programs here, or no OpenMP run-time system that can be recorded")
	}
	source := mpiProgram(t, "../testdata/mpi/hybrid.c")
	source.Flags = append(source.Flags, "-fopenmp")
	program := cctest.Make(t, source)
	run := func(flags string) (waited int64, text []byte) {
		stdout, text := recordedBy(t, fmt.Sprintf(mpiEnvironment+
			"whyslow mpi -q %s --json=report.json -o run.trace -- mpirun -n 2 %s", flags, program))
		var sum int
		if _, err := fmt.Sscanf(stdout, "late-sender %d\nsum %d", &waited, &sum); err != nil || sum != 1 {
			t.Fatalf("%v: the program said %q", err, stdout)
		}
		return waited, text
	}
	waited, text := run("")
	nearly(t, "late senders of threads without --omp", patternsIn(t, text).Sum("late-sender", nil).Total, waited)

	waited, text = run("--omp")
	var report struct {
		Factors map[string]factorJSON
		Nodes   []struct {
			Workers []struct{ Factors map[string]factorJSON }
		}
		Codes []struct{ Code string }
	}
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	nearly(t, "late senders", report.Factors["W"].Parts["late-sender"], waited)
	if len(report.Nodes) != 2 || len(report.Nodes[0].Workers) != 2 || len(report.Nodes[1].Workers) != 2 {
		t.Fatalf("not two nodes of two workers: %.500s", text)
	}
}

const endlessMPI = `#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv) {
    int me;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    for (int i = 0;; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (i == 100 && me == 0) printf("ready\n"), fflush(stdout);
        usleep(1000);
    }
}
`

// TestInterruptedMPIProgram ends a program from outside: the trace has what ran so far. mpirun gives a rank a
// second to end before it kills it, so that one without a core may miss the end.
func TestInterruptedMPIProgram(t *testing.T) {
	if !hasMPICC() {
		t.Skip("no compiler of MPI programs here")
	}
	t.Setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
	t.Setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
	t.Setenv("OMPI_MCA_rmaps_base_oversubscribe", "1")
	home, dir := lunaHome(t), t.TempDir()
	program := cctest.Make(t, cctest.Program{Name: "endless", Compiler: []string{"mpicc"}, Flags: []string{"-g"},
		Sources: []string{cctest.Source(t, "endless.c", endlessMPI)}})
	stderr, code := interrupt(t, os.Interrupt, dir, filepath.Join(home, "bin", "whyslow"), "mpi", "-o", "end.trace",
		"--", "mpirun", "-n", "2", program)
	if code != console.Interrupted || !strings.Contains(stderr, "whyslow: interrupted") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	stdout, stderr, code, err := shell(dir, home, "whyslow report --json end.trace")
	if err != nil || code != console.Done && code != console.Damaged ||
		!strings.Contains(stdout, `"ended": "interrupted"`) {
		t.Fatalf("exit code %d, %v\n%s%.300s", code, err, stderr, stdout)
	}
	if err := checkSums([]byte(stdout)); err != nil {
		t.Error(err)
	}
	stdout, _, _, err = shell(dir, home, "whyslow dump end.trace | grep -c 'kind=barrier'")
	if err != nil || len(strings.TrimSpace(stdout)) < 3 { // each rank had 100 before it was interrupted
		t.Errorf("barriers recorded: %s %v", stdout, err)
	}
}
