package engine

import (
	"slices"
	"sync"

	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/trace"
)

// inlineIdx is how many indices of an identity are kept without a slice of their own.
const inlineIdx = 4

// ident is the identity of a DF (or label): the name's number (creating node in the upper 16 bits, then that
// node's counter) and the indices. Two references denote the same DF if and only if name and indices are
// equal.
type ident struct {
	name uint64
	decl luna.DeclID // where the name was declared, for messages and the trace; no part of the identity
	n    int32       // number of indices
	idx  [inlineIdx]int32
	more []int32 // indices from inlineIdx on; never changed once set
}

func (d *ident) at(i int) int32 {
	if i < inlineIdx {
		return d.idx[i]
	}
	return d.more[i-inlineIdx]
}

// push appends an index. The slice beyond the inline part is copied, since prefixes are shared between
// identities.
func (d *ident) push(i int32) {
	if d.n < inlineIdx {
		d.idx[d.n] = i
	} else {
		d.more = append(d.more[:d.n-inlineIdx:d.n-inlineIdx], i)
	}
	d.n++
}

func (d *ident) equal(o *ident) bool {
	return d.name == o.name && d.n == o.n && d.idx == o.idx && slices.Equal(d.more, o.more)
}

// hash mixes the identity (multiply and xor-shift after each word, as in splitmix64).
func (d *ident) hash() uint64 {
	h := d.name * 0x9e3779b97f4a7c15
	h ^= h >> 29
	for i := range int(d.n) {
		h = (h ^ uint64(uint32(d.at(i)))) * 0xbf58476d1ce4e5b9
		h ^= h >> 31
	}
	return h
}

// value is what a value slot of a frame holds: a number or string parameter, or the cell or slice that a name
// parameter denotes.
type value struct {
	typ luna.Type // Int, Real, String; Dyn: an identity
	set bool      // false: nfparam that the call did not give
	i   int32
	f   float64
	s   string
	id  *ident
}

// frame is one entry of a block. It never changes once CFs refer to it, so nodes of one process may share it.
type frame struct {
	parent  *frame
	block   *luna.Block
	base    uint64 // number of the first declared name
	counter int32  // loops: the value of the counter
	vals    []value
}

func (f *frame) up(depth int) *frame {
	for ; depth > 0; depth-- {
		f = f.parent
	}
	return f
}

// slot is one input of a CF.
type slot struct {
	val  cpp.Value // one reference, owned by the CF; of a far input see farAway
	at   int64     // when it became available on this node, clock ns
	df   trace.DF
	have bool
	// asked: a request (or wait) is out and unanswered. A CF may have a value (have) and yet an open request,
	// when two texts denote one cell; it then lives until the answer comes.
	asked bool
	own   bool // a copy held here for this CF only: it came from another node or by push
	far   bool // kept at another node, see kept.go
}

// Stages of a CF. A CF moves through them in order; while loops go back to stageHome.
const (
	stageHome  = iota // fetch the DFs of the locator, go to the CF's node
	stageStart        // while: fetch the DFs of the start expression, set the counter
	stageMain         // fetch the inputs
	stageRun          // they are here
	stageDone         // executed; waits only for answers to superfluous requests
)

// cf is a computational fragment.
type cf struct {
	id     trace.CF
	st     *luna.Stmt
	frame  *frame
	iter   *frame // while: frame of the current iteration
	parent trace.CF
	pexec  uint32 // execution of parent that created this
	exec   uint32 // executions so far
	path   uint64 // the key of its path, as placements have it
	born   int64  // created, or received on this node, clock ns
	label  *ident // this CF's label identity, if it waits for pushes
	wave   int32
	cursor int32
	to     int32 // the node + 1 that a gate wants it at; 0: it stays

	stage  uint8
	placed bool // stolen or already on its node: stays where it is
	issued bool // requests of the current wave are out
	ready  bool // readiness for the coming execution is recorded
	held   bool // kept back by Hold, once
	let    bool // the gate, which kept it, lets it go
	// brought: it came with inputs, because a gate has moved it; they are not requested again
	brought bool
	guest   bool // moved by a balancer, or followed its inputs: its outputs stay where it runs
	began   bool // its first block on this node has begun; kept only where there are rules
	// shared: a request was left unanswered, so other goroutines may touch what mu guards. The worker that holds
	// the CF reads and sets it, and need not lock until then.
	shared bool
	// mu guards what follows, and the inputs, against answers from other goroutines.
	suspended bool
	last      bool // the wave waited for is the last one: readiness may be announced
	zombie    bool // executed and gone from the worker; destroyed by the last answer
	moved     bool // went to another node; exists for the sake of unanswered requests
	mu        sync.Mutex
	waiting   int32  // input waited for while suspended
	missing   int32  // inputs of the wave not here while suspended
	open      int32  // unanswered requests
	fars      int32  // inputs that are far
	gen       uint32 // answers to requests made under an earlier one come too late to matter
	since     int64  // when it was suspended or became a zombie, clock ns

	inputs []slot
	inline [2]slot
}

// block is the number of the block that the CF is in or would go on with: what a stage does before the CF
// waits, migrates or goes on. Running is no block of its own.
func (c *cf) block() uint64 { return uint64(min(c.stage, stageMain)) }

func (c *cf) lock() {
	if c.shared {
		c.mu.Lock()
	}
}

func (c *cf) unlock() {
	if c.shared {
		c.mu.Unlock()
	}
}

// ctx is the frame in which the CF's expressions are evaluated.
func (c *cf) ctx() *frame {
	if c.iter != nil {
		return c.iter
	}
	return c.frame
}

// maker names the CF that produced a DF, and its statement.
type maker struct {
	id   trace.CF
	site int32 // luna.Stmt.ID
}

func (c *cf) maker() maker { return maker{c.id, int32(c.st.ID)} }

// retained returns the value with one reference more.
func retained(v cpp.Value) cpp.Value {
	v.Retain()
	return v
}
