package counters

import (
	"math/bits"
	"sort"

	"github.com/whyslow/whyslow/internal/model"
)

// record is what happened to the quantities of a family, in order of time. It is kept by column, since there
// are millions of changes. Times are since the start of the run and within it.
type record struct {
	T     []int64
	Place []int32
	Kind  []kind
	Size  []int64 // nil: no change has one
}

// newRecord puts the changes that each gives in order of time, and moves them into a run from start to end.
// each is called twice and gives the same changes. They are about so many, spread over the run and nearly in
// order. So they are counted first by small pieces of the time, then put into their piece, and the few of a
// piece are sorted: that needs no second list of them.
func newRecord(m *model.Model, start, end int64, about int, sized bool,
	each func(emit func(c change))) *record {
	const perPiece = 2
	wall := uint64(end) - uint64(start)
	shift := max(bits.Len64(wall)-bits.Len(uint(about/perPiece)), 0)
	next := model.Make[uint32](m, int(wall>>shift)+2) // where the next of a piece goes
	n := 0
	since := func(t int64) uint64 { return uint64(min(max(t, start), end)) - uint64(start) }
	each(func(c change) {
		next[since(c.t)>>shift+1]++
		n++
	})
	x := &record{T: model.Make[int64](m, n), Place: model.Make[int32](m, n), Kind: model.Make[kind](m, n)}
	if sized {
		x.Size = model.Make[int64](m, n)
	}
	for i := range len(next) - 1 {
		next[i+1] += next[i]
	}
	each(func(c change) {
		t := since(c.t)
		i := next[t>>shift]
		next[t>>shift]++
		x.T[i], x.Place[i], x.Kind[i] = int64(t), c.place, c.kind
		if sized {
			x.Size[i] = c.size
		}
	})
	from := 0 // now next[i] is where piece i ends
	for _, end := range next[:len(next)-1] {
		x.sort(from, int(end))
		from = int(end)
	}
	return x
}

// sort sorts the changes of a piece.
func (x *record) sort(from, to int) {
	const few = 24
	if to-from > few {
		sort.Sort(x.part(from, to))
		return
	}
	for i := from + 1; i < to; i++ {
		for k := i; k > from && x.T[k] < x.T[k-1]; k-- {
			x.Swap(k, k-1)
		}
	}
}

// part gives some of the changes.
func (x *record) part(from, to int) *record {
	p := &record{T: x.T[from:to], Place: x.Place[from:to], Kind: x.Kind[from:to]}
	if x.Size != nil {
		p.Size = x.Size[from:to]
	}
	return p
}

// Len, Less and Swap are for package sort.
func (x *record) Len() int           { return len(x.T) }
func (x *record) Less(i, k int) bool { return x.T[i] < x.T[k] }
func (x *record) Swap(i, k int) {
	x.T[i], x.T[k] = x.T[k], x.T[i]
	x.Place[i], x.Place[k] = x.Place[k], x.Place[i]
	x.Kind[i], x.Kind[k] = x.Kind[k], x.Kind[i]
	if x.Size != nil {
		x.Size[i], x.Size[k] = x.Size[k], x.Size[i]
	}
}

// sound tells whether the columns belong together.
func (x *record) sound() bool {
	n := len(x.T)
	if len(x.Place) != n || len(x.Kind) != n || x.Size != nil && len(x.Size) != n {
		return false
	}
	for _, k := range x.Kind {
		if k >= kinds {
			return false
		}
	}
	return true
}

// size is that of a change.
func (x *record) size(i int) int64 {
	if x.Size == nil {
		return 0
	}
	return x.Size[i]
}

// at gives a change.
func (x *record) at(i int) change { return change{x.T[i], x.size(i), x.Place[i], x.Kind[i]} }

// upTo is how many changes there are up to a time.
func (x *record) upTo(t int64) int {
	return sort.Search(len(x.T), func(i int) bool { return x.T[i] > t })
}
