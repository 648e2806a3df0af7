package crew

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/whyslow/whyslow/internal/console"
)

// # Standard error of many processes
//
// User code writes to standard error in pieces: each << of std::cerr is a write of its own. mpirun mixes the
// pieces of all ranks, and whole lines as well: it reads 4096 bytes at a time, which may end within a line.
// These may be the last words of a process that is about to die, in ways nobody in it can catch. So another
// process reads them, not a goroutine as for standard output (capture.go): it sees the end of the pipe
// however the rank ends.
//
//	rank: fd 2 ─► pipe ─► whyslow mpi-lines: whole lines ─► pipe ─► mpirun
//
// It writes whole lines, and never more than mpirun reads at once: then every read ends with a line, and only
// longer lines can be cut. When mpirun ends a run whose rank has died, it reads nothing for a second or two,
// then what it finds. So after a while lines are written anyway: they may be cut then, but are not lost.
//
// A rank that ends writes endMark and waits until the lines before it have been written: on a busy machine
// that may take a while, and mpirun may read nothing of a rank that has failed. Processes that the rank's
// user code has started may write after the mark.
//
// A terminal is left alone: a rank that has one has it for itself.

const (
	endMark     = "\x00whyslow: the rank ends\x00\n"
	endWithin   = 10 * time.Second
	linesVerb   = "mpi-lines" // hidden
	mpirunReads = 4096        // bytes at once
	readWithin  = 500 * time.Millisecond
)

// errLines is where standard error of this process is led through; nil: nowhere.
var errLines *stderrLines

// stderrLines is the process that standard error is led through.
type stderrLines struct {
	was   int // standard error as it was
	cmd   *exec.Cmd
	ended *os.File // at its end when all before endMark has been written
}

// LeadStderr leads standard error through a process of its own, until EndStderr, if mpirun started this one
// with others and argv runs one of the verbs. In the new process it does not return.
func LeadStderr(argv, verbs []string) {
	if len(argv) == 2 && argv[0] == "whyslow" && argv[1] == linesVerb {
		os.Exit(passStderr())
	}
	words := []string{filepath.Base(argv[0])}
	if len(argv) > 1 {
		words = append(words, argv[1])
	}
	leads := slices.ContainsFunc(words, func(w string) bool { return slices.Contains(verbs, w) })
	if leads && HasMPI() && Ranks() > 1 {
		errLines = startStderrLines()
	}
}

// EndStderr waits until all that was written has come out. A process that user code has started may hold the
// pipe open: its lines come out later.
func EndStderr() { errLines.end() }

// startStderrLines starts the process. nil: standard error stays as it is.
func startStderrLines() *stderrLines {
	if _, err := unix.IoctlGetTermios(2, unix.TCGETS); err == nil {
		return nil
	}
	s := &stderrLines{}
	if err := s.start(); err != nil {
		fmt.Fprintf(os.Stderr, "whyslow: warning: lines of several ranks on standard error may mix: %v\n", err)
		return nil
	}
	return s
}

func (s *stderrLines) start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if s.was, err = unix.FcntlInt(2, unix.F_DUPFD_CLOEXEC, 3); err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return errors.Join(err, unix.Close(s.was))
	}
	ended, tell, err := os.Pipe()
	if err != nil {
		return errors.Join(err, unix.Close(s.was), r.Close(), w.Close())
	}
	s.ended = ended
	_, _ = unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, 1<<20) // else it is as large as it is
	s.cmd = &exec.Cmd{
		Path: self, Args: []string{"whyslow", linesVerb}, Stdin: r, Stdout: os.Stderr, Stderr: os.Stderr,
		ExtraFiles: []*os.File{tell},
		// It is no rank; and it outlives the one it serves, whose group mpirun kills.
		Env:         []string{"LD_LIBRARY_PATH=" + os.Getenv("LD_LIBRARY_PATH")},
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	if err = s.cmd.Start(); err == nil {
		// C code expects it to wait
		err = errors.Join(unix.Dup3(int(w.Fd()), 2, 0), unix.SetNonblock(2, false))
	}
	if err != nil {
		err = errors.Join(err, unix.Close(s.was))
	}
	return errors.Join(err, r.Close(), w.Close(), tell.Close())
}

func (s *stderrLines) end() {
	if s == nil {
		return
	}
	// What it could not write nobody can be told.
	_, err := unix.Write(2, []byte(endMark))
	_ = unix.Dup3(s.was, 2, 0) // both are open
	if err == nil && s.ended.SetReadDeadline(time.Now().Add(endWithin)) == nil {
		_, _ = s.ended.Read(make([]byte, 1))
	}
}

// passStderr is the process that standard error is led through.
func passStderr() (code int) {
	// The user's Ctrl+C and mpirun's wish to end are for the rank.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	ended := os.NewFile(3, "ended")
	if err := passLines(os.Stdin, os.Stdout, pipeSpace(os.Stdout), func() { _ = ended.Close() }); err != nil {
		return console.Failed
	}
	return console.Done
}

// passLines writes lines of in to out, several at once but not more than mpirunReads, and those that are
// longer alone. Before it writes n bytes it calls space(n). A line that in ends within gets an end; one of
// longestLine bytes comes as it is. It leaves endMark out, and calls ended when all before has been written.
func passLines(in io.Reader, out io.Writer, space func(n int), ended func()) error {
	var text []byte
	b := make([]byte, 64<<10)
	for {
		n, err := in.Read(b)
		text = append(text, b[:n]...)
		before, after, marked := bytes.Cut(text, []byte(endMark))
		if marked {
			if len(before) > 0 && before[len(before)-1] != '\n' {
				before = append(slices.Clip(before), '\n')
			}
			text = append(before, after...)
		}
		begun := len(text) > 0 && text[len(text)-1] != '\n'
		switch {
		case err != nil && begun:
			text = append(text, '\n')
		case err == nil && !marked && bytes.IndexByte(b[:n], '\n') < 0 && len(text) < longestLine:
			continue
		}
		rest := text
		for n := linesIn(rest); n > 0; n = linesIn(rest) {
			space(n)
			if _, err := out.Write(rest[:n]); err != nil {
				return err
			}
			rest = rest[n:]
		}
		text = append(text[:0], rest...)
		if marked {
			ended()
		}
		if err != nil {
			return nil
		}
	}
}

// linesIn is how many bytes at the beginning of text are to be written at once.
func linesIn(text []byte) int {
	if n := bytes.LastIndexByte(text[:min(len(text), mpirunReads)], '\n') + 1; n > 0 {
		return n
	}
	if n := bytes.IndexByte(text, '\n') + 1; n > 0 || len(text) < longestLine {
		return n
	}
	return len(text)
}

// pipeSpace is a function that waits until no more than mpirunReads bytes are in a pipe with n more, or,
// where these are more by themselves, until it is empty: as long as somebody reads, or for a time. out may be
// something else: then it does not wait.
func pipeSpace(out *os.File) func(n int) {
	fd := int(out.Fd())
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFIFO {
		return func(int) {}
	}
	unread, stalled := 0, false
	return func(n int) {
		const shortest, longest = 20 * time.Microsecond, time.Millisecond
		since := time.Now()
		for pause := shortest; ; pause = min(2*pause, longest) {
			left, err := unix.IoctlGetInt(fd, unix.TIOCINQ)
			if err != nil {
				return
			}
			if left < unread {
				stalled, since = false, time.Now()
			}
			unread = left
			stalled = stalled || time.Since(since) > readWithin
			if stalled || left == 0 || left+n <= mpirunReads {
				break
			}
			t := unix.NsecToTimespec(int64(pause))
			// It reports, unasked, that nobody can read any more.
			if n, err := unix.Ppoll([]unix.PollFd{{Fd: int32(fd)}}, &t, nil); n > 0 || err != nil &&
				!errors.Is(err, unix.EINTR) {
				break
			}
		}
		unread += n
	}
}
