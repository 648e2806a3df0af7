package live

import (
	"sync"

	"github.com/whyslow/whyslow/internal/procs"
)

// lazy is a value that is computed once, when first asked for; whoever asks meanwhile waits. Its computation
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
	if !l.done {
		l.done = true
		l.err = procs.Guard(func() (err error) {
			l.v, err = f()
			return err
		})
	}
	return l.v, l.err
}

// after computes a value from another one.
func after[A, T any](l *lazy[T], from func() (A, error), f func(A) (T, error)) (T, error) {
	return l.get(func() (v T, err error) {
		a, err := from()
		if err != nil {
			return v, err
		}
		return f(a)
	})
}
