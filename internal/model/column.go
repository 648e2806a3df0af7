package model

import "github.com/whyslow/whyslow/internal/memory"

// column is a list that grows without being copied: in chunks, of which only the first starts small, so that
// a thousand streams with a few events each cost little.
type column[T any] struct {
	Full [][]T
	Last []T
	// For a column read by another process: where the elements stand there, and, in transit, the ids they name.
	Place []uint32
	IDs   []uint64

	spill *memory.Spill // of chunks after the first
}

const (
	columnBits = 11
	columnLen  = 1 << columnBits
)

func (c *column[T]) add(v T) {
	if len(c.Last) == columnLen {
		c.Full, c.Last = append(c.Full, c.Last), memory.Make[T](c.spill, columnLen)[:0]
	}
	c.Last = append(c.Last, v)
}

func (c *column[T]) len() int { return len(c.Full)<<columnBits + len(c.Last) }

func (c *column[T]) at(i int) *T {
	if k := i >> columnBits; k < len(c.Full) {
		return &c.Full[k][i&(columnLen-1)]
	}
	return &c.Last[i&(columnLen-1)]
}

// place is where an element stands in the column of the process that read it.
func (c *column[T]) place(i int) uint32 {
	if c.Place == nil {
		return uint32(i)
	}
	return c.Place[i]
}

// each calls f for every element.
func each[T any](c *column[T], f func(*T)) {
	for _, k := range c.Full {
		for i := range k {
			f(&k[i])
		}
	}
	for i := range c.Last {
		f(&c.Last[i])
	}
}

// gathered makes one list of a column of all streams, and empties it.
func gathered[T any](b *builder, of func(*stream) *column[T]) []T {
	n := 0
	for _, s := range b.streams {
		n += of(s).len()
	}
	out := Make[T](b.m, n)[:0]
	for _, s := range b.streams {
		out = of(s).move(out)
	}
	return out
}

// move appends the list to out and empties it, so that no more than a chunk is held twice.
func (c *column[T]) move(out []T) []T {
	c.empty(func(k []T) { out = append(out, k...) })
	return out
}

// empty hands over the list piece by piece and forgets it.
func (c *column[T]) empty(f func([]T)) {
	for i, k := range c.Full {
		c.Full[i] = nil
		f(k)
	}
	f(c.Last)
	*c = column[T]{}
}
