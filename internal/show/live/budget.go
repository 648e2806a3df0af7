package live

import (
	"cmp"
	"context"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/whyslow/whyslow/internal/memory"
	"github.com/whyslow/whyslow/trace"
)

// The budget of all runs together. When the process uses more, snapshots that nobody is using go first. If
// that does not suffice, the run that takes most is given up: questions about it get one line that says so,
// until nobody has asked for a while. The others go on.

// work is the context of what is computed for a run. Its error is the reason why it ended, so that whoever
// asked gets that.
type work struct{ context.Context }

func (w work) Err() error {
	if w.Context.Err() == nil {
		return nil
	}
	return context.Cause(w.Context)
}

// newWork is needed before anything is computed; the caller holds mu.
func (r *Run) newWork() {
	ctx, stop := context.WithCancelCause(r.ctx)
	r.work, r.stopWork = work{ctx}, stop
}

// Limit holds the runs within a budget of memory, until Close. Runs added later are not read at all where not
// even a part of them fits.
func (s *Set) Limit(b memory.Budget) {
	s.mu.Lock()
	s.budget = b
	s.mu.Unlock()
	// What is shown stays: four times as much garbage, which other verbs may make, would be too much.
	if before := debug.SetGCPercent(100); before < 100 {
		debug.SetGCPercent(before)
	}
	stop := b.Watch(func(use memory.Use) { s.relieve(b, use) })
	go func() { <-s.done; stop() }()
}

// ending is how long what was given up may take to end.
const ending = 20 * time.Second

// relieve makes the runs use less memory. What it does shows in the next look at the heap.
func (s *Set) relieve(b memory.Budget, use memory.Use) {
	runs, _ := s.List()
	defer runtime.GC()
	if use.Live <= int64(b) {
		return // most of it is garbage
	}
	slices.SortFunc(runs, func(a, b *Run) int { return a.lastWatched().Compare(b.lastWatched()) })
	for _, parts := range []bool{true, false} {
		for _, r := range runs {
			if r.spare(parts) {
				return
			}
		}
	}
	most := slices.MaxFunc(append(runs, &Run{}), func(a, b *Run) int {
		return cmp.Compare(a.takes(), b.takes())
	})
	if most.takes() == 0 {
		return // something else takes it
	}
	most.giveUp(b.Exceeded(most.dir, float64(use.Live)))
	for begin := time.Now(); most.takes() > 0 && time.Since(begin) < ending; {
		time.Sleep(pollEvery)
	}
}

func (r *Run) lastWatched() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.watched
}

// takes tells, in events, how much memory snapshots of the run take that are there or being made.
func (r *Run) takes() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return uint64(r.snapshots.Load()) * (1 + min(r.status.Events, r.limit()))
}

// spare gives up snapshots that nobody is using: parts, or the newest. It returns false if there were none.
func (r *Run) spare(parts bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !parts {
		if r.snap == nil || r.snap.refs.Load() > 1 {
			return false
		}
		r.replace(nil)
		return true
	}
	n := len(r.parts)
	r.parts = slices.DeleteFunc(r.parts, func(s *Snapshot) bool {
		unused := s.refs.Load() == 1
		if unused {
			s.Release()
		}
		return unused
	})
	return len(r.parts) < n
}

// fitsBudget fails where not even the smallest snapshot of the run would fit.
func (r *Run) fitsBudget(reader *trace.Reader) error {
	err := r.budget.Fits(r.dir, int(min(uint64(reader.Events()), r.limit())),
		len(reader.Streams()))
	if err != nil {
		r.mu.Lock()
		r.tooLarge = err
		r.mu.Unlock()
	}
	return err
}

// giveUp ends what is computed for the run, and answers all questions about it with an error.
func (r *Run) giveUp(why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tooLarge = why
	r.stopWork(why)
	r.newWork()
	r.drop()
}
