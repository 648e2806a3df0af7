package prof

import "sync"

// PerStream is the state of a consumer of events, one T for each stream. As one goroutine
// at a time uses a stream, handlers need no lock for it.
type PerStream[T any] struct {
	id   int
	init func(s *Stream, t *T)
	mu   sync.Mutex
	list []streamState[T]
}

type streamState[T any] struct {
	s *Stream
	t *T
}

// NewPerStream makes state for the streams of a session. init, which may be nil, prepares
// a new T in the goroutine that uses the stream.
func NewPerStream[T any](ses *Session, init func(s *Stream, t *T)) *PerStream[T] {
	return &PerStream[T]{id: int(ses.locals.Add(1)) - 1, init: init}
}

// Get returns the state of the stream; only who may use the stream may call it.
func (p *PerStream[T]) Get(s *Stream) *T {
	if p.id < len(s.local) {
		if t, ok := s.local[p.id].(*T); ok {
			return t
		}
	}
	for len(s.local) <= p.id {
		s.local = append(s.local, nil)
	}
	t := new(T)
	if p.init != nil {
		p.init(s, t)
	}
	s.local[p.id] = t
	p.mu.Lock()
	p.list = append(p.list, streamState[T]{s, t})
	p.mu.Unlock()
	return t
}

// All calls f for the state of every stream that has any, in the order in which they got it. While streams
// are in use, f may only do with a T what is safe beside them: look at atomics.
func (p *PerStream[T]) All(f func(s *Stream, t *T)) {
	p.mu.Lock()
	list := p.list[:len(p.list):len(p.list)]
	p.mu.Unlock()
	for _, x := range list {
		f(x.s, x.t)
	}
}
