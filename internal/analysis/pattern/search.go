package pattern

import (
	"cmp"
	"math"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
)

// search is a search in progress.
type search struct {
	m         *model.Model
	r         *model.Regions
	res       *Result
	f         *forest
	rows      []map[int]*Row // by metric, then call path
	charge    [][]charge     // by thread
	stalls    [][]charge     // by thread: of them those in messages, of all threads, in order
	late      map[lateKey]*lateSum
	usual     map[usualKey]*usualCost
	sums      map[collectiveKey]Collective
	transfers map[int32]Transfer // by call path
	sent      map[int32]Message  // likewise
	caused    map[causeKey]int64
	chained   int64 // see Result.ChainedNS
	in        instance
	owners    []int // of a lock, in the wait at hand
	// of the instance at hand
	spent []int64 // by member: what patterns explain
	waits []awaitedBy
	left  []int64 // by member: what settleWaits may still save of its work, -1: not known
	// by thread: it is here as a whole, and what it did is for this process to sum up; else it is a shadow
	own []bool
	*calls
}

// charge is a stretch of a visit that a pattern explains.
type charge struct {
	visit    int32
	metric   int32
	from, to int64
	late     int32 // the thread that was waited for; -1: none in particular
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

// run looks at every message, then at every acquisition of a lock, in order of time, and at every collective.
func (s *search) run() {
	s.messages()
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
	acquire := func(until int64) { // in the order of time, or nearly so, charges take less time to sort
		for ; len(locks) > 0 && locks[0].t <= until; locks = locks[1:] {
			s.acquisition(locks[0].lock, locks[0].hold)
		}
	}
	for i := range s.r.Instances {
		s.in.load(s.r, i)
		acquire(slices.Max(s.in.left))
		s.instance()
	}
	acquire(math.MaxInt64)
}

func (s *search) instance() {
	in := &s.in
	if !slices.ContainsFunc(in.members, func(e model.Member) bool { return s.own[e.Thread] }) {
		return
	}
	s.spent = append(s.spent[:0], make([]int64, len(in.members))...)
	key, c := s.collective(in)
	s.waits = s.waits[:0]
	for number, p := range patterns {
		if p.acquired != nil || p.when == nil || !p.when(in) {
			continue
		}
		metric := s.f.pattern[number]
		for k, e := range in.members {
			thread, visit := int(e.Thread), s.r.Record(e).End()
			if in.nonBlocking && !s.waitsFor(e) {
				continue
			}
			t := &s.r.Threads[thread]
			from, to, late := in.begun[k], in.left[k], -1
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
				ns -= s.spent[k]
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
				lateThread := int32(-1)
				if late >= 0 && late != k {
					lateThread = in.members[late].Thread
				}
				s.charge[thread] = append(s.charge[thread], charge{visit, int32(metric), from, to, lateThread})
				c.see(p, ns)
			}
			if waited {
				s.waits = append(s.waits, awaitedBy{metric, call, late, k, ns, max(to, in.entered[late])})
			}
		}
	}
	s.settleWaits(in)
	s.sums[key] = s.sums[key].plus(c)
}

// departure is when a thread left an instance of a collective; -1: it started then.
type departure struct {
	at       int64
	instance int32
}

// previous is when a member of an instance left the collective before it, or else started.
func (s *search) previous(in *instance, k int) departure {
	e := in.members[k]
	t, c := &s.r.Threads[e.Thread], s.r.Record(e)
	i := e.Record
	if c.Notify >= 0 {
		i = c.Notify
	}
	for i--; i >= 0; i-- {
		b := &t.Collectives[i]
		if b.Instance >= 0 && b.Kind != model.CollectiveNotify && t.Exit[b.End()] <= t.Enter[c.Visit] {
			return departure{t.Exit[b.End()], b.Instance}
		}
	}
	return departure{t.Start, -1}
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

// settleUsual adds up the readings, when the processes have told each other of how little any thread ever
// needed.
func (s *search) settleUsual(g procs.Group) error {
	own := map[usualKey]int64{}
	for k, u := range s.usual {
		own[k] = u.least
	}
	all, err := procs.AllOf(g, own)
	for _, theirs := range all {
		for k, least := range theirs {
			if u := s.usual[k]; u != nil {
				u.least = min(u.least, least)
			}
		}
	}
	for key, u := range s.usual {
		for thread, sum := range u.sum {
			s.add(u.metric, key.Call, thread, sum-u.count[thread]*u.least)
		}
	}
	return err
}

// A search by several processes. Each goes through all collectives and locks, and sums up what threads of its
// nodes lost and did, and what others lost because of them. The processes tell each other call paths
// (calls.go), how long an operation usually takes, and the sums.

// searchShare is what a process found out about its threads.
type searchShare struct {
	Threads     []Thread
	Rows        []metricRow
	Late        map[lateKey]*lateSum
	Collectives map[collectiveKey]Collective
	Transfers   map[int32]Transfer
	Messages    map[int32]Message
	Caused      map[causeKey]int64
}

// metricRow is a row of the metric with that number, of the threads of one process.
type metricRow struct {
	Metric int
	Row
}

func (s *search) share() searchShare {
	w := searchShare{Threads: s.res.Threads, Late: s.late, Collectives: s.sums, Transfers: s.transfers,
		Messages: s.sent, Caused: s.caused}
	for i, rows := range s.rows {
		for _, row := range rows {
			own := metricRow{i, Row{Call: row.Call}}
			for thread, v := range row.Values {
				if s.own[thread] {
					own.Values = append(own.Values, v)
				}
			}
			w.Rows = append(w.Rows, own)
		}
	}
	return w
}

// gather brings the sums of all processes to the first.
func (s *search) gather(g procs.Group) error {
	threads := make([]Thread, len(s.r.Threads))
	of := make([][]int, g.Size()) // by process: its threads
	for i := range threads {
		k := s.m.Owner(s.r.Threads[i].Node)
		of[k] = append(of[k], i)
	}
	place := func(rank int, list []Thread) {
		for n, i := range of[rank] {
			threads[i] = list[n]
		}
	}
	place(g.Rank(), s.res.Threads)
	err := procs.Collect(g, s.share, func(rank int, w *searchShare) error {
		place(rank, w.Threads)
		s.join(w, of[rank])
		return nil
	})
	if g.Rank() == 0 {
		s.res.Threads = threads
	}
	return err
}

// join adds the sums of other threads.
func (s *search) join(w *searchShare, threads []int) {
	for _, v := range w.Rows {
		row := s.row(v.Metric, v.Call)
		for n, i := range threads {
			row.Values[i] = v.Values[n]
		}
	}
	for k, l := range w.Late {
		s.late[k] = l // all waits for a thread are known where it is
	}
	for k, c := range w.Collectives {
		s.sums[k] = s.sums[k].plus(c)
	}
	for call, v := range w.Transfers {
		s.transfers[call] = s.transfers[call].plus(v)
	}
	for k, ns := range w.Caused {
		s.caused[k] += ns
	}
	for call, v := range w.Messages {
		s.sent[call] = s.sent[call].plus(v)
	}
}

// plus adds up what is known of a collective at a call path.
func (c Collective) plus(o Collective) Collective {
	c.Count, c.Bytes, c.NS = c.Count+o.Count, c.Bytes+o.Bytes, c.NS+o.NS
	c.EntryNS, c.AllSyncNS, c.ExitNS = c.EntryNS+o.EntryNS, c.AllSyncNS+o.AllSyncNS, c.ExitNS+o.ExitNS
	c.AfterBarrier, c.BetweenNS = c.AfterBarrier+o.AfterBarrier, max(c.BetweenNS, o.BetweenNS)
	c.Follows, c.Precedes = c.Follows+o.Follows, c.Precedes+o.Precedes
	c.FollowsNS = max(c.FollowsNS, o.FollowsNS)
	c.AheadNS, c.HideNS = c.AheadNS+o.AheadNS, c.HideNS+o.HideNS
	return c
}
