// Package console is where a command meets its user: standard streams, the progress line, the exit codes, and
// the errors that carry them.
package console

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/whyslow/whyslow/internal/words"
)

// Exit codes, the same for all verbs but luna (0 and 1) and rts (the program's own).
const (
	Done        = 0
	Failed      = 1 // the program under test failed, or standard output cannot be written
	BadUsage    = 2 // usage or bad input
	Stuck       = 3 // CFs left waiting
	Damaged     = 4 // a trace is damaged or ends early
	Condition   = 5 // a condition of --fail-if holds
	Interrupted = 130
)

// Tokens is the environment variable that holds a token, which others could read in a command line.
const Tokens = "WHYSLOW_TOKEN"

// Collectors is the environment variable that names the collector to which programs send what they record.
const Collectors = "WHYSLOW_TO"

// IO is where a command reads and writes. Tests put buffers here.
type IO struct {
	In               io.Reader
	Out, Err         io.Writer
	OutTerm, ErrTerm bool // a terminal
}

// Standard is what this process was started with.
func Standard() IO {
	// Open MPI gives rank 0 a terminal of its own and copies what comes there to wherever mpirun writes.
	_, copied := os.LookupEnv("OMPI_COMM_WORLD_SIZE")
	s := IO{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		OutTerm: !copied && term.IsTerminal(int(os.Stdout.Fd())),
		ErrTerm: term.IsTerminal(int(os.Stderr.Fd())),
	}
	if !words.UTF8(os.Getenv) { // files and pipes get UTF-8 all the same
		if s.OutTerm {
			s.Out = words.ASCII(s.Out)
		}
		if s.ErrTerm {
			s.Err = words.ASCII(s.Err)
		}
	}
	return s
}

// OutColor tells whether standard output may be coloured.
func (s IO) OutColor() bool { return s.OutTerm && os.Getenv("NO_COLOR") == "" }

// ErrColor is OutColor for standard error.
func (s IO) ErrColor() bool { return s.ErrTerm && os.Getenv("NO_COLOR") == "" }

// Say writes one line of ours to standard error, or several that are in one argument. Names of unreasonable
// length are cut.
func (s IO) Say(format string, args ...any) {
	fmt.Fprintln(s.Err, words.CutLines(fmt.Sprintf("whyslow: "+format, args...)))
}

// Error ends the command with an exit code.
type Error struct {
	Code int
	Err  error // printed as one line; nil: the user knows already
	Help bool  // point to --help
}

// Error implements error.
func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap gives the error inside.
func (e *Error) Unwrap() error { return e.Err }

// Exit ends the command with a code; err is nil if the user knows already.
func Exit(code int, err error) error { return &Error{Code: code, Err: err} }

// BadInput is about a file that cannot be used; nil stays nil.
func BadInput(err error) error {
	if err == nil {
		return nil
	}
	return &Error{Code: BadUsage, Err: FileError(err)}
}

// Misuse is a mistake in the words of the command; the user is pointed to --help.
func Misuse(format string, args ...any) error {
	return &Error{Code: BadUsage, Err: fmt.Errorf(format, args...), Help: true}
}

// Code is the exit code of an error.
func Code(err error) int {
	var exit *Error
	switch {
	case err == nil:
		return Done
	case errors.As(err, &exit):
		return exit.Code
	}
	return BadUsage
}

// Tell prints an error, unless the user knows it already, and returns one that only carries the exit code.
func (s IO) Tell(err error) error {
	var exit *Error
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &exit):
		s.Say("%v", err)
	case exit.Err != nil:
		s.Say("%v", exit.Err)
	}
	return Exit(Code(err), nil)
}

// FileError words an error of a file without the name of the system call.
func FileError(err error) error {
	var path *os.PathError
	var done *fileError // with what was said around it
	if errors.As(err, &path) && !errors.As(err, &done) {
		return &fileError{path}
	}
	return err
}

type fileError struct{ path *os.PathError }

func (e *fileError) Error() string { return e.path.Path + ": " + e.path.Err.Error() }

func (e *fileError) Unwrap() error { return e.path }

// OutputError is Failed, if an error is that standard output cannot be written; others stay what they are.
func OutputError(err error) error {
	var path *os.PathError
	if errors.As(err, &path) && path.Path == os.Stdout.Name() {
		return Exit(Failed, FileError(path))
	}
	return err
}
