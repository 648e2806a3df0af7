package counters

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/model/query"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// The series of a report, family by family.

// add takes up a series if it is wanted.
func (c *computation) add(q quantity, l *level, node int, link string) {
	if c.group.Rank() != 0 || !c.wants(q) {
		return
	}
	s := c.series(q, l, node, link)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.res.Series = append(c.res.Series, s)
}

// addNodes takes up a quantity of nodes, the whole run being last in the list.
func (c *computation) addNodes(q quantity, list []level) {
	last := len(list) - 1
	c.add(q, &list[last], -1, "")
	for n := range list[:last] {
		if len(c.m.Nodes[n].Workers) > 0 {
			c.add(q, &list[n], n, "")
		}
	}
}

// addLinks takes up a quantity of links, the whole run being last in the list.
func (c *computation) addLinks(q quantity, list []level, names []string) {
	c.add(q, &list[len(names)], -1, "")
	for i, name := range names {
		c.add(q, &list[i], -1, name)
	}
}

// nodes follows quantities of some nodes and of the whole run, if any is wanted and events of a kind were
// recorded.
func (c *computation) nodes(g family, k trace.Kind, from func() (source, error), nodes int,
	list ...quantity) ([][]level, error) {
	if !c.wants(list...) || c.m.Count[k] == 0 {
		return nil, nil
	}
	s, err := from()
	if err != nil {
		return nil, err
	}
	found, err := c.levels(g, s, list, nodes)
	for i, levels := range found {
		switch q := list[i]; {
		case q != moving:
			c.addNodes(q, levels)
		case moves(c.m) > 0:
			c.addNodes(q, levels[nodes:])
		}
	}
	return found, err
}

// noSource is the source of what only the model tells.
func noSource() (source, error) { return source{}, nil }

// cfs follows CFs by state.
func (c *computation) cfs() error {
	_, err := c.nodes(lives, trace.KindCFStarted, func() (source, error) {
		met, err := c.meet()
		return source{met: met}, err
	}, len(c.m.Nodes), waiting, ready, running, moving, cfs)
	return err
}

// copies follows bytes and copies held.
func (c *computation) copies() error {
	list, err := c.nodes(held, trace.KindDFStored, noSource, len(c.m.Nodes), bytes, copies)
	if len(list) > 0 && c.wants(bytes) {
		c.res.Memory, err = c.peaks(list[0])
	}
	return err
}

// dfs follows the DFs that exist.
func (c *computation) dfs() error {
	_, err := c.nodes(existing, trace.KindDFCreate, func() (source, error) {
		extra, err := tooOften(c.m, c.group)
		return source{extra: extra}, err
	}, 0, dfs)
	return err
}

// readyQueues follows the lengths of the queues of ready CFs.
func (c *computation) readyQueues() error {
	_, err := c.nodes(readyQueues, trace.KindReadyQueue, noSource, len(c.m.Nodes), readyQueue)
	return err
}

// messages follows the traffic.
func (c *computation) messages() error {
	wanted := []quantity{inFlight, bytesInFlight, messages, messageBytes, moved}
	if !c.wants(wanted...) {
		return nil
	}
	x, err := c.trafficOf()
	if err != nil || len(x.sums) == 0 {
		return err
	}
	c.res.Links, c.res.Messages = x.rows(), &Traffic{}
	for i := range x.sums {
		c.res.Messages.add(&x.sums[i])
	}
	slices.SortFunc(c.res.Links, func(a, b Link) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	place, names := c.busiest(x)
	list, err := c.levels(sent, source{links: x.links, place: place}, wanted, len(names))
	if err != nil {
		return err
	}
	for i, q := range wanted {
		if q != moved || moves(c.m) > 0 {
			c.addLinks(q, list[i], names)
		}
	}
	return nil
}

// sendQueues follows the lengths of the queues of messages. The links with the longest ones get series.
func (c *computation) sendQueues() error {
	if !c.wants(sendQueue) || c.m.Count[trace.KindSendQueue] == 0 {
		return nil
	}
	own, links := newLinkTable(), newLinkTable()
	for i := range c.m.Queues {
		if q := &c.m.Queues[i]; q.Peer >= 0 && c.m.Own(int(q.Node)) {
			own.number(q.Node, q.Peer)
		}
	}
	all, err := procs.AllOf(c.group, own.list)
	if err != nil {
		return err
	}
	for _, known := range all {
		for _, l := range known {
			links.number(int32(l.From), int32(l.To))
		}
	}
	n := len(links.list)
	list, err := c.levels(sendQueues, source{links: links}, []quantity{sendQueue}, n)
	if err != nil {
		return err
	}
	found, longest := list[0], slices.Clone(links.list)
	peak := func(l query.Link) int64 { return found[links.index[l]].peak }
	slices.SortFunc(longest, func(a, b query.Link) int {
		return cmp.Or(cmp.Compare(peak(b), peak(a)), compareLinks(a, b))
	})
	if most := c.opt.Links; most >= 0 && most < n {
		longest = longest[:most]
	}
	slices.SortFunc(longest, compareLinks)
	c.add(sendQueue, &found[n], -1, "")
	for _, l := range longest {
		c.add(sendQueue, &found[links.index[l]], -1, linkName(l))
	}
	return nil
}
