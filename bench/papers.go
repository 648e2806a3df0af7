package main

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// The design that the papers describe for LuNA, for comparison, as one would write it in Go without further
// thought:
//
//   - A dispatcher keeps the event objects in a table by namespace and name. Whoever emits looks the event up
//     there, under a lock against those who connect handlers meanwhile, and calls the handlers, which are
//     function values. The types of the arguments are those of the first handler; they are checked at every
//     emission.
//   - The module that times functions keeps a map by function, process and thread, under one mutex for all
//     workers.
//   - The module that sums up the sizes of DFs keeps its sums under one mutex.
//
// The arguments are typed, not boxed, as they are not boxed in the papers' C++. The events come from the same
// places of the same engine, so that the designs differ in nothing else: a handler of prof emits them again.
// What that adds, a call of a function value, is measured as part of this design; it is a few nanoseconds.

// eventName is what event objects are found by.
type eventName struct{ namespace, name string }

type dispatcher struct {
	mu     sync.RWMutex
	events map[eventName]any // of type *handlers[F]
}

// handlers is an event object.
type handlers[F any] struct{ list []F }

func connectLocked[F any](d *dispatcher, namespace, name string, f F) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.events == nil {
		d.events = map[eventName]any{}
	}
	e, ok := d.events[eventName{namespace, name}]
	if !ok {
		e = &handlers[F]{}
		d.events[eventName{namespace, name}] = e
	}
	h, ok := e.(*handlers[F])
	if !ok {
		return fmt.Errorf("%s.%s has other arguments: %T", namespace, name, e)
	}
	h.list = append(h.list, f)
	return nil
}

// find returns the handlers to be called.
func find[F any](d *dispatcher, namespace, name string) []F {
	d.mu.RLock()
	e, ok := d.events[eventName{namespace, name}]
	d.mu.RUnlock()
	if !ok {
		return nil
	}
	h, ok := e.(*handlers[F])
	if !ok {
		panic(fmt.Sprintf("%s.%s is emitted with other arguments than %T", namespace, name, e))
	}
	return h.list
}

type (
	foreignHandler = func(function string, thread int, t int64)
	dfHandler      = func(message string, size int64)
)

// emitFunctions emits the events of user functions. names are those of the functions by number of the
// statement, which the papers' events have as a constant at hand.
func (d *dispatcher) emitFunctions(ses *prof.Session, names []string) error {
	err := ses.ForeignStarted.Connect("papers", 0, func(s *prof.Stream, t int64, function trace.Site) {
		for _, f := range find[foreignHandler](d, "GlobalEvents", "onForeignStarted") {
			f(names[function], s.ID(), t)
		}
	})
	if err != nil {
		return err
	}
	return ses.ForeignEnded.Connect("papers", 0, func(s *prof.Stream, t int64, function trace.Site) {
		for _, f := range find[foreignHandler](d, "GlobalEvents", "onForeignEnded") {
			f(names[function], s.ID(), t)
		}
	})
}

// emitMemory emits the events of DFs.
func (d *dispatcher) emitMemory(ses *prof.Session) error {
	err := ses.DFCreate.Connect("papers", 0, func(_ *prof.Stream, _ int64, _ trace.DF, size int64, _ trace.CF) {
		for _, f := range find[dfHandler](d, "DFEvents", "onCreate") {
			f("DF created", size)
		}
	})
	if err != nil {
		return err
	}
	return ses.DFDestroy.Connect("papers", 0, func(_ *prof.Stream, _ int64, _ trace.DF, size int64,
		_ trace.Reason) {
		for _, f := range find[dfHandler](d, "DFEvents", "onDestroy") {
			f("DF destroyed", size)
		}
	})
}

type blockKey struct {
	function        string
	process, thread int
}

type blockTime struct{ start, total int64 }

// lockedTimer is the module that times functions.
type lockedTimer struct {
	mu      sync.Mutex
	process int
	times   map[blockKey]blockTime
}

func (m *lockedTimer) connect(d *dispatcher) error {
	m.process, m.times = os.Getpid(), map[blockKey]blockTime{}
	return errors.Join(connectLocked[foreignHandler](d, "GlobalEvents", "onForeignStarted", m.started),
		connectLocked[foreignHandler](d, "GlobalEvents", "onForeignEnded", m.ended))
}

func (m *lockedTimer) started(function string, thread int, t int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := blockKey{function, m.process, thread}
	b := m.times[key]
	b.start = t
	m.times[key] = b
}

func (m *lockedTimer) ended(function string, thread int, t int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := blockKey{function, m.process, thread}
	b := m.times[key]
	b.total += t - b.start
	m.times[key] = b
}

// lockedSizer is the module that sums up the sizes of DFs.
type lockedSizer struct {
	mu                 sync.Mutex
	created, destroyed int64
}

func (m *lockedSizer) connect(d *dispatcher) error {
	return errors.Join(connectLocked[dfHandler](d, "DFEvents", "onCreate", m.add),
		connectLocked[dfHandler](d, "DFEvents", "onDestroy", m.take))
}

func (m *lockedSizer) add(_ string, size int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.created += size
}

func (m *lockedSizer) take(_ string, size int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.destroyed += size
}
