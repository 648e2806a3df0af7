package live

import (
	"testing"
	"time"
)

// TestEndWhileMaking: a run ends while its newest snapshot, which has not seen the end, is there but not all
// that follows from it. Whoever asks then gets a snapshot of the whole run.
func TestEndWhileMaking(t *testing.T) {
	dir := t.TempDir()
	pipeline(t, dir, 10)
	r := following(dir)
	before, err := r.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before.Release()
	r.wg.Wait()
	early := &making{make(chan struct{}), make(chan struct{}), r.arrived, true}
	close(early.done)
	r.making, r.status.State = early, "done"
	r.arrived++
	got := make(chan *Snapshot)
	go func() {
		s, err := r.Snapshot(t.Context())
		if err != nil {
			t.Error(err)
		}
		got <- s
	}()
	select {
	case s := <-got:
		t.Fatalf("it answers with what it knew before: %+v", s)
	case <-time.After(50 * time.Millisecond): // it has most likely asked
	}
	r.mu.Lock()
	r.making = nil
	r.mu.Unlock()
	close(early.over)
	if s := <-got; s == nil || s.happening || s.arrived != r.arrived {
		t.Errorf("%+v", s)
	}
	r.wg.Wait()
	r.drop()
}
