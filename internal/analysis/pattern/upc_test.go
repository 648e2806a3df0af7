package pattern

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/testkit/upctest"
)

// precision is how far what is found may be from what the program saw itself by reading the clock right
// before and after each operation. Between its reading and the collector's a busy computer may stop a thread.
const precision = 2 * time.Millisecond

// lostLike runs a program that loses time on purpose and compares, for each pattern it names and each thread,
// what is found.
func lostLike(t *testing.T, c upctest.Case, backend string, threads int) {
	t.Helper()
	shared := false
	upctest.Undisturbed(t, func() string {
		dir := upctest.Run(t, c.Program, upctest.Options{Threads: threads, Backend: backend, Args: c.Args,
			Env: append(c.Env[:len(c.Env):len(c.Env)], "WHYSLOW_INSTRUMENT=functions")})
		m := buildDir(t, dir)
		r := compute(t, m)
		if r == nil {
			t.Fatal("the run has no regions")
		}
		consistent(t, m, r)
		if !shared {
			same(t, dir) // what several processes find
			shared = true
		}
		if len(r.Problems) > 0 || len(m.Unread()) > 0 {
			t.Fatal(r.Problems, m.Unread())
		}
		metric := map[string]int{}
		for i, x := range r.Metrics {
			metric[x.ID] = i
		}
		var wrong []string
		truth := upctest.Truth(t, dir)
		for _, name := range upctest.Patterns(truth) {
			i, ok := metric[name]
			if !ok {
				t.Fatalf("no metric %s", name)
			}
			design, seen := upctest.Of(truth, name, threads)
			for thread := range threads {
				got, want := time.Duration(r.total(i, thread)), max(seen[thread], 0)
				if strings.HasSuffix(name, "load") {
					got = r.inWork(i, thread)
				}
				if d := (got - want).Abs(); d > precision {
					wrong = append(wrong, fmt.Sprintf("%s of thread %d: %v, the program saw %v, designed %v",
						name, thread, got, want, design[thread]))
				}
			}
		}
		return strings.Join(wrong, "\n")
	})
}

// inWork is what a metric of load imbalance is in the function that has it by design.
func (r *Result) inWork(metric, thread int) (sum time.Duration) {
	for _, row := range r.Metrics[metric].Rows {
		if r.Regions[r.Calls[row.Call].Region].Name == "work" {
			sum += time.Duration(row.Values[thread])
		}
	}
	return sum
}

// TestPrograms runs compiled programs with the collector, several for each pattern.
func TestPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("programs with delays")
	}
	for _, c := range upctest.Cases {
		t.Run(c.Name, func(t *testing.T) { lostLike(t, c, upctest.Threads, 4) })
	}
}

// TestShmemPrograms runs some of them as processes, over OpenSHMEM.
func TestShmemPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("programs with delays")
	}
	threads := map[string]int{"barrier": 4, "lock": 2, "broadcast, all": 2, "allocation, thread 0 late": 4}
	for _, c := range upctest.Cases {
		if n := threads[c.Name]; n > 0 {
			t.Run(c.Name, func(t *testing.T) { lostLike(t, c, upctest.Shmem, n) })
		}
	}
}

// TestTrace prints what is found in the trace that WHYSLOW_TRACE names.
func TestTrace(t *testing.T) {
	dir := os.Getenv("WHYSLOW_TRACE")
	if dir == "" {
		t.Skip("WHYSLOW_TRACE names no trace")
	}
	r := compute(t, buildDir(t, dir))
	if r == nil {
		t.Fatal("no regions")
	}
	fmt.Print(show(r), rest(r))
}
