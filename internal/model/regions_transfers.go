package model

// EachTransfer gives what goes between nodes in regions, as messages. Of one-sided transfers, a put and an
// atomic go from the node that asks for them, what a get asks for comes to it. Such a message is sent when
// its operation begins and received when that ends; where the operation does not wait, it may be under way
// longer. Other messages are sent when the call begins that sends them, and received when that ends in which
// they arrive. site is where the operation was called, or the send.
func (m *Model) EachTransfer(f func(kind TransferKind, site uint32, g Message)) {
	if m.Regions == nil {
		return
	}
	r := m.Regions
	for i := range r.Threads {
		th := &r.Threads[i]
		for k := range th.Transfers {
			x := &th.Transfers[k]
			if x.Visit < 0 || int(x.Peer) == th.Node || x.Peer < 0 || int(x.Peer) >= len(m.Nodes) {
				continue
			}
			g := Message{Sent: th.Enter[x.Visit], Received: th.Exit[x.Visit], From: int32(th.Node), To: x.Peer,
				Bytes: x.Bytes}
			if x.Kind == TransferGet {
				g.From, g.To = g.To, g.From
			}
			f(x.Kind, th.Site[x.Visit], g)
		}
	}
	for i := range r.Letters {
		l := &r.Letters[i]
		from, to := &r.Threads[l.From], &r.Threads[l.To]
		s, v := &from.Sends[l.Send], to.Receives[l.Receive].Visit
		if from.Node != to.Node && m.Own(to.Node) && !s.Signal() {
			f(TransferMessage, from.Site[s.Visit], Message{Sent: from.Enter[s.Visit], Received: to.Exit[v],
				From: int32(from.Node), To: int32(to.Node), Bytes: s.Bytes})
		}
	}
}
