package counters

// liveMessage is a DF on its way, each end on its node's clock.
type liveMessage struct {
	id                       uint64 // 0: of a receipt without a number
	sent, received           int64
	sender, receiver         uint16 // nodes that recorded the ends
	sentTo, receivedFrom     uint16
	sentStream, gotStream    uint16
	bytes, receivedBytes     int64
	used, isSent, isReceived bool
	t                        int64
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
		l.messages.at(i).used = true
		l.messages.at(i).id = id
		if id != 0 {
			l.byNumber[id] = i
		}
	}
	g := l.messages.at(i)
	l.emitMessage(g, l.history.killed, -1)
	// If a number was used twice, the last use counts, in the order of nodes and streams.
	if later := p.node > g.sender || p.node == g.sender && p.stream >= g.sentStream; sent &&
		(!g.isSent || later) {
		g.isSent, g.sent, g.sender, g.sentStream = true, local, p.node, p.stream
		g.sentTo, g.bytes = uint16(a[1]), int64(a[2])
	}
	if later := p.node > g.receiver || p.node == g.receiver && p.stream >= g.gotStream; !sent &&
		(!g.isReceived || later) {
		g.isReceived, g.received, g.receiver, g.gotStream = true, local, p.node, p.stream
		g.receivedFrom, g.receivedBytes = uint16(a[1]), int64(a[2])
	}
	l.emitMessage(g, l.history.killed, 1)
	l.apply()
}

// on gives a message on the common clock.
func (l *Live) on(g *liveMessage) message {
	m := message{sent: none, received: none}
	if g.isSent {
		m.sent = l.nodes[g.sender].clock.common(g.sent)
		m.from, m.to, m.bytes = int32(g.sender), int32(g.sentTo), g.bytes
	}
	if g.isReceived {
		m.received = l.nodes[g.receiver].clock.common(g.received)
		m.from, m.to = int32(g.receivedFrom), int32(g.receiver)
		if !g.isSent {
			m.bytes = g.receivedBytes
		}
	}
	return m
}

func (l *Live) emitMessage(g *liveMessage, killed bool, sign int64) {
	if !g.isSent && !g.isReceived {
		return
	}
	m := l.on(g)
	g.t = max(m.sent, m.received)
	m.emit(&l.delta, l.history.links.number(m.from, m.to), killed, sign)
}
