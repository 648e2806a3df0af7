package division

import (
	"encoding/binary"

	"github.com/whyslow/whyslow/internal/analysis/slou"
)

// The ledger of a worker: its pieces tile its time, so they need no times of their own. A chunk holds the executions of up to
// chunkLen atomic CFs and the gaps before them, its pieces packed as lengths (a few bytes each) and their sums by factor;
// a Fenwick tree over the sums gives what any number of chunks add up to. So the time by factor up to any moment is
// a search among chunks, a walk over one chunk's pieces and O(log n) additions.

const factors = int(slou.FactorLoss) + 1

// amounts are nanoseconds by factor, U to loss.
type amounts [factors]int64

func (a *amounts) add(b *amounts) {
	for i, v := range b {
		a[i] += v
	}
}

func (a *amounts) sub(b *amounts) {
	for i, v := range b {
		a[i] -= v
	}
}

func (a *amounts) total() (ns int64) {
	for _, v := range a {
		ns += v
	}
	return ns
}

// chunkLen is how many executions a new chunk takes; one into which late ones come grows to twice that.
const chunkLen = 32

// chunk is a stretch of a worker's time.
type chunk struct {
	worker   *worker
	number   uint32 // in Division.chunks
	pos      int    // in worker.chunks
	from, to int64  // on the common clock
	execs    []uint32
	packed   []byte  // its pieces
	sum      amounts // as in the worker's tree
	dirty    bool
	frozen   bool // the facts are forgotten: it stays as it is
	open     bool // its last execution goes on
}

// pieces packs pieces that follow each other.
type pieces struct {
	out    []byte
	sum    amounts
	factor slou.Factor
	ns     int64 // of the last piece, not packed yet
}

func (p *pieces) add(f slou.Factor, ns int64) {
	if ns <= 0 {
		return
	}
	p.sum[f] += ns
	if f != p.factor {
		p.flush()
	}
	p.factor = f
	p.ns += ns
}

func (p *pieces) flush() {
	if p.ns > 0 {
		p.out = binary.AppendUvarint(p.out, uint64(p.ns)<<3|uint64(p.factor))
		p.ns = 0
	}
}

// upTo adds up packed pieces that begin at from until a time.
func upTo(packed []byte, from, t int64, sum *amounts) {
	for len(packed) > 0 && from < t {
		v, n := binary.Uvarint(packed)
		packed = packed[n:]
		ns := min(int64(v>>3), t-from)
		sum[v&7] += ns
		from += ns
	}
}

// fenwick gives sums over the first chunks of a worker in O(log n).
type fenwick []amounts

// add changes chunk i.
func (f fenwick) add(i int, by *amounts) {
	for i++; i <= len(f); i += i & -i {
		f[i-1].add(by)
	}
}

// sum adds up the first n chunks.
func (f fenwick) sum(n int) (s amounts) {
	for ; n > 0; n -= n & -n {
		s.add(&f[n-1])
	}
	return s
}

// grow appends a chunk without time.
func (f fenwick) grow() fenwick {
	i := len(f) + 1
	var s amounts
	for k := i - 1; k > i-i&-i; k -= k & -k {
		s.add(&f[k-1])
	}
	return append(f, s)
}
