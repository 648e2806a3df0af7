//go:build linux

// Package gdb attaches gdb to this process, at the entry of a C++ function. While gdb shows its prompt this
// whole process stands still; what it waits for happens when gdb lets it go on.
package gdb

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Options of an attachment.
type Options struct {
	Function string   // the symbol that gdb stops at
	Commands []string // that gdb obeys there, one after the other; none: people type them
	// Ready is called when gdb waits for the function to be called.
	Ready func() error
}

// Attach starts gdb, and returns when it has left this process, with what it printed if it was given
// commands. Typed ones are read from this process's standard input.
func Attach(o Options) (printed string, err error) {
	tool, err := exec.LookPath("gdb")
	if err != nil {
		return "", errors.New("gdb was not found; install it (apt install gdb)")
	}
	dir, err := os.MkdirTemp("", "whyslow-gdb")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	ready := filepath.Join(dir, "ready")
	args := []string{"-q", "-iex", "set debuginfod enabled off", "-iex", "set auto-load python-scripts off",
		"-p", fmt.Sprint(os.Getpid())}
	begin := []string{"set confirm off", "set pagination off", "set breakpoint pending on",
		passed, "tbreak " + o.Function,
		"shell : > " + ready, "continue"}
	if len(o.Commands) > 0 {
		args = append(args, "-nx", "-batch")
	}
	for _, c := range append(begin, o.Commands...) {
		args = append(args, "-ex", c)
	}
	cmd := exec.Command(tool, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	var out *os.File
	if len(o.Commands) > 0 {
		// A file, as a pipe could be full while this process, which reads it, stands still.
		if out, err = os.Create(filepath.Join(dir, "out")); err != nil {
			return "", err
		}
		defer out.Close()
		cmd.Stdin, cmd.Stdout, cmd.Stderr = nil, out, out
	}
	// Where the kernel lets only parents attach, it must be told that a child may.
	_ = unix.Prctl(unix.PR_SET_PTRACER, ^uintptr(0), 0, 0, 0) // PR_SET_PTRACER_ANY
	defer func() { _ = unix.Prctl(unix.PR_SET_PTRACER, 0, 0, 0, 0) }()
	if err := cmd.Start(); err != nil {
		return "", err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	told := false
	for {
		select {
		case err = <-ended:
		case <-time.After(10 * time.Millisecond):
			// The file is there once gdb has set its breakpoint; we see it when gdb lets us go on.
			if _, missing := os.Stat(ready); missing == nil && !told {
				told = true
				if err := o.Ready(); err != nil {
					_ = cmd.Process.Signal(unix.SIGTERM) // gdb goes away and leaves the process as it was
					return "", errors.Join(err, <-ended)
				}
			}
			continue
		}
		break
	}
	if out != nil {
		text, _ := os.ReadFile(out.Name())
		printed = string(text)
	}
	if !told {
		why := strings.TrimSpace(printed)
		if i := strings.LastIndexByte(why, '\n'); i >= 0 {
			why = why[i+1:]
		}
		return "", fmt.Errorf("gdb could not stop at %s: %s", o.Function, why)
	}
	return printed, err
}
