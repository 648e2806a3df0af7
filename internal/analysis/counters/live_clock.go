package counters

import "sort"

// affected are the owners of facts that a change of clocks moves.
type affected struct {
	since    int64
	cfs      []uint64
	holdings []uint32
	dfs      []uint32
	messages []uint32
	queues   map[queueKey]int // from that sample on
	relation map[int]int      // likewise, by node
}

// setClocks applies new measurements of clocks: facts after them are taken back and put in again.
func (l *Live) setClocks() {
	since := int64(maxTime)
	next := make([]clock, len(l.nodes))
	changed := false
	for i, n := range l.nodes {
		if n == nil {
			continue
		}
		next[i] = n.clock
		if len(n.syncs) == 0 {
			continue
		}
		c, from, ok := n.clock.with(n.syncs)
		n.syncs = nil
		next[i] = c
		if ok {
			since, changed = min(since, from), true
		} else {
			n.clock = c
		}
	}
	if !changed {
		return
	}
	if l.forgotten != none && since <= l.forgotten {
		l.late++
	}
	a := l.since(since)
	l.emitAll(a, -1)
	for i, n := range l.nodes {
		if n != nil {
			n.clock = next[i]
		}
	}
	l.emitAll(a, 1)
	for _, n := range l.nodes {
		if n != nil {
			for _, s := range n.streams {
				l.newest = max(l.newest, n.clock.common(s.last))
			}
		}
	}
}

// since finds the owners of facts at or after a time.
func (l *Live) since(since int64) *affected {
	a := &affected{since: since, queues: map[queueKey]int{}, relation: map[int]int{}}
	l.cfs.each(func(id uint64, r *cfRecord) {
		if r.life.T >= since || id == 0 {
			a.cfs = append(a.cfs, id)
		}
	})
	l.copies.each(func(i uint32, h *holding) {
		// Which size a copy has may depend on the times of the DF's creations.
		if d := l.dfs; h.used && (h.t >= since || len(d.at(h.df).more) > 0) {
			a.holdings = append(a.holdings, i)
		}
	})
	l.dfs.each(func(i uint32, d *liveDF) {
		if d.used && d.t >= since {
			a.dfs = append(a.dfs, i)
		}
	})
	l.messages.each(func(i uint32, g *liveMessage) {
		if g.used && g.t >= since {
			a.messages = append(a.messages, i)
		}
	})
	from := func(c *clock, s *samples) int {
		if since == none {
			return 0
		}
		return sort.Search(len(s.list), func(i int) bool { return c.common(s.list[i].t) >= since })
	}
	for k, s := range l.queues {
		a.queues[k] = from(&l.nodes[k.node].clock, s)
	}
	for i, n := range l.nodes {
		if n != nil {
			a.relation[i] = from(&n.clock, &n.relation)
		}
	}
	return a
}

// emitAll takes everything affected back, or puts it in again.
func (l *Live) emitAll(a *affected, sign int64) {
	for _, id := range a.cfs {
		r := l.cfs.find(id)
		l.emitLife(id, r, sign)
		l.emitMoves(id, r, l.history.killed, sign)
		l.apply()
	}
	for _, i := range a.holdings {
		h := l.copies.at(i)
		l.emitHolding(h, l.dfs.at(h.df), sign)
		l.apply()
	}
	for _, i := range a.dfs {
		l.emitDF(l.dfs.at(i), sign)
		l.apply()
	}
	for _, i := range a.messages {
		l.emitMessage(l.messages.at(i), l.history.killed, sign)
		l.apply()
	}
	for k, i := range a.queues {
		s := l.queues[k]
		l.emitQueue(k, s, i, len(s.list), sign)
		l.apply()
	}
	for node, i := range a.relation {
		s := &l.nodes[node].relation
		l.emitRelations(int32(node), s, i, len(s.list), sign)
		l.apply()
	}
}

// killedChanged puts in again what depends on whether the run was killed: messages that were sent and not
// received.
func (l *Live) killedChanged(was bool) {
	is := l.history.killed
	l.messages.each(func(_ uint32, g *liveMessage) {
		if g.isSent && !g.isReceived {
			l.emitMessage(g, was, -1)
			l.emitMessage(g, is, 1)
			l.apply()
		}
	})
	l.cfs.each(func(id uint64, r *cfRecord) {
		if r.flags&cfMoved != 0 {
			l.emitMoves(id, r, was, -1)
			l.emitMoves(id, r, is, 1)
			l.apply()
		}
	})
}
