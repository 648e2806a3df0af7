//go:build cgo && linux

package cpp

/*
#cgo LDFLAGS: -ldl -lpthread
#cgo noescape ws_call
#cgo nocallback ws_call
#cgo noescape ws_rest
#cgo nocallback ws_rest
#cgo noescape ws_alloc
#cgo nocallback ws_alloc
#cgo noescape ws_free
#cgo nocallback ws_free
#cgo noescape ws_open
#cgo nocallback ws_open
#cgo noescape ws_close
#cgo nocallback ws_close
#cgo noescape ws_flush
#cgo nocallback ws_flush
#include <stdlib.h>
#include "events.h"
*/
import "C"

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/internal/words"
)

// Library is an opened library of code fragments. Its methods may be called by several goroutines at once,
// Close by one.
type Library struct {
	handle, lib C.uint64_t
	path        string // absolute
	calls       []Fn   // by Routine.ID
	ended       atomic.Int32
}

var start = sync.OnceValue(func() error {
	p := clock.GetParams()
	c := C.ws_clock{origin: C.uint64_t(p.Origin), mult: C.uint64_t(p.Mult), shift: C.uint64_t(p.Shift),
		base: C.int64_t(p.Base)}
	if p.TSC {
		c.tsc = 1
	}
	fd, err := C.ws_start(c)
	if fd < 0 {
		return fmt.Errorf("cannot install the handlers of crashes: %w", err)
	}
	go readCrashes(os.NewFile(uintptr(fd), "crashes"))
	return nil
})

var onForeignCrash atomic.Pointer[func(sig int, msg string)]

// OnForeignCrash sets what is called when a thread that user code started itself crashes (sig is the
// signal's number), fails a check of class DF (sig is SIGABRT, msg says why) or calls exit (sig is 0, msg
// says so). That thread stays blocked for ever; f should end the run. It is called by a goroutine of its
// own. Without f the process prints what happened and exits with 1.
func OnForeignCrash(f func(sig int, msg string)) { onForeignCrash.Store(&f) }

// readCrashes calls the function of OnForeignCrash for each record on the pipe.
func readCrashes(pipe *os.File) {
	for {
		var head [8]byte
		if _, err := io.ReadFull(pipe, head[:]); err != nil {
			return
		}
		sig := int(int32(binary.NativeEndian.Uint32(head[:])))
		text := make([]byte, binary.NativeEndian.Uint32(head[4:]))
		if _, err := io.ReadFull(pipe, text); err != nil {
			return
		}
		msg := string(text)
		if msg == "" {
			msg = words.Crash(syscall.Signal(sig), false, false, 0)
		}
		if f := onForeignCrash.Load(); f != nil && *f != nil {
			(*f)(sig, msg)
			continue
		}
		fmt.Fprintf(os.Stderr, "a thread started by the program's C++ code ended the program: %s\n", msg)
		os.Exit(1)
	}
}

// How the program has ended, in Library.ended. After exit or a crash other threads may still be in user
// code, and locks (of stdout, for example) may be held for ever: nothing is unloaded, and what might block
// gets endTime.
const (
	running = iota
	exited  // exit was called: destructors run
	crashed // they do not
)

const endTime = time.Second

// within runs f, but does not wait for it any longer than endTime.
func within(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(endTime):
	}
}

// end notes that the routine fn has ended the program.
func end(fn Fn, o Outcome) {
	state := int32(crashed)
	switch {
	case o.Kind == Threw:
		return
	case o.Kind == Exited && o.Msg == "exit":
		state = exited
	}
	openedMu.Lock()
	defer openedMu.Unlock()
	for _, l := range libraries {
		if slices.Contains(l.calls, fn) {
			l.ended.CompareAndSwap(running, state)
		}
	}
}

// state is how the program has ended so far. With a damaged heap, it has crashed.
func (l *Library) state() int32 {
	how := l.ended.Load()
	if how == running && HeapDamaged() != 0 {
		return crashed
	}
	return how
}

// opened counts how often each library is open. -1: its static objects are destroyed, but it could not be
// unloaded.
var (
	openedMu sync.Mutex
	opened   = map[string]int{}
	// libraries are those open now.
	libraries []*Library
)

// Open loads the library at path, which Build made for prog. It runs the constructors of the user's static
// objects.
func Open(path string, prog *luna.Program) (*Library, error) {
	if err := start(); err != nil {
		return nil, err
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	openedMu.Lock()
	defer openedMu.Unlock()
	if opened[path] < 0 {
		return nil, fmt.Errorf("the program's C++ code cannot be loaded twice in one process, because it " +
			"could not be unloaded: it has crashed, called exit, or has thread_local objects")
	}
	l := &Library{path: path}
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var r C.ws_result
	switch o := outcome(C.ws_open(name, &l.handle, &l.lib, &r), &r); o.Kind {
	case Done:
	case Aborted:
		return nil, explainLoad(path, prog, o.Msg, func(symbol string) bool {
			s := C.CString(symbol)
			defer C.free(unsafe.Pointer(s))
			return C.ws_defined(s) != 0
		})
	default:
		return nil, fmt.Errorf("the program's C++ code failed while it was being loaded (a static object's "+
			"constructor): %v", o)
	}
	stale := fmt.Errorf("%s was built from another version of the program: build it again", path)
	if C.ws_library_version(l.lib) != C.WHYSLOW_ABI_VERSION ||
		int(C.ws_entry_count(l.lib)) != len(prog.Routines) {
		return nil, stale
	}
	for i, r := range prog.Routines {
		if C.GoString(C.ws_entry_signature(l.lib, C.uint32_t(i))) != signature(r) {
			return nil, stale
		}
		l.calls = append(l.calls, Fn(C.ws_entry_call(l.lib, C.uint32_t(i))))
	}
	C.ws_renew_events()
	opened[path]++
	libraries = append(libraries, l)
	return l, nil
}

// Path is the file of the library, absolute.
func (l *Library) Path() string { return l.path }

// Routine returns the wrapper of a routine of the program that the library was opened with.
func (l *Library) Routine(r *luna.Routine) Fn { return l.calls[r.ID] }

// Flush writes out what user code has printed to C and C++ streams. If the program has crashed, it waits for
// that no longer than a second.
func (l *Library) Flush() {
	flush := func() {
		var r C.ws_result
		outcome(C.ws_flush(l.lib, &r), &r)
	}
	if l.state() == running {
		flush()
	} else {
		within(flush)
	}
}

// Close unloads the library: destructors of static objects and atexit functions run, and their output is
// written out. No call may be under way, unless the program has ended by an outcome that says so: after exit
// destructors run and the library stays loaded, after a crash only the output is written; both take a second
// at most.
func (l *Library) Close() error {
	l.Flush()
	openedMu.Lock()
	defer openedMu.Unlock()
	libraries = slices.DeleteFunc(libraries, func(x *Library) bool { return x == l })
	if how := l.state(); how != running {
		opened[l.path] = -1
		if how == exited {
			within(func() {
				var r C.ws_result
				outcome(C.ws_finish(l.lib, &r), &r)
			})
		}
		return nil
	}
	last := C.int(0)
	if opened[l.path]--; opened[l.path] == 0 {
		last = 1
		delete(opened, l.path)
	}
	name := C.CString(l.path)
	defer C.free(unsafe.Pointer(name))
	var r C.ws_result
	o := outcome(C.ws_close(l.handle, l.lib, name, last, &r), &r)
	if o.Kind == Done && r.code != 0 {
		opened[l.path] = -1
	}
	if o.Kind == Done || o.Kind == Exited && o.Code == 0 {
		return nil
	}
	return fmt.Errorf("the program's C++ code failed while it was being unloaded (a static object's "+
		"destructor): %v", o)
}

// Meter is what is measured of a worker whose calls it makes. Calls must not overlap.
type Meter struct {
	c    *C.ws_meter
	read uint64 // words of its first portion of events
}

// NewMeter makes a Meter, to be closed.
func NewMeter() *Meter {
	m := &Meter{c: C.ws_new_meter()}
	if m.c == nil {
		panic(errors.New("out of memory: cannot create a worker"))
	}
	return m
}

// Close frees what the Meter holds.
func (m *Meter) Close() { C.ws_free_meter(m.c) }

// Call runs a routine on the calling thread. args are by parameter, len(args) as the routine has parameters:
//   - Int, Real, String parameters: a value of that type. User code gets a private writable copy of a string.
//   - Value: the input, which must stay referenced during the call.
//   - Name: ignored on entry; on return the output with one reference, which the caller owns, or Unset if the
//     routine set nothing.
//
// cf is what Waits call the caller if it holds a lock. t is filled in for every outcome. Nothing is
// allocated for Done.
func (m *Meter) Call(fn Fn, args []Value, t *Times, cf uint64, what Measure) Outcome {
	var r C.ws_result
	kind := C.ws_call(C.uint64_t(fn), (*C.ws_value)(unsafe.Pointer(unsafe.SliceData(args))), &r,
		C.uint64_t(uintptr(unsafe.Pointer(m.c))), C.uint64_t(cf), C.int(what))
	t.Start, t.End, t.CPU = int64(r.start), int64(r.end), int64(r.cpu)
	if kind == C.WS_DONE {
		return Outcome{}
	}
	o := outcome(kind, &r)
	end(fn, o)
	return o
}

// Spans hands over what the last call has measured of the thread: up to its start, and from there, or from
// the reading before it, to its end.
func (m *Meter) Spans(take func(Span)) {
	for _, s := range [...]*C.ws_span{&m.c.before, &m.c.up_to} {
		if s.of != 0 {
			take(span(s))
		}
	}
}

func span(s *C.ws_span) Span {
	return Span{int64(s.end), int64(s.of), int64(s.cpu), int64(s.queued), int64(s.faulted)}
}

// Rest ends the span of the worker's time that is under way, before the worker parks.
func (m *Meter) Rest() Span {
	var s C.ws_span
	C.ws_rest(m.c, &s)
	return span(&s)
}

// Waits gives the number of stretches in which the last call was blocked, those of them that were recorded.
func (m *Meter) Waits() int { return int(m.c.count) }

// Wait gives one of them, in order of time.
func (m *Meter) Wait(i int) Wait {
	w := &unsafe.Slice(m.c.waits, m.c.count)[i]
	return Wait{int64(w.from), int64(w.to), Reason(w.reason), uint64(w.site), uint64(w.object),
		C.GoString(&w.file[0]), uint64(w.holder)}
}

// Offset gives the address as the file of the library or program counts that it is in, and that file; "" if
// it is in none.
func Offset(address uint64) (file string, offset uint64) {
	var name *C.char
	if offset = uint64(C.ws_offset(C.uint64_t(address), &name)); offset == 0 {
		return "", 0
	}
	return C.GoString(name), offset
}

// TellsQueued tells whether this machine's kernel says how long threads wait for cores.
func TellsQueued() bool { return C.ws_tells_queued() != 0 }

// outcome takes over the texts of r.
func outcome(kind C.int, r *C.ws_result) Outcome {
	switch kind {
	case C.WS_EXITED:
		return Outcome{Exited, int(r.code), text(r.msg)}
	case C.WS_ABORTED:
		return Outcome{Aborted, 0, text(r.msg)}
	case C.WS_THREW:
		return Outcome{Threw, 0, text(r.msg)}
	case C.WS_SIGNALLED:
		msg := words.Crash(syscall.Signal(r.code), r.overflow != 0, r.cause != 0, uint64(r.address))
		if f := functionAt(borrowedText(r.file), uint64(r.offset)); f != "" {
			msg += " in " + f
		}
		return Outcome{Signalled, int(r.code), msg}
	}
	return Outcome{}
}

// text copies a C string and frees it.
func text(p C.uint64_t) string {
	if p == 0 {
		return ""
	}
	s := borrowedText(p)
	C.ws_free_text(p)
	return s
}

// borrowedText copies a C string that is not ours to free.
func borrowedText(p C.uint64_t) string { return C.GoString(*(**C.char)(unsafe.Pointer(&p))) }

// Alloc returns a String or Block whose Memory, of size bytes, the caller fills, with one reference. A
// String's ends with a NUL: its size is at least 1.
func Alloc(t Type, size int) Value {
	p := C.ws_alloc(C.uint64_t(size))
	if p == 0 {
		panic(fmt.Errorf("out of memory: cannot create a data fragment of %d bytes", size))
	}
	return Value{Type: t, Bits: uint64(p)}
}

// Overwritten is the text of OnForeignCrash for a code fragment that has overwritten its thread's stack, so
// that its call cannot return.
const Overwritten = C.WS_OVERWRITTEN

// Damaged is its text if the C library found the heap damaged while it ran neither user code nor a function
// that makes or frees a value.
const Damaged = C.WS_DAMAGED

func freeBuf(p uint64) { C.ws_free(C.uint64_t(p)) }

var heapDamage = (*int32)(unsafe.Pointer(C.ws_damaged()))

// HeapDamaged gives the signal with which the C library found its heap damaged when a value was made or
// freed, or a thread was made; 0 if it never did. Nothing is freed from then on.
func HeapDamaged() int { return int(atomic.LoadInt32(heapDamage)) }

// FreeNoMore says that the heap may be damaged: nothing is freed from now on.
func FreeNoMore() { C.ws_free_no_more() }

// tail is what stands behind the bytes of a buffer.
const tail = uint64(C.WS_TAIL)

// Live returns the number of buffers in C memory that are not freed.
func Live() int64 { return int64(C.ws_live()) }
