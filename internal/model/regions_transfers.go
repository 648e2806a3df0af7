package model

// EachTransfer gives the one-sided transfers between nodes, as messages: a put and an atomic go from the node
// that asks for them, what a get asks for comes to it. Such a message is sent when its operation begins and
// received when that ends; where the operation does not wait, it may be under way longer. site is where the
// operation was called.
func (m *Model) EachTransfer(f func(x *Transfer, site uint32, g Message)) {
	if m.Regions == nil {
		return
	}
	for i := range m.Regions.Threads {
		th := &m.Regions.Threads[i]
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
			f(x, th.Site[x.Visit], g)
		}
	}
}
