package clock

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Sample is one question to another clock: this clock's time when it was asked and when the answer was there, and between
// them the other clock's time when it answered. All are nanoseconds.
type Sample struct{ Asked, There, Answered int64 }

// Estimate compares this clock with another as Cristian does: the sample with the shortest way there and back is
// taken, and the other clock is supposed to have been read in the middle of it. offset is to be added to this clock at the time at to get
// the other's; it is wrong by bound at most, half of the way, however unlike the two halves of it were. Of samples
// that took equally long the first counts. ok is false where no sample makes sense: an answer before the question.
//
// Neither clock may drift noticeably during the way: 100 ppm of a millisecond are 100 ns, which bound includes.
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

// maxDrift is the part of the time by which two clocks may run apart: 100 ppm.
const maxDrift = 10_000

// skewing changes what calibrate finds out. The zero value changes nothing.
var skewing struct {
	offset int64
	ppm    float64
}

// maxSkewPPM keeps a skewed clock a clock.
const maxSkewPPM = 100_000

// Skew makes the clock of this process a wrong one, to test how clocks are compared and corrected: it is offset ahead when the
// process starts and runs ppm parts per million too fast, either of which may be negative. What Now returns
// and what is computed with Params is shifted alike. It fails once the clock has been read, where the clock is not the time-stamp
// counter, and for a drift of more than 100000 ppm.
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
		return errors.New("the clock was read before it was to be made a wrong one")
	case !usesTSC():
		return errors.New("only a time-stamp counter can be made a wrong clock; here the clock is CLOCK_MONOTONIC")
	}
	return nil
}

// Pair reads this clock and the monotonic clock of the host at one moment, to within some ten nanoseconds where nothing interrupts: of several
// attempts that with the narrowest bracket. All processes of a host have the same monotonic clock, so that such pairs tell
// how their own clocks really differ. uncertain is half of that bracket.
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
