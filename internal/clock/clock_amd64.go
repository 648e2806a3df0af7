package clock

import (
	"os"
	"runtime"
	"strings"
	"time"
)

// Read by the assembly of Now. mult is zero until calibrate is done and stays
// zero where the counter cannot be used; it is written last, and amd64 keeps
// the order of stores, so that a reader that sees it set sees the others too.
var (
	origin uint64
	base   int64
	mult   uint64
)

const shift = 32

// minCalibration is the shortest interval the factor is measured over. A pair of
// readings is accurate to some 20 ns, hence 10 parts per million at worst.
const minCalibration = 4 * time.Millisecond

func rdtsc() uint64
func cpuid(leaf uint32) (eax, ebx, ecx, edx uint32)

// Now returns the time in nanoseconds since the clock's origin. It never decreases
// within a thread.
//
// Between threads it may seem to go back a little. The processor may read the counter
// before an earlier load, such as the one that takes a lock, has finished. So a thread
// can read a time about 100 ns before the one that another thread has just handed to
// it. A fence before the counter would prevent that, and would double the 10 ns of
// a call.
func Now() int64

// firstTSC and firstNS are taken together when the process starts.
var firstTSC, firstNS = pair()

var _ = slowNow // called by Now

// slowNow serves until the counter is calibrated, and where there is none.
func slowNow() int64 {
	once.Do(calibrate)
	if mult != 0 {
		return Now()
	}
	return nanotime() - start
}

// pair reads both clocks at one moment: of several attempts that with the
// narrowest bracket, which one interrupt cannot spoil.
func pair() (tsc uint64, ns int64) {
	if !invariant() {
		return 0, nanotime()
	}
	best := ^uint64(0)
	for range 16 {
		a := rdtsc()
		n := nanotime()
		b := rdtsc()
		if b-a < best {
			best, tsc, ns = b-a, a+(b-a)/2, n
		}
	}
	return tsc, ns
}

// invariant reports a counter of constant rate that does not stop in any sleep
// state and that the kernel uses itself: one it found unsynchronised between
// sockets it would have given up.
func invariant() bool {
	if runtime.GOOS != "linux" {
		return false
	}
	if max, _, _, _ := cpuid(0x80000000); max < 0x80000007 {
		return false
	}
	if _, _, _, edx := cpuid(0x80000007); edx&(1<<8) == 0 {
		return false
	}
	src, err := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	return err == nil && strings.TrimSpace(string(src)) == "tsc"
}

func calibrate() {
	if firstTSC == 0 {
		return
	}
	for nanotime()-firstNS < int64(minCalibration) {
		time.Sleep(time.Millisecond)
	}
	tsc, ns := pair()
	dt, dn := tsc-firstTSC, ns-firstNS
	if tsc <= firstTSC || dn <= 0 {
		return
	}
	m := float64(dn) / float64(dt) * (1 << shift)
	// Outside 0.2 to 20 GHz the counter is no clock.
	if m < (1<<shift)/20 || m > (1<<shift)*5 {
		return
	}
	m *= 1 + skewing.ppm/1e6
	origin, base = firstTSC, firstNS-start+skewing.offset
	mult = uint64(m + 0.5)
}

func usesTSC() bool { return mult != 0 }

func params() Params {
	if mult == 0 {
		return Params{Base: -start}
	}
	return Params{TSC: true, Origin: origin, Mult: mult, Shift: shift, Base: base}
}
