package division

import "unsafe"

// pool is a list that grows without being copied, so that pointers into it stay good. Number 0 is there from the start and
// stands for none.
type pool[T any] struct {
	chunks []*[poolLen]T
	n      uint32
}

const (
	poolBits = 10
	poolLen  = 1 << poolBits
)

func (p *pool[T]) at(i uint32) *T { return &p.chunks[i>>poolBits][i&(poolLen-1)] }

// add appends an element and gives its number.
func (p *pool[T]) add(v T) uint32 {
	if p.n&(poolLen-1) == 0 {
		p.chunks = append(p.chunks, new([poolLen]T))
	}
	i := p.n
	p.n++
	*p.at(i) = v
	return i
}

// newPool makes a pool that has its element 0.
func newPool[T any](zero T) pool[T] {
	var p pool[T]
	p.add(zero)
	return p
}

func (p *pool[T]) bytes() int64 {
	var v T
	return int64(len(p.chunks)) * poolLen * int64(unsafe.Sizeof(v))
}

// arena holds lists that never change, one after another.
type arena[T any] struct {
	chunks [][]T
	size   int64
}

const (
	arenaBits = 12
	arenaLen  = 1 << arenaBits
)

// reserve makes room for a list and gives its place. A list longer than a chunk gets one of its own.
func (a *arena[T]) reserve(n int) (place uint32, list []T) {
	last := len(a.chunks) - 1
	if last < 0 || cap(a.chunks[last])-len(a.chunks[last]) < n || len(a.chunks[last]) >= arenaLen {
		a.chunks = append(a.chunks, make([]T, 0, max(n, arenaLen)))
		last++
		a.size += int64(cap(a.chunks[last]))
	}
	c := a.chunks[last]
	from := len(c)
	a.chunks[last] = c[:from+n]
	return uint32(last)<<arenaBits | uint32(from), a.chunks[last][from : from+n]
}

func (a *arena[T]) at(place, n uint32) []T {
	if n == 0 {
		return nil
	}
	from := place & (arenaLen - 1)
	return a.chunks[place>>arenaBits][from : from+n : from+n]
}
