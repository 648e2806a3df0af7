package model

import (
	"cmp"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/record/pgas/symbols"
)

// What the threads of workers did while CFs ran: GlobalEvents.onThreadTime and SyncEvents.onBlocked.
//
// A span of a thread's time says how long it ran, waited for a core and waited for page faults. It may have
// many CFs, and time between them. Where the CPU time of a CF was measured by itself, it stays. To the
// others, and to the gaps, goes what is left of the span's CPU time, shortest first: times are cut at one
// length, so that they add up to it. A pre-empted CF among CFs of microseconds is a
// thousand times as long. The time cut off was spent off the core, and the span's reasons for that are
// divided in proportion.

// OffProcessor tells why the thread was off its core during an execution, and before it, in nanoseconds.
// Calls that were recorded as blocked do not count. What is left of the execution the thread was blocked for
// other reasons.
type OffProcessor struct {
	Execution int
	Queued    int64 // it waited for a core
	Faulted   int64 // it waited for major page faults
	Before    int64 // it waited for a core between the execution before and this one
}

// threadSpan is a span of a thread's time, in nanoseconds.
type threadSpan struct {
	From, To, CPU, Queued, Faulted int64
}

// In nanoseconds: the time off the core that is worth a record, and what is too short for a thread that was
// blocked, since readings differ by as much.
const leastOff, leastBlocked = 1000, 10_000

// slice is a stretch of a span: an execution or a gap.
type slice struct {
	run      int   // the execution, or the one after the gap
	ns, off  int64 // without what is known to be blocked; of it off the core
	early    int64 // it began that much before the span; of one that begins: how long it has been in the span
	measured bool
	gap      bool
	begins   bool // it goes on in the next span
}

// divideSpans gives executions without a CPU time of their own one, and notes why threads were off their
// cores.
func (s *stream) divideSpans() {
	var list []slice
	var before gapQueue
	var begun beginning
	run, wait := 0, 0
	for i := range s.spans {
		span := &s.spans[i]
		list = list[:0]
		cpu, at := span.CPU, span.From
		for ; run < s.Runs.len(); run++ {
			e := s.Runs.at(run)
			if e.End <= span.From { // None, too
				continue
			}
			if run+1 < s.Runs.len() && s.Runs.at(run+1).Start < e.End {
				continue // a structured CF that lasts as long as those that run within it: a parallel region
			}
			if e.End > span.To {
				break
			}
			// What runs long is recorded as started before the call, in which the span begins.
			start := max(e.Start, span.From)
			if at < start {
				list = append(list, slice{run: run, ns: start - at, gap: true})
			}
			x := slice{run: run, ns: e.End - start, early: start - e.Start, measured: e.CPU >= 0}
			for ; wait < len(s.waits) && s.waits[wait].To <= e.End; wait++ {
				if w := &s.waits[wait]; w.Blocked {
					x.ns -= max(w.To-max(w.From, start), 0)
				}
			}
			x.ns = max(x.ns, 0)
			if x.measured {
				x.off = max(x.ns-e.CPU, 0)
				cpu -= e.CPU
			}
			list = append(list, x)
			at = e.End
		}
		end := span.To
		if run < s.Runs.len() {
			end = min(max(s.Runs.at(run).Start, at), end)
		}
		if at < end {
			list = append(list, slice{run: run, ns: end - at, gap: true})
		}
		if end < span.To { // the beginning of an execution that has the next span
			x := slice{run: run, ns: span.To - end, begins: true}
			for ; wait < len(s.waits) && s.waits[wait].To <= span.To; wait++ {
				if w := &s.waits[wait]; w.Blocked {
					x.ns -= max(w.To-max(w.From, end), 0)
				}
			}
			x.ns, x.early = max(x.ns, 0), span.To-end
			list = append(list, x)
		}
		shareCPU(list, cpu)
		s.explain(list, span, &before, &begun)
	}
	s.spans = nil
}

// shareCPU divides CPU time among the slices that have none of their own: no slice gets more than a limit,
// or than its length.
func shareCPU(list []slice, cpu int64) {
	var open []int
	sum := int64(0)
	for i := range list {
		if !list[i].measured {
			open = append(open, i)
			sum += list[i].ns
		}
	}
	if sum <= max(cpu, 0) {
		return
	}
	slices.SortFunc(open, func(a, b int) int { return cmp.Compare(list[a].ns, list[b].ns) })
	left := max(cpu, 0)
	for k, i := range open {
		share := min(list[i].ns, left/int64(len(open)-k))
		list[i].off = list[i].ns - share
		left -= share
	}
}

// beginning is what the spans before the last one of an execution told of it, in nanoseconds.
type beginning struct {
	run                        int
	known, cpu, queue, faulted int64
}

// gapQueue is how long the thread waited for a core before an execution, so far: a gap may have several
// spans, and end with one.
type gapQueue struct {
	run int
	ns  int64
}

// explain divides the span's reasons among the slices by their time off the core, and notes what each got. A
// slice was blocked as far as the span was; what nothing explains counts as time in the queue.
func (s *stream) explain(list []slice, span *threadSpan, before *gapQueue, begun *beginning) {
	off, blocked := int64(0), -span.CPU-span.Queued-span.Faulted
	for i := range list {
		off += list[i].off
		blocked += list[i].ns
	}
	for i := range list {
		x := &list[i]
		if x.run != before.run {
			*before = gapQueue{run: x.run}
		}
		o := OffProcessor{Execution: x.run, Faulted: proportion(span.Faulted, x.off, off)}
		o.Queued = x.off - o.Faulted
		if b := min(proportion(blocked, x.off, off), o.Queued); b >= leastBlocked {
			o.Queued -= b
		}
		if x.gap {
			before.ns += o.Queued
		}
		if !x.gap && x.run != begun.run {
			*begun = beginning{run: x.run}
		}
		if x.begins {
			begun.known += x.early
			begun.cpu += x.ns - x.off
			begun.queue += o.Queued
			begun.faulted += o.Faulted
		}
		if x.gap || x.begins {
			continue
		}
		if e := s.Runs.at(x.run); !x.measured {
			e.CPU = max(x.early-begun.known, 0) + begun.cpu + x.ns - x.off
			o.Queued += begun.queue
			o.Faulted += begun.faulted
		} else {
			// Its CPU time is that of the call. Before the call no user code ran that might have been blocked.
			o.Queued += x.early
		}
		if o.Before = before.ns; span.Queued >= 0 && max(x.off, o.Queued+o.Faulted, o.Before) >= leastOff {
			s.off = append(s.off, o)
		}
	}
}

// reorderOff follows executions to other places: order has, by the new place, the old one.
func (s *stream) reorderOff(order []int) {
	if len(s.off) == 0 {
		return
	}
	place := make([]int, len(order))
	for to, from := range order {
		place[from] = to
	}
	for i := range s.off {
		s.off[i].Execution = place[s.off[i].Execution]
	}
	slices.SortFunc(s.off, func(x, y OffProcessor) int { return cmp.Compare(x.Execution, y.Execution) })
}

// OffOf tells why the thread was off its core during an execution of a worker; false where that is not
// known.
func (w *Worker) OffOf(execution int) (OffProcessor, bool) {
	i, ok := slices.BinarySearchFunc(w.Off, execution, func(o OffProcessor, e int) int {
		return cmp.Compare(o.Execution, e)
	})
	if !ok {
		return OffProcessor{}, false
	}
	return w.Off[i], true
}

// proportion is the part of ns that is to it as part to whole, at most part; 0 of nothing and of the
// unknown.
func proportion(ns, part, whole int64) int64 {
	if ns <= 0 || part <= 0 || whole <= 0 {
		return 0
	}
	return min(int64(float64(min(ns, whole))*float64(part)/float64(whole)), part)
}

// threadTime takes a span of the thread's time; one that lasted for weeks is damage.
func (s *stream) threadTime(t int64, a []uint64) {
	const most = 1 << 51
	if a[0] > most || a[1] > most || a[2] > most {
		return
	}
	to := t - int64(a[0])
	s.spans = append(s.spans, threadSpan{to - int64(a[1]), to, int64(a[2]), int64(a[3]), int64(a[4])})
	s.spent, s.ran = s.spent+int64(a[1]), s.ran+int64(a[2])
}

// blocked takes a call that was blocked.
func (s *stream) blocked(t int64, a []uint64) {
	s.waits = append(s.waits, Wait{Interval: Interval{t - int64(min(a[1], 1<<51)), t}, Name: s.name(a[2]),
		What: s.name(a[3]), Site: s.name(a[4]), Holder: s.cf(a[5]), Blocked: true})
}

// nameWaits says in words what calls that were blocked waited for, and where they are.
func (b *builder) nameWaits(traceDir string) {
	texts := map[string]bool{}
	for _, s := range b.streams {
		for i := range s.waits {
			for _, text := range []string{s.waits[i].What, s.waits[i].Site} {
				if _, _, ok := symbols.Split(text); ok {
					texts[text] = true
				}
			}
		}
	}
	if len(texts) == 0 {
		return
	}
	table, _ := symbols.Load(traceDir) // who resolves the addresses of statements says what is wrong with it
	var unknown []string
	for text := range texts {
		if _, ok := table[text]; !ok {
			unknown = append(unknown, text)
		}
	}
	found := symbols.Resolve(unknown)
	place := func(text string) (p symbols.Place, address bool) {
		if _, _, address = symbols.Split(text); address {
			var ok bool
			if p, ok = table[text]; !ok {
				p = found[text]
			}
		}
		return p, address
	}
	for _, s := range b.streams {
		for i := range s.waits {
			w := &s.waits[i]
			if p, address := place(w.What); address {
				w.What = variable(p.Variable)
			} else if kind, _, ok := strings.Cut(w.What, ":["); ok && w.Blocked {
				w.What = kind // pipe:[4711]
			}
			if p, address := place(w.Site); address {
				w.Site = siteText(p)
			}
		}
	}
}

// siteText names the place of a call. What stands in no file of the user's calls user code.
func siteText(p symbols.Place) string {
	switch {
	case strings.HasPrefix(filepath.Base(p.File), "<"):
		return ""
	case p.File != "":
		return filepath.Base(p.File) + ":" + strconv.Itoa(p.Line)
	}
	return p.Function
}

var (
	// what follows the function that a variable is local to
	localOf    = regexp.MustCompile(`^_ZZ.*E(\d)`)
	identifier = regexp.MustCompile(`\d+`)
)

// variable is the name of a variable in C++ without what the compiler adds: "state::mutex" for
// "_ZN5state5mutexE". What is no such name stays.
func variable(symbol string) string {
	if !strings.HasPrefix(symbol, "_Z") {
		return symbol
	}
	var names []string
	rest := localOf.ReplaceAllString(symbol, "$1")
	for at := identifier.FindStringIndex(rest); at != nil; at = identifier.FindStringIndex(rest) {
		n, err := strconv.Atoi(rest[at[0]:at[1]])
		if rest = rest[at[1]:]; err != nil || n > len(rest) || n == 0 {
			break
		}
		if name := rest[:n]; name != "_GLOBAL__N_1" {
			names = append(names, name)
		}
		rest = rest[n:]
	}
	if len(names) == 0 {
		return symbol
	}
	if i := strings.IndexAny(rest, "[+."); i >= 0 {
		return strings.Join(names, "::") + rest[i:]
	}
	return strings.Join(names, "::")
}
