package files

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Open opens a file whose name comes from others: such a name may stand for a pipe, on which a reader would
// wait for ever, or for a device or a sparse file without end. Open never waits: what is no regular file is
// an *fs.PathError of Odd.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = Odd(st.Mode())
	}
	if err != nil {
		_ = f.Close()
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return f, nil
}

// Read reads a regular file of at most so many bytes; a longer one is an *fs.PathError.
func Read(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("longer than %d bytes", most)}
	}
	return text, err
}

// Odd is the error that a file is not regular; it is the file's mode.
type Odd fs.FileMode

func (o Odd) Error() string {
	switch m := fs.FileMode(o); {
	case m.IsDir():
		return "not a file but a folder"
	case m&fs.ModeNamedPipe != 0:
		return "not a file but a pipe"
	case m&fs.ModeSocket != 0:
		return "not a file but a socket"
	}
	return "not a file but a device"
}
