package pattern

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// acquisition is a lock being acquired after another thread had it.
type acquisition struct {
	thread   int
	visit    int32
	asked    int64 // when the operation was entered
	released int64 // when it was released before
	at       int64
}

// acquired looks at who acquired a lock for a hold; false where nobody had it before, or where it is not
// known when it was asked for. Of locks that were acquired together (MPI_Win_lock_all), the one counts that was
// released last.
func (s *search) acquired(l *model.Lock, hold int) (a acquisition, ok bool) {
	ref := l.Holds[hold].Acquired
	e := s.r.LockEvent(ref)
	if e.Link.Thread < 0 || e.Visit < 0 || s.f.metrics[s.class[ref.Thread][e.Visit]].ID != "lock" {
		return a, false
	}
	t := &s.r.Threads[ref.Thread]
	before := s.r.LockEvent(e.Link).Time
	for i := together(t, int(ref.Event)); i < len(t.Locks) && isTogether(&t.Locks[i], e); i++ {
		if o := t.Locks[i].Link; o.Thread >= 0 && i != int(ref.Event) {
			if at := s.r.LockEvent(o).Time; at > before || at == before && i < int(ref.Event) {
				return a, false
			}
		}
	}
	return acquisition{int(ref.Thread), e.Visit, asked(t, int(ref.Event)), before, e.Time}, true
}

// acquisition looks for patterns in a lock being acquired.
func (s *search) acquisition(l *model.Lock, hold int) {
	a, ok := s.acquired(l, hold)
	if !ok || hold == 0 {
		return
	}
	thread, t := a.thread, &s.r.Threads[a.thread]
	for number, p := range patterns {
		if p.acquired == nil {
			continue
		}
		from, to := p.acquired(&a)
		from, to = max(from, a.asked), min(to, a.at)
		metric, call := s.f.pattern[number], int(s.of[thread][a.visit])
		ns := ownTime(t, int(a.visit), from, to)
		if ns <= 0 {
			continue
		}
		if s.own[thread] {
			s.add(metric, call, thread, ns)
		}
		if p.reading != "" {
			continue
		}
		if s.own[thread] {
			s.charge[thread] = append(s.charge[thread], charge{a.visit, int32(metric), from, to, -1})
		}
		s.eachOwner(l.Holds[hold].Acquired, stretch{from, to}, func(owner int, part stretch, again bool) {
			if owner == thread || !s.own[owner] {
				return
			}
			if ns := ownTime(t, int(a.visit), part.from, part.to); ns > 0 {
				s.waited(metric, call, owner, ns, part, again)
			}
		})
	}
}

// isTogether tells whether two locks were acquired at once, by one call.
func isTogether(x, y *model.LockEvent) bool {
	return x.Acquire && y.Acquire && x.Visit == y.Visit && x.Time == y.Time
}

// together is the first of the locks that were acquired at once with one.
func together(t *model.Thread, event int) int {
	for event > 0 && isTogether(&t.Locks[event-1], &t.Locks[event]) {
		event--
	}
	return event
}

// asked is when a thread began to ask for a lock: it entered the operation, or had got another one in it.
func asked(t *model.Thread, event int) int64 {
	e := &t.Locks[event]
	for i := together(t, event) - 1; i >= 0 && t.Locks[i].Visit >= e.Visit; i-- {
		if t.Locks[i].Visit == e.Visit {
			return t.Locks[i].Time
		}
	}
	return t.Enter[e.Visit]
}

// locks sums up what happened to each lock.
func (s *search) locks() []Lock {
	out := make([]Lock, 0, len(s.r.Locks))
	for i := range s.r.Locks {
		out = append(out, s.lock(&s.r.Locks[i]))
	}
	slices.SortStableFunc(out, func(x, y Lock) int {
		return cmp.Or(cmp.Compare(y.WaitNS, x.WaitNS), cmp.Compare(y.HoldNS, x.HoldNS))
	})
	return out
}

func (s *search) lock(l *model.Lock) Lock {
	o := Lock{ID: l.ID, Name: l.Name, File: l.File, Line: l.Line}
	if o.Name == "" {
		o.Name = fmt.Sprintf("%#x", l.ID)
	}
	blocks := map[uint64]int{} // by waiter and owner: index into o.Blocks
	var waits []stretch
	for h, hold := range l.Holds {
		if hold.Acquired.Thread < 0 {
			continue
		}
		o.Acquired++
		e := s.r.LockEvent(hold.Acquired)
		until := s.r.Threads[hold.Acquired.Thread].End
		if hold.Released.Thread >= 0 {
			until = s.r.LockEvent(hold.Released).Time
		}
		o.HoldNS, o.LongestNS = o.HoldNS+until-e.Time, max(o.LongestNS, until-e.Time)
		a, ok := s.acquired(l, h)
		w := stretch{a.asked, min(a.released, a.at)}
		if !ok || w.to <= w.from {
			continue
		}
		o.Contended++
		o.WaitNS += w.to - w.from
		o.HandoverNS += e.Time - w.to
		waits = append(waits, stretch{w.from, e.Time})
		s.eachOwner(hold.Acquired, w, func(owner int, part stretch, again bool) {
			if owner == a.thread {
				return
			}
			key := uint64(a.thread)<<32 | uint64(owner)
			i, ok := blocks[key]
			if !ok {
				i = len(o.Blocks)
				blocks[key] = i
				o.Blocks = append(o.Blocks, Block{Waiter: a.thread, Owner: owner})
			}
			b := &o.Blocks[i]
			b.NS += part.to - part.from
			if !again {
				b.Count++
			}
		})
	}
	o.Chain = mostAtOnce(waits)
	slices.SortFunc(o.Blocks, func(x, y Block) int {
		return cmp.Or(cmp.Compare(y.NS, x.NS), cmp.Compare(x.Waiter, y.Waiter), cmp.Compare(x.Owner, y.Owner))
	})
	return o
}

// eachOwner divides a wait for a lock among those that had it meanwhile, the last one first: each from the
// release before its hold to the end of that. Of those that shared it, that is the one that released it last.
// again: this one had it in a later part of the wait, too.
func (s *search) eachOwner(acquired model.LockRef, w stretch, f func(owner int, part stretch, again bool)) {
	s.owners = s.owners[:0]
	for released := s.r.LockEvent(acquired).Link; released.Thread >= 0 && w.to > w.from; {
		from, before := w.from, model.LockRef{Thread: -1}
		if a := s.r.LockEvent(released).Link; a.Thread >= 0 {
			before = s.r.LockEvent(a).Link
		}
		if before.Thread >= 0 {
			from = max(from, s.r.LockEvent(before).Time)
		}
		if owner := int(released.Thread); from < w.to {
			again := slices.Contains(s.owners, owner)
			if !again {
				s.owners = append(s.owners, owner)
			}
			f(owner, stretch{from, w.to}, again)
			w.to = from
		}
		released = before
	}
}

// mostAtOnce is how many of the stretches, which end in order, overlap at most at one time.
func mostAtOnce(list []stretch) (most int) {
	var starts, ends []int64
	for _, w := range list {
		starts, ends = append(starts, w.from), append(ends, w.to)
	}
	slices.Sort(starts)
	slices.Sort(ends)
	for i, k := 0, 0; i < len(starts); i++ {
		for ends[k] <= starts[i] {
			k++
		}
		most = max(most, i+1-k)
	}
	return most
}
