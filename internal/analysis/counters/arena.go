package counters

import "maps"

// arena holds things in chunks, numbered from 1, so that growing copies nothing. Things that were put back
// are used again.
type arena[T any] struct {
	chunks [][]T
	next   uint32
	free   []uint32
}

const (
	arenaBits = 10
	arenaLen  = 1 << arenaBits
)

// get gives the number of a new, zero thing.
func (a *arena[T]) get() uint32 {
	if n := len(a.free); n > 0 {
		i := a.free[n-1]
		a.free = a.free[:n-1]
		return i
	}
	if a.next&(arenaLen-1) == 0 {
		a.chunks = append(a.chunks, make([]T, arenaLen))
	}
	a.next++
	return a.next
}

func (a *arena[T]) at(i uint32) *T {
	i--
	return &a.chunks[i>>arenaBits][i&(arenaLen-1)]
}

func (a *arena[T]) put(i uint32) {
	var zero T
	*a.at(i) = zero
	a.free = append(a.free, i)
}

// held is the number of things in use.
func (a *arena[T]) held() int64 { return int64(a.next) - int64(len(a.free)) }

// each calls f for every number ever given out. Things that were put back are zero.
func (a *arena[T]) each(f func(i uint32, v *T)) {
	for i := uint32(1); i <= a.next; i++ {
		f(i, a.at(i))
	}
}

// numbering gives the numbers of things in an arena by their ids. Ids of a node hardly have holes, so that
// neighbours share a chunk.
type numbering struct {
	chunks map[uint64]*idChunk // by id / chunkLen
	recent [1 << 8]struct {
		key   uint64
		chunk *idChunk
	}
}

const chunkLen = 64

type idChunk [chunkLen]uint32

func (x *numbering) chunk(key uint64) *idChunk {
	e := &x.recent[(key^key>>42)%uint64(len(x.recent))]
	if e.chunk == nil || e.key != key {
		e.key, e.chunk = key, x.chunks[key]
	}
	return e.chunk
}

// get gives the number of an id, 0 where it has none.
func (x *numbering) get(id uint64) uint32 {
	if c := x.chunk(id / chunkLen); c != nil {
		return c[id%chunkLen]
	}
	return 0
}

// set gives an id a number; 0 takes it away.
func (x *numbering) set(id uint64, n uint32) {
	key := id / chunkLen
	c := x.chunk(key)
	if c == nil {
		if x.chunks == nil {
			x.chunks = map[uint64]*idChunk{}
		}
		c = &idChunk{}
		x.chunks[key] = c
	}
	c[id%chunkLen] = n
}

// tidy forgets chunks without numbers.
func (x *numbering) tidy() {
	maps.DeleteFunc(x.chunks, func(_ uint64, c *idChunk) bool { return *c == idChunk{} })
	clear(x.recent[:])
}

func (x *numbering) bytes() int64 { return int64(len(x.chunks)) * (chunkLen*4 + 32) }
