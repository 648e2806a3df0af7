// Package clock is the one clock of a process: nanoseconds since an arbitrary
// origin near the start of the process, the same for all its threads.
//
// Where the processor has a constant, nonstop time-stamp counter that the kernel
// itself trusts, Now reads that counter (about 10 ns) and converts it with one
// multiplication; elsewhere it reads the monotonic clock (about 25 ns). The factor is
// measured once, between the start of the process and the first call of Now, and
// never changes afterwards, so that times never jump and C code can convert counter
// readings to the same nanoseconds with Params.
package clock

import (
	"sync"
	_ "unsafe" // linkname
)

// Params tells C how to compute the nanoseconds that Now returns.
//
// With TSC: ns = Base + ((tsc-Origin)*Mult)>>Shift, the product having 128 bits.
// Without: ns = Base + CLOCK_MONOTONIC in nanoseconds.
type Params struct {
	TSC    bool
	Origin uint64
	Mult   uint64
	Shift  uint
	Base   int64
}

// nanotime is the runtime's reading of CLOCK_MONOTONIC, without a system call.
//
//go:linkname nanotime runtime.nanotime
func nanotime() int64

// start is the origin of the monotonic clock's part of the time scale.
var start = nanotime()

var once sync.Once

// Name tells what Now reads: "tsc" or "monotonic".
func Name() string {
	once.Do(calibrate)
	if usesTSC() {
		return "tsc"
	}
	return "monotonic"
}

// GetParams returns the conversion that Now uses. It never changes.
func GetParams() Params {
	once.Do(calibrate)
	return params()
}
