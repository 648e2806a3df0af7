package pattern

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// acquisition looks at a lock being acquired.
func (s *search) acquisition(l *model.Lock, hold int) {
	ref := l.Holds[hold].Acquired
	e := s.r.LockEvent(ref)
	if hold == 0 || e.Link.Thread < 0 || e.Visit < 0 {
		return
	}
	thread := int(ref.Thread)
	t := &s.r.Threads[thread]
	if s.f.metrics[s.class[thread][e.Visit]].ID != "lock" {
		return // it says nothing about when the lock was asked for
	}
	a := acquisition{asked: asked(t, int(ref.Event)), released: s.r.LockEvent(e.Link).Time, at: e.Time}
	for _, p := range patterns {
		if p.acquired == nil {
			continue
		}
		from, to := p.acquired(&a)
		from, to = max(from, a.asked), min(to, a.at)
		metric, call := s.f.index[p.id], int(s.of[thread][e.Visit])
		ns := ownTime(t, int(e.Visit), from, to)
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
			s.charge[thread] = append(s.charge[thread], charge{e.Visit, int32(metric), from, to})
		}
		s.eachOwner(l, hold, stretch{from, to}, func(owner int, part stretch, again bool) {
			if owner == thread || !s.own[owner] {
				return
			}
			if ns := ownTime(t, int(e.Visit), part.from, part.to); ns > 0 {
				s.waited(metric, call, owner, ns, part, again)
			}
		})
	}
}

// asked is when a thread began to ask for a lock: it entered the operation, or had got another one in it.
func asked(t *model.Thread, event int) int64 {
	e := &t.Locks[event]
	for i := event - 1; i >= 0 && t.Locks[i].Visit >= e.Visit; i-- {
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
	blocks := map[uint64]*Block{} // by waiter and owner
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
		w, ok := s.lockWait(l, h)
		if !ok {
			continue
		}
		o.Contended++
		o.WaitNS += w.to - w.from
		o.HandoverNS += e.Time - w.to
		waits = append(waits, stretch{w.from, e.Time})
		waiter := int(hold.Acquired.Thread)
		s.eachOwner(l, h, w, func(owner int, part stretch, again bool) {
			if owner == waiter {
				return
			}
			key := uint64(waiter)<<32 | uint64(owner)
			k := blocks[key]
			if k == nil {
				k = &Block{Waiter: waiter, Owner: owner}
				blocks[key] = k
			}
			k.NS += part.to - part.from
			if !again {
				k.Count++
			}
		})
	}
	o.Chain = mostAtOnce(waits)
	for _, b := range blocks {
		o.Blocks = append(o.Blocks, *b)
	}
	slices.SortFunc(o.Blocks, func(x, y Block) int {
		return cmp.Or(cmp.Compare(y.NS, x.NS), cmp.Compare(x.Waiter, y.Waiter), cmp.Compare(x.Owner, y.Owner))
	})
	return o
}

// eachOwner divides a wait, which the hold of a lock ended, among those that had the lock meanwhile: each
// from the release before its own hold to the end of that, the last one first. again tells that this one had
// it in a later part of the wait, too.
func (s *search) eachOwner(l *model.Lock, hold int, w stretch, f func(owner int, part stretch, again bool)) {
	s.owners = s.owners[:0]
	for b := hold - 1; b >= 0 && w.to > w.from; b-- {
		from := w.from
		if b > 0 {
			if r := l.Holds[b-1].Released; r.Thread >= 0 {
				from = max(from, s.r.LockEvent(r).Time)
			}
		}
		owner := int(max(l.Holds[b].Acquired.Thread, l.Holds[b].Released.Thread))
		if from < w.to {
			again := slices.Contains(s.owners, owner)
			if !again {
				s.owners = append(s.owners, owner)
			}
			f(owner, stretch{from, w.to}, again)
			w.to = from
		}
	}
}

// lockWait is the stretch in which the hold of a lock was asked for while another thread had it.
func (s *search) lockWait(l *model.Lock, hold int) (stretch, bool) {
	ref := l.Holds[hold].Acquired
	e := s.r.LockEvent(ref)
	if e.Link.Thread < 0 || e.Visit < 0 || s.f.metrics[s.class[ref.Thread][e.Visit]].ID != "lock" {
		return stretch{}, false
	}
	w := stretch{asked(&s.r.Threads[ref.Thread], int(ref.Event)), min(s.r.LockEvent(e.Link).Time, e.Time)}
	return w, w.to > w.from
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
