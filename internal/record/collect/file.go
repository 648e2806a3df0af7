package collect

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/internal/tracefile"
)

// file is a node's file. It is open only while a connection appends to it.
type file struct {
	finished atomic.Bool // it has its index
	// first is the name of the sender that opened it first: only that one's blocks may leave a gap, of no more
	// blocks than it says are lost.
	first string
	by    *sender // whose Nodes has it; guarded by run.mu
	free  func()  // gives back its memory; nil: there is none, or it counts with its run

	// owner may append; nil: nobody. It is changed with mu held.
	owner atomic.Pointer[conn]

	mu   sync.Mutex
	room int                 // streams whose memory counts
	gaps uint64              // blocks that are missing between those that came
	size int64               // bytes that count for the run
	out  *tracefile.Appender // nil: closed
	have *tracefile.Have     // what it holds, while it is closed; nil: not known
}

// open makes k the owner and returns what there is. It tells the previous owner and cuts it off.
func (f *file) open(k *conn, node int) (have tracefile.Have, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.out == nil && f.have == nil {
		if err := f.look(k, node); err != nil {
			return have, err
		}
	}
	if f.out != nil {
		have = f.out.Have()
	} else {
		have = tracefile.Have{Defs: f.have.Defs, Streams: maps.Clone(f.have.Streams)}
	}
	loser := f.owner.Load()
	if loser == k {
		return have, nil
	}
	if loser != nil && loser.sender.Name == k.sender.Name && loser.number > k.number {
		// What a sender said in a connection that it has given up can be read after what it says in the next one.
		loser = k
	} else {
		f.owner.Store(k)
	}
	if loser != nil {
		loser.cut(&stream.Refusal{Code: stream.RefusedTaken, Text: fmt.Sprintf("node %d is sent by another"+
			" sender now, %s", node, f.owner.Load().host()), Final: true})
	}
	return have, nil
}

// look finds out what there is from before this collector was started.
func (f *file) look(k *conn, node int) (err error) {
	if _, err := os.Stat(filepath.Join(k.run.dir, tracefile.FileName(node))); err != nil {
		f.have = &tracefile.Have{} // it is made with its first block
		f.finished.Store(false)
		return nil
	}
	if f.out, err = tracefile.OpenAppend(k.c.ctx, k.run.dir, node, k.run.id); err != nil {
		return err
	}
	if err := f.count(k, f.out.Streams()); err != nil {
		f.out = nil
		return err
	}
	if f.finished.Load() {
		return f.finish() // opening has cut the index off
	}
	f.size = f.out.Size()
	return nil
}

// errGap is the error of a block that leaves out others which its sender has not said to be lost. They may
// come yet, from another sender, and would be taken for those that are there.
var errGap = errors.New("blocks before it are missing")

// append appends a block, unless it is there already, and reports by how many bytes the file grew. lost is
// how many blocks of the node its sender has said to be lost.
func (f *file) append(k *conn, node int, lost uint64, head *tracefile.RawBlock, block []byte) (grown int64,
	err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.owner.Load() != k {
		return 0, stream.ErrCut
	}
	if err := f.begin(k, node); err != nil {
		return 0, err
	}
	next := f.out.Next(head.Defs, head.Stream)
	if head.Number < next {
		return 0, nil
	}
	gap := uint64(head.Number - next)
	if gap > 0 && (k.sender.Name != f.first || f.gaps+gap > lost) {
		return 0, fmt.Errorf("%w: node %d, stream %d: block %d comes, %d is expected", errGap, node, head.Stream,
			head.Number, next)
	}
	if next == 0 && !head.Defs {
		if err := f.count(k, f.out.Streams()+1); err != nil {
			return 0, err
		}
	}
	if err := f.out.Append(block); err != nil {
		f.close()
		if errors.Is(err, tracefile.ErrReplaced) {
			f.have = nil // its sender asks again what there is, and sends all that is missing
		}
		return 0, err
	}
	f.gaps += gap
	return f.grown(), nil
}

// Streams are counted so many at a time, each with about so many bytes of memory.
const (
	manyStreams = 64
	streamBytes = 64
)

// count counts the memory of so many streams; f.mu is held.
func (f *file) count(k *conn, streams int) error {
	for f.room < streams {
		free, ok := k.c.memory.take(k.host(), manyStreams*streamBytes)
		if !ok {
			return noMemory()
		}
		f.room += manyStreams
		before := f.free
		f.free = func() {
			free()
			if before != nil {
				before()
			}
		}
	}
	return nil
}

// grown is by how many bytes the file has grown since it was asked last; f.mu is held.
func (f *file) grown() int64 {
	before := f.size
	f.size = f.out.Size()
	return f.size - before
}

// begin opens the file for appending. It fails if the file was changed since it was closed: its sender, who
// was told what there was, must ask again.
func (f *file) begin(k *conn, node int) (err error) {
	if f.out != nil {
		return nil
	}
	had := f.have
	if f.out, err = tracefile.OpenAppend(k.c.ctx, k.run.dir, node, k.run.id); err != nil {
		return err
	}
	f.finished.Store(false)
	f.have = nil
	if has := f.out.Have(); had != nil && (has.Defs != had.Defs || !maps.Equal(has.Streams, had.Streams)) {
		f.close()
		return tracefile.ErrReplaced
	}
	return nil
}

// end writes the index, and reports by how many bytes the file grew. A file with nothing in it is made: its
// node is known to have recorded nothing.
func (f *file) end(k *conn, node int) (grown int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.owner.Load() != k {
		return 0, stream.ErrCut
	}
	if f.finished.Load() {
		return 0, nil
	}
	if err := f.begin(k, node); err != nil {
		return 0, err
	}
	before := f.size
	err = f.finish()
	return f.size - before, err
}

// finish writes the index and closes the file; f.mu is held.
func (f *file) finish() error {
	have := f.out.Have()
	err := f.out.Finish()
	f.size = f.out.Size()
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
	f.out = nil
}

// release closes the file if k is still the owner.
func (f *file) release(k *conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.owner.Load() == k {
		f.owner.Store(nil)
		f.close()
	}
}
