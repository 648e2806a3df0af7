package pattern

import "github.com/whyslow/whyslow/internal/procs"

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
}

// metricRow is a row of the metric with that number, of the threads of one process.
type metricRow struct {
	Metric int
	Row
}

func (s *search) share() searchShare {
	w := searchShare{Threads: s.res.Threads, Late: s.late, Collectives: s.sums, Transfers: s.transfers}
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
}

// plus adds up what is known of a collective at a call path.
func (c Collective) plus(o Collective) Collective {
	c.Count, c.Bytes, c.NS = c.Count+o.Count, c.Bytes+o.Bytes, c.NS+o.NS
	c.EntryNS, c.AllSyncNS, c.ExitNS = c.EntryNS+o.EntryNS, c.AllSyncNS+o.AllSyncNS, c.ExitNS+o.ExitNS
	c.AfterBarrier, c.BetweenNS = c.AfterBarrier+o.AfterBarrier, max(c.BetweenNS, o.BetweenNS)
	c.Follows, c.Precedes = c.Follows+o.Follows, c.Precedes+o.Precedes
	c.FollowsNS = max(c.FollowsNS, o.FollowsNS)
	return c
}
