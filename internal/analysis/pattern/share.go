package pattern

import (
	"errors"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
)

// A search by several processes. Each goes through all collectives and locks, as one would, and sums up what threads of its own nodes lost and did, and what
// others lost because of them: only here is it known what they did meanwhile. What they have to tell each other are call paths (calls.go), how long an
// operation usually takes, and the sums.

// wireUsual is the least that threads of one process needed.
type wireUsual struct {
	Pattern, Call int
	Bytes, Least  int64
}

// shareUsual makes the least of what own threads needed the least that any needed.
func (s *search) shareUsual(g procs.Group) error {
	var own []wireUsual
	for k, u := range s.usual {
		own = append(own, wireUsual{k.pattern, k.call, k.bytes, u.least})
	}
	all, err := procs.AllOf(g, own)
	if err != nil {
		return err
	}
	for _, list := range all {
		for _, v := range list {
			if u := s.usual[usualKey{v.Pattern, v.Call, v.Bytes}]; u != nil {
				u.least = min(u.least, v.Least)
			}
		}
	}
	return nil
}

// wireSums are the sums of the threads of one process.
type wireSums struct {
	Threads     []Thread
	Rows        []wireRow
	Late        []wireLate
	Collectives []wireCollective
	Transfers   []Transfer
}

// wireRow is a row of the metric with that number, of the threads of one process.
type wireRow struct {
	Metric int
	Row
}

type wireLate struct {
	Metric, Call, Thread int
	NS, Count            int64
	Doing                map[int32]int64
}

type wireCollective struct {
	Kind model.CollectiveKind
	Sync model.Sync
	Collective
}

func (s *search) wire() *wireSums {
	w := &wireSums{Threads: s.res.Threads}
	own := func(values []int64) (out []int64) {
		for i, v := range values {
			if s.own[i] {
				out = append(out, v)
			}
		}
		return out
	}
	for i, rows := range s.rows {
		for _, row := range rows {
			w.Rows = append(w.Rows, wireRow{i, Row{row.Call, own(row.Values)}})
		}
	}
	for k, l := range s.late {
		w.Late = append(w.Late, wireLate{k.metric, k.call, k.thread, l.ns, l.count, l.doing})
	}
	for k, c := range s.sums {
		w.Collectives = append(w.Collectives, wireCollective{k.kind, k.sync, *c})
	}
	for _, t := range s.transfers {
		w.Transfers = append(w.Transfers, *t)
	}
	return w
}

var errShare = errors.New("internal error: what another process told of its threads makes no sense")

// gather brings the sums of all processes to the first.
func (s *search) gather(g procs.Group) error {
	if g.Size() == 1 {
		return nil
	}
	var own []byte
	if g.Rank() != 0 {
		own = procs.Encode(s.wire())
	}
	in, err := procs.Gather(g, 0, own)
	if err != nil || g.Rank() != 0 {
		return err
	}
	threads := make([]Thread, len(s.r.Threads))
	of := make([][]int, g.Size()) // by process: its threads
	for i := range threads {
		k := s.m.Owner(s.r.Threads[i].Node)
		of[k] = append(of[k], i)
	}
	for n, i := range of[0] {
		threads[i] = s.res.Threads[n]
	}
	for rank, b := range in {
		in[rank] = nil
		if rank == 0 {
			continue
		}
		var w wireSums
		if err := procs.Decode(b, &w); err != nil {
			return procs.Told(rank, err)
		}
		if len(w.Threads) != len(of[rank]) {
			return errShare
		}
		for n, i := range of[rank] {
			threads[i] = w.Threads[n]
		}
		if err := s.join(&w, of[rank]); err != nil {
			return err
		}
	}
	s.res.Threads = threads
	return nil
}

// join adds the sums of other threads.
func (s *search) join(w *wireSums, threads []int) error {
	for _, v := range w.Rows {
		if v.Metric >= len(s.rows) || len(v.Values) != len(threads) {
			return errShare
		}
		row := s.row(v.Metric, v.Call)
		for n, i := range threads {
			row.Values[i] = v.Values[n]
		}
	}
	for _, l := range w.Late {
		s.late[lateKey{l.Metric, l.Call, l.Thread}] = &lateSum{ns: l.NS, count: l.Count, doing: l.Doing}
	}
	for i := range w.Collectives {
		v := &w.Collectives[i]
		s.sumOf(collectiveKey{v.Call, v.Kind, v.Sync}).join(&v.Collective)
	}
	for i := range w.Transfers {
		v := &w.Transfers[i]
		t := s.transferOf(int32(v.Call))
		t.Count, t.Bytes, t.NS, t.Runs, t.OverlapNS = t.Count+v.Count, t.Bytes+v.Bytes, t.NS+v.NS, t.Runs+v.Runs, t.OverlapNS+v.OverlapNS
	}
	return nil
}

func (c *Collective) join(o *Collective) {
	c.Count, c.Bytes, c.NS = c.Count+o.Count, c.Bytes+o.Bytes, c.NS+o.NS
	c.EntryNS, c.AllSyncNS, c.ExitNS = c.EntryNS+o.EntryNS, c.AllSyncNS+o.AllSyncNS, c.ExitNS+o.ExitNS
	c.AfterBarrier, c.BetweenNS = c.AfterBarrier+o.AfterBarrier, max(c.BetweenNS, o.BetweenNS)
}
