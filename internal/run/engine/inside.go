package engine

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/trace"
)

// CFs that do not come back from user code.
//
// A goroutine looks at the workers now and then. Nothing happens while every worker is parked or in the call
// that it was in at the last look, and nothing else is under way. When that has lasted, one of them is
// named, with the place where it is (where.go). When the run is ended, those that stay inside are named,
// too.
//
// The start of a CF that is expected to be short is recorded with its end (call). If it proves long, the
// watch records its start: it takes the worker's stream while the worker is inside.
//
// In a run of many processes each watches its own workers and tells node 0, which speaks.

// watch sees to it that CFs that do not come back are named.
type watch struct {
	seen []seen             // by worker of this process
	work int64              // that was done as of the last look
	left []trace.InsideInfo // when the run was ended; at node 0 those of all processes

	mu    sync.Mutex
	told  map[int]insideTold // at node 0: what is to be said, by node
	pause time.Duration      // before that is said
}

// insideTold is what a process tells node 0: a CF, and how many other workers are inside CFs.
type insideTold struct {
	CF     trace.InsideInfo
	Others int
}

// seen is what the watch knows of a worker.
type seen struct {
	c     *cf // it was inside its user code at the last look; nil: in none
	since int64
	// readings of the processor time of its thread, the first in this call and the last two
	first, last, latest reading
}

// reading is one of a thread's processor time; cpu -1: not known.
type reading struct{ at, cpu int64 }

// share is the part of the time between two readings that the thread ran.
func share(a, b reading) float64 {
	if a.cpu < 0 || b.cpu < 0 || b.at <= a.at {
		return 0
	}
	return float64(b.cpu-a.cpu) / float64(b.at-a.at)
}

// taken in place of the CF whose user code is running means that the watch uses the worker's stream.
var taken = &cf{}

const (
	looksEach    = 10 // looks while StuckAfter passes
	longestPause = time.Second
	mostInside   = 16 // workers of a process that are asked where they are
)

// run watches until the run is over, and looks once more then.
func (h *watch) run(e *engine) {
	h.seen = make([]seen, len(e.here)*e.cfg.Workers)
	defer h.look(e)
	limit := e.cfg.StuckAfter
	if limit <= 0 || e.cfg.Inside == nil {
		<-e.done
		return
	}
	pause := max(min(limit/looksEach, longestPause), time.Millisecond)
	h.mu.Lock()
	h.pause = 2 * pause
	h.mu.Unlock()
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	quiet, wait := time.Now(), limit
	for {
		select {
		case <-e.done:
			return
		case <-ticker.C:
		}
		switch {
		case !h.look(e):
			quiet, wait = time.Now(), limit
		case time.Since(quiet) >= wait:
			wait *= 2
			h.speak(e)
		}
	}
}

// look tells whether nothing has happened since the last look, while there are workers inside user code.
func (h *watch) look(e *engine) bool {
	now, inside, same := clock.Now(), 0, true
	i := 0
	for w := range e.workers() {
		s := &h.seen[i]
		i++
		c := w.calling.Load()
		if c == nil {
			same = same && s.c == nil
			s.c = nil
			continue
		}
		inside++
		r := reading{now, -1}
		if cpu, ok := w.meter.CPU(); ok {
			r.cpu = cpu
		}
		since := w.meter.Since()
		if s.c != c || s.since != since {
			same = false
			*s = seen{c, since, r, r, r}
			continue
		}
		s.last, s.latest = s.latest, r
		w.tellStart(c, since)
	}
	work := e.sent.Load()
	for _, n := range e.here {
		work += int64(n.cfs.Load())
	}
	if e.part != nil {
		work += e.part.received.Load()
	}
	same = same && work == h.work && e.busy.Load() == int64(inside)
	h.work = work
	if same && inside > 0 {
		for _, n := range e.here {
			n.stillHere(now)
		}
	}
	return same && inside > 0
}

// tellStart records the start of a CF whose end was to tell it, and what its code has emitted. The worker is
// inside user code.
func (w *worker) tellStart(c *cf, since int64) {
	w.withinCall(c, since, func() {
		if !w.told {
			w.told = true
			w.started(c, siteOf(c.st), since)
		}
		w.takeEvents(true)
	})
}

// withinCall does something while the worker cannot leave the call of c's user code that began at since. It
// returns false, and does nothing, if the worker has left it.
func (w *worker) withinCall(c *cf, since int64, do func()) bool {
	if !w.calling.CompareAndSwap(c, taken) {
		return false
	}
	same := w.meter.Since() == since
	if same {
		do()
	}
	w.calling.Store(c)
	return same
}

// leaveCall ends the call of a CF's user code. It does not return if the run has ended without the worker.
func (w *worker) leaveCall(c *cf) {
	for !w.calling.CompareAndSwap(c, nil) {
		if w.calling.Load() == frozen {
			select {} // our stream is no longer ours
		}
		runtime.Gosched() // the watch uses it for a moment
	}
}

// stillHere records that the node goes on, though nothing happens: if the process is killed, the trace tells
// until when it ran.
func (n *node) stillHere(now int64) {
	if n.sampling.CompareAndSwap(false, true) {
		n.eng.ses.ReadyQueue.EmitAt(n.mon, now, uint64(n.shownReady.Load()))
		n.sampling.Store(false)
	}
}

// speak says where a worker is, here or at node 0.
func (h *watch) speak(e *engine) {
	list, more := h.inside(e)
	if len(list) == 0 {
		return
	}
	t := insideTold{list[0], len(list) - 1 + more}
	switch {
	case e.part == nil:
		e.cfg.Inside(t.CF, t.Others)
	case e.part.node == 0:
		h.hear(e, 0, t)
	default:
		e.part.tellJSON(msgInside, t)
	}
}

// hear takes, at node 0, what a node says. A while later one of all that was heard meanwhile is passed on.
func (h *watch) hear(e *engine, node int, t insideTold) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.told == nil {
		h.told = map[int]insideTold{}
		time.AfterFunc(h.pause, func() { h.pass(e) })
		h.pause *= 2
	}
	h.told[node] = t
}

func (h *watch) pass(e *engine) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []trace.InsideInfo
	others := -1
	for _, t := range h.told {
		list = append(list, t.CF)
		others += 1 + t.Others
	}
	h.told = nil
	if slices.SortFunc(list, worstFirst); !e.stopping.Load() {
		e.cfg.Inside(list[0], others)
	}
}

// inside are the CFs that were inside user code at the last two looks and still are, and how many more there
// are.
func (h *watch) inside(e *engine) (list []trace.InsideInfo, more int) {
	i := 0
	for w := range e.workers() {
		s := &h.seen[i]
		i++
		switch {
		case s.c == nil:
		case len(list) == mostInside:
			more++
		default:
			var x trace.InsideInfo
			if !w.withinCall(s.c, s.since, func() { x = w.insideInfo(s, s.latest.at) }) {
				continue
			}
			w.whereabouts(&x, s, share(s.last, s.latest))
			if w.calling.Load() == s.c && w.meter.Since() == s.since {
				list = append(list, x)
			}
		}
	}
	slices.SortFunc(list, worstFirst)
	return list, more
}

// worstFirst puts CFs that wait before those that compute, and those that have done so longest first.
func worstFirst(a, b trace.InsideInfo) int {
	if x, y := a.Doing == doesCompute, b.Doing == doesCompute; x != y {
		if x {
			return 1
		}
		return -1
	}
	return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Worker, b.Worker))
}

// leave names the CFs of workers that were left in user code, and records what is known of them. The watch
// has looked when the run was ended, and nobody else uses the workers' streams.
func (h *watch) leave(e *engine) {
	i, end := 0, clock.Now()
	for w := range e.workers() {
		s := h.seen[i]
		i++
		if w.calling.Load() != frozen || len(h.left) == mostInside {
			continue
		}
		now := reading{clock.Now(), -1}
		if cpu, ok := w.meter.CPU(); ok {
			now.cpu = cpu
		}
		if since := w.meter.Since(); s.c != w.cur || s.since != since {
			s = seen{w.cur, since, now, now, now} // it began after that
		}
		s.last, s.latest = s.latest, now
		if !w.told {
			w.started(s.c, siteOf(s.c.st), s.since)
		}
		w.takeEvents(true)
		x := w.insideInfo(&s, end)
		where := w.whereabouts(&x, &s, share(s.last, s.latest))
		if b := where.Wait; b.From != 0 && x.Doing == b.Reason.String() {
			b.To = clock.Now()
			w.blockedIn(s.c, &b)
		}
		h.left = append(h.left, x)
	}
	slices.SortFunc(h.left, worstFirst)
}
