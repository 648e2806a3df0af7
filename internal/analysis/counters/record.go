package counters

import (
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

// record gives all changes, once.
func (s *sorter) record(m *model.Model) *record {
	x := &record{T: model.Make[int64](m, s.n)[:0], Place: model.Make[int32](m, s.n)[:0],
		Kind: model.Make[kind](m, s.n)[:0]}
	if s.sized {
		x.Size = model.Make[int64](m, s.n)[:0]
	}
	for part := range s.parts {
		x.T, x.Place = append(x.T, part.T...), append(x.Place, part.Place...)
		x.Kind, x.Size = append(x.Kind, part.Kind...), append(x.Size, part.Size...)
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
