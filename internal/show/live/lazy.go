package live

import (
	"sync"

	"github.com/whyslow/whyslow/internal/procs"
)

// lazy is a value that is computed once, when first asked for; later callers wait for it. Its computation
// must not depend on the request that happened to be first.
type lazy[T any] struct {
	mu   sync.Mutex
	v    T
	err  error
	done bool
}

func (l *lazy[T]) get(f func() (T, error)) (T, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.once(f)
}

// once is get for those who hold l.mu.
func (l *lazy[T]) once(f func() (T, error)) (T, error) {
	if !l.done {
		l.done = true
		l.err = procs.Guard(func() (err error) {
			l.v, err = f()
			return err
		})
	}
	return l.v, l.err
}

// now gives the value if it is there.
func (l *lazy[T]) now() (v T) {
	if l.mu.TryLock() {
		v = l.v
		l.mu.Unlock()
	}
	return v
}

// computed is get for what takes memory of its own: it waits for its turn.
func computed[T any](s *Snapshot, l *lazy[T], f func() (T, error)) (T, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.done {
		done, err := s.run.shared.turns.take(s.ctx, s.bytes)
		if err != nil {
			return l.v, err
		}
		defer done()
	}
	return l.once(f)
}

// after computes a value from another one.
func after[A, T any](s *Snapshot, l *lazy[T], from func() (A, error), f func(A) (T, error)) (T, error) {
	a, err := from()
	if err != nil {
		var none T
		return none, err
	}
	return computed(s, l, func() (T, error) { return f(a) })
}
