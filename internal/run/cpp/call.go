package cpp

import "fmt"

// Fn is the address of a routine's wrapper in C.
type Fn uintptr

// Times tells when the user function ran.
type Times struct {
	Start, End int64 // as clock.Now, in nanoseconds; read in C right around the function
	CPU        int64 // processor time of the thread in nanoseconds, -1 if not asked for
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
