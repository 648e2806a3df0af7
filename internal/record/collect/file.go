package collect

import (
	"maps"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/trace"
)

// file is a node's file. It is open while a connection appends to it, so that what is open
// is bounded by what is connected.
type file struct {
	finished atomic.Bool // it has its index

	mu    sync.Mutex
	owner *conn           // who may append; nil: nobody
	out   *trace.Appender // nil: closed
	have  *trace.Have     // what it holds, while it is closed; nil: not known
}

// open makes k the owner and returns what there is, and who was the owner before.
func (f *file) open(k *conn, dir string, node int) (have trace.Have, old *conn, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.out == nil && f.have == nil {
		if err := f.look(dir, node); err != nil {
			return have, nil, err
		}
	}
	if f.out != nil {
		have = f.out.Have()
	} else {
		have = trace.Have{Defs: f.have.Defs, Streams: maps.Clone(f.have.Streams)}
	}
	old, f.owner = f.owner, k
	return have, old, nil
}

// look finds out what there is from before this collector was started.
func (f *file) look(dir string, node int) (err error) {
	if _, err := os.Stat(filepath.Join(dir, trace.FileName(node))); err != nil {
		f.have = &trace.Have{} // it is made with its first block
		f.finished.Store(false)
		return nil
	}
	if f.out, err = trace.OpenAppend(dir, node); err == nil && f.finished.Load() {
		err = f.finish() // opening has cut the index off
	}
	return err
}

// append appends a block and reports whether it was new.
func (f *file) append(k *conn, dir string, node int, head *trace.RawBlock, block []byte) (fresh bool,
	err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.owner != k {
		return false, stream.ErrCut
	}
	if err := f.begin(dir, node); err != nil {
		return false, err
	}
	have := f.out.Have()
	if head.Number < stream.Expected(have, head.Defs, head.Stream) {
		return false, nil
	}
	if err := f.out.Append(block); err != nil {
		f.close()
		return false, err
	}
	return true, nil
}

// begin opens the file for appending.
func (f *file) begin(dir string, node int) (err error) {
	if f.out != nil {
		return nil
	}
	if f.out, err = trace.OpenAppend(dir, node); err == nil {
		f.finished.Store(false)
		f.have = nil
	}
	return err
}

// end writes the index. A file with nothing in it is made: its node is known to have
// recorded nothing.
func (f *file) end(k *conn, dir string, node int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.owner != k {
		return stream.ErrCut
	}
	if f.finished.Load() {
		return nil
	}
	if err := f.begin(dir, node); err != nil {
		return err
	}
	return f.finish()
}

// finish writes the index and closes the file; f.mu is held.
func (f *file) finish() error {
	have := f.out.Have()
	err := f.out.Finish()
	f.out, f.have = nil, &have
	f.finished.Store(err == nil)
	return err
}

// close closes the file without an index; f.mu is held.
func (f *file) close() {
	if f.out == nil {
		return
	}
	have := f.out.Have()
	f.have = &have
	_ = f.out.Close() // every block was written by itself, and what failed was told
	f.out = nil
}

// release closes the file if k is still the owner.
func (f *file) release(k *conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.owner == k {
		f.owner = nil
		f.close()
	}
}
