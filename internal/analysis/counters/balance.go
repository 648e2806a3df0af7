package counters

import (
	"fmt"

	"github.com/whyslow/whyslow/internal/model"
)

// leftovers are the quantities that must be 0 at the end of a run, and what to say otherwise: %d of them are
// left, or %d more went than had come. DFs are not among them: a DF that nobody asked for is never stored,
// and its end is not recorded.
var leftovers = []struct {
	of         string
	q          quantity
	more, less string
}{
	{"node", cfs, "%d CFs were created and have not run to their end", "%d more CFs ended than were created"},
	{"node", running, "%d CFs still run", "%d more executions ended than began"},
	{"node", copies, "%d copies of DFs were stored and never dropped",
		"%d more copies of DFs were dropped than stored"},
	{"node", bytes, "%d bytes are still held", "%d more bytes were dropped than held"},
	{"node", inner, "%d relations between CFs and DFs here are left",
		"%d more relations between CFs and DFs here ended than began"},
	{"node", outer, "%d relations with other nodes are left",
		"%d more relations with other nodes ended than began"},
	{"node", readyQueue, "%d ready CFs are left in the queue", "the queue of ready CFs is %d below zero"},
	{"run", moving, "%d CFs left a node and arrived at no other", "%d more CFs arrived than had left"},
	{"link", sendQueue, "%d messages are left in the queue", "the queue of messages is %d below zero"},
}

// Balance lists what should have gone by the end of a run but is left over. The run must have ended.
func (r *Properties) Balance() []Violation {
	lost := make([]int64, len(r.of.m.Nodes)) // drops of copies that were never stored
	for h := range r.of.m.Holdings() {
		if h.From == model.None {
			lost[h.Node]++
		}
	}
	out, end := []Violation{}, r.ends()
	check := func(of string, at int32, node int, link, where string) {
		for _, l := range leftovers {
			if l.of != of || r.unknown[l.q] || l.q.family() == related && r.of.relation == nil {
				continue
			}
			v, text := end(l.q, at), l.more
			if v < 0 {
				text = l.less
			}
			if v != 0 {
				text = where + fmt.Sprintf(text, max(v, -v))
				out = append(out, Violation{node, link, propertyOf(l.q).Name, v, text})
			}
		}
	}
	for n := range r.workers {
		where := fmt.Sprintf("node %d: ", n)
		check("node", int32(n), n, "", where)
		if n < len(lost) && lost[n] > 0 && !r.unknown[copies] {
			out = append(out, Violation{n, "", "copies", -lost[n],
				fmt.Sprintf("%s%d copies of DFs were dropped that had not been stored", where, lost[n])})
		}
	}
	check("run", whole, -1, "", "")
	type half struct{ sent, received int64 }
	halves := map[int32]half{}
	eachMessage(r.of.m, func(g *model.Message) {
		link := r.links.find(g.From, g.To)
		h := halves[link]
		switch {
		case g.Received == none:
			h.sent++
		case g.Sent == none:
			h.received++
		default:
			return
		}
		halves[link] = h
	})
	for _, l := range r.sortedLinks(end) {
		i, name := r.links.index[l], linkName(l)
		check("link", i, -1, name, "link "+name+": ")
		if r.unknown[inFlight] {
			continue
		}
		if n := halves[i].sent; n > 0 {
			out = append(out, Violation{-1, name, "messages", n,
				fmt.Sprintf("link %s: %d messages were sent and never received", name, n)})
		}
		if n := halves[i].received; n > 0 {
			out = append(out, Violation{-1, name, "messages", -n,
				fmt.Sprintf("link %s: %d messages were received that nobody sent", name, n)})
		}
	}
	return out
}
