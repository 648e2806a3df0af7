package shmemtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/testkit/cctest"
)

// lockNumber finds the numbers of locks, which depend on where the compiler has put them.
var lockNumber = regexp.MustCompile(`^(onAcquired|onReleased) \d+$`)

// transcript is what a PE did, in words and without times.
func transcript(list []shmemEvent) string {
	var b strings.Builder
	for _, e := range list {
		b.WriteString(lockNumber.ReplaceAllString(e.text, "$1 LOCK") + "\n")
	}
	return b.String()
}

// Every family of functions is recorded with what describes it, and does what it does without the library.
func TestShmemCalls(t *testing.T) {
	t.Parallel()
	program := compileShmem(t, "calls.c", "-Wno-deprecated-declarations")
	res := runShmem(t, 2, nil, program)
	res.ok(t, "all right\nall right\n")
	r := res.read(t, true)
	got := transcript(events(t, r, 0, 0))
	golden := filepath.Join("testdata", "calls.txt")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("PE 0 (-want +got; UPDATE=1 go test writes the file):\n%s", diff)
	}
	other := events(t, r, 1, 0)
	for _, c := range []struct {
		text string
		n    int
	}{
		{"enter shmem_int_wait_until", 1}, {"enter shmem_int_test",
			1}, {"onCollective broadcast 0 1 2 1 16 0", 1}, {"onClockSync 0", 2},
		{"onCollective start 0 1 2 -1 0 0", 1}, {"onCollective finish 0 1 2 -1 0 0",
			1}, {"enter shmem_double_max_to_all", 0},
	} {
		if n := count(other, c.text); n != c.n {
			t.Errorf("PE 1 has %d times %q, want %d:\n%s", n, c.text, c.n, transcript(other))
		}
	}
	info := r.Run()
	if info.Ended != "done" || info.Program != "program" || len(info.Nodes) != 2 ||
		info.Settings["instrument"] != "auto" || info.Processes[1].Host != info.Processes[0].Host {
		t.Errorf("run.json: %+v", info)
	}
}

// TestShmemCores: run.json tells the cores of every process, here one for each, and nothing else is left.
func TestShmemCores(t *testing.T) {
	t.Parallel()
	program := compileShmem(t, "delays.c")
	if _, err := exec.LookPath("taskset"); err != nil {
		t.Skip(err)
	}
	res := runShmem(t, 2, nil, "sh", "-c",
		`exec taskset -c $((OMPI_COMM_WORLD_RANK % $1)) "$0"`, program, fmt.Sprint(runtime.NumCPU()))
	res.ok(t, "")
	for i, p := range res.read(t, true).Run().Processes {
		if want := fmt.Sprint(i % runtime.NumCPU()); p.Affinity != want || p.Cores != 1 {
			t.Errorf("process %d: %+v, want core %s", i, p, want)
		}
	}
	if left, _ := filepath.Glob(res.trace + "/*.host"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// Delays of known length show in the times: those who wait leave after the late one has come, and that
// one came as late as it slept.
func TestShmemDelays(t *testing.T) {
	t.Parallel()
	const pes, ms = 4, int64(1e6)
	program := compileShmem(t, "delays.c")
	res := runShmem(t, pes, nil, program)
	res.ok(t, "")
	r := res.read(t, true)
	var list [pes][]shmemEvent
	for pe := range list {
		list[pe] = events(t, r, pe, 0)
	}
	for _, c := range []struct {
		region, before string
		nth, late      int
		slept          int64
	}{
		{"shmem_broadcast64", "shmem_barrier_all", 1, 1, 100 * ms},
		{"shmem_malloc", "shmem_barrier_all", 3, 0, 80 * ms},
		{"shmem_int_sum_to_all", "shmem_malloc", 1, pes - 1, 50 * ms},
	} {
		came, _ := times(t, list[c.late], c.region, 1)
		if _, left := times(t, list[c.late], c.before, c.nth); came-left < c.slept {
			t.Errorf("%s: PE %d came %d ns after %s, slept %d", c.region, c.late, came-left, c.before, c.slept)
		}
		for pe := range list {
			entered, exited := times(t, list[pe], c.region, 1)
			if exited < came {
				t.Errorf("%s: PE %d left at %d, before PE %d came at %d", c.region, pe, exited, c.late, came)
			}
			t.Logf("%s: PE %d inside for %.2f ms, of which it waited %.2f", c.region, pe,
				float64(exited-entered)/1e6, float64(max(0, came-entered))/1e6)
		}
	}
	// The lock has one holder at a time, for 30 ms and more each, and the same number everywhere.
	locks := map[string]bool{}
	type hold struct{ from, to int64 }
	var holds []hold
	for pe := range list {
		var h hold
		for _, e := range list[pe] {
			what, lock, _ := strings.Cut(e.text, " ")
			switch what {
			case "onAcquired":
				h.from = e.time
			case "onReleased":
				h.to = e.time
			default:
				continue
			}
			locks[lock] = true
		}
		if h.to-h.from < 30*ms {
			t.Errorf("PE %d held the lock for %d ns", pe, h.to-h.from)
		}
		holds = append(holds, h)
	}
	for i, a := range holds {
		for _, b := range holds[:i] {
			if a.from < b.from && a.to > b.to || b.from < a.from && b.to > a.to {
				t.Errorf("two hold the lock at once: %v %v", a, b)
			}
		}
	}
	if len(locks) != 1 {
		t.Errorf("numbers of the lock: %v", locks)
	}
}

// What the levels of instrumentation include.
func TestShmemLevels(t *testing.T) {
	t.Parallel()
	program := compileShmem(t, "hard.c", "-finstrument-functions", "-fno-optimize-sibling-calls")
	for _, c := range []struct {
		level, mode          string
		remote, own, entered int
	}{
		{"sync", "local", 0, 0, 0}, {"calls", "local", 100, 0, 0}, {"local", "local", 100, 7,
			0}, {"functions", "functions", 102, 0, 6},
		{"", "functions", 102, 0, 6}, // the compiler's switch alone
	} {
		res := runShmem(t, 2, []string{"WHYSLOW_INSTRUMENT=" + c.level}, program, c.mode)
		res.ok(t, "")
		r := res.read(t, true)
		list := events(t, r, 0, 0)
		remote, own := count(list, "onPut 1 8 0"), count(list, "onPut 0 8 0")
		functions := 0
		for _, name := range []string{"main", "puts_of", "first", "second", "third"} {
			functions += count(list, "enter "+name)
		}
		if remote != c.remote || own != c.own || functions != c.entered ||
			count(list, "enter shmem_barrier_all") != 1 {
			t.Errorf("%s: %d remote, %d own, %d functions:\n%s", c.level, remote, own, functions, transcript(list))
		}
		if c.entered > 0 && !strings.Contains(transcript(list),
			strings.Join([]string{"enter main", "enter shmem_init", "onCollective start 0 1 2 -1 0 0",
				"exit shmem_init", "enter puts_of", "enter shmem_long_p"}, "\n")) {
			t.Errorf("main is not around shmem_init:\n%s", transcript(list))
		}
	}
}

// Clocks are compared if that is asked for; on one host the truth is 0, and within the bounds told.
func TestShmemClockSync(t *testing.T) {
	t.Parallel()
	program := compileShmem(t, "delays.c")
	res := runShmem(t, 3, []string{"WHYSLOW_CLOCK_SYNC=always"}, program)
	res.ok(t, "")
	r := res.read(t, true)
	for pe := range 3 {
		n := 0
		for _, e := range events(t, r, pe, 0) {
			var offset int64
			if _, err := fmt.Sscanf(e.text, "onClockSync %d", &offset); err == nil {
				t.Logf("PE %d: %d ns", pe, offset)
				n++
			}
		}
		if want := min(pe, 1) * 2; n != want {
			t.Errorf("PE %d compared its clock %d times, want %d", pe, n, want)
		}
	}
	for _, s := range syncs(t, r) {
		if s[0] > s[1] || -s[0] > s[1] || s[1] == 0 {
			t.Errorf("offset %d, error %d: the truth is 0", s[0], s[1])
		}
	}
	res = runShmem(t, 2, []string{"WHYSLOW_CLOCK_SYNC=off"}, program)
	res.ok(t, "")
	if s := syncs(t, res.read(t, true)); len(s) != 0 {
		t.Errorf("%v, though it is off", s)
	}
}

// The library can be linked in, as an object file or as a shared library.
func TestShmemLinked(t *testing.T) {
	t.Parallel()
	needShmem(t)
	library, err := shmemLibrary()
	if err != nil {
		t.Fatal(err)
	}
	object := cctest.Make(t, cctest.Program{Name: "shmem.o", Flags: []string{"-O0", "-pthread"},
		Sources: []string{"../shmem.c"}, Link: []string{"-r"}})
	for _, flags := range [][]string{{object}, {library, "-Wl,-rpath," + filepath.Dir(library)}} {
		program := compileShmem(t, "delays.c", flags...)
		res := runShmem(t, 2, []string{"LD_PRELOAD="}, program)
		res.ok(t, "")
		if n := count(events(t, res.read(t, true), 1, 0), "enter shmem_barrier_all"); n != 3 {
			t.Errorf("%v: %d barriers, want 3", flags, n)
		}
	}
}
