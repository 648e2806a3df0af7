package pattern

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// stretch is a stretch of time.
type stretch struct{ from, to int64 }

type lateKey struct{ Metric, Call, Thread int }

type lateSum struct {
	NS, Count int64
	Work      int64           // see Late.WorkNS
	Left      int64           // see Late.LeftNS
	Doing     map[int32]int64 // by call path: what the late thread did meanwhile, in nanoseconds
	seen      stretch         // the last one whose doings are in the sum
}

// mostDoings is how many call paths of a late thread are kept.
const mostDoings = 10

// waited notes that others waited for a thread, and what it did meanwhile; again: the wait is counted
// already.
func (s *search) waited(metric, call, thread int, ns int64, during stretch, again bool) *lateSum {
	key := lateKey{metric, call, thread}
	l := s.late[key]
	if l == nil {
		l = &lateSum{Doing: map[int32]int64{}}
		s.late[key] = l
	}
	l.NS += ns
	if l.seen == during {
		return l // another one waits for the same
	}
	l.seen = during
	if !again {
		l.Count++
	}
	eachVisitIn(&s.r.Threads[thread], during, func(v int32, from, to int64) {
		l.Doing[s.callOf(thread, v)] += to - from
	})
	return l
}

// awaitedBy is a wait in the instance at hand.
type awaitedBy struct {
	metric, call, late, member int
	ns                         int64
	until                      int64 // when the late one came
}

// settleWaits notes who was waited for in an instance, and how much of it less work of that thread could
// save: not what it was late by when it left the collective before, and not more than it worked since.
func (s *search) settleWaits(in *instance) {
	s.left = s.left[:0]
	for range in.members {
		s.left = append(s.left, -1)
	}
	for _, w := range s.waits {
		thread := int(in.members[w.late].Thread)
		before := s.previous(in, w.late)
		during := stretch{before.at, w.until}
		left := &s.left[w.late]
		if *left < 0 {
			*left = s.worked(thread, during) * int64(len(in.members)-1)
		}
		l := s.waited(w.metric, w.call, thread, w.ns, during, false)
		behind := s.leftLate(before, in.members[w.member].Thread, w.ns)
		work := min(w.ns-behind, *left)
		*left -= work
		l.Work, l.Left = l.Work+work, l.Left+behind
	}
}

// worked is how long a thread ran the program or moved data in a stretch, and did not wait.
func (s *search) worked(thread int, in stretch) (ns int64) {
	waits, message := s.f.index["synchronisation"], uint8(s.f.index["message"])
	eachVisitIn(&s.r.Threads[thread], in, func(v int32, from, to int64) {
		switch {
		case v >= 0 && s.class[thread][v] == message:
			ns += to - from - s.messageWait(thread, v, from, to)
		case v < 0 || s.f.metrics[s.class[thread][v]].Parent != waits:
			ns += to - from
		}
	})
	return ns
}

// noCore is how much later than another one a thread must leave a collective to have had no core for it. ns.
const noCore = 100_000

// leftLate is how much of a wait there was because the late thread had left the collective before later than
// the one that waits.
func (s *search) leftLate(before departure, waiting int32, ns int64) int64 {
	if before.instance < 0 {
		return 0
	}
	for _, e := range s.r.MembersOf(int(before.instance)) {
		if e.Thread == waiting {
			behind := before.at - s.r.Left(e)
			if behind <= noCore {
				return 0
			}
			return min(behind, ns)
		}
	}
	return 0
}

// eachVisitIn divides a stretch of a thread's time, in order, among the visits that it was in, without those
// inside of them; -1 stands for none.
func eachVisitIn(t *model.Thread, in stretch, f func(visit int32, from, to int64)) {
	in.from, in.to = max(in.from, t.Start), min(in.to, t.End)
	next, _ := slices.BinarySearch(t.Enter, in.from)
	cur, at := int32(next)-1, in.from
	until := func(to int64) {
		if at < to {
			f(cur, at, to)
			at = to
		}
	}
	leave := func(to int64) { // goes up to what is open then
		for cur >= 0 && t.Exit[cur] <= to {
			until(t.Exit[cur])
			cur = t.Parent[cur]
		}
		until(to)
	}
	leave(in.from)
	for ; next < len(t.Enter) && t.Enter[next] < in.to; next++ {
		leave(t.Enter[next])
		cur = int32(next)
	}
	leave(in.to)
}

func (s *search) lateList() (out []Late) {
	for k, l := range s.late {
		v := Late{Metric: k.Metric, Call: k.Call, Thread: k.Thread, NS: l.NS, Count: l.Count, WorkNS: l.Work,
			LeftNS: l.Left}
		for call, ns := range l.Doing {
			v.Doing = append(v.Doing, Doing{int(call), ns})
		}
		slices.SortFunc(v.Doing, func(x, y Doing) int {
			return cmp.Or(cmp.Compare(y.NS, x.NS), cmp.Compare(x.Call, y.Call))
		})
		v.Doing = v.Doing[:min(len(v.Doing), mostDoings)]
		out = append(out, v)
	}
	slices.SortFunc(out, func(x, y Late) int {
		return cmp.Or(cmp.Compare(y.NS, x.NS), cmp.Compare(x.Metric, y.Metric), cmp.Compare(x.Call, y.Call),
			cmp.Compare(x.Thread, y.Thread))
	})
	return out
}
