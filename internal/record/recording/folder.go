package recording

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/whyslow/whyslow/internal/console"
)

// NewFolder makes the folder for the trace of a program: PROG.NNN.trace beside it, NNN one more than the
// largest there is, or in the current directory where the program's cannot be written; note then says so.
func NewFolder(program string) (dir, note string, err error) {
	base := strings.TrimSuffix(filepath.Base(program), filepath.Ext(program))
	dir, err = claimFolder(filepath.Dir(program), base)
	readOnly := errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
	if !readOnly {
		return dir, "", console.FileError(err)
	}
	beside := filepath.Dir(program)
	dir, err = claimFolder(".", base)
	if err != nil {
		return "", "", fmt.Errorf("no folder for the trace: %w (say -o DIR)", console.FileError(err))
	}
	return dir, fmt.Sprintf("%s cannot be written: the trace goes to the current directory", beside), nil
}

func claimFolder(parent, base string) (string, error) {
	next := 1
	entries, err := os.ReadDir(parent)
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return "", err
	}
	for _, e := range entries {
		middle, ok := strings.CutPrefix(e.Name(), base+".")
		if !ok {
			continue
		}
		middle, ok = strings.CutSuffix(middle, ".trace")
		if !ok {
			continue
		}
		var n int
		if _, err := fmt.Sscanf(middle, "%d", &n); err == nil && n >= next {
			next = n + 1
		}
	}
	for ; ; next++ {
		dir := filepath.Join(parent, fmt.Sprintf("%s.%03d.trace", base, next))
		err := os.Mkdir(dir, 0o777)
		if !errors.Is(err, fs.ErrExist) {
			return dir, err
		}
	}
}

// MakeFolder makes the folder the user named; it must not exist or be empty, so that no trace is ever
// overwritten.
func MakeFolder(dir string) error {
	err := os.Mkdir(dir, 0o777)
	if errors.Is(err, fs.ErrExist) {
		entries, readErr := os.ReadDir(dir)
		if readErr != nil {
			return fmt.Errorf("-o %s: not a folder", dir)
		}
		if len(entries) > 0 {
			return fmt.Errorf("-o %s: already there and not empty; choose another name or remove it", dir)
		}
		return nil
	}
	return console.FileError(err)
}
