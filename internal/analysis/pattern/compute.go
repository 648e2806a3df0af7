package pattern

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
)

// Options of Compute. There are none: it always looks for every pattern.
type Options struct{}

// Compute searches a run. All members of g call it, each with its model from model.BuildShare; procs.Alone
// has the whole model. The result is nil where threads entered no regions. Member 0 gets the whole result,
// but Pieces of its own workers only; the others get their Pieces, Calls and Regions. It fails when ctx ends
// or a member is gone, and then at all members.
func Compute(ctx context.Context, m *model.Model, _ Options, g procs.Group) (*Result, error) {
	if m.Regions == nil {
		return nil, procs.Agree(g, ctx.Err())
	}
	s := &search{m: m, r: m.Regions, res: &Result{pieces: map[model.WorkerID][]Piece{}}, f: newForest(),
		late: map[lateKey]*lateSum{}, usual: map[usualKey]*usualCost{}, sums: map[collectiveKey]Collective{}}
	s.rows = make([]map[int]*Row, len(s.f.metrics))
	for i := range s.rows {
		s.rows[i] = map[int]*Row{}
	}
	s.charge = make([][]charge, len(s.r.Threads))
	for i := range s.r.Threads {
		s.own = append(s.own, m.Own(s.r.Threads[i].Node))
	}
	var err error
	if s.calls, err = makeCalls(m, s.f, g); err != nil {
		return nil, err
	}
	for _, step := range []func(){s.times, s.run, s.countTransfers} {
		if err := procs.Agree(g, ctx.Err()); err != nil {
			return nil, err
		}
		step()
	}
	if err := s.settleUsual(g); err != nil {
		return nil, err
	}
	r := s.res
	r.Regions, r.Calls = s.regions, s.list
	for i := range s.r.Threads {
		if s.own[i] {
			r.pieces[model.WorkerID{Node: s.r.Threads[i].Node, Worker: s.r.Threads[i].Stream}] = s.pieces(i)
		}
	}
	err = s.gather(g)
	if err == nil && g.Rank() == 0 {
		s.whole()
	}
	if err == nil {
		err = ctx.Err()
	}
	if err := procs.Agree(g, err); err != nil {
		return nil, err
	}
	return r, nil
}

// whole completes the result with what all threads have done.
func (s *search) whole() {
	r := s.res
	s.imbalance()
	r.Late, r.Locks, r.Collectives, r.Transfers = s.lateList(), s.locks(), s.collectives(), s.transferList()
	r.Metrics = s.f.metrics
	for i := range r.Metrics {
		for _, row := range s.rows[i] {
			r.Metrics[i].Rows = append(r.Metrics[i].Rows, *row)
		}
		slices.SortFunc(r.Metrics[i].Rows, func(x, y Row) int { return x.Call - y.Call })
	}
	r.Problems = append(problems(s.r), s.unfinished()...)
}

// times sums up the own time of all visits of own threads, and counts.
func (s *search) times() {
	visits, sent, received, program := s.f.index["visits"], s.f.index["bytes-sent"],
		s.f.index["bytes-received"],
		s.f.index["program"]
	for i := range s.r.Threads {
		if !s.own[i] {
			continue
		}
		t := &s.r.Threads[i]
		of, class := s.of[i], s.class[i]
		o := Thread{Node: t.Node, Stream: t.Stream, Host: s.m.Nodes[t.Node].Host}
		own := make([]int64, len(t.Enter))
		outside := t.End - t.Start
		for v := range t.Enter {
			d := t.Exit[v] - t.Enter[v]
			own[v] += d
			if p := t.Parent[v]; p >= 0 {
				own[p] -= d
			} else {
				outside -= d
			}
		}
		s.add(program, 0, i, outside)
		for v, ns := range own {
			s.add(int(class[v]), int(of[v]), i, ns)
			s.row(visits, int(of[v])).Values[i]++
			switch s.f.metrics[class[v]].ID {
			case "program":
			case "barrier", "collective", "lock", "completion", "await":
				o.Syncs++
				o.Calls++
			default:
				o.Calls++
			}
		}
		call := func(visit int32) int { return int(s.callOf(i, visit)) }
		for k := range t.Transfers {
			x := &t.Transfers[k]
			switch x.Kind {
			case model.TransferPut:
				o.Puts++
				o.Sent += x.Bytes
				s.add(sent, call(x.Visit), i, x.Bytes)
			case model.TransferGet:
				o.Gets++
				o.Received += x.Bytes
				s.add(received, call(x.Visit), i, x.Bytes)
			case model.TransferAtomic:
				o.Atomics++
			}
		}
		for k := range t.Collectives {
			c := &t.Collectives[k]
			o.Sent += c.Sent
			o.Received += c.Received
			s.add(sent, call(c.Visit), i, c.Sent)
			s.add(received, call(c.Visit), i, c.Received)
		}
		s.res.Threads = append(s.res.Threads, o)
	}
}

// problems says what could not be used.
func problems(r *model.Regions) (out []string) {
	open, stray, back := 0, 0, 0
	for i := range r.Threads {
		t := &r.Threads[i]
		open, stray, back = open+t.Open, stray+t.Stray, back+t.Back
	}
	say := func(n int, text string) {
		if n > 0 {
			out = append(out, fmt.Sprintf(text, n))
		}
	}
	say(open, "regions that were entered and never left: %d; their time is counted to the end of the thread "+
		"or, if it was killed, of the run")
	say(stray, "exits of regions that were not entered: %d; they are ignored")
	say(back, "events with a time before that of an earlier one of the same thread: %d; they are taken to be "+
		"at that time")
	say(r.Mixed, "collectives in which the threads of a group called different operations: %d; the program is "+
		"wrong there, or events are missing, and no waits are looked for in them")
	say(r.Unmatched, "calls of collectives without the calls of all other threads of the group: %d; no waits "+
		"are looked for in them")
	say(r.Overlapping, "acquisitions of a lock before another thread had released it: %d; clocks disagree, or "+
		"the lock is not one")
	return out
}

// mostUnfinished is how many collectives that some threads never came to are told of.
const mostUnfinished = 3

// unfinished says who was waited for in vain.
func (s *search) unfinished() (out []string) {
	for i, u := range s.r.Unfinished {
		if i == mostUnfinished {
			break
		}
		e := u.Came[0]
		c := &s.list[s.of[e.Thread][s.r.Record(e).Visit]]
		place := s.regions[c.Region].Name
		if c.File != "" {
			place += fmt.Sprintf(" at %s:%d", c.File, c.Line)
		}
		var came []int32
		for _, e := range u.Came {
			came = append(came, int32(s.r.Threads[e.Thread].Node))
		}
		out = append(out, fmt.Sprintf("%s was called by %s, and never by %s of its group", place,
			threadsText(came),
			threadsText(u.Absent)))
	}
	return out
}

// threadsText names some threads by their nodes.
func threadsText(nodes []int32) string {
	const most = 8
	text := make([]string, 0, most)
	for i, n := range nodes {
		if i == most {
			return fmt.Sprintf("threads %s and %d others", strings.Join(text, ", "), len(nodes)-most)
		}
		text = append(text, strconv.Itoa(int(n)))
	}
	if len(nodes) == 1 {
		return "thread " + text[0]
	}
	return "threads " + strings.Join(text, ", ")
}
