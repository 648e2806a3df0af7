package trace

import "time"

// Options.FlushEvery: how records get into the file before their buffer is full.
//
// A goroutine, the flusher, walks the buffer of every stream from where it got to the last time, and hands a
// copy of the new whole records to the writer as if it were a full buffer; the stream later hands over the
// rest only. Emitters do nothing for it and never wait. The flusher takes a stream's lock only to say that a
// copy counts. A buffer that has gone meanwhile was handed over whole, and its copy is dropped. Definitions
// come first as ever.
//
// The buffer is walked twice with a pause between, and only records that look the same both times count: a
// processor that shows stores out of order may show a header before its words, or what was in the memory
// before.

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

// lookAt is what there is to see in a stream's buffer; s.mu is held.
func (w *Writer) lookAt(s *Stream) look {
	l := look{s: s, buf: s.buf, gen: s.gen, from: s.sent}
	l.to, l.sum = w.walk(l.buf, l.from, len(l.buf))
	return l
}

// copied are the records that were seen, as if they were a full buffer.
func (l *look) copied() full {
	c := make([]uint64, l.to-l.from)
	snapshot(c, l.buf[l.from:])
	return full{l.s.id, c, 0, len(c)}
}

func (w *Writer) flushStreams() {
	w.mu.Lock()
	streams := w.sortedStreams()
	w.mu.Unlock()
	var looks []look
	for _, s := range streams {
		s.mu.Lock()
		l := w.lookAt(s)
		s.mu.Unlock()
		if l.to > l.from {
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
		f := l.copied()
		l.s.mu.Lock()
		if l.s.gen == l.gen && w.submit(f) {
			l.s.sent = l.to
		}
		l.s.mu.Unlock()
	}
}

// walk returns where the whole records of buf end, to which the owner may be appending: those that begin at
// from and before to. sum is over their headers. Whatever it meets, it stays within buf.
//
//go:norace
func (w *Writer) walk(buf []uint64, from, to int) (end int, sum uint64) {
	i := from
	for i < to && buf[i] != 0 {
		n := w.recordSize(buf[i:])
		if n == 0 {
			break
		}
		sum = (sum ^ buf[i] ^ uint64(n)<<32) * 0x9E3779B97F4A7C15
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
