// Package foreign makes traces of ours out of those that other programs have written. It has what all formats
// need; each format is a package of its own in this folder.
//
// A format is known by its first bytes, not by the name of the file. What it cannot tell is left out and said
// in reports (words.Imported), never guessed.
//
// A file may be damaged, or made to do harm. Readers go through it once, keep no more than what is still open
// in the run that it tells of, and report where they got stuck as an Error.
package foreign

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// Format is one that can be read.
type Format struct {
	Name string // "go", as in words.Imported
	// Is tells whether a file begins like one of the format; head is its first HeadBytes, or all of it.
	Is func(head []byte) bool
	// Files are patterns, as of path.Match, of the files that a folder of the format has, the one to begin with
	// first. A format of single files has none.
	Files []string
	// Read writes what in has to a trace. The error is an *Error where the file is at fault. What was written
	// up to then is kept, as of a run that was killed.
	Read func(ctx context.Context, in io.Reader, to *Run) error
	// Open, if not nil, gives what is read in place of the file, which is one of several. The error of its
	// Close says what was wrong with them, if that is more than Read could know.
	Open func(ctx context.Context, name string) (io.ReadCloser, error)
}

// HeadBytes is how much of a file a format is known by.
const HeadBytes = 4096

// Find gives the format of what in has, without reading it; false where it is none of these.
func Find(formats []Format, in *bufio.Reader) (Format, bool) {
	head, _ := in.Peek(HeadBytes) // what is there
	for _, f := range formats {
		if f.Is(head) {
			return f, true
		}
	}
	return Format{}, false
}

// Main gives the format of a folder, and the file with which reading begins.
func Main(formats []Format, folder fs.FS) (f Format, name string, ok bool) {
	for _, f := range formats {
		for _, pattern := range f.Files {
			names, _ := fs.Glob(folder, pattern) // the patterns are well-formed
			for _, name := range names {
				if file, err := folder.Open(name); err == nil {
					_, ok := Find([]Format{f}, bufio.NewReaderSize(file, HeadBytes))
					_ = file.Close() // it was only read
					if ok {
						return f, name, true
					}
				}
			}
		}
	}
	return Format{}, "", false
}

// Error says what is wrong with a file, and where.
type Error struct {
	File   string // of a folder, if it is not the one with which reading began
	Line   int    // from 1; 0: the format has no lines
	Offset int64  // in bytes; -1: not known
	Msg    string
}

func (e *Error) Error() string {
	text := e.Msg
	if e.Offset >= 0 {
		text = fmt.Sprintf("byte %d: %s", e.Offset, text)
	}
	if e.Line > 0 {
		text = fmt.Sprintf("line %d, %s", e.Line, text)
	}
	if e.File != "" {
		text = e.File + ": " + text
	}
	return text
}

// Counter counts the bytes that were read.
type Counter struct {
	io.Reader
	N int64
	// Told, if not nil, is called every now and then with how many more bytes were read.
	Told func(n int64)
}

// Read implements io.Reader.
func (c *Counter) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.N += int64(n)
	if c.Told != nil {
		c.Told(int64(n))
	}
	return n, err
}

// Import makes a trace in the folder dir of what in has, with a format. folder has the files beside it; nil
// if the file stands for itself. The error of the file is returned too when the trace has what was read
// before it; made tells whether there is a trace.
func Import(ctx context.Context, f Format, in io.Reader, folder fs.FS, dir string, info trace.RunInfo) (
	made bool, err error) {
	run, err := newRun(dir, info)
	if err != nil {
		return false, err
	}
	run.Folder = folder
	run.Info.Settings[model.Imported] = f.Name
	err = f.Read(ctx, in, run)
	var damaged *Error
	if err != nil && !errors.As(err, &damaged) {
		return false, errors.Join(err, run.close())
	}
	if err == nil {
		run.Info.Ended = trace.EndedDone
	}
	for _, n := range run.nodes {
		made = made || len(n.workers) > 0
	}
	return made, errors.Join(err, run.close())
}
