package gasptest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/cctest"
	"github.com/whyslow/whyslow/internal/testkit/upctest"
	"github.com/whyslow/whyslow/trace"
)

// barriers runs a program whose threads come to three barriers 0, 15, 30 and 45 ms late, and says what
// it lost.
func barriers(t *testing.T, backend string, threads int, env ...string) (*trace.Reader, []upctest.Lost) {
	t.Helper()
	dir := upctest.Run(t, "barrier", upctest.Options{Threads: threads, Backend: backend,
		Args: []string{"0,15,30,45", "0", "3"}, Env: env})
	return open(t, dir), upctest.Truth(t, dir)
}

// On one host the true offset is 0, and clocks are compared only if that is asked for.
func TestClocksOfOneHost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		when    string
		threads int
		clock   string
		syncs   int
	}{
		{"always", 2, "compared", 2}, {"always", 4, "compared", 2}, {"auto", 3, "one host", 2},
	} {
		t.Run(fmt.Sprint(c.when, c.threads), func(t *testing.T) {
			r, _ := barriers(t, upctest.Shmem, c.threads, "WHYSLOW_CLOCK_SYNC="+c.when)
			if got := r.Run().Settings["clock_sync"]; got != c.clock {
				t.Errorf("clock_sync: %q, want %q", got, c.clock)
			}
			for thread, list := range syncs(t, r, c.threads) {
				if len(list) != c.syncs*min(thread, 1) {
					t.Errorf("thread %d: %v", thread, list)
				}
				for _, s := range list {
					t.Logf("thread %d: offset %d, error %d ns", thread, s.Offset, s.Error)
					if max(s.Offset, -s.Offset) > s.Error || (s.Error > 0) != (c.when == "always") {
						t.Errorf("thread %d: offset %d, error %d: the truth is 0", thread, s.Offset, s.Error)
					}
				}
			}
		})
	}
	r, _ := barriers(t, upctest.Threads, 3, "WHYSLOW_CLOCK_SYNC=always")
	if all := syncs(t, r, 3); len(all[0])+len(all[1])+len(all[2]) > 0 || r.Run().Settings["clock_sync"] != "" {
		t.Errorf("threads of a process compared their clocks: %v %v", all, r.Run().Settings)
	}
}

// Clocks that are wrong by 30 ms and 40 millionths from process to process are found and corrected:
// what threads waited is what the program saw by the clock that is right.
func TestWrongClocks(t *testing.T) {
	t.Parallel()
	skew := cctest.Make(t, cctest.Program{Name: "skew.so", Flags: []string{"-O2", "-fPIC"},
		Sources: []string{"testdata/skew.c"}, Link: []string{"-shared"}})
	const precision, threads = 2 * time.Millisecond, 4
	upctest.Undisturbed(t, func() string {
		from := monotonic(t)
		r, truth := barriers(t, upctest.Shmem, threads, "WHYSLOW_CLOCK_SYNC=always", "LD_PRELOAD="+skew,
			fmt.Sprint("SKEW=", from, " ", ahead, " ", gain))
		all := syncs(t, r, threads)
		allowed := precision // beside that, what the comparisons say they may be wrong by
		for process, list := range all {
			checkOffsets(t, process, from, list)
			if process > 0 && (len(list) != 2 || list[0].Offset-list[0].Error > -int64(process)*ahead) {
				t.Fatalf("process %d: %v", process, list)
			}
			for _, s := range list {
				allowed = max(allowed, precision+2*time.Duration(s.Error))
			}
		}
		m, err := model.Build(context.Background(), r, model.Options{})
		if err != nil {
			t.Fatal(err)
		}
		found, err := pattern.Compute(context.Background(), m, procs.Alone())
		if err != nil {
			t.Fatal(err)
		}
		var wrong []string
		_, seen := upctest.Of(truth, "wait-at-barrier", threads)
		for thread, ns := range found.Sum("wait-at-barrier", nil).ByThread {
			if got := time.Duration(ns); (got - seen[thread]).Abs() > allowed {
				wrong = append(wrong, fmt.Sprintf("thread %d waited %v, by the program %v", thread, got, seen[thread]))
			}
		}
		return strings.Join(wrong, "\n")
	})
}
