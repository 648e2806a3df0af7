package recording

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/files"
)

// NewFolder makes the folder for the trace of a program: PROG.NNN.trace in the current folder, NNN one more
// than the largest there is.
func NewFolder(program string) (string, error) {
	dir, err := files.NewTrace(".", strings.TrimSuffix(filepath.Base(program), filepath.Ext(program)))
	if err != nil {
		return "", fmt.Errorf("no folder for the trace: %w (use -o DIR)", console.FileError(err))
	}
	return dir, nil
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
