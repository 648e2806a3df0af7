package modules

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/whyslow/whyslow/trace"
)

// chunkBits says how many CFs a chunk of a cfTable has.
const chunkBits = 9

// cfTable keeps a T for each CF, for modules whose events name a CF only. Finding one takes no lock.
// Neighbours share a chunk, which is given back when all its CFs are gone: the table grows with the CFs that
// exist. Ts are made of atomics: events of one CF may come from several streams.
type cfTable[T any] struct {
	chunks sync.Map // uint64 -> *cfChunk[T]
}

type cfChunk[T any] struct {
	cfs  [1 << chunkBits]T
	gone atomic.Int32
}

func cfPlace(cf trace.CF) (chunk uint64, at int) {
	n := uint64(cf) - 1
	return n >> chunkBits, int(n & (1<<chunkBits - 1))
}

// find returns what is kept of the CF, nil if nothing is.
func (t *cfTable[T]) find(cf trace.CF) *T {
	key, i := cfPlace(cf)
	if c, ok := t.chunks.Load(key); ok {
		return &c.(*cfChunk[T]).cfs[i]
	}
	return nil
}

// at is find that makes what is missing.
func (t *cfTable[T]) at(cf trace.CF) *T {
	if p := t.find(cf); p != nil {
		return p
	}
	key, i := cfPlace(cf)
	c, _ := t.chunks.LoadOrStore(key, new(cfChunk[T]))
	return &c.(*cfChunk[T]).cfs[i]
}

// gone is called once for each CF, after the last look at what is kept of it.
func (t *cfTable[T]) gone(cf trace.CF) {
	key, _ := cfPlace(cf)
	if c, ok := t.chunks.Load(key); ok && c.(*cfChunk[T]).gone.Add(1) == 1<<chunkBits {
		t.chunks.Delete(key)
	}
}

// numbering gives things numbers from 0 on, in the order in which they come.
type numbering[K comparable] struct {
	mu      sync.Mutex
	list    []K
	numbers map[K]uint32
}

func newNumbering[K comparable](zero K) *numbering[K] {
	return &numbering[K]{list: []K{zero}, numbers: map[K]uint32{zero: 0}}
}

func (n *numbering[K]) of(k K) uint32 {
	n.mu.Lock()
	defer n.mu.Unlock()
	at, ok := n.numbers[k]
	if !ok {
		at = uint32(len(n.list))
		n.list = append(n.list, k)
		n.numbers[k] = at
	}
	return at
}

// all are the things so far, by number.
func (n *numbering[K]) all() []K {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.list)
}
