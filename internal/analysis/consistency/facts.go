package consistency

import (
	"fmt"
	"math"
	"slices"

	"github.com/whyslow/whyslow/trace"
)

// place is where and when an event was recorded.
type place struct {
	node, stream int32
	time         int64 // as recorded
	common       int64 // on the common clock
}

// facts are what is collected of all streams.
type facts struct {
	cfs      map[trace.CF]*cf
	messages map[uint64]*passage
	requests map[uint64]*request
	moves    []move
	dfs      map[dfKey]*df
	copies   map[heldKey]*held
	defs     map[int32]*trace.Defs

	identities map[uint64]copyKey // by id, where it was first met
	inputs     bool               // some CF has an input

	inner, outer int64            // neighbour relations left
	queues       map[[2]int]queue // by node and peer, -1 for ready CFs
}

// dfKey is a DF: by its id where it is defined, else by node and number.
type dfKey struct {
	id   uint64
	node int32 // -1 for a defined one
}

type copyKey struct {
	node int32
	df   trace.DF
}

type cf struct {
	created, destroyed place
	// of its other events, on the common clock; ready times count instead of onReady's
	first, last          place
	firstKind, lastKind  trace.Kind
	creations, destructs int32
	starts, ends         int32
	maxNumber            uint64
}

// passage is a message or request between nodes, as the sender and the receiver tell.
type passage struct {
	sent, received     place
	to, from           int32 // as the sender and the receiver say
	df, gotDF          dfKey
	bytes, gotBytes    int64
	request, gotAnswer uint64 // that a message answers
	sends, receipts    int32
}

type request struct {
	passage
	answers        int32
	answered       place
	answeredTo     int32
	answeredWithDF dfKey
}

type move struct {
	cf    trace.CF
	out   bool
	peer  int32
	place place
}

type df struct {
	changes []change
	used    place // first onStored, or start of a CF that has it as an input
	what    trace.Kind
	ref     copyKey
}

// change is onCreate or, with gone, onDestroy.
type change struct {
	place
	gone, twice bool
}

// heldKey is a DF on a node, whatever numbers the node gave it.
type heldKey struct {
	node int32
	df   dfKey
}

type held struct {
	ref             copyKey // one of its numbers
	stored, dropped int32
	last            place
	first, used     place // first onStored; first start with it as an input
	user            trace.CF
}

type queue struct {
	place
	length uint64
}

func newFacts() *facts {
	return &facts{
		cfs: map[trace.CF]*cf{}, messages: map[uint64]*passage{}, requests: map[uint64]*request{},
		dfs:    map[dfKey]*df{},
		copies: map[heldKey]*held{}, defs: map[int32]*trace.Defs{}, queues: map[[2]int]queue{},
	}
}

func entry[K comparable, V any](m map[K]*V, k K) *V {
	v := m[k]
	if v == nil {
		v = new(V)
		m[k] = v
	}
	return v
}

func (f *facts) key(node int32, defs *trace.Defs, n trace.DF) dfKey {
	if id := defs.ID(n); id != 0 {
		return dfKey{id, -1}
	}
	return dfKey{uint64(n), node}
}

// take collects the facts of an event of a stream.
func (f *facts) take(s *stream, t int64, k trace.Kind, a []uint64) {
	p, defs := s.at(t), s.defs
	f.defs[p.node] = defs
	switch k {
	case trace.KindCFCreated:
		c := entry(f.cfs, trace.CF(a[0]))
		if c.creations == 0 || p.common < c.created.common {
			c.created = p
		}
		c.creations++
	case trace.KindCFDestroyed:
		c := entry(f.cfs, trace.CF(a[0]))
		if c.destructs == 0 || p.common > c.destroyed.common {
			c.destroyed = p
		}
		c.destructs++
	case trace.KindCFReady:
		f.used(s.at(t-int64(a[1])), p, k, trace.CF(a[0]))
	case trace.KindCFStarted:
		c := f.used(p, p, k, trace.CF(a[0]))
		c.starts++
		c.maxNumber = max(c.maxNumber, a[1])
		for _, n := range a[3:] {
			if n == 0 {
				continue
			}
			f.input(p, defs, trace.DF(n), trace.CF(a[0]))
		}
	case trace.KindCFFinished:
		f.used(p, p, k, trace.CF(a[0])).ends++
	case trace.KindCFWaiting, trace.KindCFHeld, trace.KindCFResumed, trace.KindCFPlaced:
		f.used(p, p, k, trace.CF(a[0]))
	case trace.KindCFMigrated, trace.KindCFStolen, trace.KindCFReceived:
		f.used(p, p, k, trace.CF(a[0]))
		f.moves = append(f.moves, move{trace.CF(a[0]), k != trace.KindCFReceived, int32(a[1]), p})
	case trace.KindRelations:
		f.inner += int64(a[0])
		f.outer += int64(a[1])
	case trace.KindReadyQueue:
		f.queue(p, -1, a[0])
	case trace.KindSendQueue:
		f.queue(p, int(a[0]), a[1])
	default:
		if k >= trace.KindDFCreate && k <= trace.KindDFDuplicate {
			f.takeDF(p, defs, k, a)
		}
	}
}

// used notes an event of a CF that is neither its creation nor its destruction.
func (f *facts) used(early, late place, k trace.Kind, id trace.CF) *cf {
	c := entry(f.cfs, id)
	if c.firstKind == 0 || early.common < c.first.common {
		c.first, c.firstKind = early, k
	}
	if c.lastKind == 0 || late.common > c.last.common {
		c.last, c.lastKind = late, k
	}
	return c
}

func (f *facts) queue(p place, peer int, length uint64) {
	at := [2]int{int(p.node), peer}
	if q, ok := f.queues[at]; !ok || p.time >= q.time {
		f.queues[at] = queue{p, length}
	}
}

func (f *facts) held(node int32, defs *trace.Defs, n trace.DF) *held {
	h := entry(f.copies, heldKey{node, f.key(node, defs, n)})
	if h.ref.df == 0 {
		h.ref = copyKey{node, n}
	}
	return h
}

// input notes that a CF starts with a DF.
func (f *facts) input(p place, defs *trace.Defs, n trace.DF, user trace.CF) {
	f.inputs = true
	h := f.held(p.node, defs, n)
	if h.user == 0 || p.time < h.used.time {
		h.used, h.user = p, user
	}
	f.needs(p, defs, trace.KindCFStarted, n)
}

// needs notes that a DF must have its value at this moment.
func (f *facts) needs(p place, defs *trace.Defs, k trace.Kind, n trace.DF) {
	d := entry(f.dfs, f.key(p.node, defs, n))
	if d.what == 0 || p.common < d.used.common {
		d.used, d.what, d.ref = p, k, copyKey{p.node, n}
	}
}

func (f *facts) takeDF(p place, defs *trace.Defs, k trace.Kind, a []uint64) {
	n := trace.DF(a[0])
	switch k {
	case trace.KindDFCreate, trace.KindDFDestroy, trace.KindDFDuplicate:
		d := entry(f.dfs, f.key(p.node, defs, n))
		if d.ref.df == 0 {
			d.ref = copyKey{p.node, n}
		}
		d.changes = append(d.changes, change{p, k == trace.KindDFDestroy, k == trace.KindDFDuplicate})
	case trace.KindDFStored:
		h := f.held(p.node, defs, n)
		if h.stored == 0 || p.time < h.first.time {
			h.first = p
		}
		h.stored++
		h.last = p
		f.needs(p, defs, k, n)
	case trace.KindDFDropped:
		h := f.held(p.node, defs, n)
		h.dropped++
		h.last = p
	case trace.KindDFSent:
		m := entry(f.messages, a[3])
		m.send(p, a[1], f.key(p.node, defs, n))
		m.bytes, m.request = int64(a[2]), a[4]
		if a[4] != 0 {
			q := entry(f.requests, a[4])
			q.answers++
			q.answered, q.answeredTo, q.answeredWithDF = p, m.to, m.df
		}
	case trace.KindDFReceived:
		m := entry(f.messages, a[3])
		m.receive(p, a[1], f.key(p.node, defs, n))
		m.gotBytes, m.gotAnswer = int64(a[2]), a[4]
	case trace.KindDFRequested:
		if a[3] != 0 { // one to the node itself has no number
			entry(f.requests, a[3]).send(p, a[2], f.key(p.node, defs, n))
		}
	case trace.KindDFRequestReceived:
		if a[2] != 0 {
			entry(f.requests, a[2]).receive(p, a[1], f.key(p.node, defs, n))
		}
	}
}

func (x *passage) send(p place, to uint64, df dfKey) {
	x.sent, x.to, x.df = p, int32(to), df
	x.sends++
}

func (x *passage) receive(p place, from uint64, df dfKey) {
	x.received, x.from, x.gotDF = p, int32(from), df
	x.receipts++
}

// dfText names a DF by its number in a node's file.
func (f *facts) dfText(k copyKey) string {
	if d := f.defs[k.node]; d != nil {
		if name, ok := d.DFName(k.df); ok {
			return name
		}
	}
	return fmt.Sprintf("#%d", k.df)
}

// collisions looks for DFs of a node with the same id, there and in the nodes looked at before.
func (c *checker) collisions(node int) {
	defs := c.r.Defs(node)
	if c.identities == nil {
		c.identities = map[uint64]copyKey{}
	}
	defs.EachDF(func(n trace.DF, _ trace.Name, identity []int64) {
		if len(identity) == 0 {
			return
		}
		id := trace.IdentityID(identity)
		old, ok := c.identities[id]
		if !ok {
			c.identities[id] = copyKey{int32(node), n}
			return
		}
		_, other, _ := c.r.Defs(int(old.node)).DF(old.df, nil)
		if !slices.Equal(other, identity) {
			c.found.add("id-collision", node, 0, math.MinInt64, "%v and %v have the id %016x", other, identity, id)
		}
	})
}
