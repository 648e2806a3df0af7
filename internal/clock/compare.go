package clock

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Sample is one question to another clock. Asked and Answered are this clock's times of
// asking and of having the answer; There is the other clock's time in between. All are
// nanoseconds.
type Sample struct{ Asked, There, Answered int64 }

// Estimate compares this clock with another by Cristian's method. It takes the sample
// with the shortest round trip, the first of several, and assumes that the other clock
// was read in the middle of it. Add offset to this clock at the time at to get the other
// clock's time. offset is wrong by at most bound, half of the round trip, even if the two
// ways took unlike times. ok is false where no sample makes sense: each has an answer
// before its question.
//
// The clocks may drift by 100 ppm during the round trip, 100 ns in a millisecond; bound
// includes that.
func Estimate(samples []Sample) (at, offset, bound int64, ok bool) {
	best := int64(math.MaxInt64)
	for _, s := range samples {
		way := s.Answered - s.Asked
		if s.Answered < s.Asked || way < 0 || way >= best {
			continue
		}
		best, ok = way, true
		at = s.Asked + way/2
		offset = s.There - at
		bound = (way+1)/2 + way/maxDrift
	}
	return at, offset, bound, ok
}

// maxDrift limits how fast two clocks may run apart: one part in 10,000, or 100 ppm.
const maxDrift = 10_000

// skewing changes the result of calibrate. The zero value changes nothing.
var skewing struct {
	offset int64
	ppm    float64
}

// maxSkewPPM keeps a skewed clock a clock.
const maxSkewPPM = 100_000

// Skew makes the clock of this process wrong, to test how clocks are compared and
// corrected. The clock is offset ahead when the process starts and runs ppm parts per
// million too fast; either may be negative. Now and Params change alike. Skew fails once
// the clock has been read, where the clock is not the time-stamp counter, and for
// a drift of more than 100,000 ppm.
func Skew(offset time.Duration, ppm float64) error {
	if !(math.Abs(ppm) <= maxSkewPPM) {
		return fmt.Errorf("a clock cannot be made to drift by %g ppm: at most %d", ppm, maxSkewPPM)
	}
	late := true
	once.Do(func() {
		late = false
		skewing.offset, skewing.ppm = int64(offset), ppm
		calibrate()
	})
	switch {
	case late:
		return errors.New("the clock had been read before Skew was called")
	case !usesTSC():
		return errors.New("only a time-stamp counter can be skewed; here the clock is CLOCK_MONOTONIC")
	}
	return nil
}

// Pair reads this clock and the monotonic clock of the host at one moment. It takes the
// attempt with the narrowest bracket, some ten nanoseconds where nothing
// interrupts. All processes of a host share the monotonic clock, so such pairs
// tell how their own clocks differ. uncertain is half of the bracket, in nanoseconds.
func Pair() (own, monotonic, uncertain int64) {
	best := int64(math.MaxInt64)
	for range 32 {
		a := Now()
		n := nanotime()
		b := Now()
		if b-a < best {
			best, own, monotonic = b-a, a+(b-a)/2, n
		}
	}
	return own, monotonic, (best + 1) / 2
}
