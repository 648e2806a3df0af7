package trace

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/whyslow/whyslow/internal/tracefile"
)

// FullPolicy says what an emitter does when all buffers are full.
type FullPolicy uint8

const (
	// Wait for the writer. Nothing is lost, the program is held up.
	Wait FullPolicy = iota
	// Drop events until a buffer is free; an onLost event says how many.
	Drop
)

// Options of a Writer. The zero value means the defaults.
type Options struct {
	BufferBytes int // size of one buffer; default 128 KiB, 1 KiB to 64 MiB
	Pool        int // buffers beyond one per stream; default 32
	// Run is the id of the run, RunInfo.ID: the file tells that it belongs to it. "": it does not tell
	Run string
	// zstd level: 0 default (1), 1 fastest to 4 best, negative: blocks are stored as they are
	Level int
	Sync  bool       // the emitter itself packs and writes full buffers
	Full  FullPolicy // what happens when no buffer is free
	// FlushEvery > 0: whatever was recorded is in the file about so long after, however
	// few events there are, for those who follow it (Follower) and if the program is killed;
	// 2 ms at least. It costs emitters nothing. 0: only full buffers are written.
	FlushEvery time.Duration
	// OnError is called once, with the first error met in writing: from then on nothing
	// of this node is recorded, and the program goes on. It is called in the goroutine
	// that writes and must not use the Writer; nil: only Close returns it.
	OnError func(error)
}

// Defaults of Options.
const (
	DefaultBuffer = 128 << 10 // bytes
	DefaultPool   = 32        // buffers
	maxBuffer     = 64 << 20
)

// Writer writes one node's file. Streams, Name and the Define methods may be used by many goroutines at once.
type Writer struct {
	node  int
	path  string
	place place // of the file
	opt   Options

	lost      atomic.Uint64
	unwritten atomic.Uint64
	err       atomic.Pointer[error]

	mu      sync.Mutex // streams, pool, queue
	cond    sync.Cond  // a buffer was queued or became free, or closing
	streams map[int]*Stream
	free    [][]uint64
	made    int // buffers in existence
	queue   []full
	closing bool
	refuse  bool          // no more buffers are taken over
	done    chan struct{} // the writer goroutine has ended
	stop    chan struct{} // the flusher is to end; nil: there is none
	stopped sync.Once
	flushed chan struct{} // it has ended

	layouts [MaxKind + 1]atomic.Pointer[layout]

	defs definer

	file *tracefile.BlockFile // used by the writer goroutine, or under ioMu, like what follows
	pack packer
	raw  []byte
	ioMu sync.Mutex
}

// full is a buffer on its way to the file, of which the words from to n are to be written.
type full struct {
	stream  int
	buf     []uint64
	from, n int
}

// Create starts the file of a node in the folder dir, which is created if need be.
// An existing file is replaced.
func Create(dir string, node int, opt Options) (*Writer, error) {
	if err := tracefile.CheckFile(node, opt.Run); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, tracefile.FileName(node))
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	at, err := placeOf(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	w, err := newWriter(f, node, opt)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("cannot write %s: %w", path, err)
	}
	w.path, w.place = path, at
	return w, nil
}

func newWriter(out tracefile.Output, node int, opt Options) (*Writer, error) {
	opt.BufferBytes = min(max(cmp.Or(opt.BufferBytes, DefaultBuffer), 1<<10), maxBuffer)
	if opt.Pool <= 0 {
		opt.Pool = DefaultPool
	}
	w := &Writer{node: node, opt: opt, streams: map[int]*Stream{}, done: make(chan struct{})}
	w.cond.L = &w.mu
	for i := range kinds {
		w.layouts[kinds[i].Kind].Store(newLayout(&kinds[i]))
	}
	w.defs.init()
	file, err := tracefile.NewBlockFile(out, node, opt.Run, opt.Level)
	if err != nil {
		return nil, err
	}
	w.file = file
	if opt.Sync {
		close(w.done)
	} else {
		go w.run()
	}
	if opt.FlushEvery > 0 {
		w.stop, w.flushed = make(chan struct{}), make(chan struct{})
		go w.flush()
	}
	return w, nil
}

// Node returns the node whose file this is.
func (w *Writer) Node() int { return w.node }

// Stream returns the node's stream of that number, making it at the first call.
// Streams 0 to W-1 are the workers.
func (w *Writer) Stream(id int) *Stream {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.streams[id]
	if s == nil {
		s = &Stream{w: w, id: id}
		w.streams[id] = s
	}
	return s
}

// Err returns the first error met in writing, nil if there was none. After an error
// recording goes on, and what cannot be written is counted by Lost.
func (w *Writer) Err() error {
	if p := w.err.Load(); p != nil {
		return *p
	}
	return nil
}

func (w *Writer) fail(err error) {
	var at *os.PathError
	if errors.As(err, &at) && at.Path == w.path {
		err = at.Err
	}
	if w.path != "" {
		err = fmt.Errorf("cannot write %s: %w", w.path, err)
	}
	if w.err.CompareAndSwap(nil, &err) && w.opt.OnError != nil {
		w.opt.OnError(err)
	}
}

// Lost returns the number of events dropped so far, for want of a buffer or because writing failed.
func (w *Writer) Lost() uint64 { return w.lost.Load() }

// Unwritten returns the number of lost events of which the file tells nothing, because writing failed: the
// rest of Lost stands in onLost events. It belongs into NodeInfo.Unwritten.
func (w *Writer) Unwritten() uint64 { return w.unwritten.Load() }

func (w *Writer) layout(k Kind) *layout { return w.layouts[k].Load() }

// take returns an empty buffer of at least n words for an emitter, nil if events are to be dropped.
func (w *Writer) take(n int) []uint64 {
	words := w.opt.BufferBytes / 8
	if n > words {
		// A list longer than a buffer gets one of its own, which is not kept.
		return make([]uint64, n)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.refuse {
		if k := len(w.free); k > 0 {
			buf := w.free[k-1]
			w.free = w.free[:k-1]
			return buf
		}
		if w.made < w.opt.Pool+len(w.streams) {
			w.made++
			return make([]uint64, words)
		}
		if w.opt.Full == Drop {
			return nil
		}
		w.cond.Wait()
	}
	return nil
}

// give returns a buffer to the pool.
func (w *Writer) give(buf []uint64) {
	if len(buf) != w.opt.BufferBytes/8 {
		return
	}
	w.mu.Lock()
	w.free = append(w.free, buf)
	w.mu.Unlock()
	w.cond.Broadcast()
}

// submit gives a full buffer to the writer goroutine, without waiting for it. It
// refuses once the writer is closed or abandoned.
func (w *Writer) submit(f full) bool {
	w.mu.Lock()
	refuse := w.refuse
	if !refuse && !w.opt.Sync {
		w.queue = append(w.queue, f)
	}
	w.mu.Unlock()
	switch {
	case refuse:
		return false
	case w.opt.Sync:
		w.ioMu.Lock()
		w.write(f)
		w.ioMu.Unlock()
		w.give(f.buf)
	default:
		w.cond.Broadcast()
	}
	return true
}

// run is the writer goroutine.
func (w *Writer) run() {
	defer close(w.done)
	for {
		w.mu.Lock()
		for len(w.queue) == 0 && !w.closing {
			w.cond.Wait()
		}
		if len(w.queue) == 0 {
			w.mu.Unlock()
			return
		}
		f := w.queue[0]
		w.queue[0] = full{}
		w.queue = w.queue[1:] // to move the others would take the square of their number
		w.mu.Unlock()
		w.ioMu.Lock()
		w.write(f)
		w.ioMu.Unlock()
		w.give(f.buf)
	}
}

// write writes the definitions made so far and then the buffer: definitions precede the events that use
// them.
func (w *Writer) write(f full) {
	w.writeDefs()
	rest := f.buf[f.from:f.n]
	var err error
	if !w.file.Failed {
		rest, err = w.writeEvents(f.stream, rest)
	}
	w.countUnwritten(rest) // before anybody is told
	if err != nil {
		w.fail(err)
	}
}

// countUnwritten counts the events in a part of a buffer.
func (w *Writer) countUnwritten(buf []uint64) {
	for len(buf) > 0 {
		size := w.recordSize(buf)
		if size > 0 && headerKind(buf[0]) == KindLost {
			w.unwritten.Add(buf[1]) // they count as lost already
		} else {
			w.lost.Add(1)
			w.unwritten.Add(1)
		}
		if size == 0 { // the one that could not be packed
			return
		}
		buf = buf[size:]
	}
}

// writeEvents writes the events of a buffer and returns what could not be written of it.
func (w *Writer) writeEvents(stream int, buf []uint64) (rest []uint64, err error) {
	for len(buf) > 0 {
		h := tracefile.Header{Kind: tracefile.DataBlock, Stream: uint32(stream)}
		var n int
		w.raw, n = w.pack.pack(w.raw[:0], w, buf, &h)
		if n == 0 {
			return buf, fmt.Errorf("stream %d: an event of kind %d has other arguments than its kind; those"+
				" after it are dropped", stream, headerKind(buf[0]))
		}
		if err := w.file.Put(&h, w.raw); err != nil {
			return buf, err
		}
		buf = buf[n:]
	}
	return nil, nil
}

func (w *Writer) writeDefs() {
	for d := w.defs.taken(nil); d != nil; d = w.defs.taken(d) {
		if !w.file.Failed {
			h := tracefile.Header{Kind: tracefile.DefsBlock, Count: uint32(d.nrows + d.ndfs)}
			w.raw = w.pack.packDefs(w.raw[:0], d)
			if err := w.file.Put(&h, w.raw); err != nil {
				w.fail(err)
			}
		}
	}
}

// Close writes what the streams still hold and the index, and closes the file. No
// stream may be in use. It returns the first error met since Create.
func (w *Writer) Close() error {
	w.mu.Lock()
	if w.refuse { // closed or abandoned before
		w.mu.Unlock()
		return w.Err()
	}
	streams := w.sortedStreams()
	w.mu.Unlock()
	if w.stopFlusher() {
		<-w.flushed
	}
	for _, s := range streams {
		s.Flush()
	}
	w.mu.Lock()
	w.closing, w.refuse = true, true
	w.mu.Unlock()
	w.cond.Broadcast()
	<-w.done
	w.ioMu.Lock()
	defer w.ioMu.Unlock()
	w.finish()
	return w.Err()
}

// stopFlusher tells the flusher to end and reports whether there is one.
func (w *Writer) stopFlusher() bool {
	if w.stop == nil {
		return false
	}
	w.stopped.Do(func() { close(w.stop) })
	return true
}

func (w *Writer) sortedStreams() []*Stream {
	return slices.SortedFunc(maps.Values(w.streams), func(a, b *Stream) int { return a.id - b.id })
}

// finish ends the file; the caller holds ioMu.
func (w *Writer) finish() {
	w.writeDefs()
	if err := w.file.Close(); err != nil {
		w.fail(err)
	}
	if !w.place.kept() {
		err := fmt.Errorf("%s was removed, renamed or replaced during the run", w.path)
		w.err.CompareAndSwap(nil, &err)
	}
}

// place is where a file was created: at an absolute path, as the program may change its directory.
type place struct {
	path string
	file os.FileInfo // nil: there is no file
}

func placeOf(f *os.File) (p place, err error) {
	if p.path, err = filepath.Abs(f.Name()); err == nil {
		p.file, err = f.Stat()
	}
	return p, err
}

// kept reports whether the file is still there.
func (p *place) kept() bool {
	if p.file == nil {
		return true
	}
	now, err := os.Stat(p.path)
	return err == nil && os.SameFile(now, p.file)
}

// Abandon ends the file of a program that has crashed, while other goroutines may still be appending; they
// are not waited for. Every record that was complete when it was called is written, those of running emitters
// too; what is in the middle of being emitted, and what is emitted later, is not. It returns within about a
// second even if the disk hangs; the file then lacks its index and maybe its last blocks. No other method of
// the Writer may be relied on afterwards.
func (w *Writer) Abandon() {
	deadline := time.Now().Add(time.Second)
	end := make(chan struct{})
	go func() {
		defer close(end)
		w.abandon(deadline)
	}()
	select {
	case <-end:
	case <-time.After(time.Until(deadline)):
	}
}

func lockBy(mu *sync.Mutex, deadline time.Time) bool {
	for !mu.TryLock() {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(100 * time.Microsecond)
	}
	return true
}

func (w *Writer) abandon(deadline time.Time) {
	if !lockBy(&w.mu, deadline) {
		return
	}
	if w.refuse {
		w.mu.Unlock()
		return
	}
	streams := w.sortedStreams()
	// From here on no stream hands over its buffer and none gets a new one, so that what is copied here is
	// written once.
	w.refuse = true
	w.mu.Unlock()
	w.cond.Broadcast()
	w.stopFlusher()

	var looks []look
	for _, s := range streams {
		if lockBy(&s.mu, deadline) {
			looks = append(looks, w.lookAt(s))
			s.mu.Unlock()
		}
	}
	time.Sleep(flushPause) // see the note in stream.go
	if !lockBy(&w.mu, deadline) {
		return
	}
	for i := range looks {
		if f := looks[i].copied(); f.n > 0 {
			w.queue = append(w.queue, f)
		}
	}
	w.closing = true
	w.mu.Unlock()
	w.cond.Broadcast()
	<-w.done
	if !lockBy(&w.ioMu, deadline) {
		return
	}
	defer w.ioMu.Unlock()
	for _, f := range w.queue { // with Sync nobody else takes them
		w.write(f)
	}
	w.finish()
}
