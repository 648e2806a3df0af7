package tracefile

import (
	"errors"
	"io/fs"
	"os"

	"github.com/whyslow/whyslow/internal/files"
)

// ErrReplaced is in the error of an Appender whose file was removed, cut, or replaced by another one since it
// was opened. Nothing is written then.
var ErrReplaced = errors.New("it was removed or replaced while it was written")

// placed is the file at a path, as long as it is the same file. It is open only while something is written: a
// collector has more files than a process may have open, and a file that was removed takes what is written.
type placed struct {
	path string
	is   fs.FileInfo
	at   int64 // here is written next
}

// do calls f with the file.
func (p *placed) do(f func(file *os.File) error) error {
	var file *os.File
	err := files.Patient(func() (err error) {
		file, err = os.OpenFile(p.path, os.O_WRONLY, 0)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return ErrReplaced
	}
	if err != nil {
		return err
	}
	st, err := file.Stat()
	switch {
	case err != nil:
	case !os.SameFile(st, p.is) || st.Size() < p.at:
		err = ErrReplaced
	default:
		err = f(file)
	}
	return errors.Join(err, file.Close())
}

func (p *placed) Write(b []byte) (n int, err error) {
	err = p.do(func(file *os.File) (err error) {
		n, err = file.WriteAt(b, p.at)
		return err
	})
	p.at += int64(n)
	return n, err
}

func (p *placed) Truncate(size int64) error {
	return p.do(func(file *os.File) error { return file.Truncate(size) })
}

func (p *placed) Seek(at int64, _ int) (int64, error) {
	p.at = at
	return at, nil
}

func (p *placed) Close() error { return nil }
