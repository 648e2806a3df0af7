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
	"github.com/whyslow/whyslow/internal/files"
)

// NewFolder makes the folder for the trace of a program: PROG.NNN.trace beside it, NNN one more than the
// largest there is, or in the current directory where the program's cannot be written; note then says so.
func NewFolder(program string) (dir, note string, err error) {
	base := strings.TrimSuffix(filepath.Base(program), filepath.Ext(program))
	dir, err = files.NewTrace(filepath.Dir(program), base)
	readOnly := errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
	if !readOnly {
		return dir, "", console.FileError(err)
	}
	beside := filepath.Dir(program)
	dir, err = files.NewTrace(".", base)
	if err != nil {
		return "", "", fmt.Errorf("no folder for the trace: %w (say -o DIR)", console.FileError(err))
	}
	return dir, fmt.Sprintf("%s cannot be written: the trace goes to the current directory", beside), nil
}

// MakeFolder makes the folder the user named; it must be new or empty: no trace is ever overwritten.
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
