//go:build unix

package collect

import (
	"os"
	"path/filepath"
	"syscall"
)

// lock makes sure that no other collector uses the folder; the lock ends with the process
// or when the file is closed.
func lock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, ".whyslow-collector"), os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, errLocked
	}
	return f, nil
}
