//go:build !cgo || !linux

package cpp

import (
	"errors"

	"github.com/whyslow/whyslow/internal/run/luna"
)

// Library is an opened library of code fragments; here there is none.
type Library struct{}

var errNoCgo = errors.New("this whyslow cannot run programs, since C++ code can be called only by one " +
	"built with cgo on Linux: build it again with CGO_ENABLED=1 and a C compiler")

// Open returns an error that says what running programs needs.
func Open(path string, prog *luna.Program) (*Library, error) { return nil, errNoCgo }

// Routine cannot be called: there is no Library.
func (l *Library) Routine(r *luna.Routine) Fn { return 0 }

// Path is empty.
func (l *Library) Path() string { return "" }

// HeapDamaged is 0.
func HeapDamaged() int { return 0 }

// FreeNoMore does nothing.
func FreeNoMore() {}

const tail = 0

// Overwritten and Damaged are never said.
const Overwritten, Damaged = "stack overwritten", "heap damaged"

// Flush does nothing.
func (l *Library) Flush() {}

// Close does nothing.
func (l *Library) Close() error { return nil }

// Meter measures nothing.
type Meter struct{}

// NewMeter makes a Meter.
func NewMeter() *Meter { return &Meter{} }

// Close does nothing.
func (m *Meter) Close() {}

// Call returns an Outcome of kind Aborted.
func (m *Meter) Call(fn Fn, args []Value, t *Times, cf uint64, what Measure) Outcome {
	*t = Times{CPU: -1}
	return Outcome{Kind: Aborted, Msg: errNoCgo.Error()}
}

// Spans has nothing to tell.
func (m *Meter) Spans(take func(Span)) {}

// Events has nothing to tell.
func (m *Meter) Events(inside bool, take func(id int, t int64, words []uint64, texts []byte)) {}

// EventOf is not called: there are none.
func EventOf(id int) Emitted { return Emitted{} }

// EventOff does nothing.
func EventOff(id int) {}

// EventsLost are none.
func EventsLost() (homeless, tooMany int64) { return 0, 0 }

// Rest has nothing to tell.
func (m *Meter) Rest() Span { return Span{} }

// Waits is 0.
func (m *Meter) Waits() int { return 0 }

// Wait is not called: there are none.
func (m *Meter) Wait(i int) Wait { return Wait{} }

// Since is 0: nothing is called.
func (m *Meter) Since() int64 { return 0 }

// CPU is not known.
func (m *Meter) CPU() (ns int64, ok bool) { return 0, false }

// Started is not known.
func (m *Meter) Started() int64 { return -1 }

// Where knows nothing.
func (m *Meter) Where(calm bool) Where { return Where{} }

// Offset knows no file.
func Offset(address uint64) (file string, offset uint64) { return "", 0 }

// TellsQueued is false.
func TellsQueued() bool { return false }

// OnForeignCrash does nothing: no user code runs.
func OnForeignCrash(f func(sig int, msg string)) {}

// Live returns 0.
func Live() int64 { return 0 }

// Alloc panics: strings and blocks live in C memory.
func Alloc(t Type, size int) Value { panic(errNoCgo) }

func freeBuf(p uint64) {}
