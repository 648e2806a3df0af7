package critical

import (
	"cmp"

	"github.com/whyslow/whyslow/internal/model"
)

// What an execution had to wait for before it could start.
//
// The holds of an execution are the producers of its inputs, its control, and the execution before it on its
// worker. Control comes from the execution that created the CF or, for a CF that runs again, from its
// previous execution. Each hold let the execution go at some time (left) and reached it at some time: an
// input when it was produced here or received, control when the CF was created here or came, the worker when
// it was free. The execution was ready when its last input and control had reached it. It started when it was
// ready and the worker was free. The time from there to the events ready and start counts as a fixed cost of
// this execution, and so does the time from left to the arrival.
//
// An input that was asked for late did not hold up its CF because it was produced late, but because it was
// asked for late, that is, because of control. late is how long the producer could have gone on before the
// request came.
//
// The program itself made a CF that has no parent. If the CF has inputs, the program is assumed to have made
// it because they were there, as a Go program does that waits for its goroutines; any delay is then a cost.
// If it has none, the path ends where the CF was made: nothing is known about what the program did before.
//
// play is by how much the hold could have let go later without delaying this execution. At least one hold has
// none: the critical path goes on there.

// Reason is a way in which an execution had to wait for another one.
type Reason uint8

// The reasons.
const (
	ReasonNone    Reason = iota // the program made it; nothing is known to have come before
	ReasonInput                 // it produced an input, on the same node
	ReasonLink                  // it produced an input, which came over a link
	ReasonCreated               // it created the CF
	ReasonAgain                 // it is the execution before of the same CF
	ReasonWorker                // it kept the worker busy while the CF was ready
	ReasonUnknown               // it ran before on the worker; what really held up the CF was not recorded
	reasonCount
)

var reasonNames = [reasonCount]string{"start", "input", "link", "created", "again", "worker", "unknown"}

// String gives the name used in reports.
func (r Reason) String() string { return reasonNames[r] }

// hold is one of the things an execution had to wait for.
type hold struct {
	from   int      // the execution it waited for; -1: none, or none that is known
	reason Reason   // ReasonNone: see there
	df     model.DF // of ReasonInput and ReasonLink
	left   int64    // when it was let go
	play   int64    // >= 0
	early  int64    // useful time of from after left
	flight int64    // time under way on links

	arrived int64 // of inputs: when it reached the node
	late    int64 // of inputs: for how long it had been asked for too late
}

// maxHops bounds how far a DF that was relayed, or a CF that was stolen, is followed back.
const maxHops = 256

// holder finds the holds of one execution after the other.
type holder struct {
	m      *model.Model
	useful []int64 // by execution; -1: not on a worker
	until  []int64 // as in graph
	edges  edges   // of stretch

	worker *model.Worker // of the present execution
	node   int32
	list   []hold
	late   []model.DF // inputs that were asked for late
	ready  int64      // None where not known
	origin hold
	where  int32 // the node of origin
}

// order compares executions in the order in which they can wait for each other: by start, and where clocks
// are so coarse that this is the same, by end, then by creation. Only clocks that disagree and damaged traces
// have holds against it; these are not known.
func order(m *model.Model, a, b int) int {
	if c := cmp.Compare(m.ExecStart[a], m.ExecStart[b]); c != 0 {
		return c
	}
	x, y := keyOf(m, a), keyOf(m, b)
	return cmp.Or(x.compare(&y), cmp.Compare(a, b))
}

func before(m *model.Model, a, b int) bool { return order(m, a, b) < 0 }

// at moves to an execution; false if it is on no worker.
func (h *holder) at(e int) bool {
	if h.worker == nil || e < h.worker.First || e >= h.worker.End {
		h.worker, h.node = h.m.WorkerOf(e)
	}
	return h.worker != nil
}

// find gives the holds of an execution, inputs first, the worker last. The list is overwritten by the next
// call.
func (h *holder) find(e int) []hold {
	m := h.m
	h.list, h.late = h.list[:0], h.late[:0]
	if !h.at(e) {
		return nil
	}
	cf, start := m.ExecCF[e], m.ExecStart[e]
	known := h.findOrigin(e)
	h.ready = model.None
	if t, ok := m.LastReady(cf, h.node, start); ok && (!known || t >= h.origin.left) {
		h.ready = t
	}
	prev, free := h.previous(e)
	top := free // when the last of all holds was over
	node, t, base := h.node, start, int64(0)
	if h.ready != model.None {
		t = h.ready
	}
	for hop := range maxHops {
		first := len(h.list)
		came, _ := m.LastMove(cf, node, t)
		if came != nil && known && came.Received < h.origin.left {
			came = nil
		}
		last, control := h.arrive(e, node, t, came)
		if last == model.None && control == model.None {
			break // nothing is known
		}
		if hop == 0 {
			ready := max(last, control)
			if h.ready != model.None {
				ready = h.ready
			}
			top = max(top, ready)
			base = top - ready
			known = known && !h.followsInputs()
		}
		if known || came != nil && h.origin.reason != ReasonNone {
			last = max(last, control)
			h.origin.play = base + last - control
		} else {
			h.late = h.late[:0]
		}
		for i := first; i < len(h.list); i++ {
			l := &h.list[i]
			l.play = base + last - l.arrived
			if known {
				l.play += l.late
			}
		}
		if !known || came == nil || !came.Stolen || came.Sent == model.None {
			break
		}
		// A stolen CF was ready at its victim first.
		ready, ok := m.LastReady(cf, came.From, came.Sent)
		if !ok || ready < h.origin.left || ready > t {
			break
		}
		node, t, base = came.From, ready, h.origin.play
	}
	if known {
		h.origin.flight = flights(m.MovesWithin(cf, h.origin.left, start), h.origin.left, start)
		h.list = append(h.list, h.origin)
	}
	if prev >= 0 {
		h.list = append(h.list, hold{from: prev, reason: ReasonWorker, left: free, play: top - free})
	}
	h.settle()
	return h.list
}

// arrive appends the holds of the inputs that reached a node by t, and gives when the last of them and when
// control did; None where that is not known.
func (h *holder) arrive(e int, node int32, t int64, came *model.Message) (last, control int64) {
	last, control = model.None, h.origin.left
	if came != nil {
		control = came.Received
	}
	for _, df := range h.m.Inputs(e) {
		l, ok := h.input(e, df, node, t)
		if !ok {
			continue
		}
		h.list = append(h.list, l)
		last = max(last, l.arrived)
		if l.late > 0 {
			h.late = append(h.late, df)
			control = max(control, l.arrived)
		}
	}
	return last, control
}

// followsInputs tells that the program made the CF once its inputs were there: it has inputs, and nobody is
// known to have made it. When it was made is then no reason but a cost.
func (h *holder) followsInputs() bool {
	if h.origin.reason != ReasonNone {
		return false
	}
	for i := range h.list {
		if h.list[i].from >= 0 {
			return true
		}
	}
	return false
}

// settle sees to it that something holds the execution up: the one before on its worker, if what did is not
// known.
func (h *holder) settle() {
	for i := range h.list {
		if l := &h.list[i]; l.play == 0 && (l.from >= 0 || l.reason == ReasonNone) {
			return
		}
	}
	if n := len(h.list); n > 0 && h.list[n-1].reason == ReasonWorker {
		h.list[n-1].reason, h.list[n-1].play = ReasonUnknown, 0
	}
}

// findOrigin finds out where the control came from; false if that is not known.
func (h *holder) findOrigin(e int) bool {
	m, cf := h.m, h.m.ExecCF[e]
	if n := m.ExecNumber[e]; n > 1 {
		if p, ok := m.Execution(cf, n-1); ok && p != e && h.useful[p] >= 0 && before(m, p, e) {
			_, h.where = m.WorkerOf(p)
			h.origin = hold{from: p, reason: ReasonAgain, left: min(m.EndOf(p), m.ExecStart[e])}
			return true
		}
	}
	created := m.Created[cf]
	if created == model.None {
		h.origin = hold{from: -1, reason: ReasonUnknown, left: model.None}
		return false
	}
	h.where = int32(m.CFID(cf).Node())
	h.origin = hold{from: -1, left: min(created, m.ExecStart[e])}
	if parent := m.Parent[cf]; parent != 0 {
		h.origin.reason = ReasonUnknown
		if p, ok := m.Execution(parent, m.ParentExec[cf]); ok {
			h.follow(&h.origin, p, e, ReasonCreated)
		}
	}
	return true
}

// follow makes p, if it can be, the execution that is behind a hold of e.
func (h *holder) follow(l *hold, p, e int, reason Reason) {
	if h.useful[p] < 0 || !before(h.m, p, e) {
		return
	}
	l.from, l.reason = p, reason
	l.early = h.useful[p] - min(h.useful[p], max(l.left-h.m.ExecStart[p], 0))
}

// input gives the hold of an input that reached a node by t, without its play; false if nothing is known of
// it.
func (h *holder) input(e int, df model.DF, node int32, t int64) (hold, bool) {
	m := h.m
	l := hold{from: -1, reason: ReasonUnknown, df: df, left: model.None}
	producer := -1
	if i, ok := m.Creation(df, t); ok {
		l.left = min(m.MadeTime[i], t)
		if by := m.MadeBy[i]; by != 0 {
			if p, ok := m.ExecutionAt(by, m.MadeTime[i]); ok {
				producer = p
				if end := m.ExecEnd[p]; end != model.None && end <= t && m.Atomic(by) {
					l.left = end
				}
			}
		}
	} else if first, ok := m.FirstSeen(df); ok {
		l.left = min(first, t)
	}
	reason := ReasonInput
	l.arrived = l.left
	if g, ok := m.LastReceipt(df, node, t); ok && m.DFMessages[g].Received >= l.left {
		l.arrived, reason = m.DFMessages[g].Received, ReasonLink
		l.flight, l.late = h.way(df, g, l.left)
	}
	if producer >= 0 {
		h.follow(&l, producer, e, reason)
	}
	return l, l.arrived != model.None
}

// way follows a DF from its receipt back to where it was made: how long it was on links, and how long it lay
// at senders because nobody had asked.
func (h *holder) way(df model.DF, g uint32, made int64) (flight, late int64) {
	m := h.m
	arrived := m.DFMessages[g].Received
	for range maxHops {
		msg := &m.DFMessages[g]
		if msg.Sent == model.None || msg.From < 0 {
			break
		}
		flight += max(msg.Received-msg.Sent, 0)
		node, t := msg.From, msg.Sent
		there, isMade := m.CreationAt(df, node, t)
		before, relayed := m.LastReceipt(df, node, t)
		if relayed && (!isMade || m.DFMessages[before].Received > there) {
			there = m.DFMessages[before].Received
		} else {
			relayed = false
			if !isMade {
				there = made
			}
		}
		if msg.Request != 0 {
			if q := &m.Requests[msg.Request]; q.Received != model.None && q.Received <= t &&
				q.Received > there {
				late += q.Received - there
			}
		}
		if !relayed {
			break
		}
		g = before
	}
	return min(flight, max(arrived-made, 0)), late
}

// previous gives the execution before another one on its worker, and since when the worker was free; -1 and
// None if it is the first.
func (h *holder) previous(e int) (int, int64) {
	for p := e - 1; p >= h.worker.First; p-- {
		if before(h.m, p, e) {
			return p, min(h.until[p], h.m.ExecStart[e])
		}
	}
	return -1, model.None
}

// flights is the time a CF was on links between two times.
func flights(moves []model.Message, from, to int64) (ns int64) {
	for i := range moves {
		if g := &moves[i]; g.Sent != model.None && g.Received != model.None && g.Sent >= from &&
			g.Received <= to {
			ns += max(g.Received-g.Sent, 0)
		}
	}
	return min(ns, max(to-from, 0))
}
