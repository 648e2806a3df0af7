//go:build !linux

package cli

import (
	"os"
	"syscall"
)

// dieBy ends the process with the exit code that a shell shows for a signal.
func dieBy(sig syscall.Signal) { os.Exit(128 + int(sig)) }
