package crew

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// capture is standard output of this process (descriptor 1: Go's and that of user code) led through a pipe.
type capture struct {
	was  *os.File // standard output as it was
	pipe *os.File
	done chan struct{} // everything was read
}

// startCapture gives what is printed to lines: whole lines, several at once, or longestLine bytes without an
// end. What is left at the end comes as it is.
func startCapture(lines func(was *os.File) func(text []byte)) (*capture, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("standard output: %w", err)
	}
	was, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err == nil {
		// C code expects it to wait
		err = errors.Join(unix.Dup3(int(w.Fd()), 1, 0), unix.SetNonblock(1, false))
	}
	if err != nil {
		return nil, fmt.Errorf("standard output: %w", err)
	}
	_, _ = unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, 1<<20) // else it is as large as it is
	if err := w.Close(); err != nil {
		return nil, err
	}
	c := &capture{was: os.NewFile(uintptr(was), "standard output"), pipe: r, done: make(chan struct{})}
	go c.read(lines(c.was))
	return c, nil
}

func (c *capture) read(lines func(text []byte)) {
	defer close(c.done)
	t := &tagged{put: lines}
	_, _ = io.Copy(t, c.pipe) // it ends with the pipe
	lines(t.line)
}

// end gives standard output back and waits until all was read. A process that user code has started may hold
// the pipe open: what it prints later is lost.
func (c *capture) end() error {
	err := unix.Dup3(int(c.was.Fd()), 1, 0)
	_ = c.pipe.SetReadDeadline(time.Now().Add(200 * time.Millisecond)) // pipes can
	<-c.done
	return err
}
