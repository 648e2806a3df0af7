package live

import (
	"sync"

	"github.com/whyslow/whyslow/internal/procs"
)

// lazy is a value that is computed once, when first asked for; whoever asks meanwhile waits. Its computation
// must not depend on the request that happened to be first.
type lazy[T any] struct {
	once sync.Once
	mu   sync.Mutex
	v    T
	err  error
	done bool
}

func (l *lazy[T]) get(f func() (T, error)) (T, error) {
	l.once.Do(func() {
		var v T
		err := procs.Guard(func() (err error) {
			v, err = f()
			return err
		})
		l.mu.Lock()
		l.v, l.err, l.done = v, err, true
		l.mu.Unlock()
	})
	return l.v, l.err
}

// ready gives the value if it has been computed.
func (l *lazy[T]) ready() (v T, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.v, l.done && l.err == nil
}
