package engine

// Messages between nodes. Heads are varints (encoding/binary, zigzag where signed); payloads are DF values.
//
//	message     head                                                        payload
//	CF          cf, statement, execution state, frames, input states, with  values of inputs that are here
//	            debug records and many processes the history of its parent
//	Post        identity, count, producer                                   the value
//	Request     identity                                                    -
//	Response    identity, request number                                    the value
//	Destroy     identity                                                    -
//	Push        label identity, identity, pushing CF                        the value
//	Steal       -                                                           -
//	Kept        identity, count, producer, size: a Post that is kept          -
//	Forward     identity, requester, number of its request                  -
//	Fetched     identity, request number, producer                          the value
//	Done        identity, requests that were passed on                      -
//	Order       code fragment, node, how many, work ahead at both           -
//
// What processes tell each other about the run itself is in part.go.

import (
	"slices"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/transport"
	"github.com/whyslow/whyslow/trace"
)

const (
	msgCF = iota
	msgPost
	msgRequest
	msgResponse
	msgDestroy
	msgPush
	msgSteal
	msgKept
	msgForward
	msgFetched
	msgDone
	firstControl // kinds from here on are no part of the program's work
	msgOrder     = firstControl
)

// outgoing is a message with room for what most of them have.
type outgoing struct {
	m       transport.Message
	head    [40]byte
	payload [1]cpp.Value
}

// newMessage makes a message with the node's next number. The number of a request is its message's. The head
// is copied; it may be built in a.head.
func (a *actor) newMessage(kind uint8, to int, head []byte, payload ...cpp.Value) *transport.Message {
	o := &outgoing{m: transport.Message{Kind: kind, From: a.n.id, To: to, Number: a.n.message()}}
	o.m.Head, o.m.Payload = append(o.head[:0], head...), append(o.payload[:0], payload...)
	a.head = head[:0]
	return &o.m
}

// dispatch counts the message as work under way and sends it.
func (a *actor) dispatch(m *transport.Message) {
	e := a.n.eng
	if e.part == nil { // else it counts again when it has arrived
		e.enter()
	}
	e.sent.Add(1)
	e.net.Send(m)
	a.now = clock.Now() // sending copies the payload, which takes its time
}

func (a *actor) sendRequest(c *cf, k int, id *ident, num trace.DF, node int) {
	h := packing(a.head)
	h.ident(id)
	m := a.newMessage(msgRequest, node, h.b)
	n := a.n
	n.pendingMu.Lock()
	n.requests[m.Number] = waiter{c: c, k: int32(k), gen: c.gen}
	n.pendingMu.Unlock()
	n.eng.ses.DFRequested.Emit(a.ps, num, c.id, node, m.Number)
	a.dispatch(m)
}

// respond answers a request of another node. It owns a reference of v.
func (a *actor) respond(id *ident, num trace.DF, v cpp.Value, node int, req uint64) {
	h := packing(a.head)
	h.ident(id)
	count(h, &req)
	a.sendValue(msgResponse, node, h.b, num, v, req, 0)
}

func (a *actor) sendPost(id *ident, num trace.DF, v cpp.Value, uses int32, by maker, to int) {
	h := packing(a.head)
	h.ident(id)
	signed(h, &uses)
	h.maker(&by)
	a.sendValue(msgPost, to, h.b, num, v, 0, 0)
}

func (a *actor) sendPush(label, id *ident, num trace.DF, v cpp.Value, by trace.CF, to int) {
	h := packing(a.head)
	h.ident(label)
	h.ident(id)
	count(h, &by)
	a.sendValue(msgPush, to, h.b, num, v, 0, by)
}

// sendValue sends a DF's value to answer a request, for a CF, or neither. It owns a reference of v.
func (a *actor) sendValue(kind uint8, to int, head []byte, num trace.DF, v cpp.Value, req uint64,
	by trace.CF) {
	m := a.newMessage(kind, to, head, v)
	a.n.eng.ses.DFSent.Emit(a.ps, num, to, m.Bytes(), m.Number, req, by)
	a.dispatch(m)
}

func (a *actor) sendDestroy(id *ident, to int) {
	h := packing(a.head)
	h.ident(id)
	a.dispatch(a.newMessage(msgDestroy, to, h.b))
}

// migrate sends a CF to another node, where it goes on at the same stage; p is the point in its life.
func (a *actor) migrate(c *cf, to int, p point) {
	a.leave(p, c)
	m := a.cfMessage(c, to)
	a.n.eng.ses.CFMigrated.Emit(a.ps, c.id, to, m.Bytes(), a.weight(c))
	a.stats.migrated++
	a.dispatch(m)
	a.left(p)
}

func (a *actor) weight(c *cf) float64 {
	if a.n.eng.static[c.st.ID].weight {
		return a.evalReal(c.st.Weight, &env{f: c.frame, c: c})
	}
	return 1
}

// cfMessage packs a CF that is between two stages: it waits for nothing.
func (a *actor) cfMessage(c *cf, to int) *transport.Message {
	if c.ready {
		a.readied.Add(-1)
	}
	c.lock()
	if c.open > 0 { // of cells asked for twice
		c.gen++
		c.moved = true
	}
	c.unlock()
	h := packing(a.head)
	h.paths = a.n.eng.hasPaths()
	h.cf(c)
	var payload []cpp.Value
	for i := range c.inputs {
		s := &c.inputs[i]
		if h.bool(&s.have); !s.have {
			keeper := 0 // + 1; 0: it is not far
			if s.far {
				keeper = s.keeper() + 1
			}
			count(h, &keeper)
			continue
		}
		id, _ := a.refIdent(c.st.Inputs[i].Ref, &env{f: c.ctx(), c: c})
		h.ident(&id)
		payload = append(payload, retained(s.val))
	}
	for i := range c.inputs { // only now: an input may be an index of a later one
		a.letGo(&c.inputs[i])
	}
	a.n.forgetInputs(c)
	if r := a.n.eng.cfg.Records; r != nil && a.n.eng.part != nil {
		history := r.History(c.parent)
		list(h, &history, func(b *int) { count(h, b) })
	}
	return a.newMessage(msgCF, to, h.b, payload...)
}

// handle deals with one message; it runs on the node's message goroutine.
func (a *actor) handle(m *transport.Message) {
	e := a.n.eng
	d := unpacking(e.prog, m.Head)
	t := clock.Now()
	a.now = t
	var id ident
	switch m.Kind {
	case msgCF:
		a.receive(d, m, t)
	case msgRequest:
		d.ident(&id)
		num, v, _, ok := a.request(&id, waiter{node: int32(m.From), req: m.Number})
		if ok {
			a.respond(&id, num, v, m.From, m.Number)
		}
	case msgResponse, msgFetched:
		var req uint64
		d.ident(&id)
		count(d, &req)
		w := a.n.pending(req)
		num, v := a.number(&id), m.Payload[0]
		if by := w.c.id; m.Kind == msgResponse {
			e.ses.DFReceived.EmitAt(a.ps, t, num, m.From, m.Bytes(), m.Number, req, by)
		} else {
			count(d, &by)
			e.ses.DFReceived.EmitAt(a.ps, t, num, m.From, m.Bytes(), m.Number, 0, by)
		}
		e.ses.DFStored.EmitAt(a.ps, t, num, v.Size())
		w.c.answer(a, int(w.k), w.gen, v, num, t, true)
	case msgPost:
		var uses int32
		var by maker
		d.ident(&id)
		signed(d, &uses)
		d.maker(&by)
		e.ses.DFReceived.EmitAt(a.ps, t, a.homeNumber(&id), m.From, m.Bytes(), m.Number, 0, 0)
		a.post(&id, m.Payload[0], uses, by, false)
		a.blame(by)
	case msgDestroy:
		d.ident(&id)
		a.destroy(&id)
	case msgPush:
		var label ident
		var by trace.CF
		d.ident(&label)
		d.ident(&id)
		count(d, &by)
		num, v := a.number(&id), m.Payload[0]
		e.ses.DFReceived.EmitAt(a.ps, t, num, m.From, m.Bytes(), m.Number, 0, by)
		e.ses.DFStored.EmitAt(a.ps, t, num, v.Size())
		a.pushTo(&label, pushedDF{id: id, val: v, at: t})
	case msgSteal:
		a.serveThief(m.From)
	case msgKept:
		var uses int32
		var by maker
		var size int64
		d.ident(&id)
		signed(d, &uses)
		d.maker(&by)
		signed(d, &size)
		a.postAt(&id, cpp.Value{}, uses, by, false, int32(m.From)+1, size)
		a.blame(by)
	case msgForward:
		var node int
		var req uint64
		d.ident(&id)
		count(d, &node)
		count(d, &req)
		a.serve(&id, m.From, node, req)
	case msgDone:
		var uses int32
		d.ident(&id)
		signed(d, &uses)
		a.done(&id, uses)
	case msgOrder:
		var o order
		d.order(&o)
		a.handOver(&o)
	}
	if a.err != nil {
		e.finish(a.err)
	}
	a.n.sample(a.now, false)
}

// receive takes in a CF from another node.
func (a *actor) receive(d *codec, m *transport.Message, t int64) {
	e := a.n.eng
	c := &cf{}
	d.paths = e.hasPaths()
	d.cf(c)
	payload := m.Payload
	for i := range c.inputs {
		s := &c.inputs[i]
		if d.bool(&s.have); !s.have {
			var keeper int
			if count(d, &keeper); keeper != 0 {
				s.val, s.far = farAway(keeper-1, 0), true
				c.fars++
			}
			continue
		}
		var id ident
		d.ident(&id)
		s.val, s.at, s.own = payload[0], t, true
		a.n.denote(s, a.number(&id))
		e.ses.DFStored.EmitAt(a.ps, t, s.df, s.val.Size())
		payload = payload[1:]
		c.brought = c.brought || e.cfg.Gate != nil && c.stage == stageMain && slices.ContainsFunc(c.st.Waves,
			func(wave []int) bool { return slices.Contains(wave, i) })
	}
	if e.cfg.Records != nil && e.part != nil {
		var history []int
		list(d, &history, func(b *int) { count(d, b) })
		e.cfg.Records.Came(c.parent, history)
	}
	// Its node was chosen when it was sent: by its locator, or by the thief.
	c.placed = true
	c.born = t
	e.ses.CFReceived.EmitAt(a.ps, t, c.id, m.From, m.Bytes(), a.weight(c))
	if e.balance != nil {
		a.arrive(c)
	}
	a.readyIfFree(c)
	a.n.asked.Store(false)
	a.n.queue.push(e, c)
}
