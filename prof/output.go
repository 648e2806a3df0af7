package prof

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
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
	file    *anew // if it is a file
	err     error
	host    *Host
	told    bool // of err, or it is on its way
	last    bool // the modules finish
	telling sync.WaitGroup
}

// dialTimeout is how long the start of the program waits for the receiver of a module's output.
const dialTimeout = 5 * time.Second

// Open opens what a parameter like "file" names: "" the terminal (standard error of whyslow run), "-"
// standard output, "tcp://HOST:PORT" a network connection, anything else a file, which is made anew. It is
// closed after the modules have finished. A file to which another module or another run writes at the time is
// an error, and stays as it is. In a run of several processes each has a file of its own: FileName tells its
// name.
func (h *Host) Open(where string) (*Output, error) {
	if _, network := strings.CutPrefix(where, "tcp://"); where != "" && where != "-" && !network {
		where = h.FileName(where)
	}
	return h.OpenNamed(where)
}

// OpenNamed is Open for files whose names the module has made such that no other process of the run has the
// same: by node.
func (h *Host) OpenNamed(where string) (*Output, error) {
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
		f, err := h.create(where)
		if err != nil {
			return nil, err
		}
		to, o.closer, o.file = f, f, f
	}
	o.w = bufio.NewWriterSize(to, 1<<16)
	h.run.outputs = append(h.run.outputs, o)
	return o, nil
}

// FileName is the name of the file in place of the one that a parameter names. In a run of several processes,
// which may share the folder, it has the number of the process's first node in it: "profile.2.json". What is
// there and no ordinary file (/dev/null) keeps its name.
func (h *Host) FileName(name string) string {
	if h.run.facts.Processes < 2 {
		return name
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return name
	}
	ext := filepath.Ext(name)
	return fmt.Sprintf("%s.%d%s", strings.TrimSuffix(name, ext), h.run.facts.Node, ext)
}

// anew is a file that loses what was in it at the first write, or when all modules have started: until then
// the run may come to nothing, and then the results of the run before stay.
type anew struct {
	*os.File
	emptied bool
}

func (f *anew) empty() error {
	if f.emptied {
		return nil
	}
	f.emptied = true
	return f.Truncate(0)
}

// Write writes.
func (f *anew) Write(p []byte) (int, error) {
	if err := f.empty(); err != nil {
		return 0, err
	}
	return f.File.Write(p)
}

// Close closes the file. It is unlocked first: a process that user code has forked would keep the lock.
func (f *anew) Close() error {
	unlock(f.File)
	return f.File.Close()
}

// create makes a file anew, unless somebody writes to it.
func (h *Host) create(where string) (*anew, error) {
	file, err := os.OpenFile(where, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		if path := (*os.PathError)(nil); errors.As(err, &path) {
			err = path.Err
		}
		return nil, fmt.Errorf("cannot write to %s: %w; name another place", where, err)
	}
	f := &anew{File: file}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if !info.Mode().IsRegular() {
		f.emptied = true
		return f, nil
	}
	if lock(file) {
		return f, nil
	}
	defer file.Close()
	for _, other := range h.run.outputs {
		if other.file == nil {
			continue
		}
		if theirs, err := other.file.Stat(); err == nil && os.SameFile(info, theirs) {
			return nil, fmt.Errorf("%s is written by %s already; name another place", where, other.host.Name())
		}
	}
	return nil, fmt.Errorf("%s is being written by another run; name another place, or wait", where)
}

// begin is called when all modules have started.
func (o *Output) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file != nil {
		o.note(o.file.empty())
	}
}

// abandon drops what is written from now on: not all modules have started.
func (o *Output) abandon() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.w.Reset(io.Discard)
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
	return o.err
}
