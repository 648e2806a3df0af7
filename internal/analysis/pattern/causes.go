package pattern

import (
	"cmp"
	"slices"
	"sort"

	"github.com/whyslow/whyslow/internal/procs"
)

// Who caused the waiting? A thread that is waited for may wait itself, for another one, and so on: at every
// moment somebody at the end of such a chain does what all of them wait for. Each nanosecond of waiting is
// that thread's, at the call path in which it was then: the cost of its delay.
//
// Every process follows all chains, and counts what ends at threads of its own.

// awaits is a stretch of a thread's time in which it waits for another one.
type awaits struct {
	From, To int64
	Late     int32
}

type causeKey struct{ Thread, Call int }

// findCauses sums up the costs of delays, of own threads, and how much of the waiting was for threads that
// waited themselves.
func (s *search) findCauses(g procs.Group) error {
	s.caused = map[causeKey]int64{}
	if !s.m.MPI() { // threads of PGAS programs wait in collectives only, whose last member does not wait
		return nil
	}
	own := make([][]awaits, len(s.r.Threads))
	for i, list := range s.charge {
		for _, x := range list {
			if s.own[i] && x.late >= 0 && int(x.late) != i {
				own[i] = append(own[i], awaits{x.from, x.to, x.late})
			}
		}
		slices.SortStableFunc(own[i], func(x, y awaits) int { return cmp.Compare(x.From, y.From) })
	}
	told, err := procs.AllOf(g, own)
	if err != nil {
		return err
	}
	all := make([][]awaits, len(own))
	for i := range all {
		all[i] = told[s.m.Owner(s.r.Threads[i].Node)][i]
	}
	var follow func(thread int, in stretch, depth int)
	follow = func(thread int, in stretch, depth int) {
		end := func(until int64) {
			if s.own[thread] && in.from < until {
				eachVisitIn(&s.r.Threads[thread], stretch{in.from, until}, func(v int32, from, to int64) {
					s.caused[causeKey{thread, int(s.callOf(thread, v))}] += to - from
				})
			}
			in.from = max(in.from, until)
		}
		list := all[thread]
		for k := sort.Search(len(list), func(k int) bool { return list[k].To > in.from }); k < len(list) &&
			list[k].From < in.to && depth < len(all); k++ {
			from, to := max(in.from, list[k].From), min(in.to, list[k].To)
			if from >= to {
				continue
			}
			end(from)
			s.chained += to - from
			follow(int(list[k].Late), stretch{from, to}, depth+1)
			in.from = to
		}
		end(in.to)
	}
	for i := range all {
		for _, x := range all[i] {
			follow(int(x.Late), stretch{x.From, x.To}, 0)
		}
	}
	return nil
}

// causes are the costs of all delays.
func (s *search) causes() []Cause {
	out := make([]Cause, 0, len(s.caused))
	for k, ns := range s.caused {
		out = append(out, Cause{Thread: k.Thread, Call: k.Call, NS: ns})
	}
	slices.SortFunc(out, func(x, y Cause) int {
		return cmp.Or(cmp.Compare(y.NS, x.NS), cmp.Compare(x.Thread, y.Thread), cmp.Compare(x.Call, y.Call))
	})
	return out
}
