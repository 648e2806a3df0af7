package prof

import (
	"bufio"
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
// comes later is dropped.
type Output struct {
	mu     sync.Mutex
	w      *bufio.Writer
	closer io.Closer
	err    error
	failed func(error)
	name   string
}

// dialTimeout is how long the start of the program waits for whoever listens for a module's output.
const dialTimeout = 5 * time.Second

// Open opens what a parameter like "file" names: "" the terminal (standard error of whyslow
// run), "-" standard output, "tcp://HOST:PORT" a network connection, anything else a file, which
// is made anew. It is closed after the modules have finished. A later error ends
// the module's work with a message, see Fail.
func (h *Host) Open(where string) (*Output, error) {
	o := &Output{name: where, failed: h.Fail}
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
	if err != nil && o.err == nil {
		o.err = err
		go o.failed(fmt.Errorf("cannot write: %w", err)) // it takes locks that whoever writes may hold
	}
}

// Close flushes and closes; the terminal and standard output stay open. It returns the first error
// there was.
func (o *Output) Close() error {
	err := o.Flush()
	if o.closer != nil {
		if e := o.closer.Close(); err == nil {
			err = e
		}
		o.closer = nil
	}
	return err
}

// Lines collects text by stream and hands it to an Output in large pieces, so that a
// handler that writes a line takes no lock. Lines of one stream stay in order.
type Lines struct {
	out  *Output
	size int
	bufs *PerStream[[]byte]
}

// NewLines makes a collector that keeps up to size bytes of each stream; 0 keeps nothing:
// every line is written at once.
func NewLines(ses *Session, out *Output, size int) *Lines {
	return &Lines{out: out, size: size, bufs: NewPerStream[[]byte](ses, nil)}
}

// Buffer returns where the next line of the stream is to be appended.
func (l *Lines) Buffer(s *Stream) *[]byte { return l.bufs.Get(s) }

// Done is called after a whole line was appended to the stream's buffer.
func (l *Lines) Done(s *Stream) {
	b := l.bufs.Get(s)
	if len(*b) >= l.size {
		l.write(b)
		if l.size == 0 {
			_ = l.out.Flush() // kept by the Output, which tells
		}
	}
}

func (l *Lines) write(b *[]byte) {
	_, _ = l.out.Write(*b) // kept by the Output, which tells
	*b = (*b)[:0]
}

// Flush writes what is left; no stream may be in use.
func (l *Lines) Flush() error {
	l.bufs.All(func(_ *Stream, b *[]byte) { l.write(b) })
	return l.out.Flush()
}
