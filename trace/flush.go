package trace

import "time"

// Options.FlushEvery: how records get into the file before their buffer is full.
//
// A goroutine, the flusher, walks the buffer of every stream from where it got to the
// last time, copies the new whole records and hands the copy to the writer as if it were
// a full buffer. It remembers how far it got, and the stream later hands over the rest
// only. So the emitters do nothing for it, and never wait: the flusher looks at a buffer
// without a lock and takes the stream's lock only to say that a copy counts. A buffer
// that has gone meanwhile was handed over whole, and its copy is dropped.
//
// The order of definitions holds as for full buffers: whoever appended a record had made
// its definitions before, and the writer writes all there are before the block.
//
// The buffer is walked twice with a pause between, and the copy made then. Only records
// that look the same both times count. A processor that shows stores out of order may
// show a header before the words that belong to it, or what was in the memory before;
// by the second walk everything that the first one could see is in place.
//
// Not done: a block for a stream without new records; a stretch between two calls shorter
// than flushPause.

// flushPause is between the two looks at a buffer, and before Abandon copies.
const flushPause = time.Millisecond

// flush is the flusher's goroutine.
func (w *Writer) flush() {
	defer close(w.flushed)
	tick := time.NewTicker(max(w.opt.FlushEvery-flushPause, flushPause))
	defer tick.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-tick.C:
			w.flushStreams()
		}
	}
}

// look is what the flusher saw in a stream's buffer.
type look struct {
	s        *Stream
	buf      []uint64
	gen      uint64
	from, to int    // words of new whole records
	sum      uint64 // over their headers
}

func (w *Writer) flushStreams() {
	w.mu.Lock()
	streams := w.sortedStreams()
	w.mu.Unlock()
	var looks []look
	for _, s := range streams {
		s.mu.Lock()
		l := look{s: s, buf: s.buf, gen: s.gen, from: s.sent}
		s.mu.Unlock()
		if l.to, l.sum = w.walk(l.buf, l.from, len(l.buf)); l.to > l.from {
			looks = append(looks, l)
		}
	}
	if len(looks) == 0 {
		return
	}
	time.Sleep(flushPause)
	for i := range looks {
		l := &looks[i]
		if to, sum := w.walk(l.buf, l.from, l.to); to != l.to || sum != l.sum {
			continue // the next time
		}
		c := make([]uint64, l.to-l.from)
		snapshot(c, l.buf[l.from:])
		l.s.mu.Lock()
		if l.s.gen == l.gen && w.submit(full{l.s.id, c, 0, len(c)}) {
			l.s.sent = l.to
		}
		l.s.mu.Unlock()
	}
}

// walk returns where the whole records of buf end, to which the owner may be appending:
// those that begin at from and before to. sum is over their headers. Whatever it meets,
// it stays within buf.
//
//go:norace
func (w *Writer) walk(buf []uint64, from, to int) (end int, sum uint64) {
	i := from
	for i < to {
		h := buf[i]
		if h == 0 {
			break
		}
		lay := w.layout(headerKind(h))
		if lay == nil {
			break
		}
		n := 1 + lay.fixed
		if lay.list {
			if i+n >= len(buf) || buf[i+n] > uint64(len(buf)) {
				break
			}
			n += 1 + int(buf[i+n])
		}
		if i+n > len(buf) {
			break
		}
		sum = (sum ^ h ^ uint64(n)<<32) * 0x9E3779B97F4A7C15
		i += n
	}
	return i, sum
}

// snapshot copies whole records of a buffer whose owner may be appending.
//
//go:norace
func snapshot(dst, buf []uint64) {
	for i := range dst { // not copy: the race detector looks into that, norace or not
		dst[i] = buf[i]
	}
}
