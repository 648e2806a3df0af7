package counters

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
