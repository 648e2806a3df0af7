package live

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/whyslow/whyslow/internal/memory"
)

// TestBudget: when memory is short, snapshots that nobody uses go first. Then the run that takes most answers
// with one line, and the others go on; after a while it may be tried again.
func TestBudget(t *testing.T) {
	s := NewSet()
	defer s.Close()
	var runs [2]*Run
	for i := range runs {
		dir := t.TempDir()
		pipeline(t, dir, 100*(i+1))
		var err error
		if runs[i], err = s.Add(dir, Options{}); err != nil {
			t.Fatal(err)
		}
	}
	small, large := runs[0], runs[1]
	get := func(r *Run) *Snapshot {
		t.Helper()
		snap, err := r.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return snap
	}
	get(small).Release()
	used := get(large)
	const budget = memory.Budget(1000)
	s.relieve(budget, memory.Use{Live: 700, All: 3000}) // garbage
	if small.snap == nil {
		t.Error("a snapshot was given up for garbage")
	}
	s.relieve(budget, memory.Use{Live: 2000})
	if small.snap != nil || small.tooLarge != nil || large.snap != used {
		t.Error("not what nobody used was given up")
	}
	used.Release()
	get(small)
	used = get(large)
	go func() { <-used.ctx.Done(); used.Release() }() // so does who computes something
	s.relieve(budget, memory.Use{Live: 2000})
	var tooLarge *memory.TooLarge
	if _, err := large.Snapshot(t.Context()); !errors.As(err, &tooLarge) {
		t.Errorf("the larger run answers with %v", err)
	}
	if _, err := used.Timeline(); !errors.As(err, &tooLarge) {
		t.Errorf("what was begun ended with %v", err)
	}
	if _, err := get(small).Timeline(); err != nil {
		t.Error(err)
	}
	large.rest(0)
	if _, err := get(large).Timeline(); err != nil {
		t.Error(err)
	}
}

// TestTurns: what does not fit waits, however small, behind what came before; who has enough of waiting
// leaves.
func TestTurns(t *testing.T) {
	turns := newTurns()
	take := func(ctx context.Context, bytes int64) func() {
		done, err := turns.take(ctx, bytes)
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	for range 100 {
		take(t.Context(), 1<<50) // without a limit
	}
	turns.limit(800)
	var small []func()
	for range 6 {
		small = append(small, take(t.Context(), 1))
	}
	order := make(chan string, 2)
	wait := func(name string, bytes int64) {
		done := take(t.Context(), bytes)
		order <- name
		done()
	}
	go wait("large", 1<<40)
	for len(turns.first) == 0 {
		runtime.Gosched()
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := turns.take(gone, 1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	go wait("small", 1)
	for _, done := range small {
		if len(order) > 0 {
			t.Error("too much is computed at once")
		}
		done()
	}
	if a, b := <-order, <-order; a != "large" || b != "small" {
		t.Error(a, b)
	}
}

// TestTooManyStreams: a run of which not even a part fits says so at once.
func TestTooManyStreams(t *testing.T) {
	dir := t.TempDir()
	pipeline(t, dir, 100)
	s := NewSet()
	defer s.Close()
	s.budget = 1 << 10
	r, err := s.Add(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := r.Snapshot(t.Context()); !errors.As(err, new(*memory.TooLarge)) {
			t.Errorf("it answers with %v", err)
		}
	}
}
