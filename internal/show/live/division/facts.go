package division

import (
	"cmp"
	"slices"
	"sort"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
)

// Facts about CFs, DFs and messages as they arrive, behind slou.Lookup. Records stand in pools and name each other by
// number. Times are raw: in the clock of the node whose stream recorded them. Where a trace contradicts itself, what is
// chosen is what model chooses: of two ends of one message the one of the later stream, of two creations of a CF the earlier.

// cf is a computational fragment.
type cf struct {
	created, ready       int64 // none: not recorded; the last of several readies
	createdBy, readyBy   uint32
	parent, parentNumber uint32 // parent CF and the number of its execution
	sibling              uint32 // the next CF created by that execution
	exec                 uint32 // its last execution; 0: it has not run
	products             uint32 // DFs it made: a list through made.product
	home                 uint16 // the node that its id names
	structured           bool
	known                bool // its creation was recorded
	gone                 bool // it will not run again
	parental             bool // it creates CFs
	several              bool // executions, see facts.multi
	moreReady            bool // see facts.moreReady
	moved                bool // see facts.moves
}

// exec is an execution of a CF.
type exec struct {
	start, end, cpu int64
	cf, number      uint32
	stream          uint32
	inputs, count   uint32 // place in facts.inputs
	chunk           uint32 // of an atomic CF on a worker: where it stands
	control         uint32
	fetched         uint32 // the DF of a control input that its gap was traced back along
	far             bool   // its gap asked for facts later than its start
	chained         bool   // has descendants that are structured CFs and ran
}

// df is a data fragment.
type df struct {
	made     uint32 // its creations, latest first: a list through made.before
	uses     uint32 // executions that were given it
	receipts uint32 // latest first
	gone     bool   // it was destroyed
	far      bool   // a gap asked for facts about it later than the gap
}

type made struct {
	time            int64
	stream          uint32
	df, by          uint32
	before, product uint32
}

type use struct {
	exec, next uint32
	latest     int64 // when the last of this one and those before it started
}

type receipt struct{ message, node, next uint32 }

// message is the way of a DF.
type message struct {
	sent, received   int64
	sender, receiver uint32 // streams
	from             int32
	df               uint32 // as both ends say, or the receiver
	request          uint32
}

// request is the way of a request for a DF.
type request struct {
	sent, received   int64
	sender, receiver uint32
	from             int32
	df               uint32 // as the event says; the answering node's where both were recorded
	answer           uint32 // the DF of the message that answers it
}

// sighting is what was recorded of a DF whose creation was not: when it was first there has to be found out from that. Of
// messages and requests that were recorded several times, as when a node asks again, only what counts of them does.
type sighting struct {
	copies             []stamp // the first event of each node
	messages, requests []uint32
}

type stamp struct {
	time   int64
	stream uint32
}

// move is an end of a migration of a CF.
type move struct {
	stamp
	peer        int32
	out, stolen bool
}

type moves struct {
	ends  []move
	pairs []pair // worked out of them
	epoch uint32
}

type pair struct {
	slou.Message
	to int32
}

// last is when the latest of its ends was recorded.
func (p *pair) last() int64 {
	t := none
	if p.WasSent {
		t = p.Sent
	}
	if p.Arrived {
		t = max(t, p.Received)
	}
	return t
}

// facts answers the rule's questions.
type facts struct {
	streams  []*stream // by number, from 1
	dataOnly bool

	cfs      pool[cf]
	execs    pool[exec]
	dfs      pool[df]
	mades    pool[made]
	uses     pool[use]
	receipts pool[receipt]
	messages pool[message]
	requests pool[request]
	controls pool[control]
	spare    []uint32 // controls not in use
	inputs   arena[model.DF]

	cfOf, messageOf, requestOf map[uint64]uint32
	multi                      map[uint32][]uint32 // executions of a CF with several, in order of start
	moreReady                  map[uint32][]stamp
	moves                      map[uint32]*moves
	children                   map[uint64]uint32    // CFs by parent and number of its execution
	seen                       map[uint32]*sighting // of DFs whose creation was not recorded
	remade                     map[uint32]bool      // DFs created more than once
	held                       map[uint32][]holding

	epoch uint32 // of what is worked out of times; grows when a clock is corrected

	// Of the gap being divided.
	gap   uint32
	begin int64 // its CF's start
	far   bool
}

type holding struct {
	stamp
	on bool
}

func newFacts(dataOnly bool) *facts {
	return &facts{dataOnly: dataOnly, streams: []*stream{nil},
		cfs: newPool(cf{created: none, ready: none}), execs: newPool(exec{}), dfs: newPool(df{}), mades: newPool(made{}), uses: newPool(use{}),
		receipts: newPool(receipt{}), messages: newPool(newMessage), requests: newPool(newRequest), controls: newPool(control{}),
		cfOf: map[uint64]uint32{}, messageOf: map[uint64]uint32{}, requestOf: map[uint64]uint32{}, multi: map[uint32][]uint32{},
		moreReady: map[uint32][]stamp{}, moves: map[uint32]*moves{}, children: map[uint64]uint32{}, seen: map[uint32]*sighting{},
		remade: map[uint32]bool{}, held: map[uint32][]holding{}, epoch: 1}
}

var (
	newMessage = message{sent: none, received: none}
	newRequest = request{sent: none, received: none}
)

// at gives a time that a stream recorded on the common clock.
func (f *facts) at(t int64, stream uint32) int64 {
	if c := &f.streams[stream].node.clock; c.on {
		return c.fix(t)
	}
	return t
}

func (f *facts) cf(id uint64) uint32 {
	if id == 0 {
		return 0
	}
	n, ok := f.cfOf[id]
	if !ok {
		n = f.cfs.add(cf{created: none, ready: none, home: uint16(id >> 48)})
		f.cfOf[id] = n
	}
	return n
}

func (f *facts) message(id uint64) uint32 {
	if id == 0 {
		return 0
	}
	n, ok := f.messageOf[id]
	if !ok {
		n = f.messages.add(newMessage)
		f.messageOf[id] = n
	}
	return n
}

func (f *facts) request(id uint64) uint32 {
	if id == 0 {
		return 0
	}
	n, ok := f.requestOf[id]
	if !ok {
		n = f.requests.add(newRequest)
		f.requestOf[id] = n
	}
	return n
}

func (f *facts) started(e uint32) int64 { x := f.execs.at(e); return f.at(x.start, x.stream) }

// executions calls yield for the executions of a CF.
func (f *facts) executions(c uint32) func(func(uint32) bool) {
	return func(yield func(uint32) bool) {
		r := f.cfs.at(c)
		if !r.several {
			if r.exec != 0 {
				yield(r.exec)
			}
			return
		}
		for _, e := range f.multi[c] {
			if !yield(e) {
				return
			}
		}
	}
}

// execution finds the execution of a CF with a number as model does.
func (f *facts) execution(c, number uint32) (uint32, bool) {
	r := f.cfs.at(c)
	if r.exec == 0 {
		return 0, false
	}
	if f.execs.at(r.exec).number == number {
		return r.exec, true
	}
	if !r.several {
		return 0, false
	}
	list := f.multi[c]
	i := sort.Search(len(list), func(i int) bool { return f.execs.at(list[i]).number >= number })
	if i < len(list) && f.execs.at(list[i]).number == number {
		return list[i], true
	}
	return 0, false
}

// executionAt finds the execution of a CF that had started by t and was the last to do so.
func (f *facts) executionAt(c uint32, t int64) (uint32, bool) {
	r := f.cfs.at(c)
	if r.exec == 0 {
		return 0, false
	}
	if !r.several {
		return r.exec, f.started(r.exec) <= t
	}
	list := f.multi[c]
	i := sort.Search(len(list), func(i int) bool { return f.started(list[i]) > t })
	if i == 0 {
		return 0, false
	}
	return list[i-1], true
}

// parent gives the execution that created a CF.
func (f *facts) parent(c uint32) (uint32, bool) {
	r := f.cfs.at(c)
	if r.parent == 0 {
		return 0, false
	}
	return f.execution(r.parent, r.parentNumber)
}

func childKey(parent, number uint32) uint64 { return uint64(parent)<<32 | uint64(number) }

// earlier orders facts of several streams as model does: by time, then by node and stream.
func (f *facts) earlier(a, b stamp) int {
	if x, y := f.at(a.time, a.stream), f.at(b.time, b.stream); x != y {
		if x < y {
			return -1
		}
		return 1
	}
	return f.streamOrder(a.stream, b.stream)
}

func (f *facts) streamOrder(a, b uint32) int {
	if a == b {
		return 0
	}
	x, y := f.streams[a], f.streams[b]
	if x.node.number != y.node.number {
		return x.node.number - y.node.number
	}
	return x.id - y.id
}

// ask notes the time that a question is about.
func (f *facts) ask(t int64) {
	if t > f.begin {
		f.far = true
	}
}

// Inputs is of slou.Lookup, as are those below.
func (f *facts) Inputs(e int) []model.DF {
	x := f.execs.at(uint32(e))
	return f.inputs.at(x.inputs, x.count)
}

// Made tells who produced the value of a DF that a CF started at t could use.
func (f *facts) Made(d model.DF, t int64) slou.Source {
	f.ask(t)
	k := f.dfs.at(uint32(d)).made
	if k == 0 || d == 0 {
		first, ok := f.firstSeen(uint32(d))
		return slou.Source{DF: d, End: first, Known: ok}
	}
	m := f.mades.at(k)
	for m.before != 0 && f.at(m.time, m.stream) > t {
		m = f.mades.at(m.before)
	}
	s := slou.Source{DF: d, Producer: model.CF(m.by), End: f.at(m.time, m.stream), Known: true}
	if m.by == 0 || f.cfs.at(m.by).structured {
		return s
	}
	if e, ok := f.executionAt(m.by, s.End); ok {
		if x := f.execs.at(e); x.end != none {
			s.End = f.at(x.end, x.stream)
		}
	}
	return s
}

func (f *facts) firstSeen(d uint32) (int64, bool) {
	v := f.seen[d]
	if v == nil || d == 0 {
		return 0, false
	}
	first, ok := int64(0), false
	see := func(t int64, stream uint32) {
		if t == none {
			return
		}
		if t = f.at(t, stream); !ok || t < first {
			first, ok = t, true
		}
	}
	for _, s := range v.copies {
		see(s.time, s.stream)
	}
	for _, n := range v.messages {
		if g := f.messages.at(n); g.df == d {
			see(g.sent, g.sender)
			see(g.received, g.receiver)
		}
	}
	for _, n := range v.requests {
		if q := f.requests.at(n); q.df == d {
			see(q.sent, q.sender)
			see(q.received, q.receiver)
		}
	}
	return first, ok
}

// Ready gives the last time, by t, at which a CF became ready at a node.
func (f *facts) Ready(c model.CF, node int32, t int64) (int64, bool) {
	f.ask(t)
	r := f.cfs.at(uint32(c))
	best, ok := int64(0), false
	look := func(s stamp) {
		if int32(f.streams[s.stream].node.number) != node {
			return
		}
		if x := f.at(s.time, s.stream); x <= t && (!ok || x > best) {
			best, ok = x, true
		}
	}
	if r.ready != none {
		look(stamp{r.ready, r.readyBy})
	}
	if r.moreReady {
		for _, s := range f.moreReady[uint32(c)] {
			look(s)
		}
	}
	return best, ok
}

// Created gives the time and node of the creation of a CF.
func (f *facts) Created(c model.CF) (int64, int32, bool) {
	r := f.cfs.at(uint32(c))
	if !r.known {
		return none, int32(r.home), false
	}
	return f.at(r.created, r.createdBy), int32(r.home), true
}

// Came gives the last migration of a CF to a node received by t.
func (f *facts) Came(c model.CF, node int32, t int64) (best slou.Message) {
	f.ask(t)
	if !f.cfs.at(uint32(c)).moved {
		return best
	}
	v := f.moves[uint32(c)]
	if v.epoch != f.epoch {
		f.pair(v)
	}
	for _, g := range v.pairs {
		if g.Arrived && g.to == node && g.Received <= t && (!best.Arrived || g.Received > best.Received) {
			best = g.Message
		}
	}
	return best
}

// pair joins each departure of a CF with its arrival as model does: the i-th from node a to node b with the i-th at b from a.
func (f *facts) pair(v *moves) {
	slices.SortStableFunc(v.ends, func(a, b move) int { return f.earlier(a.stamp, b.stamp) })
	v.epoch, v.pairs = f.epoch, v.pairs[:0]
	for _, e := range v.ends {
		if e.out {
			from := int32(f.streams[e.stream].node.number)
			v.pairs = append(v.pairs, pair{slou.Message{From: from, Sent: f.at(e.time, e.stream), WasSent: true, Stolen: e.stolen}, e.peer})
		}
	}
	for _, e := range v.ends {
		if e.out {
			continue
		}
		node := int32(f.streams[e.stream].node.number)
		at := slices.IndexFunc(v.pairs, func(g pair) bool { return g.From == e.peer && g.to == node && !g.Arrived })
		if at < 0 {
			at = len(v.pairs)
			v.pairs = append(v.pairs, pair{slou.Message{From: e.peer}, node})
		}
		v.pairs[at].Received, v.pairs[at].Arrived = f.at(e.time, e.stream), true
	}
	slices.SortStableFunc(v.pairs, func(a, b pair) int { return cmp.Compare(a.last(), b.last()) })
}

// receiptAt gives the last message with a DF received at a node by t.
func (f *facts) receiptAt(d uint32, node int32, t int64) uint32 {
	if d == 0 {
		return 0
	}
	for k := f.dfs.at(d).receipts; k != 0; {
		r := f.receipts.at(k)
		if int32(r.node) == node {
			if g := f.messages.at(r.message); f.at(g.received, g.receiver) <= t {
				return r.message
			}
		}
		k = r.next
	}
	return 0
}

func (f *facts) way(n uint32) slou.Message {
	if n == 0 {
		return slou.Message{}
	}
	g := f.messages.at(n)
	m := slou.Message{From: g.from, WasSent: g.sent != none, Arrived: g.received != none, Request: g.request}
	if m.WasSent {
		m.Sent = f.at(g.sent, g.sender)
	}
	if m.Arrived {
		m.Received = f.at(g.received, g.receiver)
	}
	return m
}

// Receipt gives the last message with a DF received at a node by t.
func (f *facts) Receipt(d model.DF, node int32, t int64) slou.Message {
	f.ask(t)
	return f.way(f.receiptAt(uint32(d), node, t))
}

// MadeAt gives the last time, by t, at which a DF was created at a node.
func (f *facts) MadeAt(d model.DF, node int32, t int64) (int64, bool) {
	f.ask(t)
	if d == 0 {
		return 0, false
	}
	for k := f.dfs.at(uint32(d)).made; k != 0; {
		m := f.mades.at(k)
		if int32(f.streams[m.stream].node.number) == node {
			if x := f.at(m.time, m.stream); x <= t {
				return x, true
			}
		}
		k = m.before
	}
	return 0, false
}

// Request gives the way of a request for a DF.
func (f *facts) Request(n uint32) slou.Message {
	q := f.requests.at(n)
	m := slou.Message{From: q.from, WasSent: q.sent != none, Arrived: q.received != none}
	if m.WasSent {
		m.Sent = f.at(q.sent, q.sender)
	}
	if m.Arrived {
		m.Received = f.at(q.received, q.receiver)
	}
	return m
}
