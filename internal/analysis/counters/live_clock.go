package counters

import "sort"

// setClocks applies new measurements of clocks: facts after them are taken back and put in again.
func (l *Live) setClocks() {
	type newClock struct {
		clock
		since int64 // on the node's own clock
	}
	next, since := map[int32]newClock{}, int64(maxTime)
	for i, n := range l.nodes {
		if n == nil || len(n.syncs) == 0 {
			continue
		}
		c, t, ok := n.clock.with(n.syncs)
		n.syncs = nil
		if ok {
			next[int32(i)] = newClock{c, t}
			since = min(since, n.clock.common(t))
		} else {
			n.clock = c
		}
	}
	if len(next) == 0 {
		return
	}
	if l.forgotten != none && since <= l.forgotten {
		l.late++
	}
	emit := func(sign int64) {
		l.emitSince(since, sign)
		for k, s := range l.queues {
			if c, ok := next[k.node]; ok {
				i := sort.Search(len(s.list), func(i int) bool { return s.list[i].t >= c.since })
				l.emitSamples(k, s, i, len(s.list), sign)
				l.apply()
			}
		}
	}
	emit(-1)
	for i, c := range next {
		l.nodes[i].clock = c.clock
	}
	emit(1)
	for _, n := range l.nodes {
		if n != nil {
			for _, s := range n.streams {
				l.newest = max(l.newest, n.clock.common(s.last))
			}
		}
	}
}

// emitSince tells what the owners of facts at or after a time change.
func (l *Live) emitSince(since, sign int64) {
	l.cfs.each(func(_ uint32, r *cfRecord) {
		if r.used && (r.life.T >= since || r.id == 0) {
			l.emitLife(r.id, r, sign)
			l.emitMoves(r.id, r, l.killed, sign)
			l.apply()
		}
	})
	l.copies.each(func(_ uint32, h *holding) {
		// Which size a copy has may depend on the times of the DF's creations.
		if d := l.dfs.at(max(h.df, 1)); h.used && (h.t >= since || len(d.more) > 0) {
			l.emitHolding(h, d, sign)
			l.apply()
		}
	})
	l.dfs.each(func(_ uint32, d *liveDF) {
		if d.used && d.t >= since {
			l.emitDF(d, sign)
			l.apply()
		}
	})
	l.messages.each(func(_ uint32, g *liveMessage) {
		if g.used && g.t >= since {
			l.emitMessage(g, l.killed, sign)
			l.apply()
		}
	})
}

// killedChanged puts in again what depends on whether the run was killed: messages that were sent and not
// received.
func (l *Live) killedChanged(was bool) {
	is := l.killed
	l.messages.each(func(_ uint32, g *liveMessage) {
		if g.sent.known && !g.received.known {
			l.emitMessage(g, was, -1)
			l.emitMessage(g, is, 1)
			l.apply()
		}
	})
	l.cfs.each(func(_ uint32, r *cfRecord) {
		if r.moved {
			l.emitMoves(r.id, r, was, -1)
			l.emitMoves(r.id, r, is, 1)
			l.apply()
		}
	})
}
