//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prof

import (
	"errors"
	"os"
	"syscall"
)

// lock makes a file ours until it is closed, and reports whether nobody else has it. Where files cannot be
// locked they are nobody's.
func lock(f *os.File) bool {
	return !errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// unlock gives up the lock, for processes that share the file, too.
// where there was none there is nothing to do
func unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
