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
	Doing     map[int32]int64 // by call path: what the late thread did meanwhile, in nanoseconds
	seen      stretch         // the last one whose doings are in the sum
}

// mostDoings is how many call paths of a late thread are kept.
const mostDoings = 10

// waited notes that others waited for a thread, and what it did meanwhile; again: the wait is counted
// already.
func (s *search) waited(metric, call, thread int, ns int64, during stretch, again bool) {
	key := lateKey{metric, call, thread}
	l := s.late[key]
	if l == nil {
		l = &lateSum{Doing: map[int32]int64{}}
		s.late[key] = l
	}
	l.NS += ns
	if l.seen == during {
		return // another one waits for the same
	}
	l.seen = during
	if !again {
		l.Count++
	}
	eachVisitIn(&s.r.Threads[thread], during, func(v int32, from, to int64) {
		l.Doing[s.callOf(thread, v)] += to - from
	})
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
		v := Late{Metric: k.Metric, Call: k.Call, Thread: k.Thread, NS: l.NS, Count: l.Count}
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
