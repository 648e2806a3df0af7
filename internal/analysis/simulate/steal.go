package simulate

import (
	"slices"

	"github.com/whyslow/whyslow/trace"
)

// Stealing is that of internal/run/engine/steal.go: a node with nothing to do asks all others once, and
// again when it has got a CF. Who is asked gives one of the last CFs of the queue that nothing was asked for
// yet, at once or when a worker comes to one while others are queued. What is stolen runs at the thief.

// searchDepth is how many CFs at the end of a queue are looked at for a thief.
const searchDepth = 64

// thieves are the nodes that look for work; nothing is set where no CF can be stolen.
type thieves struct {
	stealable []bool  // by site
	asks      []bool  // by node: it has asked, and got nothing yet
	waiting   [][]int // by node: thieves that wait for a CF of it
}

// mayBeStolen sets thieves up if the program has CFs that can be stolen and there is anybody to steal them.
func (r *run) mayBeStolen() {
	any := false
	list := make([]bool, len(r.g.m.Sites))
	for i := range list {
		site := &r.g.m.Sites[i]
		list[i] = site.Stealable || r.m.Stealable && r.g.m.Codes[site.Code].Kind == trace.Atomic
		any = any || list[i]
	}
	if !any || r.m.Nodes == 1 {
		return
	}
	r.thieves = thieves{list, make([]bool, r.m.Nodes), make([][]int, r.m.Nodes)}
	r.node = slices.Clone(r.node)
}

// came notes that a CF came to a node.
func (r *run) came(node int) {
	if r.asks != nil {
		r.asks[node] = false
	}
}

// askForWork asks all other nodes for a CF.
func (r *run) askForWork(node int) {
	if r.stealable == nil || r.asks[node] {
		return
	}
	r.asks[node] = true
	for to := range r.m.Nodes {
		if to != node {
			latency, _ := r.m.Link(node, to)
			r.push(r.now+int64(latency+r.m.Costs.TransportNS), thiefCame, uint32(node), uint32(to))
		}
	}
}

// serveThief gives a CF of a node to a thief, or remembers that it asked.
func (r *run) serveThief(node, thief int) {
	r.rec.receives(node)
	q := &r.queues[node].created // nothing was asked for yet
	for i := len(q.items) - 1; i > q.head && i >= len(q.items)-searchDepth; i-- {
		if cf := q.items[i]; r.loose(cf) {
			q.items = slices.Delete(q.items, i, i+1)
			r.give(node, thief, cf)
			return
		}
	}
	if !slices.Contains(r.waiting[node], thief) {
		r.waiting[node] = append(r.waiting[node], thief)
	}
}

// giveAway gives a CF that a worker came to to a thief, if one waits and others are queued, and tells what
// sending it takes.
func (r *run) giveAway(node int, cf uint32) (ns float64, given bool) {
	q := &r.queues[node]
	if r.stealable == nil || len(r.waiting[node]) == 0 || q.empty() || !r.loose(cf) {
		return 0, false
	}
	thief := r.waiting[node][0]
	r.waiting[node] = r.waiting[node][1:]
	return r.give(node, thief, cf), true
}

// loose tells whether a CF can be stolen now.
func (r *run) loose(cf uint32) bool {
	return r.stealable[r.g.m.SiteOf[cf]] && !r.asked[cf] && r.at[cf] == r.g.first[cf]
}

// give sends a CF to a thief.
func (r *run) give(node, thief int, cf uint32) (ns float64) {
	r.node[r.at[cf]] = uint16(thief)
	r.res.Stolen++
	r.rec.stolen(thief, r.now, cf)
	return r.send(node, thief, requestBytes, 0, cfCame, cf)
}
