package advise

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// What would the run have taken had something been different?
//
// A replay works the recorded run out again, every worker running the same CFs in the same order. An
// execution starts when its worker is free and its CF and inputs have come, plus the time that really passed
// after the last of these. Changes alter only the time that a transfer's messages spend on links. With
// nothing changed the replay gives exactly the recorded times.
//
// Building costs one pass over executions and inputs (part.go), a replay one pass over the edges, some 20 ns
// each: trying a dozen changes is cheap.

// replay is a recorded run that can be worked out again.
type replay struct {
	*executions
	m     *model.Model // the code fragments, statements and workers, and how long the run took
	order []uint32     // executions on workers in order of start
	base  []int64      // by execution: when it could have started, as far as its edges tell
	node  []int32      // by worker
	// By execution, in ns: of the time between when it could have started and its start, the part in which its
	// worker had no core. Where that is not known, it is a guess: all of what is longer than any start.
	late []int64

	mu    sync.Mutex
	spare []*times // to be used again
}

// change says what is different. Nil members change nothing.
type change struct {
	// links gives the new times of a transfer on links.
	links func(*transfer) (post, ask, answer int64)
	// length gives the new duration of an execution, what it does for the system included.
	length func(e uint32, ns int64) int64
	// rest gives the new time between when an execution could start and its start.
	rest func(e uint32, ns int64) int64
	// move gives the new time of the CF of an execution on links.
	move func(e uint32, ns int64) int64
	// cost gives the new time that the system took for an execution before it could start (edge.Cost).
	cost func(e uint32, ns int64) int64
}

// newReplay makes a replay of the parts of all processes.
func newReplay(m *model.Model, parts []*executions) *replay {
	r := &replay{executions: joined(parts), m: m}
	for id := range m.AllWorkers() {
		r.node = append(r.node, int32(id.Node))
	}
	for e := range r.List {
		if r.List[e].Worker != noWorker {
			r.order = model.Append(m, r.order, uint32(e))
		}
	}
	slices.SortFunc(r.order, func(a, b uint32) int {
		x, y := &r.List[a], &r.List[b]
		return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(x.End, y.End), cmp.Compare(a, b))
	})
	r.base, r.late = model.Make[int64](m, len(r.List)), model.Make[int64](m, len(r.List))
	s := r.scratch()
	first := model.Make[int64](m, len(r.List)) // start of the first of the CFs that an execution created
	for _, e := range r.order {
		x := &r.List[e]
		r.base[e] = r.earliest(e, s, &change{})
		handedOut := int64(0)
		// What creates many CFs queues them when all are made: not before that could the first one start.
		if by := x.Parent; by != 0 && x.Ready <= r.List[by-1].Until && x.Moves == 0 {
			if first[by-1] == 0 {
				first[by-1] = x.Start
			}
			handedOut = first[by-1]
		}
		r.late[e] = r.lateBy(e, handedOut)
		s.record(e, x.Worker, x.Start, x.End, x.Until)
	}
	r.done(s)
	return r
}

// times are those of a replay in progress.
type times struct {
	start, end []int64 // by execution
	free       []int64 // by worker
}

// scratch gives times for a replay, until done. Those of one before may be in them: an execution comes after
// all that it waits for.
func (r *replay) scratch() *times {
	n := len(r.List)
	r.mu.Lock()
	defer r.mu.Unlock()
	if k := len(r.spare); k > 0 {
		t := r.spare[k-1]
		r.spare = r.spare[:k-1]
		t.free = r.free()
		return t
	}
	return &times{model.Make[int64](r.m, n), model.Make[int64](r.m, n), r.free()}
}

func (r *replay) done(t *times) {
	r.mu.Lock()
	r.spare = append(r.spare, t)
	r.mu.Unlock()
}

// free is when each worker is free at first.
func (r *replay) free() []int64 { return slices.Repeat([]int64{r.m.Start}, len(r.node)) }

func (t *times) record(e, worker uint32, start, end, until int64) {
	t.start[e], t.end[e] = start, end
	t.free[worker] = max(t.free[worker], until)
}

// earliest is when an execution can start as far as its holds go.
func (r *replay) earliest(e uint32, s *times, c *change) int64 {
	x := &r.List[e]
	best, control := s.free[x.Worker], int64(0)
	for i := x.First; i < x.Last; i++ {
		edge := &r.Edges[i]
		t := edge.Lag
		switch edge.Kind {
		case edgeEnd, edgeAsked:
			t += s.end[edge.From]
		case edgeStart:
			t += s.start[edge.From]
		case edgeRequest:
			t += control
		}
		if edge.Cost > 0 && c.cost != nil {
			t += c.cost(e, int64(edge.Cost)) - int64(edge.Cost)
		}
		if i == x.First {
			if c.move != nil {
				t += c.move(e, x.Moves) - x.Moves
			}
			control = t
		}
		if edge.Way != 0 && c.links != nil {
			w := &r.Transfers[edge.Way-1]
			post, ask, answer := c.links(w)
			if edge.Kind == edgeRequest || edge.Kind == edgeAsked {
				t += ask - w.Ask + answer - w.Answer
			} else {
				t += post - w.Post + answer - w.Answer
			}
		}
		best = max(best, t)
	}
	return best
}

// walls is wall for several changes, at once.
func (r *replay) walls(changes []change) []int64 {
	out := make([]int64, len(changes))
	_ = procs.Each(context.Background(), 0, len(out), func(_, i int) error { // none fails
		out[i] = r.wall(changes[i])
		return nil
	})
	return out
}

// wall is how long the run takes with something changed, in nanoseconds.
func (r *replay) wall(c change) int64 {
	m := r.m
	s := r.scratch()
	defer r.done(s)
	was, is := m.Start, m.Start
	for _, e := range r.order {
		x := &r.List[e]
		rest := x.Start - r.base[e]
		if c.rest != nil {
			rest = c.rest(e, rest)
		}
		start := r.earliest(e, s, &c) + rest
		length, end := x.Until-x.Start, x.End-x.Start
		if c.length != nil && length > 0 {
			now := c.length(e, length)
			end = int64(float64(end) * float64(now) / float64(length))
			length = now
		}
		s.record(e, x.Worker, start, start+end, start+length)
		was, is = max(was, x.End), max(is, start+end)
	}
	return m.Wall() - was + is
}

// systemTime is what the system's work would take on workers that always have a CF to run: all structured
// CFs, and for every other one as much as for those that were ready while their worker ran another.
func (r *replay) systemTime() int64 {
	free := r.free()
	structured, atomic, busy, rest := int64(0), int64(0), int64(0), int64(0)
	for _, e := range r.order {
		x := &r.List[e]
		before := free[x.Worker]
		free[x.Worker] = max(before, x.Until)
		if !r.atomic(e) {
			structured += x.Until - x.Start
			continue
		}
		atomic++
		if ns := x.Start - before; x.Ready != model.None && x.Ready <= before && ns >= 0 && ns <= longStart {
			busy, rest = busy+1, rest+ns
		}
	}
	if busy == 0 {
		return math.MaxInt64
	}
	return structured + int64(float64(rest)/float64(busy)*float64(atomic))
}

// createdInPlace is the change that CFs whose creation waited for data are created where they run, if some of
// the data come from there: what looked at the data then runs there, too. Data from elsewhere would have to
// travel in place of the CFs. (At its start the program must send CFs to other nodes.)
func (r *replay) createdInPlace() change {
	parent := func(e uint32) (uint32, bool) { return r.List[e].Parent - 1, r.List[e].Parent != 0 }
	// 1 + the execution that was given data: itself, or the nearest of those that led to it
	looked := make([]uint32, len(r.List))
	to := make([]int32, len(r.List)) // 1 + node to which what it created was sent
	for _, e := range r.order {
		p, ok := parent(e)
		switch {
		case !r.atomic(e) && r.List[e].Given:
			looked[e] = e + 1
		case ok:
			looked[e] = looked[p]
		}
		if ok && r.List[e].Moves > 0 && looked[p] != 0 && to[looked[p]-1] == 0 {
			to[looked[p]-1] = r.nodeOf(e) + 1
		}
	}
	there := make([]bool, len(r.List)) // it looks at data that come from where it sends what it creates
	for i := range r.Transfers {
		if w := &r.Transfers[i]; to[w.Reader] == w.Store+1 {
			there[w.Reader] = true
		}
	}
	return change{
		move: func(e uint32, ns int64) int64 {
			if p, ok := parent(e); ok && looked[p] != 0 && there[looked[p]-1] && to[looked[p]-1] == r.nodeOf(e)+1 {
				return 0
			}
			return ns
		},
		links: func(w *transfer) (int64, int64, int64) {
			if to[w.Reader] == w.Store+1 {
				return w.Post, 0, 0
			}
			return w.Post, w.Ask, w.Answer
		},
	}
}

// lateBy gives late for an execution that could not start before it was handed out.
func (r *replay) lateBy(e uint32, handedOut int64) int64 {
	x := &r.List[e]
	ns := x.Start - max(r.base[e], x.Ready) // None is less than any time
	if !x.Unknown {
		return max(min(ns, int64(x.Before)), 0)
	}
	if ns = min(ns, x.Start-handedOut); ns > longStart {
		return ns // the kernel was not asked
	}
	return 0
}

// merged is the change that one CF does the work of so many: as many CFs as now, each at its share of the
// cost of one, to be created, asked for, sent, delivered and dispatched. What runs less often than that
// stays. Part of the time for which workers had no core follows the number of CFs, see
// (*advisor).ownDoing. So does what CFs on their way to other nodes take beyond the latency of the link. A
// worker waits for messages no more often than it then has CFs.
func (r *replay) merged(times int64, part float64, latency int64) change {
	runs := make([]int64, len(r.m.Codes))
	code := func(e uint32) int { return r.m.Sites[r.List[e].Site].Code }
	for _, e := range r.order {
		runs[code(e)]++
	}
	often := func(e uint32) bool { return runs[code(e)] > times }
	gone := part * (1 - 1/float64(times))
	fewer := r.fewerMessages(times)
	return change{
		links: func(w *transfer) (post, ask, answer int64) {
			part := float64(1)
			if x := &r.List[w.Reader]; x.Worker != noWorker && often(w.Reader) && r.atomic(w.Reader) {
				part = fewer[x.Worker]
			}
			return int64(part * float64(w.Post)), int64(part * float64(w.Ask)), int64(part * float64(w.Answer))
		},
		rest: func(e uint32, ns int64) int64 {
			if ns <= 0 || !often(e) {
				return ns
			}
			late := min(r.late[e], ns)
			return (ns-late)/times + late - int64(gone*float64(late))
		},
		cost: func(e uint32, ns int64) int64 {
			if !often(e) {
				return ns
			}
			return ns / times
		},
		move: func(e uint32, ns int64) int64 {
			if !often(e) || ns <= latency {
				return ns
			}
			return latency + (ns-latency)/times
		},
		length: func(e uint32, ns int64) int64 {
			if !r.atomic(e) {
				return ns / times
			}
			return ns - int64(gone*float64(min(int64(r.List[e].Queued), ns)))
		},
	}
}

// fewerMessages gives, by worker, the part of the times at which it takes DFs of other nodes that is left if
// one CF does the work of so many. Where most CFs take such a DF, merging those of one moment is not enough:
// steps that follow each other become one, and have their messages once.
func (r *replay) fewerMessages(times int64) []float64 {
	all, taking := make([]int64, len(r.node)), make([]int64, len(r.node))
	takes := make([]bool, len(r.List))
	for i := range r.Transfers {
		takes[r.Transfers[i].Reader] = true
	}
	for _, e := range r.order {
		if r.atomic(e) {
			all[r.List[e].Worker]++
			if takes[e] {
				taking[r.List[e].Worker]++
			}
		}
	}
	left := make([]float64, len(r.node))
	for w := range left {
		left[w] = min(1, float64(all[w])/float64(times*max(taking[w], 1)))
	}
	return left
}

// code gives the code fragment of an execution.
func (r *replay) code(e uint32) *model.Code { return &r.m.Codes[r.m.Sites[r.List[e].Site].Code] }

// atomic tells whether an execution runs user code.
func (r *replay) atomic(e uint32) bool { return r.code(e).Kind == trace.Atomic }

// nodeOf gives the node of an execution on a worker.
func (r *replay) nodeOf(e uint32) int32 { return r.node[r.List[e].Worker] }
