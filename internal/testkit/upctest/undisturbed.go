package upctest

import (
	"syscall"
	"testing"
	"time"
)

// Undisturbed tries something until nothing is wrong with it, four times at most. A busy computer stops
// threads at random: tries in which a thread was woken late do not count, and where there are no others the
// test is skipped.
func Undisturbed(t testing.TB, try func() (wrong string)) {
	t.Helper()
	wrong, counted := "", 0
	for n := 0; n < 20 && counted < 4; n++ {
		late := latest(func() { wrong = try() })
		if wrong == "" {
			return
		}
		if late < 2*time.Millisecond {
			counted++
		}
	}
	if counted < 4 {
		t.Skip("the computer is too busy:", wrong)
	}
	t.Error(wrong)
}

// latest tells how late a thread was woken at worst while something was going on.
func latest(run func()) (late time.Duration) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			const nap = time.Millisecond
			before := time.Now()
			_ = syscall.Nanosleep(&syscall.Timespec{Nsec: int64(nap)}, nil) // cut short, it is not late
			late = max(late, time.Since(before)-nap)
		}
	}()
	func() {
		defer close(stop) // also if the test ends here
		run()
	}()
	<-stopped
	return late
}
