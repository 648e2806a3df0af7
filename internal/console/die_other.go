//go:build !linux

package console

import (
	"os"
	"syscall"
)

// DieBy ends the process with the exit code that a shell shows for a signal.
func DieBy(sig syscall.Signal) { os.Exit(128 + int(sig)) }
