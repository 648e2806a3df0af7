package pattern

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
)

// pattern is a way in which time is lost.
type pattern struct {
	id, name string
	number   int    // in docs/pgas.md, 1 to 12; 0: none of these
	parent   string // the metric it is a part of, "" of readings
	reading  string // the metric it is another definition of
	doc      string

	// Of patterns in collectives: when tells which instances it looks at, and lost which stretch of a
	// member's time in one is lost, and for which member it waited (-1: for nobody in particular). The
	// stretch may be empty (to <= from), and is clipped to the operation.
	when func(in *instance) bool
	lost func(in *instance, member int) (from, to int64, late int)
	// Of patterns in acquisitions of locks: the stretch that is lost, of the time before the thread had the
	// lock.
	acquired func(a *acquisition) (from, to int64)
	// beyondUsual, of readings: only what is more than the least there ever was at the same call path with as
	// many bytes. With rest, the stretch is all that no pattern explains.
	beyondUsual, rest bool
}

// patterns are all there are; parts of others follow them.
var patterns = []*pattern{
	&waitAtBarrier, &barrierCompletion, &lockContention, &waitAtAlloc, &allocRootLate, &allocOtherLate,
	&lateBroadcast, &earlyReduce, &earlyPrefix, &waitAtNxN, &nxnCompletion, &syncOnEntry, &syncOnExit,
	&waitInside,
	&waitAtStartEnd,
	&barrierCompletionFirst, &syncOnExitDuration, &waitInsideAll, &waitInsideResidual,
}

// acquisition is a lock being acquired after another thread had it.
type acquisition struct {
	asked    int64 // when the operation was entered
	released int64 // when it was released before
	at       int64
}

// search goes through all that patterns start from, in the order of time.
type search struct {
	m         *model.Model
	r         *model.Regions
	res       *Result
	f         *forest
	rows      []map[int]*Row // by metric, then call path
	charge    [][]charge     // by thread
	late      map[lateKey]*lateSum
	usual     map[usualKey]*usualCost
	sums      map[collectiveKey]*Collective
	transfers map[int32]*Transfer // by call path
	in        instance
	owners    []int   // of a lock, in the wait at hand
	spent     []int64 // of the instance at hand, by member: what patterns explain
	// by thread: it is here as a whole, and what it did is for this process to sum up; else it is a shadow
	own []bool
	*calls
}

// charge is a stretch of a visit that a pattern explains.
type charge struct {
	visit    int32
	metric   int32
	from, to int64
}

func (s *search) add(metric, call, thread int, v int64) {
	if v == 0 {
		return
	}
	for _, k := range s.f.up[metric] {
		s.row(k, call).Values[thread] += v
	}
}

func (s *search) row(metric, call int) *Row {
	row := s.rows[metric][call]
	if row == nil {
		row = &Row{Call: call, Values: make([]int64, len(s.r.Threads))}
		s.rows[metric][call] = row
	}
	return row
}

// run looks at every collective when its last member leaves it, and at every acquisition of a lock.
func (s *search) run() {
	type event struct {
		t    int64
		lock *model.Lock
		hold int
	}
	var locks []event
	for i := range s.r.Locks {
		l := &s.r.Locks[i]
		for h := range l.Holds {
			if a := l.Holds[h].Acquired; a.Thread >= 0 {
				locks = append(locks, event{s.r.LockEvent(a).Time, l, h})
			}
		}
	}
	slices.SortStableFunc(locks, func(x, y event) int { return cmp.Compare(x.t, y.t) })
	next := 0
	for i := range s.r.Instances {
		s.in.load(s.r, i)
		for end := maxOf(s.in.left); next < len(locks) && locks[next].t <= end; next++ {
			s.acquisition(locks[next].lock, locks[next].hold)
		}
		s.instance()
	}
	for ; next < len(locks); next++ {
		s.acquisition(locks[next].lock, locks[next].hold)
	}
}

func maxOf(list []int64) int64 {
	most := list[0]
	for _, v := range list {
		most = max(most, v)
	}
	return most
}

func (s *search) instance() {
	in := &s.in
	if !slices.ContainsFunc(in.members, func(e model.Member) bool { return s.own[e.Thread] }) {
		return
	}
	s.spent = append(s.spent[:0], make([]int64, len(in.members))...)
	c := s.collective(in)
	for number, p := range patterns {
		if p.acquired != nil || p.when == nil || !p.when(in) {
			continue
		}
		metric := s.f.index[p.id]
		for k, e := range in.members {
			thread, visit := int(e.Thread), s.r.Record(e).Visit
			t := &s.r.Threads[thread]
			var from, to int64
			late := -1
			if !p.rest {
				from, to, late = p.lost(in, k)
				from, to = max(from, in.begun[k]), min(to, in.left[k])
			}
			waited := late >= 0 && late != k && p.reading == "" && s.own[in.members[late].Thread]
			if !s.own[thread] && !waited {
				continue
			}
			ns := ownTime(t, int(visit), from, to)
			if p.rest {
				ns = ownTime(t, int(visit), in.begun[k], in.left[k]) - s.spent[k]
			}
			call := int(s.of[thread][visit])
			if p.beyondUsual {
				s.seeUsual(number, metric, thread, call, s.r.Record(e), ns)
				continue
			}
			if ns <= 0 {
				continue
			}
			if s.own[thread] {
				s.add(metric, call, thread, ns)
				if p.reading != "" {
					continue
				}
				s.spent[k] += ns
				s.charge[thread] = append(s.charge[thread], charge{visit, int32(metric), from, to})
				c.see(p, ns)
			}
			if waited {
				s.waited(metric, call, int(in.members[late].Thread), ns,
					stretch{s.previous(in, late), in.entered[late]},
					false)
			}
		}
	}
}

// previous is when a member of an instance left the collective before it, or else when it started.
func (s *search) previous(in *instance, k int) int64 {
	e := in.members[k]
	t, c := &s.r.Threads[e.Thread], s.r.Record(e)
	i := e.Record
	if c.Notify >= 0 {
		i = c.Notify
	}
	for i--; i >= 0; i-- {
		if b := &t.Collectives[i]; b.Instance >= 0 && b.Kind != model.CollectiveNotify {
			return t.Exit[b.Visit]
		}
	}
	return t.Start
}

type usualKey struct {
	Pattern, Call int
	Bytes         int64
}

// usualCost is the amounts of a reading at one call path with as many bytes.
type usualCost struct {
	metric int
	least  int64
	sum    map[int]int64 // by thread
	count  map[int]int64
}

func (s *search) seeUsual(number, metric, thread, call int, c *model.Collective, ns int64) {
	key := usualKey{number, call, c.Sent + c.Received}
	u := s.usual[key]
	if u == nil {
		u = &usualCost{metric: metric, least: ns, sum: map[int]int64{}, count: map[int]int64{}}
		s.usual[key] = u
	}
	u.least = min(u.least, ns)
	u.sum[thread] += ns
	u.count[thread]++
}

// settleUsual adds up the readings, when it is known of how little any thread ever needed.
func (s *search) settleUsual(g procs.Group) error {
	if g.Size() > 1 {
		if err := s.shareUsual(g); err != nil {
			return err
		}
	}
	for key, u := range s.usual {
		for thread, sum := range u.sum {
			s.add(u.metric, key.Call, thread, sum-u.count[thread]*u.least)
		}
	}
	return nil
}
