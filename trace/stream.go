package trace

import "sync"

// How an event gets from the emitter to the writer goroutine: the emitter stores raw words into the stream's
// buffer, everything else happens elsewhere and later. A record is
//
//	word 0      time<<kindBits | kind
//	words 1..n  the fixed fields, one word each
//	            for a kind with a list: the number of elements, the elements
//
// Word 0 is stored last, and the word after the newest record is 0 until the next one is complete. So anybody
// can walk the buffer at any moment: Abandon does when a worker has crashed, the flusher (flush.go) all the
// time. (On amd64 stores become visible in program order; elsewhere the pause before the copy makes up for
// it.) The price is one store per event; a lock or an atomic store would cost as much as the event itself.

const (
	kindBits = 10
	// TimeLimit bounds times that can be recorded: they lie in [-TimeLimit,
	// TimeLimit) nanoseconds, 104 days each way.
	TimeLimit = 1 << (63 - kindBits)
	maxRecord = 1 << 19 // words
	// MaxList is the largest number of elements of a list. An event with a longer
	// one is dropped and counted as lost.
	MaxList = maxRecord - MaxFields - 2
)

// Header makes word 0 of a record.
func Header(t int64, k Kind) uint64 { return uint64(t)<<kindBits | uint64(k) }

func headerTime(w uint64) int64 { return int64(w) >> kindBits }
func headerKind(w uint64) Kind  { return Kind(w & (1<<kindBits - 1)) }

// Stream is the append buffer of one stream of a node. One goroutine at a time may
// use it; going over to another one needs the usual synchronisation.
type Stream struct {
	buf []uint64 // nil before the first event and while events are dropped
	n   int      // words used; buf[n] is 0

	w  *Writer
	id int

	// mu is held where buf changes, by the flusher where it hands over a copy, and by Abandon.
	mu   sync.Mutex
	sent int    // words of buf that the flusher has handed over
	gen  uint64 // how often buf changed

	lost    uint64 // events dropped since the last onLost
	first   int64  // times of the first and last of them
	last    int64
	scratch []uint64 // where an event that will be dropped is stored
	pending bool     // scratch holds an event not yet counted

	_ [64]byte // streams of different workers do not share cache lines
}

// Writer returns the writer that the stream belongs to.
func (s *Stream) Writer() *Writer { return s.w }

// Reserve returns the n words of a new record. The caller stores words 1 to n-1 first and word 0 (see Header)
// last, before it does anything else with the stream. Prefer the Emit methods of package prof.
func (s *Stream) Reserve(n int) []uint64 {
	if rec := s.TryReserve(n); rec != nil {
		return rec
	}
	return s.reserveSlow(n)
}

// TryReserve is Reserve where the buffer has room, else nil. It is small enough to become part of its caller.
func (s *Stream) TryReserve(n int) []uint64 {
	i := s.n
	j := i + n
	if uint(j) >= uint(len(s.buf)) {
		return nil
	}
	s.buf[j] = 0
	s.n = j
	return s.buf[i:j]
}

// Emit appends an event of any kind: args holds its fixed fields and, for a kind
// with a list, the number of elements and the elements.
func (s *Stream) Emit(t int64, k Kind, args ...uint64) {
	rec := s.Reserve(1 + len(args))
	copy(rec[1:], args)
	rec[0] = Header(t, k)
}

// reserveSlow hands over the full buffer and finds room in another one.
func (s *Stream) reserveSlow(n int) []uint64 {
	s.countDropped()
	if n > maxRecord {
		return s.drop(n)
	}
	if !s.handOver() {
		// Abandon may be reading the buffer: nothing must follow what is dropped.
		s.n = len(s.buf)
		return s.drop(n)
	}
	next := s.w.take(n + 1 + lostWords)
	if next == nil {
		return s.drop(n)
	}
	s.change(next)
	if s.lost > 0 {
		s.emitLost()
	}
	i := s.n
	s.buf[i+n] = 0
	s.n = i + n
	return s.buf[i : i+n]
}

const lostWords = 5

func (s *Stream) emitLost() {
	rec := s.buf[s.n : s.n+lostWords]
	s.buf[s.n+lostWords] = 0
	s.n += lostWords
	rec[1], rec[2], rec[3], rec[4] = s.lost, uint64(s.first), uint64(s.last), uint64(s.id)
	rec[0] = Header(s.last, KindLost)
	s.lost = 0
}

// handOver gives the used part of the buffer to the writer. Where the writer
// refuses, because it is closed or abandoned, the buffer stays.
func (s *Stream) handOver() bool {
	if s.buf == nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.w.submit(full{s.id, s.buf, s.sent, s.n}) {
		return false
	}
	s.changed(nil)
	return true
}

// change gives the stream a buffer.
func (s *Stream) change(buf []uint64) {
	buf[0] = 0 // it may have been used before, and be walked before its first record is whole
	s.mu.Lock()
	s.changed(buf)
	s.mu.Unlock()
}

func (s *Stream) changed(buf []uint64) {
	s.buf, s.n, s.sent = buf, 0, 0
	s.gen++
}

// drop gives the caller a place to store an event that nobody will see. Its time
// is in there, and is looked at when the next event or the end comes.
func (s *Stream) drop(n int) []uint64 {
	if cap(s.scratch) < n {
		s.scratch = make([]uint64, n, max(n, 32))
	}
	s.scratch = s.scratch[:n]
	s.scratch[0] = 0
	s.pending = true
	return s.scratch
}

func (s *Stream) countDropped() {
	if !s.pending {
		return
	}
	s.pending = false
	t := headerTime(s.scratch[0])
	if s.lost == 0 {
		s.first = t
	}
	s.last = t
	s.lost++
	s.w.lost.Add(1)
}

// Flush hands over what the buffer holds, so that it is in the file even if the
// process is killed. Only the goroutine that uses the stream may call it.
func (s *Stream) Flush() {
	s.countDropped()
	if s.lost > 0 {
		// The loss is recorded even if no event follows.
		s.change(make([]uint64, lostWords+1))
		s.emitLost()
	}
	s.handOver()
}
