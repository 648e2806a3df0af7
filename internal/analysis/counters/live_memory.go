package counters

import (
	"slices"
	"sort"
	"unsafe"

	"github.com/whyslow/whyslow/internal/analysis/counters/steps"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// Memory
//
// What a run takes grows with its events. When it is too much, the older half is coarsened and forgotten.
// Step functions are folded, so that the page keeps the history with less detail. The facts of CFs, DFs and
// messages that are gone are dropped; what they changed stays. If that is not enough, the older three
// quarters go, and so on. This stops at the time up to which all running streams have arrived, unless a
// stream has fallen silent and memory is at one and a half times its bound. The resolution of folded history
// grows with the run. Facts of what is not gone are kept. If they alone are too many, new CFs, DFs and
// messages are left out and counted in Late, so that memory stays bounded whatever arrives.

// Memory is looked at after so many events; sooner if little is free.
const (
	checkSoon  = 1 << 12
	checkLater = 1 << 16
	perEvent   = 512 // bytes that an event takes at most
)

// tooLate tells whether an event at t comes too late to begin something new, and counts it.
func (l *Live) tooLate(t int64) bool {
	if t > l.forgotten && !l.full {
		return false
	}
	l.late++
	return true
}

// Bytes is roughly the memory taken.
func (l *Live) Bytes() int64 {
	n := l.cfByID.bytes() + l.cfs.bytes() + l.cfFacts.bytes() + l.dfs.bytes() +
		l.copies.bytes() + l.dfFacts.bytes() + l.messages.bytes() + int64(len(l.byID)+len(l.byNumber))*24
	for _, s := range l.allSteps() {
		n += s.Bytes()
	}
	for _, x := range l.nodes {
		if x != nil {
			n += x.held.bytes()
		}
	}
	for _, s := range l.queues {
		n += int64(cap(s.list)) * 24
	}
	return n + int64(l.untaken)*24
}

// bytes is the memory of the things in use. Things that were put back are used again before anything grows.
func (a *arena[T]) bytes() int64 {
	var v T
	return a.held() * int64(unsafe.Sizeof(v))
}

func (l *Live) allSteps() (list []*steps.Steps) {
	for q := range l.trees {
		t := &l.trees[q]
		for _, s := range append(t.places, t.whole) {
			if s != nil {
				list = append(list, s)
			}
		}
	}
	return list
}

// Limit changes how much memory may be taken, MaxBytes of the options. What is too much goes at once.
func (l *Live) Limit(bytes int64) {
	if bytes == l.max {
		return
	}
	l.max, l.trimAt, l.full = bytes, bytes, false
	l.trim()
}

// trim keeps memory within its bound.
func (l *Live) trim() {
	size := l.Bytes()
	defer func() { l.checkIn = int(min(max((l.trimAt-size)/perEvent, checkSoon), checkLater)) }()
	if size <= l.trimAt {
		return
	}
	l.refresh()
	from := max(l.start, l.forgotten)
	back := func(target int64, enough int64) {
		for i := 0; i < 5 && size > enough && from < target; i++ {
			// The middle of what is left, without overflow.
			from += int64((uint64(target) - uint64(from) + 1) / 2)
			l.forget(from)
			l.coarsen(from)
			size = l.Bytes()
		}
	}
	back(l.arrived(), l.max*3/4)
	if size > l.max+l.max/2 {
		back(l.newest, l.max)
	}
	// If little can be forgotten, it is not tried again at once.
	l.trimAt = max(l.max, size+l.max/8)
	l.full = size > l.max+l.max/2
}

// arrived is a time, on the common clock, up to which all running streams have arrived.
func (l *Live) arrived() int64 {
	t := l.newest
	for _, n := range l.nodes {
		if n == nil {
			continue
		}
		for _, s := range n.streams {
			if s.finished == none {
				t = min(t, n.clock.common(s.last))
			}
		}
	}
	return t
}

// coarsen folds the step functions up to a time.
func (l *Live) coarsen(until int64) {
	list := l.allSteps()
	// A quarter of the memory is for folded history: so many stretches of each function, six changes each.
	stretches := max(l.max/4/(6*20)/int64(max(len(list), 1)), 16)
	l.fold = max(l.fold, 1<<10)
	for (uint64(until)-uint64(l.start))/uint64(l.fold) > uint64(stretches) && l.fold < 1<<50 {
		l.fold *= 2
	}
	for _, s := range list {
		s.Fold(until, l.fold)
	}
}

// forget drops the facts, up to a time, of CFs, DFs and messages that are gone.
func (l *Live) forget(until int64) {
	l.forgotten = max(l.forgotten, until)
	l.forgetCFs(until)
	l.dfs.each(func(i uint32, d *liveDF) {
		if d.used && l.gone(d, until) {
			l.forgetDF(i, d)
		}
	})
	l.messages.each(func(i uint32, g *liveMessage) {
		if g.used && g.sent.known && g.received.known && g.t <= until {
			delete(l.byNumber, g.id)
			l.messages.put(i)
		}
	})
	for k, s := range l.queues {
		c := &l.nodes[k.node].clock
		i := sort.Search(len(s.list), func(i int) bool { return c.common(s.list[i].t) > until })
		if i > 0 {
			s.base = s.list[i-1].a
			s.list = append([]sample(nil), s.list[i:]...)
		}
	}
	for _, n := range l.nodes {
		if n != nil {
			n.held.tidy()
		}
	}
}

func (l *Live) forgetCFs(until int64) {
	destroyed := l.counts[trace.KindCFDestroyed] > 0
	l.cfs.each(func(k uint32, r *cfRecord) {
		if r.used && r.life.T <= until && r.life.State == model.CFFinished && r.created &&
			(!destroyed || r.destroyed) && l.complete(r) {
			for i := r.facts; i != 0; {
				next := l.cfFacts.at(i).next
				l.cfFacts.put(i)
				i = next
			}
			l.cfByID.set(r.id, 0)
			l.cfs.put(k)
		}
	})
	l.cfByID.tidy()
}

// complete tells whether both ends of all executions and moves of a CF are known.
func (l *Live) complete(r *cfRecord) bool {
	for i := r.facts; i != 0; {
		f := l.cfFacts.at(i)
		if f.what == model.CFStarted && f.end == none {
			return false // its stream still knows it
		}
		i = f.next
	}
	return !slices.ContainsFunc(l.movesOf(r.id, r), func(g model.Message) bool {
		return g.Sent == none || g.Received == none
	})
}

// gone tells whether a DF and all its copies have come and gone by a time.
func (l *Live) gone(d *liveDF, until int64) bool {
	if !d.made || d.t > until || d.ends == 0 && l.counts[trace.KindDFDestroy] > 0 {
		return false
	}
	for i := d.holdings; i != 0; {
		h := l.copies.at(i)
		if h.t > until || h.stored != h.dropped {
			return false
		}
		i = h.next
	}
	return true
}

func (l *Live) forgetDF(i uint32, d *liveDF) {
	facts := func(i uint32) {
		for i != 0 {
			next := l.dfFacts.at(i).next
			l.dfFacts.put(i)
			i = next
		}
	}
	facts(d.gone)
	for k := d.holdings; k != 0; {
		h := l.copies.at(k)
		next := h.next
		facts(h.facts)
		l.nodes[h.node].held.set(h.number, 0)
		l.copies.put(k)
		k = next
	}
	if d.id != 0 {
		delete(l.byID, d.id)
	}
	l.dfs.put(i)
}
