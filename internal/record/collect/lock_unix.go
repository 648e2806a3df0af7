//go:build unix

package collect

import (
	"errors"
	"os"
	"syscall"
)

// lock keeps other collectors out of the folder, where its file system has locks, until the file is closed.
func lock(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		f.Close()
		return nil, errLocked
	}
	return f, nil
}
