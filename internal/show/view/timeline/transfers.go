package timeline

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// transfers are the one-sided transfers of a kind between nodes, as messages in order of time. Message.Request
// is the number of a transfer.
type transfers struct {
	messages []model.Message
	site     []uint32 // by number
}

// transfersOf collects them: a put goes from the thread that asks for it, a get comes to it.
func (t *Timeline) transfersOf() (out [aAtomic - aPut + 1]transfers) {
	if t.m.Regions == nil {
		return out
	}
	for i := range t.m.Regions.Threads {
		th := &t.m.Regions.Threads[i]
		for k := range th.Transfers {
			x := &th.Transfers[k]
			if x.Visit < 0 || int(x.Peer) == th.Node || x.Peer < 0 || int(x.Peer) >= len(t.m.Nodes) {
				continue
			}
			to := &out[x.Kind]
			g := model.Message{Sent: th.Enter[x.Visit], Received: th.Exit[x.Visit], From: int32(th.Node), To: x.Peer,
				Bytes: x.Bytes, Request: uint32(len(to.site))}
			if x.Kind == model.TransferGet {
				g.From, g.To = g.To, g.From
			}
			to.messages, to.site = append(to.messages, g), append(to.site, th.Site[x.Visit])
		}
	}
	for i := range out {
		slices.SortStableFunc(out[i].messages,
			func(a, b model.Message) int { return cmp.Compare(a.Sent, b.Sent) })
	}
	return out
}

// sole is the lane of a node that has one worker, otherwise -1: which worker's memory it is, is not known.
func (t *Timeline) sole(node int32) int {
	if int(node) >= len(t.m.Nodes) || len(t.m.Nodes[node].Workers) != 1 {
		return -1
	}
	return t.first[node]
}
