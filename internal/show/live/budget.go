package live

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/whyslow/whyslow/internal/memory"
	"github.com/whyslow/whyslow/trace"
)

// The budget is that of the process. A quarter of it is for garbage, a quarter for what is being computed
// (turns). When the process uses more than three quarters, snapshots that nobody is using go first, and sums
// of long runs. If that does not suffice, the run that takes most is given up: questions about it get one
// line that says so, until nobody has asked for a while. The others go on.

// work is the context of what is computed for a run. Its error is the reason why it ended, for those who
// asked.
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

// Limit holds the process within a budget of memory, until Close. Runs added later are not read at all where
// not even a part of them fits.
func (s *Set) Limit(b memory.Budget) {
	s.budget = b
	s.turns.limit(int64(b) / 4)
	// What is shown stays: four times as much garbage, which other verbs may make, would be too much.
	memory.LimitGarbage(100)
	stop := b.Watch(most(b), func(use memory.Use) { s.relieve(b, use) })
	go func() { <-s.done; stop() }()
}

// most is how much of a budget may be in use.
func most(b memory.Budget) int64 { return int64(b) / 4 * 3 }

// ending is how long what was given up may take to end.
const ending = 20 * time.Second

// relieve makes the runs use less memory. What it does shows in the next look at the heap.
func (s *Set) relieve(b memory.Budget, use memory.Use) {
	if use.Live <= most(b) {
		runtime.GC() // most of it is garbage
		return
	}
	runs, _ := s.List()
	slices.SortFunc(runs, func(a, b *Run) int { return a.lastWatched().Compare(b.lastWatched()) })
	// An eighth of the budget more, so that this is not needed again at once.
	excess, freed := use.Live-most(b)+int64(b)/8, int64(0)
	for _, parts := range []bool{true, false} {
		for _, r := range runs {
			if freed < excess {
				freed += r.spare(parts)
			}
		}
	}
	gone := s.givenUp
	switch {
	case freed > 0:
	case gone != nil && gone.takes() > 0 && time.Since(s.gaveUp) < ending:
		return // until what is computed for it has ended
	default:
		worst := slices.MaxFunc(append(runs, &Run{}), func(a, b *Run) int {
			return cmp.Compare(a.takes(), b.takes())
		})
		if s.givenUp = worst; worst.takes() == 0 {
			return // something else takes it
		}
		s.gaveUp = time.Now()
		worst.giveUp(b.Exceeded(worst.dir, float64(use.Live)))
	}
	runtime.GC()
}

func (r *Run) lastWatched() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.watched
}

// takes tells about how many bytes snapshots of the run take that are there or being made.
func (r *Run) takes() int64 { return r.taken.Load() }

// spare gives up snapshots that nobody is using: parts, and sums, or the newest. It returns about how many
// bytes they took.
func (r *Run) spare(parts bool) (freed int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !parts {
		if r.snap != nil && r.snap.refs.Load() == 1 {
			freed = r.snap.bytes
			r.replace(nil)
		}
		return freed
	}
	if r.long != nil {
		freed, r.long = r.long.sums.Bytes(), nil
	}
	r.parts = slices.DeleteFunc(r.parts, func(s *Snapshot) bool {
		unused := s.refs.Load() == 1
		if unused {
			freed += s.bytes
			s.Release()
		}
		return unused
	})
	return freed
}

// fitsBudget fails where not even the smallest snapshot of the run would fit.
func (r *Run) fitsBudget(reader *trace.Reader) error {
	dfs, defs := reader.DefsSize()
	err := r.shared.budget.Fits(r.dir, int(min(uint64(reader.Events()), r.limit())), len(reader.Streams()),
		dfs, defs)
	if err != nil {
		r.mu.Lock()
		r.tooLarge = err
		r.mu.Unlock()
	}
	return err
}

// open opens the trace for a snapshot. Its definitions take so many bytes, which count as the run's: while
// they are read, too, so that it is the run that is given up. A quarter of the budget is the most.
func (r *Run) open(ctx context.Context) (_ *trace.Reader, defs int64, err error) {
	room := (r.shared.budget / 4).Room(r.dir)
	var taken atomic.Int64
	reader, err := trace.OpenWith(r.dir, trace.OpenOptions{Room: func(bytes int64, read float64) error {
		if err := cmp.Or(ctx.Err(), room(bytes, read)); err != nil {
			return err
		}
		taken.Add(bytes)
		r.taken.Add(bytes)
		return nil
	}})
	if err == nil {
		return reader, taken.Load(), nil
	}
	r.taken.Add(-taken.Load())
	if large, ok := errors.AsType[*memory.TooLarge](err); ok && ctx.Err() == nil {
		err = r.shared.budget.Exceeded(r.dir, 4*large.Need())
		r.mu.Lock()
		r.tooLarge = err
		r.mu.Unlock()
	}
	return nil, 0, err
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

// Turn waits for a turn of something that a question about the snapshot asks for and that takes about so
// many bytes, until done. It fails when ctx ends, or where so much never fits.
func (s *Snapshot) Turn(ctx context.Context, bytes int64) (done func(), err error) {
	if b := s.run.shared.budget; b > 0 && bytes > int64(b)/2 {
		return nil, b.Exceeded(s.run.dir, 2*float64(bytes))
	}
	return s.run.shared.turns.take(ctx, bytes)
}

// turns lets few things be computed at once, however many are asked for: each takes memory meanwhile. What
// does not fit waits, and what comes later waits behind it.
type turns struct {
	first chan struct{} // held by who waits in front; capacity 1
	freed chan struct{} // tells that one: something has ended; capacity 1

	mu    sync.Mutex
	most  int64 // bytes; 0: any number
	taken int64
}

func newTurns() *turns {
	return &turns{first: make(chan struct{}, 1), freed: make(chan struct{}, 1)}
}

// limit sets how many bytes what is computed may take.
func (t *turns) limit(bytes int64) {
	t.mu.Lock()
	t.most = bytes
	t.mu.Unlock()
}

// take waits for a turn of something that takes about so many bytes; it fails when ctx ends. The caller
// holds no other turn. done ends it.
func (t *turns) take(ctx context.Context, bytes int64) (done func(), err error) {
	select {
	case t.first <- struct{}{}:
		defer func() { <-t.first }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for {
		if n, ok := t.try(bytes); ok {
			return func() { t.give(n) }, nil
		}
		select {
		case <-t.freed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// try takes a turn if there is room: for eight at least, unless they are large. It returns what counts.
func (t *turns) try(bytes int64) (n int64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n = min(max(bytes, t.most/8), t.most)
	if ok = t.taken+n <= t.most; ok {
		t.taken += n
	}
	return n, ok
}

// give ends a turn.
func (t *turns) give(n int64) {
	t.mu.Lock()
	t.taken -= n
	t.mu.Unlock()
	select {
	case t.freed <- struct{}{}:
	default:
	}
}
