package modules

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"

	"github.com/whyslow/whyslow/prof"
)

// Text of many streams in order of time.
//
// A stream appends what its events give to a chunk of its own, its lane, without a lock. The log merges full
// chunks: while it has something of every lane, it writes the earliest entry. Entries are then ordered by
// time, node and stream, and within a stream as emitted.
//
// A silent lane would hold up all others. So no more than a window of bytes is kept back; beyond it the
// earliest entries are written, and what the silent lane passes on later stands too late in the file, with
// its true time. Without buffering (size 0) entries are written as they come.
//
// Not done: a goroutine for merging and writing. It would take a core from the workers all the same.

// window is how much text a log keeps back for the sake of order, in bytes.
const window = 4 << 20

// flusher is where the text goes: an Output, or a process.
type flusher interface {
	io.Writer
	Flush() error
}

type ordered struct {
	out   flusher
	size  int
	lanes *prof.PerStream[lane]

	mu    sync.Mutex
	all   []*lane // by node and stream
	held  int     // bytes in queues
	spare []chunk
}

// lane is the text of one stream that is not yet written.
type lane struct {
	chunk    // being filled, by the user of the stream alone
	log      *ordered
	node, id int

	// Guarded by log.mu:
	queue []chunk // passed on
	begin int     // of the text of queue[0], what is not written
	entry int     // of the entries of queue[0], the first that is not written
}

type chunk struct {
	text    []byte
	entries []entry
}

// entry is one line, or several of one event.
type entry struct {
	time int64
	end  int // in the chunk's text
}

// openOrdered makes a log by the parameter buffer of a module.
func openOrdered(h *prof.Host, out *prof.Output) (*ordered, error) {
	size := h.Int("buffer")
	if size < 0 {
		return nil, fmt.Errorf("buffer=%d: give a number of bytes, or 0 for each line at once", size)
	}
	return newOrdered(h.Session(), out, size), nil
}

// newOrdered makes a log that collects up to size bytes of each stream before it merges them.
func newOrdered(ses *prof.Session, out flusher, size int) *ordered {
	o := &ordered{out: out, size: size}
	o.lanes = prof.NewPerStream(ses, func(s *prof.Stream, l *lane) {
		l.log, l.node, l.id = o, s.Node(), s.ID()
		o.mu.Lock()
		defer o.mu.Unlock()
		o.all = append(o.all, l)
		slices.SortStableFunc(o.all, func(a, b *lane) int {
			return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.id, b.id))
		})
	})
	return o
}

// lane is where the stream's next entry is to be appended, to text; then done is called.
func (o *ordered) lane(s *prof.Stream) *lane { return o.lanes.Get(s) }

// done ends an entry of the time t.
func (l *lane) done(t int64) {
	l.entries = append(l.entries, entry{t, len(l.text)})
	if len(l.text) >= l.log.size {
		l.log.take(l)
	}
}

// take gets a full chunk.
func (o *ordered) take(l *lane) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.size <= 0 {
		put(o.out, l.text)
		l.text, l.entries = l.text[:0], l.entries[:0]
		return
	}
	o.push(l)
	o.merge(window, false)
}

// push moves a lane's chunk to its queue.
func (o *ordered) push(l *lane) {
	l.queue = append(l.queue, l.chunk)
	o.held += len(l.text)
	l.chunk = chunk{}
	if n := len(o.spare); n > 0 {
		l.chunk, o.spare = o.spare[n-1], o.spare[:n-1]
	}
}

// flush writes all there is; no stream may be in use.
func (o *ordered) flush() {
	o.mu.Lock()
	for _, l := range o.all {
		if len(l.entries) > 0 {
			o.push(l)
		}
	}
	o.merge(0, true)
	o.mu.Unlock()
	_ = o.out.Flush() // the Output keeps the error, and tells
}

// merge writes what has its place in the order, and as much more as is held beyond the limit, or all of it.
func (o *ordered) merge(limit int, all bool) {
	for {
		var first *lane
		until, silent := int64(math.MaxInt64), false // until: the earliest head of the others
		for _, l := range o.all {
			switch {
			case len(l.queue) == 0:
				silent = true
			case first == nil:
				first = l
			case l.head() < first.head():
				first, until = l, first.head()
			default:
				until = min(until, l.head())
			}
		}
		if first == nil || silent && !all && o.held <= limit {
			return
		}
		o.write(first, until)
	}
}

// head is the time of the first entry that is not written.
func (l *lane) head() int64 { return l.queue[0].entries[l.entry].time }

// write writes the first entry of a lane, and those after it in its first chunk that are earlier than until.
func (o *ordered) write(l *lane, until int64) {
	c := l.queue[0]
	i := l.entry + 1
	for i < len(c.entries) && c.entries[i].time < until {
		i++
	}
	end := c.entries[i-1].end
	_, _ = o.out.Write(c.text[l.begin:end]) // the Output keeps the error, and tells
	o.held -= end - l.begin
	l.begin, l.entry = end, i
	if i == len(c.entries) {
		l.queue = slices.Delete(l.queue, 0, 1)
		l.begin, l.entry = 0, 0
		o.spare = append(o.spare, chunk{c.text[:0], c.entries[:0]})
	}
}
