package local

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// alarm lets a goroutine sleep to within a few microseconds, and others wake it. It blocks a thread
// meanwhile.
type alarm struct {
	fd int // an eventfd; 0: none, and naps are those of Go
}

func newAlarm() alarm {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return alarm{} // no more files: links are a little slower than asked for
	}
	return alarm{fd}
}

// nap sleeps for that long, or until ring.
func (a alarm) nap(d time.Duration) {
	if a.fd == 0 {
		time.Sleep(d)
		return
	}
	// The kernel would add its timer slack of 50 us; the thread keeps going without, which nobody minds.
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	ts := unix.NsecToTimespec(int64(d))
	fds := []unix.PollFd{{Fd: int32(a.fd), Events: unix.POLLIN}}
	// Who is woken early, by a signal say, looks at the clock and naps again.
	if n, err := unix.Ppoll(fds, &ts, nil); err == nil && n > 0 {
		var count [8]byte
		_, _ = unix.Read(a.fd, count[:])
	}
	runtime.UnlockOSThread()
}

// ring ends a nap, or the next one before it begins.
func (a alarm) ring() {
	if a.fd != 0 {
		_, _ = unix.Write(a.fd, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // fails only when it rings already
	}
}

func (a alarm) close() {
	if a.fd != 0 {
		_ = unix.Close(a.fd)
	}
}
