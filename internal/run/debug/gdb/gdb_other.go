//go:build !linux

package gdb

import "errors"

// Options of an attachment.
type Options struct {
	Function string
	Commands []string
	Ready    func() error
}

// Attach fails: programs run on Linux.
func Attach(Options) (string, error) { return "", errors.New("gdb can be attached only on Linux") }
