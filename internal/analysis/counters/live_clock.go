package counters

import (
	"cmp"
	"slices"
	"sort"

	"github.com/whyslow/whyslow/internal/model"
)

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

// clock moves the times of a node to the common clock as package model does: by the offset interpolated
// between the measurements before and after.
type clock struct {
	syncs []model.ClockSync
	back  bool // some later times are earlier ones on the common clock: measurements make no sense
}

func (c *clock) common(t int64) int64 { return model.Common(t, c.syncs) }

// with adds measurements. It gives the new clock and the node's own time since which times differ; ok is
// false if none do.
func (c *clock) with(more []model.ClockSync) (next clock, since int64, ok bool) {
	next.syncs = slices.Clone(c.syncs)
	since = maxTime
	for _, s := range more {
		i := sort.Search(len(next.syncs), func(i int) bool { return next.syncs[i].Time > s.Time })
		before, after := int64(0), int64(0)
		switch {
		case len(next.syncs) == 0:
		case i == 0:
			before, after = next.syncs[0].Offset, next.syncs[0].Offset
		case i == len(next.syncs):
			before, after = next.syncs[i-1].Offset, next.syncs[i-1].Offset
		default:
			before, after = next.syncs[i-1].Offset, next.syncs[i].Offset
		}
		if before != s.Offset || after != s.Offset {
			ok = true
			if i == 0 {
				since = none
			} else {
				since = min(since, next.syncs[i-1].Time)
			}
		}
		next.syncs = slices.Insert(next.syncs, i, s)
	}
	next.back = !slices.IsSortedFunc(next.syncs,
		func(x, y model.ClockSync) int { return cmp.Compare(x.Time+x.Offset, y.Time+y.Offset) })
	if c.back || next.back {
		since = none // times are in another order; they may have been anywhere
	}
	return next, since, ok
}

const maxTime = 1<<63 - 1
