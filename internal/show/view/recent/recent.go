// Package recent keeps what was used last.
package recent

import (
	"slices"
	"sync"
)

// List keeps a few values by their keys, those used last. Any number of goroutines may use it.
type List[K comparable, V any] struct {
	most int
	gone func(V)

	mu   sync.Mutex
	list []entry[K, V] // the last used first
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// New makes a list of at most so many values. gone, if not nil, gets each value that is given up.
func New[K comparable, V any](most int, gone func(V)) *List[K, V] {
	return &List[K, V]{most: most, gone: gone}
}

// Get gives the value of a key, and makes it the last used.
func (l *List[K, V]) Get(key K) (v V, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.list, func(e entry[K, V]) bool { return e.key == key })
	if i < 0 {
		return v, false
	}
	e := l.list[i]
	copy(l.list[1:i+1], l.list[:i])
	l.list[0] = e
	return e.value, true
}

// Put adds a value with a new key, or a second value that means the same as the one that is there.
func (l *List[K, V]) Put(key K, v V) {
	if _, ok := l.Get(key); ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = slices.Insert(l.list, 0, entry[K, V]{key, v})
	if len(l.list) > l.most {
		last := l.list[l.most].value
		l.list = slices.Delete(l.list, l.most, l.most+1)
		if l.gone != nil {
			l.gone(last)
		}
	}
}
