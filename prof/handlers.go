package prof

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
)

// list is an ordered list of handlers. It is replaced, never changed, so
// that emitters can go through it without a lock.
type list struct {
	p atomic.Pointer[[]handler]
}

// handler has no type parameter: with one, every package that imports this one would compile the
// methods of list for every kind of event again.
type handler struct {
	name     string
	priority int
	f        any // a function as the event's own type wants it
}

func (l *list) get() []handler {
	if p := l.p.Load(); p != nil {
		return *p
	}
	return nil
}

func (l *list) add(h handler) {
	hs := slices.Clone(l.get())
	at := len(hs)
	for at > 0 && hs[at-1].priority > h.priority {
		at--
	}
	hs = slices.Insert(hs, at, h)
	l.p.Store(&hs)
}

// disconnect takes out the first handler of that name.
func (l *list) disconnect(name string) bool {
	hs := slices.Clone(l.get())
	at := slices.IndexFunc(hs, func(h handler) bool { return h.name == name })
	if at < 0 {
		return false
	}
	hs = slices.Delete(hs, at, at+1)
	l.p.Store(&hs)
	return true
}

// Event is what an event object has beside its own Emit methods. F is the type of its handlers.
type Event[F any] struct {
	event
}

// Connect adds a handler; see Session for what all handlers have in common.
func (e *Event[F]) Connect(name string, priority int, f F) error { return e.connect(name, priority, f) }

// On reports whether emitting has any effect: the event is not switched off, and some stream is traced or a
// handler connected.
func (e *event) On() bool { return e.state.Load() != 0 }

// connect adds a handler of the event's own type.
func (e *event) connect(name string, priority int, f any) error {
	if e.ses == nil {
		return errors.New("the event belongs to no session: make one with prof.New")
	}
	if reflect.ValueOf(f).IsNil() {
		return fmt.Errorf("handler %q of %s is nil", name, e.title)
	}
	e.ses.mu.Lock()
	defer e.ses.mu.Unlock()
	e.add(handler{name, priority, f})
	e.handlers++
	e.update()
	return nil
}

// run calls the handlers in order, each by way of call.
func (e *event) run(call func(f any)) {
	hs := e.get()
	for i := 0; i < len(hs); i++ {
		i = e.runFrom(hs, i, call)
	}
}

// runFrom returns where it ended: behind the last handler, or at one that panicked, which is disconnected.
func (e *event) runFrom(hs []handler, begin int, call func(f any)) (i int) {
	i = begin
	defer func() {
		if cause := recover(); cause != nil {
			e.failed(hs[i].name, cause)
		}
	}()
	for ; i < len(hs); i++ {
		call(hs[i].f)
	}
	return i
}

// failed disconnects a handler that panicked.
func (e *event) failed(name string, cause any) {
	e.ses.mu.Lock()
	known := e.disconnect(name)
	if known {
		e.handlers--
		e.update()
	}
	e.ses.mu.Unlock()
	if known { // otherwise another goroutine has been here with the same message
		e.ses.tell(fmt.Sprintf("handler %q of %s failed and is disconnected: %v", name, e.title, cause))
	}
}

// hold copies a list for handlers to look at: the caller's own may be on its stack,
// where nobody else may point to. Handlers may emit in turn, hence a stack.
func hold[T any](stack *[]T, list []T) (held []T, mark int) {
	mark = len(*stack)
	*stack = append(*stack, list...)
	return (*stack)[mark:len(*stack):len(*stack)], mark
}

func release[T any](stack *[]T, mark int) { *stack = (*stack)[:mark] }
