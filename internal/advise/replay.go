package advise

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// What would the run have taken had something been different?
//
// A replay works the recorded run out again, every worker running the same CFs in the same order. An execution starts when its
// worker is free, its CF has come to its node and its inputs have come, plus the time that really passed after the last of
// these. A transfer is taken apart into what a change can alter, the times of messages on links, and the rest, which
// stays. With nothing changed the replay gives the recorded times exactly, whatever the trace holds.
//
// Building costs one pass over executions and inputs; a replay is one pass over the edges, some 20 ns each, so that
// trying a dozen changes is cheap.

// transfer is the way of a DF from where it was made to the node of a CF that takes it.
type transfer struct {
	df        model.DF
	maker     int32 // node; -1 not known
	store     int32 // that sent it to the user; maker if it came directly
	user      int32
	reader    uint32 // the execution that takes it
	post      int64  // time on the links from the maker to the store
	ask       int64  // time of the request on the link
	answer    int64  // time on the link from the store to the user
	bytes     int64
	message   uint32
	requested bool
}

// edge is something an execution waits for.
type edge struct {
	from uint32 // execution; none: the time itself
	kind edgeKind
	lag  int64  // from the end (of structured CFs: start) of from; of edgeRequest: from the control; none: time of day
	way  uint32 // 1 + index into transfers
}

type edgeKind uint8

const (
	edgeFixed   edgeKind = iota // a time of day
	edgeEnd                     // after the end of from
	edgeStart                   // after the start of from
	edgeRequest                 // after the CF was here
)

// replay is a recorded run that can be worked out again.
type replay struct {
	m         *model.Model
	order     []uint32 // executions on workers in order of start
	at        []uint32 // by execution: where its edges begin; one more at the end
	edges     []edge
	transfers []transfer
	until     []int64  // by execution: when its worker was free again
	worker    []uint32 // by execution
	node      []int32  // likewise
	rank      []uint32 // by execution: 1 + place in order, 0 if it is on no worker
	base      []int64  // by execution: when it could have started, as far as its edges tell
	moves     []int64  // by execution: time its CF was on links
}

// change says what is different. Nil members change nothing.
type change struct {
	// links gives the new times of a transfer on links.
	links func(*transfer) (post, ask, answer int64)
	// length gives the new duration of an execution, what it does for the system included.
	length func(e uint32, ns int64) int64
	// rest gives the new time between when an execution could start and its start.
	rest func(e uint32, ns int64) int64
	// move gives the new time of the CF of an execution on links.
	move func(e uint32, ns int64) int64
}

func newReplay(m *model.Model) *replay {
	n := m.Executions()
	r := &replay{m: m, at: make([]uint32, n+1), until: make([]int64, n), worker: make([]uint32, n), node: make([]int32, n), rank: make([]uint32, n),
		base: make([]int64, n), moves: make([]int64, n)}
	number := uint32(0)
	for id, w := range m.AllWorkers() {
		for e := w.First; e < w.End; e++ {
			r.order = append(r.order, uint32(e))
			r.worker[e], r.node[e] = number, int32(id.Node)
		}
		number++
	}
	slices.SortFunc(r.order, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(m.ExecStart[a], m.ExecStart[b]), cmp.Compare(r.end(a), r.end(b)), cmp.Compare(a, b))
	})
	for i, e := range r.order {
		r.rank[e] = uint32(i) + 1
	}
	r.findUntil()
	edges := n
	for e := range n {
		edges += len(m.Inputs(e))
	}
	r.edges = make([]edge, 0, edges+len(m.Requests))
	r.transfers = make([]transfer, 0, min(edges-n, len(m.DFMessages)))
	for id, w := range m.AllWorkers() {
		for e := w.First; e < w.End; e++ {
			r.find(uint32(e), int32(id.Node))
		}
	}
	// Executions on no worker have no edges.
	last := uint32(len(r.edges))
	r.at[n] = last
	for e := n - 1; e >= 0; e-- {
		if r.rank[e] == 0 {
			r.at[e] = last
		}
		last = r.at[e]
	}
	r.findBase()
	return r
}

func (r *replay) end(e uint32) int64 {
	if r.m.ExecEnd[e] == model.None {
		return r.m.End
	}
	return max(r.m.ExecEnd[e], r.m.ExecStart[e])
}

// findUntil: a structured CF still creates CFs after the event that says it has finished.
func (r *replay) findUntil() {
	m := r.m
	for e := range r.until {
		r.until[e] = r.end(uint32(e))
	}
	for cf := range m.CFs() {
		if t := m.Created[cf]; t != model.None && m.Parent[cf] != 0 {
			if p, ok := m.Execution(m.Parent[cf], m.ParentExec[cf]); ok {
				next := m.End
				if p+1 < len(r.worker) && r.rank[p+1] != 0 && r.worker[p+1] == r.worker[p] {
					next = m.ExecStart[p+1]
				}
				r.until[p] = max(r.until[p], min(t, next))
			}
		}
	}
}

// before tells whether an execution can have been waited for by another.
func (r *replay) before(p int, e uint32) bool { return r.rank[p] != 0 && r.rank[p] < r.rank[e] }

// find appends the edges of an execution: the control first.
func (r *replay) find(e uint32, node int32) {
	m := r.m
	r.at[e] = uint32(len(r.edges))
	cf, start := m.ExecCF[e], m.ExecStart[e]
	control := model.None
	if n := m.ExecNumber[e]; n > 1 {
		if p, ok := m.Execution(cf, n-1); ok && r.before(p, e) {
			control = min(r.end(uint32(p)), start)
			r.edges = append(r.edges, edge{from: uint32(p), kind: edgeEnd, lag: control - r.end(uint32(p))})
		}
	} else if control = m.Created[cf]; control != model.None {
		control = min(control, start)
		created := control
		if g, ok := m.LastMove(cf, node, start); ok && g.Received > control {
			control = min(g.Received, start)
			if g.Sent != model.None && g.Sent >= created {
				r.moves[e] = max(control-g.Sent, 0)
			}
		}
		x := edge{kind: edgeFixed, lag: control}
		if parent := m.Parent[cf]; parent != 0 {
			if p, ok := m.Execution(parent, m.ParentExec[cf]); ok && r.before(p, e) {
				x = edge{from: uint32(p), kind: edgeStart, lag: control - m.ExecStart[p]}
			}
		}
		r.edges = append(r.edges, x)
	}
	if control == model.None {
		r.edges = append(r.edges, edge{kind: edgeFixed, lag: m.Start})
		control = m.Start
	}
	for _, df := range m.Inputs(int(e)) {
		r.input(e, df, node, control)
	}
}

// input appends the edges of an input: one after its maker and, if the CF asked for it, one after the control.
func (r *replay) input(e uint32, df model.DF, node int32, control int64) {
	m := r.m
	start := m.ExecStart[e]
	i, ok := m.Creation(df, start)
	if !ok {
		return
	}
	left := min(m.MadeTime[i], start)
	x := edge{kind: edgeFixed, lag: left}
	if by := m.MadeBy[i]; by != 0 {
		if p, ok := m.ExecutionAt(by, m.MadeTime[i]); ok && r.before(p, e) {
			x = edge{from: uint32(p), kind: edgeStart, lag: left - m.ExecStart[p]}
			if m.Atomic(by) && m.ExecEnd[p] != model.None {
				x.kind, x.lag = edgeEnd, left-r.end(uint32(p))
			}
		}
	}
	g, received := r.receipt(df, node, e)
	if !received || m.DFMessages[g].Received < left {
		r.edges = append(r.edges, x)
		return
	}
	w := transfer{df: df, maker: int32(m.MadeNode[i]), user: node, reader: e, message: g}
	msg := &m.DFMessages[g]
	w.store, w.bytes = msg.From, msg.Bytes
	if msg.Sent == model.None || msg.From < 0 {
		x.lag += msg.Received - left
		r.edges = append(r.edges, x)
		return
	}
	w.answer = max(msg.Received-msg.Sent, 0)
	there := left
	if before, ok := m.LastReceipt(df, msg.From, msg.Sent); ok && msg.From != w.maker {
		if b := &m.DFMessages[before]; b.Received >= left {
			there = b.Received
			if b.Sent != model.None {
				w.post = max(b.Received-max(b.Sent, left), 0)
			}
		}
	}
	both := there
	q := &m.Requests[msg.Request]
	w.requested = msg.Request != 0 && q.Received != model.None && q.Received <= msg.Sent
	if w.requested {
		both = max(both, q.Received)
		if q.Sent != model.None {
			w.ask = max(q.Received-q.Sent, 0)
		}
	}
	r.transfers = append(r.transfers, w)
	x.way = uint32(len(r.transfers))
	x.lag += (there - left) + (msg.Sent - both) + (msg.Received - msg.Sent)
	r.edges = append(r.edges, x)
	if w.requested && q.CF == m.ExecCF[e] {
		r.edges = append(r.edges, edge{kind: edgeRequest, way: x.way,
			lag: q.Received - control + (msg.Sent - both) + (msg.Received - msg.Sent)})
	}
}

// receipt gives the message that brought an input: the answer to the CF's own request, else the last that had come.
func (r *replay) receipt(df model.DF, node int32, e uint32) (uint32, bool) {
	m := r.m
	last, ok := m.LastReceipt(df, node, m.ExecStart[e])
	if !ok || m.Requests[m.DFMessages[last].Request].CF == m.ExecCF[e] {
		return last, ok
	}
	all := m.Receipts(df, int(node))
	for i, seen := len(all)-1, 0; i >= 0 && seen < maxReceipts; i, seen = i-1, seen+1 {
		g := &m.DFMessages[all[i]]
		if g.Received <= m.ExecStart[e] && g.Request != 0 && m.Requests[g.Request].CF == m.ExecCF[e] {
			return all[i], true
		}
	}
	return last, true
}

// maxReceipts bounds how many receipts of one DF are looked through for one CF.
const maxReceipts = 256

// findBase works out when each execution could have started, from the recorded times.
func (r *replay) findBase() {
	s := r.scratch()
	for _, e := range r.order {
		r.base[e] = r.earliest(e, s, &change{})
		s.record(e, r.worker[e], r.m.ExecStart[e], r.end(e), r.until[e])
	}
}

// times are those of a replay in progress.
type times struct {
	start, end []int64 // by execution
	free       []int64 // by worker
}

func (r *replay) scratch() *times {
	n := r.m.Executions()
	t := &times{make([]int64, n), make([]int64, n), make([]int64, r.m.Workers())}
	for i := range t.free {
		t.free[i] = r.m.Start
	}
	return t
}

func (t *times) record(e, worker uint32, start, end, until int64) {
	t.start[e], t.end[e] = start, end
	t.free[worker] = max(t.free[worker], until)
}

// earliest is when an execution can start as far as its holds go.
func (r *replay) earliest(e uint32, s *times, c *change) int64 {
	best, control := s.free[r.worker[e]], int64(0)
	for i := r.at[e]; i < r.at[e+1]; i++ {
		x := &r.edges[i]
		t := x.lag
		switch x.kind {
		case edgeEnd:
			t += s.end[x.from]
		case edgeStart:
			t += s.start[x.from]
		case edgeRequest:
			t += control
		}
		if i == r.at[e] {
			if c.move != nil {
				t += c.move(e, r.moves[e]) - r.moves[e]
			}
			control = t
		}
		if x.way != 0 && c.links != nil {
			w := &r.transfers[x.way-1]
			post, ask, answer := c.links(w)
			if x.kind == edgeRequest {
				t += ask - w.ask + answer - w.answer
			} else {
				t += post - w.post + answer - w.answer
			}
		}
		best = max(best, t)
	}
	return best
}

// wall is how long the run takes with something changed, in nanoseconds.
func (r *replay) wall(c change) int64 {
	m := r.m
	s := r.scratch()
	was, is := m.Start, m.Start
	for _, e := range r.order {
		rest := m.ExecStart[e] - r.base[e]
		if c.rest != nil {
			rest = c.rest(e, rest)
		}
		start := r.earliest(e, s, &c) + rest
		length := r.until[e] - m.ExecStart[e]
		end := r.end(e) - m.ExecStart[e]
		if c.length != nil && length > 0 {
			now := c.length(e, length)
			end = int64(float64(end) * float64(now) / float64(length))
			length = now
		}
		s.record(e, r.worker[e], start, start+end, start+length)
		was, is = max(was, r.end(e)), max(is, start+end)
	}
	return m.Wall() - was + is
}

// createdInPlace is the change that CFs are created where they run: those whose creation waited for data. (At its start the
// program must send CFs to other nodes.) What looked at the data then runs there, too, and finds what is stored there.
func (r *replay) createdInPlace() change {
	m := r.m
	parent := func(e uint32) (int, bool) {
		cf := m.ExecCF[e]
		if m.Parent[cf] == 0 {
			return 0, false
		}
		p, ok := m.Execution(m.Parent[cf], m.ParentExec[cf])
		return p, ok && r.before(p, e)
	}
	waited := make([]bool, m.Executions()) // the execution, or one that led to it, was given data
	to := make([]int32, m.Executions())    // 1 + node to which what it created was sent
	for _, e := range r.order {
		waited[e] = !r.atomic(e) && len(m.Inputs(int(e))) > 0
		if p, ok := parent(e); ok {
			waited[e] = waited[e] || waited[p]
			if r.moves[e] > 0 {
				for ok && to[p] == 0 {
					to[p] = r.node[e] + 1
					if len(m.Inputs(p)) > 0 {
						break
					}
					p, ok = parent(uint32(p))
				}
			}
		}
	}
	return change{
		move: func(e uint32, ns int64) int64 {
			if p, ok := parent(e); ok && waited[p] {
				return 0
			}
			return ns
		},
		links: func(w *transfer) (int64, int64, int64) {
			if to[w.reader] == w.store+1 {
				return w.post, 0, 0
			}
			return w.post, w.ask, w.answer
		},
	}
}

// atomic tells whether an execution runs user code.
func (r *replay) atomic(e uint32) bool {
	return r.m.Codes[r.m.CodeOf(r.m.ExecCF[e])].Kind == trace.Atomic
}
