package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/testkit/cctest"
)

// threadsProgram compiles a program with threads.
func threadsProgram(t *testing.T, source string, compiler ...string) string {
	t.Helper()
	path, err := filepath.Abs(source)
	if err != nil {
		t.Fatal(err)
	}
	name, _, _ := strings.Cut(filepath.Base(source), ".")
	return cctest.Make(t, cctest.Program{Name: name, Compiler: compiler, Flags: []string{"-g", "-O1", "-pthread"},
		Sources: []string{path}})
}

// recordedThreads runs a program with threads, and gives what it prints and its report.
func recordedThreads(t *testing.T, command string) (stdout string, r *blockedReport) {
	t.Helper()
	stdout, text := recordedBy(t, "whyslow omp -q --json=report.json -o run.trace -- "+command)
	r = &blockedReport{}
	if err := json.Unmarshal(text, r); err != nil {
		t.Fatal(err)
	}
	return stdout, r
}

// because is how long a consumer waited in a factor, because of a producer, for something.
func (r *blockedReport) because(factor, part, producer, consumer, what string) (ns int64) {
	for _, c := range r.Causes {
		if c.Factor == factor && (part == "" || c.Part == part) && strings.HasPrefix(c.Producer, producer) &&
			strings.HasPrefix(c.Consumer, consumer) && strings.Contains(c.What, what) {
			ns += c.NS
		}
	}
	return ns
}

// asTold tells whether a time is what the program's own clock said. A thread that is woken may get its core
// late.
func asTold(got, want int64) bool {
	room := max(want/4, 10_000_000)
	return got > want-room && got < want+room
}

// functionOf is what reports call the threads that execute a function of threads.c: by its line.
func functionOf(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../testdata/threads/threads.c")
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(text), "static void *"+name+"(")
	switch {
	case name == "":
		return ""
	case !found:
		t.Fatalf("no function %s", name)
	}
	return fmt.Sprintf("thread threads.c:%d", strings.Count(before, "\n")+1)
}

// TestThreads records programs without OpenMP: threads are workers, a mutex is a wait for its holder, and a
// wait for another thread is starvation by that.
func TestThreads(t *testing.T) {
	t.Parallel()
	program := threadsProgram(t, "../testdata/threads/threads.c", "cc")
	run := func(how string) (waited int64, r *blockedReport) {
		stdout, r := recordedThreads(t, program+" "+how)
		if _, err := fmt.Sscan(strings.TrimPrefix(stdout, "child\n"), &waited); err != nil {
			t.Fatalf("%s: %q: %v", how, stdout, err)
		}
		return waited, r
	}
	waited, r := run("lock")
	if got := r.because("W", "lock", "thread threads.c:29", "thread threads.c:37", "queue_lock"); !asTold(got, waited) {
		t.Errorf("waited for the holder of queue_lock %d ns, by the program's own clock %d:\n%+v", got, waited, r.Causes)
	}
	waited, r = run("semaphore")
	if got := r.because("S", "", "thread threads.c:47", "main thread", ""); !asTold(got, waited) {
		t.Errorf("starved by the thread that posts a semaphore %d ns, by its own clock %d:\n%+v", got, waited, r.Causes)
	}
	_, r = run("naps")
	if got := r.because("W", "sleep", "", "thread threads.c:65", ""); got < 40_000_000 {
		t.Errorf("slept %d ns:\n%+v", got, r.Causes)
	}
	if got := r.because("W", "io", "", "thread threads.c:65", "pipe "); got < 5_000_000 {
		t.Errorf("waited for a pipe %d ns:\n%+v", got, r.Causes)
	}
	for _, c := range []struct{ how, factor, part, producer, consumer, what string }{
		{"rwlock", "W", "lock", "writes", "reads", "table_lock"},
		{"barrier", "S", "", "comes_late", "comes_early", ""},
		{"timed", "W", "lock", "holds", "gives_up", "queue_lock"},
		{"timed-semaphore", "S", "", "fills", "awaits", ""},
		{"fread", "W", "io", "", "streams", "pipe "},
	} {
		waited, r := run(c.how)
		if got := r.because(c.factor, c.part, functionOf(t, c.producer), functionOf(t, c.consumer),
			c.what); !asTold(got, waited) {
			t.Errorf("%s: waited %d ns, by the program's own clock %d:\n%+v", c.how, got, waited, r.Causes)
		}
	}
	for _, how := range []string{"leaves", "fork"} {
		if _, r := run(how); r.Factors["U"].NS == 0 {
			t.Errorf("%s: no useful time", how)
		}
	}
	if stdout, r := recordedThreads(t, program+" outlives"); stdout != "" || r.Factors["U"].NS == 0 {
		t.Errorf("a program whose main thread ends first: %q, %+v", stdout, r.Factors)
	}
}

// TestThreadsThatDie ends a program that holds a lock: the trace has what ran before.
func TestThreadsThatDie(t *testing.T) {
	t.Parallel()
	program := threadsProgram(t, "../testdata/threads/threads.c", "cc")
	dir := t.TempDir()
	_, stderr, code, err := shell(dir, lunaHome(t), "whyslow omp -q -o run.trace -- "+program+" dies")
	if err != nil || code != console.Failed || !strings.Contains(stderr, "the program failed: ") {
		t.Fatalf("exit code %d, %v\n%s", code, err, stderr)
	}
	stdout, stderr, code, err := shell(dir, lunaHome(t), "whyslow dump run.trace")
	if err != nil || code != console.Done || strings.Count(stdout, "onStarted") < 2 {
		t.Errorf("exit code %d, %v\n%s%s", code, err, stderr, stdout)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "run.trace", "run.json")); err != nil ||
		!strings.Contains(string(text), `"ended": "failed"`) {
		t.Errorf("%v %s", err, text)
	}
}

// TestThreadsOfCPP records std::thread and std::condition_variable: a consumer starves because of its
// producer.
func TestThreadsOfCPP(t *testing.T) {
	t.Parallel()
	program := threadsProgram(t, "../testdata/threads/queue.cpp", "c++")
	stdout, r := recordedThreads(t, program)
	var waited int64
	var sum int
	if _, err := fmt.Sscan(stdout, &waited, &sum); err != nil || sum != 3 {
		t.Fatalf("%q: %v", stdout, err)
	}
	if got := r.because("S", "", "thread queue.cpp:36", "thread queue.cpp:46", ""); !asTold(got, waited) {
		t.Errorf("the consumer starved because of the producer for %d ns, by its own clock %d:\n%+v", got, waited,
			r.Causes)
	}
}
