package local

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// nap sleeps to within a few microseconds. The kernel would add its timer slack of 50 us, so that is switched
// off for the thread, which keeps it so: nobody minds.
func nap(d time.Duration) {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // without it the nap is longer
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&ts, nil) // who is woken by a signal looks at the clock and naps again
	runtime.UnlockOSThread()
}
