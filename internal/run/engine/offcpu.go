package engine

import (
	"path/filepath"
	"strconv"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/trace"
)

// What happened to a worker's thread, as far as package cpp measures it. Spans in which the thread ran nearly
// all the time say little, and there is one for every CF that runs long, so neighbours become one event.

const (
	calmOff  = 20_000     // ns off the core up to which a span is calm
	calmMost = 10_000_000 // ns after which calm spans are told, for those who watch
)

// spent takes the next span of the worker's thread.
func (w *worker) spent(s cpp.Span) {
	if s.Of == 0 {
		return
	}
	now := max(w.now, s.End)
	quiet := s.Of-s.CPU < calmOff
	c := &w.calm
	if !quiet || c.End != s.End-s.Of || c.Of >= calmMost {
		w.tellCalm(now)
	}
	switch {
	case !quiet:
		w.tell(&s, now)
	case c.Of == 0:
		*c = s
	default:
		c.End, c.Of, c.CPU, c.Queued = s.End, c.Of+s.Of, c.CPU+s.CPU, max(c.Queued+s.Queued, -1)
	}
}

// tell records a span at a time not before its end.
func (w *worker) tell(s *cpp.Span, now int64) {
	w.n.eng.ses.ThreadTime.EmitAt(w.ps, now, now-s.End, s.Of, s.CPU, s.Queued, s.Faulted)
}

func (w *worker) tellCalm(now int64) {
	if w.calm.Of > 0 {
		w.tell(&w.calm, now)
		w.calm.Of = 0
	}
}

// rest is called before the worker leaves its thread to others.
func (w *worker) rest() {
	if w.n.eng.measure != cpp.Nothing {
		w.spent(w.meter.Rest())
		w.tellCalm(clock.Now())
	}
}

// blocked records what calls of the CF's user code waited for.
func (w *worker) blocked(c *cf) {
	if !w.n.eng.ses.Blocked.On() {
		return
	}
	for i := range w.meter.Waits() {
		b := w.meter.Wait(i)
		w.blockedIn(c, &b)
	}
}

func (w *worker) blockedIn(c *cf, b *cpp.Wait) {
	what := w.place(b.Object)
	if b.File != "" {
		what = w.n.name(b.File)
	}
	w.n.eng.ses.Blocked.EmitAt(w.ps, b.To, c.id, b.To-b.From, w.n.name(b.Reason.String()), what,
		w.place(b.Site-1), trace.CF(b.Holder))
}

// place names an address of this process: what it means is looked up when the trace is read.
func (w *worker) place(address uint64) trace.Name {
	if address == 0 || w.n.writer == nil {
		return 0
	}
	name, ok := w.places[address]
	if !ok {
		if file, offset := cpp.Offset(address); filepath.IsAbs(file) {
			name = w.n.name(file + "+0x" + strconv.FormatUint(offset, 16))
		}
		if w.places == nil || len(w.places) >= 1<<12 { // locks come and go with the memory they are in
			w.places = map[uint64]trace.Name{}
		}
		w.places[address] = name
	}
	return name
}
