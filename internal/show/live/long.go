package live

import (
	"context"
	"sync"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/internal/tracefile/follow"
	"github.com/whyslow/whyslow/trace"
)

// long has the properties of nodes and links of a run that is too long for one snapshot. It reads the trace
// when somebody asks, from where it stopped, so that a run that nobody looks at takes nothing.
type long struct {
	mu       sync.Mutex
	sums     *counters.Sums
	follower *follow.Follower
	batch    trace.Batch
}

// read takes in what has arrived. The follower of the run lists what cannot be read among its problems.
func (l *long) read(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.follower.Poll(ctx, func(b *tracefile.RawBlock) error {
		if !b.Defs && l.follower.Read(b, &l.batch) == nil {
			l.sums.Add(&l.batch)
		}
		return nil
	})
	return err
}

// Properties calls f with the properties of nodes and links: those of the newest snapshot or, where that has
// only a part of the run, sums over all events. f must not keep what it is given.
func (r *Run) Properties(ctx context.Context, f func(p counters.Set)) error {
	s, err := r.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer s.Release()
	if s.whole() {
		p, err := s.Properties()
		if err == nil {
			f(p)
		}
		return err
	}
	r.mu.Lock()
	if r.long == nil {
		r.long = &long{sums: counters.NewSums(r.opt.Memory / 16), follower: follow.New(r.dir)}
	}
	l := r.long
	r.mu.Unlock()
	if err := l.read(s.ctx); err != nil {
		return err
	}
	l.sums.Ask(s.Model, f)
	return nil
}
