// Package files puts files in their place whole, reads those whose names come from others, and makes folders
// for traces.
package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Replace writes a file, readable by all, and moves it to path when complete: readers see the old or new one.
func Replace(path string, write func(io.Writer) error) error { return ReplaceMode(path, 0o644, write) }

// ReplaceMode is Replace for a file with other permissions.
func ReplaceMode(path string, mode fs.FileMode, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	if err = errors.Join(write(f), f.Chmod(mode), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // what went wrong before is told
	}
	return err
}

// ReplaceText is Replace with a text at hand.
func ReplaceText(path string, text []byte) error {
	return Replace(path, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// NewTrace makes the folder BASE.NNN.trace in parent, NNN one more than the largest there is.
func NewTrace(parent, base string) (string, error) {
	for next, err := NextTrace(parent, base); ; next++ {
		if err != nil {
			return "", err
		}
		dir := TraceName(parent, base, next)
		if err := os.Mkdir(dir, 0o777); !errors.Is(err, fs.ErrExist) {
			return dir, err
		}
	}
}

// TraceName is the path of a trace with a number.
func TraceName(parent, base string, n int) string {
	return filepath.Join(parent, fmt.Sprintf("%s.%03d.trace", base, n))
}

// NextTrace is one more than the largest number of a trace called BASE.NNN.trace in parent.
func NextTrace(parent, base string) (int, error) {
	entries, err := os.ReadDir(parent)
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return 0, err
	}
	next := 1
	for _, e := range entries {
		var n int
		rest, ok := strings.CutPrefix(e.Name(), base+".")
		number, isTrace := strings.CutSuffix(rest, ".trace")
		if _, err := fmt.Sscanf(number, "%d", &n); ok && isTrace && err == nil && n >= next && n < 1e9 {
			next = n + 1
		}
	}
	return next, nil
}

// Size adds up the bytes of the regular files of a folder, without those of folders in it. It is 0 for a
// folder that cannot be read.
func Size(dir string) (n int64) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
	}
	return n
}
