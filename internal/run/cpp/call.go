package cpp

import (
	"fmt"

	"github.com/whyslow/whyslow/internal/run/unwind"
)

// Fn is the address of a routine's wrapper in C.
type Fn uintptr

// Measure says what a call measures of its thread.
type Measure int

// What is measured.
const (
	Nothing Measure = iota
	Shared          // spans of the thread's time that many short calls share
	Each            // the CPU time of the call, and a span of its own
)

// Times tells when the user function ran.
type Times struct {
	Start, End int64 // as clock.Now, in nanoseconds; read in C right around the function
	CPU        int64 // processor time of the thread in nanoseconds, -1 if not asked for
}

// Span tells how a thread spent the last Of nanoseconds before End; Of is 0 where nothing was measured. What
// is left of them the thread was blocked.
type Span struct {
	End, Of int64
	CPU     int64 // it ran
	Queued  int64 // it waited for a core; -1: the kernel does not tell
	Faulted int64 // it waited for major page faults
}

// Reason is why a call of user code gave the core up.
type Reason int32

// Reasons, as in whyslow_abi.h.
const (
	Lock Reason = iota
	IO
	Sleep
)

// String is the name of the part of W.
func (r Reason) String() string {
	if r < Lock || r > Sleep {
		return "blocked"
	}
	return [...]string{"lock", "io", "sleep"}[r]
}

// Wait is a stretch in which user code was blocked in a call that it made. Addresses are of this process.
type Wait struct {
	From, To int64 // as clock.Now
	Reason   Reason
	Site     uint64 // behind the call
	Object   uint64 // the lock, 0 for none
	File     string // what was read or written, as /proc names it; "" where not known
	Holder   uint64 // what the CF that held the lock was called in its Call, 0 where not known
}

// OutcomeKind tells how a call ended.
type OutcomeKind int

// Outcomes. After any but Done and Threw the user's frames were left without destructors: the program is
// over, other workers may never come back from user code, and no other library should be loaded.
const (
	Done      OutcomeKind = iota
	Exited                // user code called exit, _exit or quick_exit: Code
	Aborted               // a check of class DF failed: Msg
	Signalled             // it crashed: Code is the signal's number, Msg says what and, if known, where
	Threw                 // a C++ exception left it: Msg is "type: what()"
)

// Outcome is how a call ended.
type Outcome struct {
	Kind OutcomeKind
	Code int
	Msg  string
}

// String says in a few words, without a period, what happened.
func (o Outcome) String() string {
	switch o.Kind {
	case Done:
		return "done"
	case Exited:
		return fmt.Sprintf("called %s(%d)", o.Msg, o.Code)
	case Threw:
		return "threw an exception, " + o.Msg
	}
	return o.Msg
}

// Where is where a call of user code is that does not return.
type Where struct {
	Runs, Waits bool // neither: the kernel does not tell
	// Calls that it is in, the innermost first, as far as they are known: "", or code of libraries, too.
	Calls []unwind.Code
	// Wait is what it waits for, if Known: Reason and File, and if From is not 0 all but To.
	Known bool
	Wait  Wait
}

// Emitted is an event that user code emits. Types has a letter for each argument, as ws_host.event says.
type Emitted struct{ Space, Name, Types string }
