package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// Open opens a file whose name comes from others: such a name may stand for a pipe, on which a reader would
// wait for ever, or for a device or a sparse file without end. Open never waits: what is no regular file is
// an *fs.PathError of Odd. It is Patient.
func Open(path string) (f *os.File, err error) {
	if err := Patient(func() (err error) {
		f, err = os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		return err
	}); err != nil {
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

// patience is how long Patient waits for other goroutines to close files.
const patience = 10 * time.Second

// Patient calls do again while this process has as many files open as it may: other goroutines, which open
// files for a moment only, will close some.
func Patient(do func() error) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		err := do()
		if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) || time.Now().After(deadline) {
			return err
		}
	}
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
