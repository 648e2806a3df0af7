// Package pattern finds out why threads of a program without tasks wait. It searches the regions that they
// entered and left (model.Regions) for patterns of inefficient behaviour.
//
// A pattern says which operations it looks at, which stretch of a thread's time in such an operation is lost,
// and which thread it waited for. Each is an entry of the table in patterns.go. To add one:
//
//  1. Add an entry: an id, the metric it is part of, and either when and lost (for collectives) or acquired
//     (for locks). The search clips the stretch to the operation, sums up by call path and thread, and finds
//     out what the late thread was doing. Its name, and a sentence that says what it is, go to words.Metrics.
//  2. Patterns that are parts of the same metric must not claim the same time: the property test in
//     random_test.go looks for programs where they do. An alternative definition, whose time overlaps that of
//     others, names these as its reading.
//  3. Add a run with figures worked out by hand to testdata.
//
// All times are nanoseconds on the common clock.
package pattern

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/words"
)

// Compute searches a run. All members of g call it, each with its model from model.BuildShare; procs.Alone
// has the whole model. The result is nil where threads entered no regions. Member 0 gets the whole result,
// but Pieces of its own workers only; the others get their Pieces, Calls and Regions. It fails when ctx ends
// or a member is gone, and then at all members.
func Compute(ctx context.Context, m *model.Model, g procs.Group) (*Result, error) {
	if m.Regions == nil {
		return nil, procs.Agree(g, ctx.Err())
	}
	s := &search{m: m, r: m.Regions, res: &Result{pieces: map[model.WorkerID][]Piece{}}, f: newForest(),
		late: map[lateKey]*lateSum{}, usual: map[usualKey]*usualCost{}, sums: map[collectiveKey]Collective{}}
	s.rows = make([]map[int]*Row, len(s.f.metrics))
	for i := range s.rows {
		s.rows[i] = map[int]*Row{}
	}
	s.charge, s.stalls = make([][]charge, len(s.r.Threads)), make([][]charge, len(s.r.Threads))
	for i := range s.r.Threads {
		s.own = append(s.own, m.Own(s.r.Threads[i].Node))
	}
	var err error
	if s.calls, err = makeCalls(m, s.f, g); err != nil {
		return nil, err
	}
	for _, step := range []func(){s.times, s.run, s.countTransfers, s.countMessages} {
		if err := procs.Agree(g, ctx.Err()); err != nil {
			return nil, err
		}
		step()
	}
	if err := cmp.Or(s.settleUsual(g), s.findCauses(g)); err != nil {
		return nil, err
	}
	r := s.res
	r.Regions, r.Calls = s.regions, s.list
	pieces := make([][]Piece, len(s.r.Threads))
	ended := procs.Each(ctx, 0, len(pieces), func(_, i int) error {
		if s.own[i] {
			pieces[i] = s.pieces(i)
		}
		return nil
	})
	for i, t := range s.r.Threads {
		if s.own[i] {
			r.pieces[model.WorkerID{Node: t.Node, Worker: t.Stream}] = pieces[i]
		}
	}
	err = s.gather(g)
	if err == nil && g.Rank() == 0 {
		s.whole()
	}
	if err := procs.Agree(g, cmp.Or(err, ended, ctx.Err())); err != nil {
		return nil, err
	}
	return r, nil
}

// whole completes the result with what all threads have done.
func (s *search) whole() {
	r := s.res
	s.imbalance()
	r.Late, r.Locks, r.Collectives, r.Transfers = s.lateList(), s.locks(), s.collectives(), s.transferList()
	r.Messages, r.Causes, r.ChainedNS = s.messageList(), s.causes(), s.chained
	r.Metrics = s.f.metrics
	for i := range r.Metrics {
		for _, row := range s.rows[i] {
			r.Metrics[i].Rows = append(r.Metrics[i].Rows, *row)
		}
		slices.SortFunc(r.Metrics[i].Rows, func(x, y Row) int { return x.Call - y.Call })
	}
	r.ranks = s.m.MPI()
	r.problems = append(problems(s.r), s.unfinished()...)
	r.Problems = make([]string, len(r.problems)) // In writes them
	*r = *r.In(words.English)
}

// times sums up the own time of all visits of own threads, and counts.
func (s *search) times() {
	visits, sent, received := s.f.index["visits"], s.f.index["bytes-sent"], s.f.index["bytes-received"]
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
		call := func(visit int32) int { return int(s.callOf(i, visit)) }
		s.add(s.f.program, 0, i, outside)
		s.row(visits, 0).Values[i] = 1
		for v, ns := range own {
			s.add(int(class[v]), int(of[v]), i, ns)
			s.row(visits, int(of[v])).Values[i]++
			if in := s.list[of[v]].Parent; in != call(t.Parent[v]) { // a caller that was not recorded
				s.row(visits, in).Values[i] = 1
			}
			switch s.f.metrics[class[v]].ID {
			case "program":
			case "barrier", "collective", "lock", "completion", "await":
				o.Syncs++
				o.Calls++
			default:
				o.Calls++
			}
		}
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
		for k := range t.Sends {
			x := &t.Sends[k]
			if x.Signal() && !x.Near() {
				continue
			}
			if !x.Near() {
				o.Sends++
			}
			o.Sent += x.Bytes
			s.add(sent, call(x.Visit), i, x.Bytes)
		}
		for k := range t.Receives {
			x := &t.Receives[k]
			if x.Signal() && !x.Near() {
				continue
			}
			if !x.Near() {
				o.Receives++
			}
			o.Received += x.Bytes
			s.add(received, call(x.Visit), i, x.Bytes)
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
func problems(r *model.Regions) (out []words.Text) {
	open, stray, back := 0, 0, 0
	for i := range r.Threads {
		t := &r.Threads[i]
		open, stray, back = open+t.Open, stray+t.Stray, back+t.Back
	}
	say := func(n int, english, russian string) {
		if n > 0 {
			out = append(out, words.Say(english, russian, n))
		}
	}
	say(open, "regions that were entered and never left: %d; their time is counted to the end of the thread "+
		"or, if it was killed, of the run",
		"областей, из которых поток не вышел: %d; их время считается до конца потока или, если он был прерван, "+
			"до конца запуска")
	say(stray, "exits of regions that were not entered: %d; they are ignored",
		"выходов из областей, в которые поток не входил: %d; они не учтены")
	say(back, "events with a time before that of an earlier one of the same thread: %d; they are taken to be "+
		"at that time",
		"событий раньше предыдущего события того же потока: %d; их время принято равным его времени")
	say(r.Mixed, "collectives in which the threads of a group called different operations: %d; the program is "+
		"wrong there, or events are missing, and no waits are looked for in them",
		"коллективных операций, в которых потоки группы вызвали разное: %d; там ошибка в программе или не хватает "+
			"событий, и ожиданий в них не ищут")
	say(r.Unmatched, "calls of collectives without the calls of all other threads of the group: %d; no waits "+
		"are looked for in them",
		"вызовов коллективных операций без вызовов всех остальных потоков группы: %d; ожиданий в них не ищут")
	say(r.Strays, "messages of which only the sending or only the receiving was recorded: %d; no waits are "+
		"looked for in them",
		"сообщений, для которых записана только отправка или только приём: %d; ожиданий в них не ищут")
	say(r.Overlapping, "acquisitions of a lock before another thread had released it: %d; clocks disagree, or "+
		"the lock is not one",
		"захватов блокировки до её освобождения другим потоком: %d; часы расходятся, или это не блокировка")
	return out
}

// mostUnfinished bounds how many collectives are listed that some threads never reached.
const mostUnfinished = 3

// unfinished says who was waited for in vain.
func (s *search) unfinished() (out []words.Text) {
	for _, u := range s.r.Unfinished[:min(len(s.r.Unfinished), mostUnfinished)] {
		e := u.Came[0]
		c := &s.list[s.of[e.Thread][s.r.Record(e).Visit]]
		place := words.Say("%s", "%s", s.regions[c.Region].Name)
		if c.File != "" {
			place = words.Say("%s at %s:%d", "%s (%s:%d)", place, c.File, c.Line)
		}
		var came []int32
		for _, e := range u.Came {
			came = append(came, int32(s.r.Threads[e.Thread].Node))
		}
		out = append(out, words.Say("%s was called by %s, and never by %s of its group",
			"операцию %s вызвали (%s), а остальные потоки группы (%s) — нет", place, threadsText(came),
			threadsText(u.Absent)))
	}
	return out
}

// threadsText names some threads by their nodes.
func threadsText(nodes []int32) words.Text {
	const most = 8
	var text []string
	for _, n := range nodes[:min(len(nodes), most)] {
		text = append(text, strconv.Itoa(int(n)))
	}
	list := strings.Join(text, ", ")
	switch {
	case len(nodes) > most:
		return words.Say("threads %s and %d others", "потоки %s и ещё %d", list, len(nodes)-most)
	case len(nodes) == 1:
		return words.Say("thread %s", "поток %s", list)
	}
	return words.Say("threads %s", "потоки %s", list)
}
