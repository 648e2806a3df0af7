//go:build unix

package live

import (
	"errors"
	"syscall"
)

// exists tells whether this computer has a process of that number.
func exists(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
