//go:build unix

package prof

import (
	"os/exec"
	"syscall"
)

// detach puts a command into a process group of its own: Ctrl+C leaves it the time to send the rest.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
