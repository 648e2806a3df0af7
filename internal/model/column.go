package model

// column is a list that grows without being copied: in chunks, of which only the first starts small, so that
// a thousand streams with a few events each cost little.
type column[T any] struct {
	full [][]T
	last []T
}

const (
	columnBits = 11
	columnLen  = 1 << columnBits
)

func (c *column[T]) add(v T) {
	if len(c.last) == columnLen {
		c.turn()
	}
	c.last = append(c.last, v)
}

func (c *column[T]) turn() {
	c.full = append(c.full, c.last)
	c.last = make([]T, 0, columnLen)
}

func (c *column[T]) len() int { return len(c.full)<<columnBits + len(c.last) }

func (c *column[T]) at(i int) *T {
	if k := i >> columnBits; k < len(c.full) {
		return &c.full[k][i&(columnLen-1)]
	}
	return &c.last[i&(columnLen-1)]
}

// chunks gives the list piece by piece.
func (c *column[T]) chunks(yield func([]T) bool) {
	for _, k := range c.full {
		if !yield(k) {
			return
		}
	}
	yield(c.last)
}

// each calls f for every element.
func each[T any](c *column[T], f func(*T)) {
	for k := range c.chunks {
		for i := range k {
			f(&k[i])
		}
	}
}

// move appends the list to out and empties it, so that no more than a chunk is held twice.
func (c *column[T]) move(out []T) []T {
	c.empty(func(k []T) { out = append(out, k...) })
	return out
}

// empty hands over the list piece by piece and forgets it.
func (c *column[T]) empty(f func([]T)) {
	for i, k := range c.full {
		c.full[i] = nil
		f(k)
	}
	f(c.last)
	*c = column[T]{}
}
