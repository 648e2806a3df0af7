package shmemtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/trace"
)

// hard runs testdata/hard.c with 2 PEs.
func hard(t *testing.T, env []string, mode string) shmemRun {
	t.Helper()
	return runShmem(t, 2, env, compileShmem(t, "hard.c"), mode)
}

// wantPuts asserts how many puts to the other PE are in the trace of each.
func wantPuts(t *testing.T, r *trace.Reader, want int) {
	t.Helper()
	for pe := range 2 {
		if n := count(events(t, r, pe, 0), []string{"onPut 1 8 0", "onPut 0 8 0"}[pe]); n != want {
			t.Errorf("PE %d has %d puts, want %d", pe, n, want)
		}
	}
}

// A program that exits without shmem_finalize has everything it did in its trace, which says so.
func TestShmemExit(t *testing.T) {
	t.Parallel()
	res := hard(t, nil, "exit")
	res.ok(t, "")
	r := res.read(t, true)
	wantPuts(t, r, 100)
	if info := r.Run(); info.Ended != "done" || info.Message != "it ended without shmem_finalize" {
		t.Errorf("run.json: %q, %q", info.Ended, info.Message)
	}
	for pe := range 2 {
		if n := count(events(t, r, pe, 0), "onProgramFinished"); n != 1 {
			t.Errorf("PE %d has %d times onProgramFinished", pe, n)
		}
	}
}

// Of a program that is killed there is what was recorded until shortly before, and the trace is not complete.
func TestShmemKilled(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"kill", "abort"} {
		env := []string{"WHYSLOW_FLUSH=20"}
		if mode == "abort" {
			env = []string{"WHYSLOW_SIGNALS=1"}
		}
		res := hard(t, env, mode)
		if res.code == 0 {
			t.Errorf("%s: exit code 0", mode)
		}
		r := res.read(t, false)
		if mode == "kill" && r.Run().Ended != "" {
			t.Errorf("%s: it ended %q", mode, r.Run().Ended)
		}
		list := events(t, r, 1, 0)
		if n := count(list, "onPut 0 8 0"); n < 100 || count(list,
			"onProgramFinished") != map[string]int{"kill": 0, "abort": 1}[mode] {
			t.Errorf("%s: PE 1 has %d puts:\n%s", mode, n, transcript(list[max(0, len(list)-10):]))
		}
	}
}

// shmem_global_exit completes the trace of the PE that calls it; the program ends as it would without
// the library.
func TestShmemGlobalExit(t *testing.T) {
	t.Parallel()
	res := hard(t, []string{"WHYSLOW_FLUSH=1"}, "global")
	if res.code != 3 {
		t.Errorf("exit code %d, want 3:\n%s", res.code, res.output)
	}
	r := res.read(t, false)
	if list := events(t, r, 1, 0); count(list, "exit shmem_global_exit") != 1 ||
		count(list, "onPut 0 8 0") != 100 || !r.Closed(1) {
		t.Errorf("PE 1:\n%s", transcript(list[max(0, len(list)-10):]))
	}
}

// The child of a fork adds nothing to the trace and takes nothing from it.
func TestShmemFork(t *testing.T) {
	t.Parallel()
	res := hard(t, nil, "fork")
	if res.code != 0 {
		t.Fatalf("exit code %d:\n%s", res.code, res.output) // Open MPI may warn of the fork
	}
	wantPuts(t, res.read(t, true), 200)
}

// Further threads have streams of their own; one that begins when another has ended goes on with its stream.
func TestShmemThreads(t *testing.T) {
	t.Parallel()
	res := hard(t, nil, "threads")
	res.ok(t, "")
	r := res.read(t, true)
	wantPuts(t, r, 100)
	for pe := range 2 {
		n, streams, polls := 0, 0, 0
		for _, s := range r.Streams() {
			if s.Node == pe && s.Stream > 0 {
				streams++
				list := events(t, r, pe, s.Stream)
				n += count(list, []string{"onPut 1 8 0", "onPut 0 8 0"}[pe])
				polls += count(list, "exit shmem_long_test")
				if e := list[len(list)-1].text; e != "exit shmem_long_p" && e != "exit shmem_long_test" {
					t.Errorf("PE %d, stream %d ends with %q", pe, s.Stream, e)
				}
			}
		}
		if n != 400 || streams < 1 || streams > 2 || polls < 2 || polls > 20 {
			t.Errorf("PE %d: %d puts and %d polls in %d further streams, want 400 in 1 or 2", pe, n, polls, streams)
		}
	}
}

// Functions that are called by signal handlers, in the midst of recording or not, leave regions nested
// and the program unharmed.
func TestShmemSignals(t *testing.T) {
	t.Parallel()
	program := compileShmem(t, "hard.c", "-finstrument-functions")
	res := runShmem(t, 2, []string{"WHYSLOW_INSTRUMENT=functions", "WHYSLOW_BUFFER=4k"}, program, "signals")
	res.ok(t, "handled\nhandled\n")
	r := res.read(t, true)
	for pe := range 2 {
		list := events(t, r, pe, 0)
		if in, out := count(list, "enter on_signal"), count(list, "exit on_signal"); in != out {
			t.Errorf("PE %d entered the handler %d times, left it %d times", pe, in, out)
		} else {
			t.Logf("PE %d: %d calls of the handler between operations, %d events", pe, in, len(list))
		}
	}
}

// When the disk is full the program goes on; what is missing is told.
func TestShmemDiskFull(t *testing.T) {
	t.Parallel()
	res := hard(t, []string{"WHYSLOW_BUFFER=64k", "WHYSLOW_LEVEL=-1"}, "full")
	if res.code != 0 || !strings.Contains(res.output, "File too large; events are being lost") {
		t.Fatalf("exit code %d:\n%s", res.code, res.output)
	}
	r := res.read(t, false)
	if !regexp.MustCompile(`File too large.*\(\d+ events lost\)$`).MatchString(r.Run().Message) ||
		len(r.Problems()) == 0 {
		t.Errorf("run.json: %q, problems %v", r.Run().Message, r.Problems())
	}
}

// A folder that cannot be written to is told; the program runs.
func TestShmemNothingRecorded(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	program := compileShmem(t, "delays.c")
	for env, want := range map[string]string{
		"WHYSLOW_TRACE=" + file + "/t": "Not a directory; nothing is recorded",
	} {
		res := runShmem(t, 2, []string{env}, program)
		if res.code != 0 || !strings.Contains(res.output, want) {
			t.Errorf("%s: exit code %d:\n%s", env, res.code, res.output)
		}
	}
	res := runShmem(t, 2, []string{"WHYSLOW_OFF=1"}, program)
	res.ok(t, "")
	if _, err := os.Stat(res.trace); err == nil {
		t.Error("there is a trace, though it is off")
	}
}

// Polls from one place that follow each other at once are one region, and so is the one that succeeds;
// not for longer than 10 ms.
func TestShmemPolls(t *testing.T) {
	t.Parallel()
	res := hard(t, nil, "poll")
	res.ok(t, "")
	list := events(t, res.read(t, true), 0, 0)
	for _, name := range []string{"shmem_long_test", "shmem_test_lock"} {
		var inside, regions int64
		for _, e := range list {
			switch e.text {
			case "enter " + name:
				inside -= e.time
				regions++
			case "exit " + name:
				inside += e.time
			}
		}
		t.Logf("%s: %d regions, %.1f ms", name, regions, float64(inside)/1e6)
		if regions == 0 || inside <= 0 {
			t.Errorf("%s: %d regions, %d ns", name, regions, inside)
		}
	}
	if count(list, "enter shmem_test_lock") != count(list, "exit shmem_test_lock") ||
		!strings.Contains(transcript(list),
			"onAcquired LOCK\nexit shmem_test_lock\nenter shmem_clear_lock\nonReleased LOCK\n") {
		t.Errorf("PE 0:\n%s", transcript(list[max(0, len(list)-20):]))
	}
}

// shmem_pcontrol switches recording off and on.
func TestShmemPcontrol(t *testing.T) {
	t.Parallel()
	library, err := shmemLibrary()
	if err != nil {
		t.Fatal(err)
	}
	// The header does not have the function, so that only a program linked with the library finds it.
	program := compileShmem(t, "hard.c", library, "-Wl,-rpath,"+filepath.Dir(library))
	res := runShmem(t, 2, []string{"LD_PRELOAD="}, program, "off")
	res.ok(t, "")
	r := res.read(t, true)
	wantPuts(t, r, 105)
	if n := count(events(t, r, 0, 0), "enter shmem_barrier_all"); n != 1 {
		t.Errorf("%d barriers, want 1", n)
	}
}
