package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// blockedReport is what the tests here read of a report.
type blockedReport struct {
	TotalNS int64 `json:"total_ns"`
	Factors map[string]struct {
		NS       int64
		Parts    map[string]int64
		Measured int64 `json:"measured_ns"`
	}
	Causes []struct {
		Factor, Part, Producer, Consumer, What string
		NS                                     int64
	}
}

// runBlocked runs examples/blocked with arguments and checks that the factors add up.
func runBlocked(t *testing.T, args string) *blockedReport {
	t.Helper()
	if !canRun {
		t.Skip("built without the engine")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../examples/blocked")); err != nil {
		t.Fatal(err)
	}
	return reportOf(t, dir, "whyslow run -q --json=r.json "+args)
}

// reportOf is the report that a command writes to r.json. The factors in it add up.
func reportOf(t *testing.T, dir, command string) *blockedReport {
	t.Helper()
	_, stderr, code, err := shell(dir, lunaHome(t), command)
	if err != nil || code != 0 {
		t.Fatal(err, code, stderr)
	}
	text, err := os.ReadFile(filepath.Join(dir, "r.json"))
	if err != nil {
		t.Fatal(err)
	}
	r := &blockedReport{}
	if err := json.Unmarshal(text, r); err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for name, f := range r.Factors {
		sum += f.NS
		parts := int64(0)
		for _, ns := range f.Parts {
			parts += ns
		}
		if name != "U" && parts != f.NS {
			t.Errorf("the parts of %s make %d of %d ns", name, parts, f.NS)
		}
	}
	if sum != r.TotalNS {
		t.Errorf("the factors make %d of %d ns", sum, r.TotalNS)
	}
	return r
}

// waited is the time of a part of W of a code fragment, with the first cause that says for what.
func (r *blockedReport) waited(part, consumer string) (ns int64, cause string) {
	for _, c := range r.Causes {
		if c.Factor == "W" && c.Part == part && c.Consumer == consumer {
			ns += c.NS
			if cause == "" {
				cause = fmt.Sprint(c.What, " ", c.Producer)
			}
		}
	}
	return ns, cause
}

func (r *blockedReport) fits(t *testing.T, part, consumer string, least int64, cause string) {
	t.Helper()
	if ns, got := r.waited(part, consumer); ns < least || !strings.HasPrefix(got, cause) {
		t.Errorf("%s waited %d ns for W.%s (%s), want %d or more (%s)", consumer, ns, part, got, least, cause)
	}
}

// ms is a millisecond in nanoseconds.
const ms = 1_000_000

// TestSleep: time asleep is no pre-emption, however busy the machine is.
func TestSleep(t *testing.T) {
	r := runBlocked(t, "-w 2 blocked.fa 20 0 0 0")
	r.fits(t, "sleep", "nap", 95*ms, "blocked.cpp:")
	if u := r.Factors["U"].NS; u > 50*ms {
		t.Errorf("useful time of CFs that sleep: %d ns", u)
	}
}

// TestLock: who waits for a lock is told which, where, and who held it.
func TestLock(t *testing.T) {
	r := runBlocked(t, "-w 4 blocked.fa 0 40 0 0")
	r.fits(t, "lock", "locked", 1, "counter_mutex (blocked.cpp:")
	if _, cause := r.waited("lock", "locked"); !strings.HasSuffix(cause, " locked") {
		t.Errorf("nobody held it: %s", cause)
	}
}

// TestSlowPipe: who waits for a pipe is told so, and where.
func TestSlowPipe(t *testing.T) {
	r := runBlocked(t, "-w 1 blocked.fa 0 0 10 0")
	ns, _ := r.waited("lock", "slow_read") // for the thread that writes, where that comes late to its end
	r.fits(t, "io", "slow_read", 15*ms-ns, "pipe (blocked.cpp:")
}

// TestSpinningNeighbours: CFs that compute are pre-empted where there are too few cores, and not blocked.
func TestSpinningNeighbours(t *testing.T) {
	r := runBlocked(t, fmt.Sprintf("-w %d blocked.fa 0 0 0 400", 4*runtime.NumCPU()))
	preempted, w := r.Factors["O"].Parts["preempt"], r.Factors["W"].NS
	if u := r.Factors["U"]; u.Measured*10 < u.NS*9 {
		t.Errorf("of %d ns only %d are measured", u.NS, u.Measured)
	}
	if preempted == 0 || w*10 > preempted {
		t.Errorf("pre-empted for %d ns, waited for %d ns", preempted, w)
	}
}

// TestOpenMPNeighbours: likewise threads of an OpenMP program that only compute.
func TestOpenMPNeighbours(t *testing.T) {
	if !hasOMP() {
		t.Skip("no OpenMP run-time system here that can be recorded")
	}
	if _, err := os.Stat("/proc/thread-self/schedstat"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../examples/openmp")); err != nil {
		t.Fatal(err)
	}
	r := reportOf(t, dir, fmt.Sprintf("gcc -O2 -g -fopenmp -o mended mended.c && "+
		"OMP_NUM_THREADS=%d whyslow omp -q --json=r.json -- ./mended 8000", 4*runtime.NumCPU()))
	if preempted, w := r.Factors["O"].Parts["preempt"], r.Factors["W"].NS; preempted == 0 || w*10 > preempted {
		t.Errorf("pre-empted for %d ns, waited for %d ns", preempted, w)
	}
}

// TestNoWaits: without the functions that take note, the kernel's figures still tell waiting from running.
func TestNoWaits(t *testing.T) {
	r := runBlocked(t, "--no-waits -w 2 blocked.fa 20 0 0 0")
	if _, err := os.Stat("/proc/thread-self/schedstat"); err != nil {
		t.Skip(err)
	}
	if ns, _ := r.waited("sleep", "nap"); ns != 0 {
		t.Errorf("asleep for %d ns, although nobody took note", ns)
	}
	r.fits(t, "blocked", "nap", 80*ms, "")
}
