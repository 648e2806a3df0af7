//go:build unix

package launch

import (
	"os"

	"golang.org/x/sys/unix"
)

// inForeground tells whether a terminal sends its signals to this process.
func inForeground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
