package counters

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/model/query"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// Lengths of queues are samples: a length holds until the next one is recorded. So the levels follow what was
// recorded, not what happened in between.

// queueKey names the queue of ready CFs of a node, or, with a peer, the queue of messages to it.
type queueKey struct{ node, peer int32 }

// queuesOf lists the samples of the queues of messages, or of ready CFs, at own nodes in order of time.
func queuesOf(m *model.Model, messages bool) []model.Queue {
	var list []model.Queue
	for i := range m.Queues {
		if q := &m.Queues[i]; q.Peer >= 0 == messages && m.Own(int(q.Node)) {
			list = append(list, *q)
		}
	}
	slices.SortStableFunc(list, func(a, b model.Queue) int { return cmp.Compare(a.Time, b.Time) })
	return list
}

// eachLength tells by how much each sample changes the length of its queue.
func eachLength(list []model.Queue, f func(q *model.Queue, d int64)) {
	now := map[queueKey]int64{}
	for i := range list {
		q := &list[i]
		k := queueKey{q.Node, q.Peer}
		f(q, q.Length-now[k])
		now[k] = q.Length
	}
}

// lengths follows the queues of some places and of the whole run.
func (c *computation) lengths(q quantity, list []model.Queue, places int,
	place func(q *model.Queue) int32) ([]level, error) {
	out, err := levels(c, []quantity{q}, places, len(list), func(emit func(t int64, key int32, d int64)) {
		eachLength(list, func(q *model.Queue, d int64) { emit(q.Time, place(q), d) })
	}, func(out sink, x *change[int64]) {
		out.add(q, x.key, x.t, x.d)
		out.add(q, whole, x.t, x.d)
	})
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// readyQueues follows the lengths of the queues of ready CFs.
func (c *computation) readyQueues() error {
	if !c.wants(readyQueue) || c.m.Count[trace.KindReadyQueue] == 0 {
		return nil
	}
	list, err := c.lengths(readyQueue, queuesOf(c.m, false), len(c.m.Nodes),
		func(q *model.Queue) int32 { return q.Node })
	if err == nil {
		c.addNodes(readyQueue, list)
	}
	return err
}

// sendQueues follows the lengths of the queues of messages. The links with the longest ones get series.
func (c *computation) sendQueues() error {
	if !c.wants(sendQueue) || c.m.Count[trace.KindSendQueue] == 0 {
		return nil
	}
	list, own := queuesOf(c.m, true), newLinkTable()
	for i := range list {
		own.number(list[i].Node, list[i].Peer)
	}
	all, err := procs.AllOf(c.group, own.list)
	if err != nil {
		return err
	}
	links := newLinkTable()
	for _, known := range all {
		for _, l := range known {
			links.number(int32(l.From), int32(l.To))
		}
	}
	n := len(links.list)
	found, err := c.lengths(sendQueue, list, n, func(q *model.Queue) int32 {
		return links.find(q.Node,
			q.Peer)
	})
	if err != nil {
		return err
	}
	longest := slices.Clone(links.list)
	peak := func(l query.Link) int64 { return found[links.index[l]].peak }
	slices.SortFunc(longest, func(a, b query.Link) int {
		return cmp.Or(cmp.Compare(peak(b), peak(a)),
			compareLinks(a, b))
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
