package counters

import "github.com/whyslow/whyslow/internal/model"

// liveMessage is a DF on its way.
type liveMessage struct {
	id             uint64 // 0: of a receipt without a number
	sent, received messageEnd
	used           bool
	t              int64
}

// messageEnd is the sending or the receipt of a message, on the clock of the node that recorded it.
type messageEnd struct {
	t, bytes           int64
	node, stream, peer uint16
	known              bool
}

// message takes one end of a message.
func (l *Live) message(p *origin, local int64, a []uint64, sent bool) {
	id, t := a[3], p.n.clock.common(local)
	if id == 0 && sent {
		return // a node that has the DF itself does not send it
	}
	i := l.byNumber[id]
	if id == 0 || i == 0 {
		if l.tooLate(t) {
			return
		}
		i = l.messages.get()
		*l.messages.at(i) = liveMessage{id: id, used: true}
		if id != 0 {
			l.byNumber[id] = i
		}
	}
	g := l.messages.at(i)
	end := &g.received
	if sent {
		end = &g.sent
	}
	l.emitMessage(g, l.killed, -1)
	// If a number was used twice, the last use counts, in the order of nodes and streams.
	if !end.known || p.node > end.node || p.node == end.node && p.stream >= end.stream {
		*end = messageEnd{local, int64(a[2]), p.node, p.stream, uint16(a[1]), true}
	}
	l.emitMessage(g, l.killed, 1)
	l.apply()
}

// on gives a message on the common clock.
func (l *Live) on(g *liveMessage) model.Message {
	m := model.Message{Sent: none, Received: none}
	if e := &g.received; e.known {
		m.Received = l.nodes[e.node].clock.common(e.t)
		m.From, m.To, m.Bytes = int32(e.peer), int32(e.node), e.bytes
	}
	if e := &g.sent; e.known {
		m.Sent, m.Bytes = l.nodes[e.node].clock.common(e.t), e.bytes
		if !g.received.known {
			m.From, m.To = int32(e.node), int32(e.peer)
		}
	}
	return m
}

func (l *Live) emitMessage(g *liveMessage, killed bool, sign int64) {
	if !g.sent.known && !g.received.known {
		return
	}
	m := l.on(g)
	g.t = max(m.Sent, m.Received)
	l.emitFlight(&m, killed, sign)
}

// emitFlight tells what a message changes on its link.
func (l *Live) emitFlight(m *model.Message, killed bool, sign int64) {
	link, add := l.links.number(m.From, m.To), l.delta.adder(sign)
	messageChanges(m, link, killed, add)
	messageFlight(m, link, add)
}
