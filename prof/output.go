package prof

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"
)

// Output is where a module writes: a file, the terminal, standard output or a network
// connection. Writes of several goroutines are not mixed. The first error is kept, and what
// comes later is dropped. The user is told once: an error while the program runs ends the module's
// work with a message, one met when the modules finish is returned by ModuleRun.Finish.
type Output struct {
	mu      sync.Mutex
	w       *bufio.Writer
	closer  io.Closer
	err     error
	host    *Host
	told    bool // of err, or it is on its way
	last    bool // the modules finish
	telling sync.WaitGroup
}

// dialTimeout is how long the start of the program waits for whoever listens for a module's output.
const dialTimeout = 5 * time.Second

// Open opens what a parameter like "file" names: "" the terminal (standard error of whyslow
// run), "-" standard output, "tcp://HOST:PORT" a network connection, anything else a file, which
// is made anew. It is closed after the modules have finished.
func (h *Host) Open(where string) (*Output, error) {
	if h.run.ended {
		return nil, errors.New("a module opens its outputs when it starts, not when it finishes")
	}
	o := &Output{host: h}
	var to io.Writer
	switch address, network := strings.CutPrefix(where, "tcp://"); {
	case where == "":
		to = h.run.facts.Out
	case where == "-":
		to = os.Stdout
	case network:
		c, err := net.DialTimeout("tcp", address, dialTimeout)
		if err != nil {
			return nil, fmt.Errorf("cannot connect to %s: %w", where, err)
		}
		to, o.closer = c, c
	default:
		f, err := os.Create(where)
		if err != nil {
			return nil, err
		}
		to, o.closer = f, f
	}
	o.w = bufio.NewWriterSize(to, 1<<16)
	h.run.outputs = append(h.run.outputs, o)
	return o, nil
}

// Write appends text.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	n, err := len(p), o.err
	if err == nil {
		n, err = o.w.Write(p)
		o.note(err)
	}
	o.mu.Unlock()
	return n, err
}

// Flush gets to its place what was written.
func (o *Output) Flush() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.note(o.w.Flush())
	}
	return o.err
}

// note keeps the first error; the caller holds o.mu.
func (o *Output) note(err error) {
	if err == nil || o.err != nil {
		return
	}
	if o.err = fmt.Errorf("cannot write: %w", err); !o.last {
		o.told = true
		o.telling.Go(func() { o.host.Fail(o.err) }) // it takes locks that whoever writes may hold
	}
}

// finishing is called before the modules finish.
func (o *Output) finishing() {
	o.mu.Lock()
	o.last = true
	o.mu.Unlock()
	o.telling.Wait()
}

// close flushes and closes; the terminal and standard output stay open. It returns an error
// that the user has not been told.
func (o *Output) close() error {
	_ = o.Flush() // kept
	if o.closer != nil {
		err := o.closer.Close()
		o.mu.Lock()
		o.note(err)
		o.mu.Unlock()
	}
	if o.told || o.err == nil {
		return nil
	}
	return fmt.Errorf("module %s: %w", o.host.Name(), o.err)
}
