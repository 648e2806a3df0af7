package timeline

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// transfers are the one-sided transfers of a kind, or the messages, between nodes in order of time.
// Message.Request is the number of a transfer.
type transfers struct {
	messages []model.Message
	site     []uint32 // by number
}

// transfersOf collects them.
func (t *Timeline) transfersOf() (out [aMessage - aPut + 1]transfers) {
	t.m.EachTransfer(func(kind model.TransferKind, site uint32, g model.Message) {
		to := &out[kind]
		g.Request = uint32(len(to.site))
		to.messages, to.site = append(to.messages, g), append(to.site, site)
	})
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
