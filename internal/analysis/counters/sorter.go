package counters

import (
	"math/bits"

	"github.com/whyslow/whyslow/internal/memory"
	"github.com/whyslow/whyslow/internal/model"
)

// In order of time
//
// Problem. Changes are found CF by CF or node by node, each time over the whole run, and there may be far
// more of them than memory has room for. Putting each where it belongs would touch the same pages of a file
// once for every node.
//
// Plan. A change goes to the share of its time. A share takes another block where its last one is full, so a
// file is written from its beginning to its end. The shares are small enough to be sorted in memory, one
// after the other: counted by small pieces of their time, put into their piece, and the few of a piece
// sorted.

const (
	perShare   = 1 << 16 // changes, if they are spread evenly over the run
	perPiece   = 2
	blockOf    = 1024
	fewToSpill = 4 * perShare // more are sorted in a Spill
)

// sorter puts changes in order of time.
type sorter struct {
	start, end int64
	shift      int // of a time since the start, for its share
	sized      bool
	spill      *memory.Spill
	shares     []share
	n          int
	room       record // for a share
	next       []uint32
}

// share are the changes of a stretch of time, as they come.
type share struct {
	n     int
	whats [][]what
	sizes [][]int64 // none without sizes
}

// what is a change but for its size.
type what struct {
	t     int64 // since the start
	place int32
	kind  kind
}

// newSorter makes a sorter for about so many changes, which are moved into a run from start to end.
func newSorter(m *model.Model, start, end int64, about int, sized bool) *sorter {
	wall := uint64(end) - uint64(start)
	shift := max(bits.Len64(wall)-bits.Len(uint(about/perShare)), 0)
	return &sorter{start: start, end: end, shift: shift, sized: sized, spill: m.Scratch(),
		shares: make([]share, wall>>shift+1)}
}

// close gives back what was needed for the changes.
func (s *sorter) close() { s.spill.Close() }

func (s *sorter) add(c change) {
	t := uint64(min(max(c.t, s.start), s.end)) - uint64(s.start)
	x := &s.shares[t>>s.shift]
	i := x.n % blockOf
	if i == 0 {
		x.whats = append(x.whats, memory.Make[what](s.spill, blockOf))
		if s.sized {
			x.sizes = append(x.sizes, memory.Make[int64](s.spill, blockOf))
		}
	}
	last := len(x.whats) - 1
	x.whats[last][i] = what{int64(t), c.place, c.kind}
	if s.sized {
		x.sizes[last][i] = c.size
	}
	x.n++
	s.n++
}

// parts gives the changes in order of time, once. A part is good until the next one.
func (s *sorter) parts(yield func(part *record) bool) {
	for i := range s.shares {
		x := s.shares[i]
		s.shares[i] = share{}
		if x.n > 0 && !yield(s.sort(&x, uint64(i)<<s.shift)) {
			return
		}
	}
}

// sort gives the changes of a share that begins at a time.
func (s *sorter) sort(x *share, from uint64) *record {
	if x.n > cap(s.room.T) {
		of := s.spill
		if x.n <= fewToSpill {
			of = nil
		}
		s.room = record{T: memory.Make[int64](of, x.n), Place: memory.Make[int32](of, x.n),
			Kind: memory.Make[kind](of, x.n)}
		if s.sized {
			s.room.Size = memory.Make[int64](of, x.n)
		}
		s.next = memory.Make[uint32](of, x.n+2)
	}
	r := s.room.part(0, x.n)
	shift := max(s.shift-bits.Len(uint(x.n/perPiece)), 0)
	next := s.next[:uint64(1)<<(s.shift-shift)+1]
	clear(next)
	x.each(func(_, _ int, w *what) { next[(uint64(w.t)-from)>>shift+1]++ })
	for i := range len(next) - 1 {
		next[i+1] += next[i]
	}
	x.each(func(block, at int, w *what) {
		i := &next[(uint64(w.t)-from)>>shift]
		r.T[*i], r.Place[*i], r.Kind[*i] = w.t, w.place, w.kind
		if s.sized {
			r.Size[*i] = x.sizes[block][at]
		}
		*i++
	})
	begin := 0 // now next[i] is where piece i ends
	for _, end := range next[:len(next)-1] {
		r.sort(begin, int(end))
		begin = int(end)
	}
	return r
}

// each calls f for the changes of a share, with their blocks and places there.
func (x *share) each(f func(block, at int, w *what)) {
	left := x.n
	for b, list := range x.whats {
		for i := range list[:min(left, blockOf)] {
			f(b, i, &list[i])
		}
		left -= blockOf
	}
}
