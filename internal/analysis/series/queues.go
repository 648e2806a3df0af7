package series

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// Queue lengths are samples: a length holds until the next one is recorded, so levels follow what was recorded, not what
// happened in between.

// queues lists the samples of one kind in order of time.
func (r *run) queues(wanted func(q *model.Queue) bool) []model.Queue {
	var list []model.Queue
	for i := range r.m.Queues {
		if q := &r.m.Queues[i]; wanted(q) && r.m.Own(int(q.Node)) {
			list = append(list, *q)
		}
	}
	slices.SortStableFunc(list, func(a, b model.Queue) int { return cmp.Compare(a.Time, b.Time) })
	return list
}

// lengths follows the queues of some keys, key giving that of a sample, and of all together, which comes last.
func (r *run) lengths(list []model.Queue, keys int, key func(q *model.Queue) int32) ([]level, error) {
	now := make([]int64, keys)
	return levels(r, keys+1, len(list), func(emit func(t int64, key int32, d int64)) {
		clear(now)
		for i := range list {
			q := &list[i]
			k := key(q)
			emit(q.Time, k, q.Length-now[k])
			now[k] = q.Length
		}
	}, func(l []level, c *change[int64]) {
		l[c.key].add(c.t, c.d)
		l[keys].add(c.t, c.d)
	})
}

// readyQueues follows the lengths of the queues of ready CFs.
func (r *run) readyQueues() error {
	if !r.wants(ReadyQueue) || r.m.Count[trace.KindReadyQueue] == 0 {
		return nil
	}
	list := r.queues(func(q *model.Queue) bool { return q.Peer < 0 })
	levels, err := r.lengths(list, len(r.m.Nodes), func(q *model.Queue) int32 { return q.Node })
	if err == nil {
		r.addLevels(ReadyQueue, "count", levels)
	}
	return err
}

// sendQueues follows the lengths of the queues of messages. Those of the links that were longest get series.
func (r *run) sendQueues() error {
	if !r.wants(SendQueue) || r.m.Count[trace.KindSendQueue] == 0 {
		return nil
	}
	list := r.queues(func(q *model.Queue) bool { return q.Peer >= 0 })
	index := map[link]int32{}
	var names []link
	for i := range list {
		l := link{list[i].Node, list[i].Peer}
		if _, ok := index[l]; !ok {
			index[l] = int32(len(names))
			names = append(names, l)
		}
	}
	if err := r.shareLinks(&names, index); err != nil {
		return err
	}
	levels, err := r.lengths(list, len(names), func(q *model.Queue) int32 { return index[link{q.Node, q.Peer}] })
	if err != nil {
		return err
	}
	all := len(names)
	longest := make([]int, all)
	for i := range longest {
		longest[i] = i
	}
	slices.SortFunc(longest, func(a, b int) int {
		return cmp.Or(cmp.Compare(levels[b].peak, levels[a].peak), cmp.Compare(names[a].from, names[b].from), cmp.Compare(names[a].to, names[b].to))
	})
	if n := r.opt.Links; n >= 0 && n < all {
		longest = longest[:n]
	}
	slices.SortFunc(longest, func(a, b int) int {
		return cmp.Or(cmp.Compare(names[a].from, names[b].from), cmp.Compare(names[a].to, names[b].to))
	})
	r.add(levels[all].series(SendQueue, "count", -1, ""))
	for _, i := range longest {
		r.add(levels[i].series(SendQueue, "count", -1, names[i].String()))
	}
	return nil
}
