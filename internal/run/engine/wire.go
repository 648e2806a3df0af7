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
//
// What processes tell each other about the run itself is in part.go.

import (
	"encoding/binary"
	"math"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/luna"
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
	firstControl // kinds from here on are no part of the program's work
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
	m := a.newMessage(msgRequest, node, appendIdent(a.head, id))
	n := a.n
	n.pendingMu.Lock()
	n.requests[m.Number] = waiter{c: c, k: int32(k), gen: c.gen}
	n.pendingMu.Unlock()
	n.eng.ses.DFRequested.Emit(a.ps, num, c.id, node, m.Number)
	a.dispatch(m)
}

// respond answers a request of another node. It owns a reference of v.
func (a *actor) respond(id *ident, num trace.DF, v cpp.Value, node int, req uint64) {
	m := a.newMessage(msgResponse, node, binary.AppendUvarint(appendIdent(a.head, id), req), v)
	a.n.eng.ses.DFSent.Emit(a.ps, num, node, m.Bytes(), m.Number, req, 0)
	a.dispatch(m)
}

func (a *actor) sendPost(id *ident, num trace.DF, v cpp.Value, count int32, by maker, to int) {
	h := binary.AppendVarint(appendIdent(a.head, id), int64(count))
	m := a.newMessage(msgPost, to, appendMaker(h, by), v)
	a.n.eng.ses.DFSent.Emit(a.ps, num, to, m.Bytes(), m.Number, 0, 0)
	a.dispatch(m)
}

func (a *actor) sendPush(label, id *ident, num trace.DF, v cpp.Value, by trace.CF, to int) {
	m := a.newMessage(msgPush, to, binary.AppendUvarint(appendIdent(appendIdent(a.head, label), id),
		uint64(by)), v)
	a.n.eng.ses.DFSent.Emit(a.ps, num, to, m.Bytes(), m.Number, 0, by)
	a.dispatch(m)
}

func (a *actor) sendDestroy(id *ident, to int) {
	a.dispatch(a.newMessage(msgDestroy, to, appendIdent(a.head, id)))
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
	a.unrelate(c)
	c.lock()
	if c.open > 0 { // of cells asked for twice
		c.gen++
		c.moved = true
	}
	c.unlock()
	h := binary.AppendUvarint(a.head, uint64(c.id))
	h = binary.AppendUvarint(h, uint64(c.st.ID))
	h = binary.AppendUvarint(h, uint64(c.parent))
	h = binary.AppendUvarint(h, uint64(c.pexec))
	h = binary.AppendUvarint(h, uint64(c.exec))
	h = append(h, c.stage)
	h = appendFrame(h, c.frame)
	if c.iter != nil {
		h = binary.AppendVarint(append(h, 1), int64(c.iter.counter))
	} else {
		h = append(h, 0)
	}
	var payload []cpp.Value
	for i := range c.inputs {
		s := &c.inputs[i]
		if !s.have {
			h = append(h, 0)
			continue
		}
		id, _ := a.refIdent(c.st.Inputs[i].Ref, &env{f: c.ctx(), c: c})
		h = appendIdent(append(h, 1), &id)
		payload = append(payload, retained(s.val))
		a.letGo(s)
	}
	a.n.forgetInputs(c)
	if r := a.n.eng.cfg.Records; r != nil && a.n.eng.part != nil {
		history := r.History(c.parent)
		h = binary.AppendUvarint(h, uint64(len(history)))
		for _, b := range history {
			h = binary.AppendUvarint(h, uint64(b))
		}
	}
	return a.newMessage(msgCF, to, h, payload...)
}

func appendMaker(b []byte, m maker) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(m.id)), uint64(m.site))
}

func appendIdent(b []byte, d *ident) []byte {
	b = binary.AppendUvarint(b, d.name>>48)
	b = binary.AppendUvarint(b, d.name&(1<<48-1))
	b = binary.AppendUvarint(b, uint64(d.decl))
	b = binary.AppendUvarint(b, uint64(d.n))
	for i := range int(d.n) {
		b = binary.AppendVarint(b, int64(d.at(i)))
	}
	return b
}

// appendFrame packs a chain of frames, innermost first.
func appendFrame(b []byte, f *frame) []byte {
	for ; f != nil; f = f.parent {
		b = binary.AppendUvarint(b, uint64(f.block.ID)+1)
		b = binary.AppendUvarint(b, f.base>>48)
		b = binary.AppendUvarint(b, f.base&(1<<48-1))
		b = binary.AppendVarint(b, int64(f.counter))
		b = binary.AppendUvarint(b, uint64(len(f.vals)))
		for i := range f.vals {
			v := &f.vals[i]
			if !v.set {
				b = append(b, 255)
				continue
			}
			b = append(b, byte(v.typ))
			switch v.typ {
			case luna.Int:
				b = binary.AppendVarint(b, int64(v.i))
			case luna.Real:
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v.f))
			case luna.String:
				b = append(binary.AppendUvarint(b, uint64(len(v.s))), v.s...)
			case luna.Dyn:
				b = appendIdent(b, v.id)
			}
		}
	}
	return append(b, 0)
}

// decoder reads a head. Heads come from our own process or a peer of the same build, so it does not check
// them again.
type decoder struct{ b []byte }

func (d *decoder) byte() byte {
	c := d.b[0]
	d.b = d.b[1:]
	return c
}

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.b)
	d.b = d.b[n:]
	return v
}

func (d *decoder) int() int64 {
	v, n := binary.Varint(d.b)
	d.b = d.b[n:]
	return v
}

func (d *decoder) ident() (id ident) {
	id.name = d.uint() << 48
	id.name |= d.uint()
	id.decl = luna.DeclID(d.uint())
	for n := d.uint(); n > 0; n-- {
		id.push(int32(d.int()))
	}
	return id
}

func (d *decoder) maker() maker { return maker{trace.CF(d.uint()), int32(d.uint())} }

func (d *decoder) frame(p *luna.Program) *frame {
	block := d.uint()
	if block == 0 {
		return nil
	}
	f := &frame{block: p.Blocks[block-1]}
	f.base = d.uint() << 48
	f.base |= d.uint()
	f.counter = int32(d.int())
	if n := d.uint(); n > 0 {
		f.vals = make([]value, n)
	}
	for i := range f.vals {
		t := d.byte()
		if t == 255 {
			continue
		}
		v := &f.vals[i]
		v.set, v.typ = true, luna.Type(t)
		switch v.typ {
		case luna.Int:
			v.i = int32(d.int())
		case luna.Real:
			v.f = math.Float64frombits(binary.LittleEndian.Uint64(d.b))
			d.b = d.b[8:]
		case luna.String:
			n := d.uint()
			v.s = string(d.b[:n])
			d.b = d.b[n:]
		case luna.Dyn:
			id := d.ident()
			v.id = &id
		}
	}
	f.parent = d.frame(p)
	return f
}

// handle deals with one message; it runs on the node's message goroutine.
func (a *actor) handle(m *transport.Message) {
	e := a.n.eng
	d := &decoder{m.Head}
	t := clock.Now()
	a.now = t
	switch m.Kind {
	case msgCF:
		a.receive(d, m, t)
	case msgRequest:
		id := d.ident()
		num, v, _, ok := a.request(&id, waiter{node: int32(m.From), req: m.Number})
		if ok {
			a.respond(&id, num, v, m.From, m.Number)
		}
	case msgResponse:
		id := d.ident()
		req := d.uint()
		a.n.pendingMu.Lock()
		w := a.n.requests[req]
		delete(a.n.requests, req)
		a.n.pendingMu.Unlock()
		num, v := a.number(&id), m.Payload[0]
		e.ses.DFReceived.EmitAt(a.ps, t, num, m.From, m.Bytes(), m.Number, req, w.c.id)
		e.ses.DFStored.EmitAt(a.ps, t, num, v.Size())
		w.c.answer(a, int(w.k), w.gen, v, num, t, true)
	case msgPost:
		id := d.ident()
		count := int32(d.int())
		by := d.maker()
		e.ses.DFReceived.EmitAt(a.ps, t, a.homeNumber(&id), m.From, m.Bytes(), m.Number, 0, 0)
		a.post(&id, m.Payload[0], count, by, false)
		a.blame(by)
	case msgDestroy:
		id := d.ident()
		a.destroy(&id)
	case msgPush:
		label, id := d.ident(), d.ident()
		by := trace.CF(d.uint())
		num, v := a.number(&id), m.Payload[0]
		e.ses.DFReceived.EmitAt(a.ps, t, num, m.From, m.Bytes(), m.Number, 0, by)
		e.ses.DFStored.EmitAt(a.ps, t, num, v.Size())
		a.pushTo(&label, pushedDF{id: id, val: v, at: t})
	case msgSteal:
		a.serveThief(m.From)
	}
	if a.err != nil {
		e.finish(a.err)
	}
	a.n.sample(a.now, false)
}

// receive takes in a CF from another node.
func (a *actor) receive(d *decoder, m *transport.Message, t int64) {
	e := a.n.eng
	c := &cf{id: trace.CF(d.uint())}
	c.st = e.prog.Stmts[d.uint()]
	c.parent = trace.CF(d.uint())
	c.pexec, c.exec = uint32(d.uint()), uint32(d.uint())
	c.setUp()
	c.stage = d.byte()
	c.frame = d.frame(e.prog)
	if d.byte() == 1 {
		c.iter = &frame{parent: c.frame, block: c.st.Body, counter: int32(d.int())}
	}
	payload := m.Payload
	for i := range c.inputs {
		if d.byte() == 0 {
			continue
		}
		id := d.ident()
		s := &c.inputs[i]
		s.val, s.have, s.at, s.own = payload[0], true, t, true
		a.n.denote(s, a.number(&id))
		e.ses.DFStored.EmitAt(a.ps, t, s.df, s.val.Size())
		payload = payload[1:]
	}
	if e.cfg.Records != nil && e.part != nil {
		history := make([]int, d.uint())
		for i := range history {
			history[i] = int(d.uint())
		}
		e.cfg.Records.Came(c.parent, history)
	}
	// Its node was chosen when it was sent: by its locator, or by the thief.
	c.placed = true
	c.born = t
	e.ses.CFReceived.EmitAt(a.ps, t, c.id, m.From, m.Bytes(), a.weight(c))
	a.readyIfFree(c)
	a.n.asked.Store(false)
	a.n.queue.push(e, c)
}
