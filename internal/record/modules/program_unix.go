//go:build unix

package modules

import (
	"os/exec"
	"syscall"
)

// apart keeps signals of the terminal from a process.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
