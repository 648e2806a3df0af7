package cli

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// A library made by "luna -c" carries the program it was made from, so that rts can run it without the source files: the
// shared object, the program as JSON, the length of that JSON in 8 bytes, and the mark. The dynamic linker does not look
// behind the last section, so the file remains a shared object.

const bundleMark = "whyslow program\n"

// program is what has to be compiled again to run a library.
type program struct {
	File     string            `json:"file"`
	Source   string            `json:"source"`
	Defines  []string          `json:"defines,omitempty"`
	Includes map[string]string `json:"includes,omitempty"` // by path as found when it was compiled
	Debug    bool              `json:"debug,omitempty"`
	Read     []source          `json:"read"` // the user's files that the shared object was compiled from
}

// writeBundle copies the shared object to path and appends the program.
func writeBundle(path, library string, p *program) (err error) {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	in, err := os.Open(library)
	if err != nil {
		return err
	}
	defer in.Close()
	// A library of the same name may be in use: replace it, do not write into it.
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o777)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	text = binary.LittleEndian.AppendUint64(text, uint64(len(text)))
	_, err = out.Write(append(text, bundleMark...))
	return err
}

// readBundle gives the program that a library carries.
func readBundle(path string) (*program, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fileError(err)
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fileError(err)
	}
	const tail = int64(8 + len(bundleMark))
	end := make([]byte, tail)
	if size >= tail {
		if _, err := f.ReadAt(end, size-tail); err != nil {
			return nil, fileError(err)
		}
	}
	if string(end[8:]) != bundleMark {
		return nil, fmt.Errorf("%s: carries no program; make it with 'luna -c'", path)
	}
	length := binary.LittleEndian.Uint64(end)
	if length > uint64(size-tail) {
		return nil, fmt.Errorf("%s: damaged: the program in it would be %d bytes long", path, length)
	}
	text := make([]byte, length)
	if _, err := f.ReadAt(text, size-tail-int64(length)); err != nil {
		return nil, fileError(err)
	}
	var p program
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, fmt.Errorf("%s: damaged: the program in it cannot be read: %w", path, err)
	}
	return &p, nil
}
