// Package bundle puts a LuNA program and its compiled C++ into one file.
//
// A library made by "luna -c" carries the program it was made from, so that rts can run it without the source
// files: the shared object, the program as JSON, the length of that JSON in 8 bytes, and a mark. The dynamic
// linker does not look behind the last section, so the file remains a shared object.
package bundle

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/run/crew"
	"github.com/whyslow/whyslow/internal/run/luna"
)

const mark = "whyslow program\n"

// Program is what has to be compiled again to run a library.
type Program struct {
	File     string            `json:"file"`
	Source   string            `json:"source"`
	Defines  []string          `json:"defines,omitempty"`
	Includes map[string]string `json:"includes,omitempty"` // by path as found when it was compiled
	Debug    bool              `json:"debug,omitempty"`
	Read     []crew.Source     `json:"read"` // the user's files that the shared object was compiled from
}

// Write copies the shared object to path and appends the program.
func Write(path, library string, p *Program) (err error) {
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
	_, err = out.Write(append(text, mark...))
	return err
}

// Read gives the program that a library carries.
func Read(path string) (*Program, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, console.FileError(err)
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, console.FileError(err)
	}
	const tail = int64(8 + len(mark))
	end := make([]byte, tail)
	if size >= tail {
		if _, err := f.ReadAt(end, size-tail); err != nil {
			return nil, console.FileError(err)
		}
	}
	if string(end[8:]) != mark {
		return nil, fmt.Errorf("%s: contains no program; make it with 'luna -c'", path)
	}
	length := binary.LittleEndian.Uint64(end)
	if length > uint64(size-tail) {
		return nil, fmt.Errorf("%s: damaged: the program in it would be %d bytes long", path, length)
	}
	text := make([]byte, length)
	if _, err := f.ReadAt(text, size-tail-int64(length)); err != nil {
		return nil, console.FileError(err)
	}
	var p Program
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, fmt.Errorf("%s: damaged: the program in it cannot be read: %w", path, err)
	}
	return &p, nil
}

// Compile turns the carried program into one that can run.
func (p *Program) Compile() (*luna.Program, error) {
	return luna.Compile(luna.Options{
		File: p.File, Source: []byte(p.Source), Defines: luna.Defines(p.Defines),
		ReadFile: func(path string) ([]byte, error) {
			if text, ok := p.Includes[path]; ok {
				return []byte(text), nil
			}
			return nil, &os.PathError{Op: "open", Path: path, Err: os.ErrNotExist}
		},
	})
}
