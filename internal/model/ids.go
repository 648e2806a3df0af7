package model

import (
	"cmp"
	"sync"
	"sync/atomic"

	"github.com/whyslow/whyslow/trace"
)

// Dense numbers for ids made of a node and a counter.
//
// CFs, messages and requests are named by node and counter. Everything about them is kept in arrays, so
// each gets a number as soon as a stream first mentions it, while other streams are being read on other
// cores. Counters grow from 1 without holes, so numbers are handed out in chunks of chunkSize neighbouring
// counters: after the first mention of a chunk a look-up is two array reads, without a lock or a hash. Ids
// with absurd counters or nodes, which only a damaged trace has, go to a map.

const (
	chunkBits = 8
	chunkSize = 1 << chunkBits
	maxChunk  = 1 << 22 // of one node: 2^30 counters
	// firstChunks is how many chunks are given out freely; after that, see scattered.
	firstChunks = 1 << 12
)

type ids struct {
	dirs  []atomic.Pointer[[]uint32] // by node: chunk -> first number of the chunk, 0 none
	mu    sync.Mutex
	back  []uint64 // number >> chunkBits -> id of the chunk's first member, for chunks
	next  uint32   // the next free number, a multiple of chunkSize
	odd   map[uint64]uint32
	loose map[uint32]*[chunkSize]uint64 // the inverse of odd, by chunk
	free  uint32                        // next free number of the present loose chunk
	// far marks nodes of which only some counters are met, here and there: each gets a number of its own.
	far []bool
}

func newIDs(nodes int) *ids {
	// Chunk 0 is never given out, so 0 stays "none".
	return &ids{dirs: make([]atomic.Pointer[[]uint32], nodes), back: []uint64{0}, next: chunkSize}
}

// number gives the number of an id, handing out one where needed. 0 stays 0.
func (d *ids) number(id uint64) uint32 {
	if n := d.inChunk(id); n != 0 || id == 0 {
		return n
	}
	return d.slow(id)
}

// inChunk gives the number of an id whose chunk has numbers, else 0.
func (d *ids) inChunk(id uint64) uint32 {
	node, counter := id>>48, id&(1<<48-1)
	if node < uint64(len(d.dirs)) {
		if dir := d.dirs[node].Load(); dir != nil && counter>>chunkBits < uint64(len(*dir)) {
			if base := atomic.LoadUint32(&(*dir)[counter>>chunkBits]); base != 0 && id != 0 {
				return base + uint32(counter&(chunkSize-1))
			}
		}
	}
	return 0
}

func (d *ids) slow(id uint64) uint32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n, ok := d.odd[id]; ok {
		return n
	}
	node, counter := id>>48, id&(1<<48-1)
	chunk := counter >> chunkBits
	if node >= uint64(len(d.dirs)) || chunk >= maxChunk || d.scattered(node, chunk) ||
		(d.far != nil && d.far[node]) {
		return d.single(id)
	}
	var dir []uint32
	if p := d.dirs[node].Load(); p != nil {
		dir = *p
	}
	if chunk >= uint64(len(dir)) {
		grown := make([]uint32, max(chunk+1, 2*uint64(len(dir)), 64))
		copy(grown, dir)
		dir = grown
		d.dirs[node].Store(&grown)
	}
	if dir[chunk] == 0 {
		base := d.reserve(id &^ (chunkSize - 1))
		atomic.StoreUint32(&dir[chunk], base)
	}
	return dir[chunk] + uint32(counter&(chunkSize-1))
}

// scattered tells that a chunk lies far beyond what the node has used so far while many chunks are in use:
// counters of a whole trace come nearly in order.
func (d *ids) scattered(node, chunk uint64) bool {
	if len(d.back) < firstChunks {
		return false
	}
	p := d.dirs[node].Load()
	return (p == nil && chunk > firstChunks) || (p != nil && chunk > 8*uint64(len(*p))+firstChunks)
}

func (d *ids) reserve(first uint64) uint32 {
	base := d.next
	d.next += chunkSize
	d.back = append(d.back, first)
	return base
}

// looseChunk marks, in back, a chunk whose members are in loose.
const looseChunk = ^uint64(0)

func (d *ids) single(id uint64) uint32 {
	if d.free&(chunkSize-1) == 0 {
		d.free = d.reserve(looseChunk)
	}
	if d.odd == nil {
		d.odd, d.loose = map[uint64]uint32{}, map[uint32]*[chunkSize]uint64{}
	}
	n := d.free
	d.free++
	d.odd[id] = n
	if n&(chunkSize-1) == 0 {
		d.loose[n>>chunkBits] = new([chunkSize]uint64)
	}
	d.loose[n>>chunkBits][n&(chunkSize-1)] = id
	return n
}

// find gives the number of an id that has one, else 0. Only for use after reading.
func (d *ids) find(id uint64) uint32 {
	if n := d.inChunk(id); n != 0 {
		return n
	}
	return d.odd[id]
}

// inOrder calls f for all numbers below end in the order of their ids: numbers differ from one reading of a
// trace to the next. Numbers without an id come last.
func (d *ids) inOrder(end int, f func(n int)) {
	for _, k := range ordered(len(d.back), func(a, b int) int { return cmp.Compare(d.back[a], d.back[b]) }) {
		for n := k << chunkBits; n < min((k+1)<<chunkBits, end); n++ {
			f(n)
		}
	}
	for n := d.size(); n < end; n++ {
		f(n)
	}
}

// size is one more than the highest number in use.
func (d *ids) size() int { return int(d.next) }

// id gives the id of a number, 0 where the number stands for none.
func (d *ids) id(n uint32) uint64 {
	if int(n>>chunkBits) >= len(d.back) || n < chunkSize {
		return 0
	}
	first := d.back[n>>chunkBits]
	if first != looseChunk {
		return first + uint64(n&(chunkSize-1))
	}
	return d.loose[n>>chunkBits][n&(chunkSize-1)]
}

// CFID gives the id of a CF as it stands in the trace.
func (m *Model) CFID(cf CF) trace.CF { return trace.CF(m.cfs.id(uint32(cf))) }

// FindCF gives the CF with an id, 0 where the trace has none.
func (m *Model) FindCF(id trace.CF) CF { return CF(m.cfs.find(uint64(id))) }
