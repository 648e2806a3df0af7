package critical

import (
	"context"
	"math"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
)

// The critical path: from the end of the CF that ended last back to the start of the run.
//
// The walk has one position that only decreases, as in slou.Divide. Every step takes what lies between the
// time it names and the position, so the steps tile the run whatever the trace holds. At an execution the
// walk takes the time of the execution and goes on with the hold that has no play. slou's own rule divides
// what lies between that hold and the start of the execution. The rule sees only this input, and
// those that were requested late, where control held the execution up. So it follows that input, or the
// CF itself, over the links it came.

// Kind is what a step of the path is.
type Kind uint8

// The kinds.
const (
	KindExecute  Kind = iota // an atomic CF runs
	KindControl              // a structured CF runs
	KindTransfer             // a DF, a request or a CF is on a link
	KindOverhead             // a part of O: the CF or its input is on its way within a node
	KindWait                 // for a lock, an exclusive resource, a collective or a debugger
	// from the start of the run until the program made the first CF of the path, or the first CF of all ended
	KindStart
	KindTail    // from the end of the last CF to that of the run
	KindUnknown // what held up the CF was not recorded
	KindLost    // nothing was recorded
	kindCount
)

var kindNames = [kindCount]string{"execute", "control", "transfer", "overhead", "wait", "start", "tail",
	"unknown", "lost"}

// String gives the name used in reports.
func (k Kind) String() string { return kindNames[k] }

// Step is a stretch of the critical path. From < To.
type Step struct {
	From, To int64    // nanoseconds since the start of the run
	CF       model.CF // that ran, or that could not start yet; 0 in the tail
	DF       model.DF // that was on its way to CF; 0 if it was CF itself, or none
	// Execution is the number of the execution that ran, or that could not start: in the model, or, where
	// several processes share the run, among those of all.
	Execution uint32
	// QueuedNS is how long CF had been ready when it started, where Reason is ReasonWorker; 0 where that is
	// not known.
	QueuedNS int64
	// Node and Worker are those of the execution; of a transfer Node is the receiver and Peer the sender.
	Node, Worker, Peer uint16
	Kind               Kind
	Factor             slou.Factor
	Part               slou.Part
	Reason             Reason // why CF had to wait for the CF before it on the path
	Running            bool   // CF was being executed; otherwise it could not start yet
	Waited             uint16 // 1 + index into the names of what was waited for, 0 none; see Path.Name
}

// walker walks back from the end.
type walker struct {
	*holder
	cuts    [][]model.Cut // by node and worker, where known
	known   []bool
	first   []int       // by node: index of its first worker in cuts
	present []model.Cut // those of the present worker
	// firstEnd is the end of the atomic CF that ended first, of all processes.
	firstEnd  int64
	names     []string
	steps     []Step // latest first; older ones are in full
	full      [][]Step
	pos       int64               // on the common clock
	next      Step                // what steps that are taken have in common
	titles    map[model.CF]string // as in Path
	dfs       []string            // likewise
	facts     facts
	spare     []slou.Piece
	stretches []stretch // of the present execution or gap

	last    string
	count   []int64 // by code fragment: executions on the path
	ended   []int64 // those of them that ended
	reasons [reasonCount]ReasonSum
}

// lastEnded gives the own execution of an atomic CF that ended last; -1 if none did.
func lastEnded(m *model.Model) int {
	last := -1
	for _, w := range m.OwnWorkers() {
		if e := m.EndedBefore(w, w.End); e >= 0 && (last < 0 || m.EndOf(e) > m.EndOf(last)) {
			last = e
		}
	}
	return last
}

func newWalker(m *model.Model, g *graph) *walker {
	w := &walker{holder: g.holder(), pos: m.End, firstEnd: firstEnd(m), count: make([]int64, len(m.Codes)),
		ended: make([]int64, len(m.Codes))}
	w.facts.h, w.facts.Lookup = w.holder, slou.NewLookup(m, slou.RuleData)
	for n := range m.Nodes {
		w.first = append(w.first, len(w.cuts))
		w.cuts = append(w.cuts, make([][]model.Cut, len(m.Nodes[n].Workers))...)
	}
	w.known = make([]bool, len(w.cuts))
	return w
}

// firstEnd gives the end of the atomic CF that ended first on an own node.
func firstEnd(m *model.Model) int64 {
	first := m.End
	for _, w := range m.OwnWorkers() {
		if e := m.NextAtomic(w, w.First); e < w.End {
			first = min(first, m.EndOf(e))
		}
	}
	return first
}

// begin takes the tail. e is the execution that ended last, -1 for none.
func (w *walker) begin(e int) {
	m := w.m
	tail := Step{Kind: KindTail, Factor: slou.FactorS}
	if m.Killed {
		tail.Factor = slou.FactorLoss
	}
	if e < 0 {
		w.take(m.Start, tail)
		return
	}
	w.last = m.CFString(m.ExecCF[e])
	w.take(m.EndOf(e), tail)
}

// walk finds the steps, latest first, from an execution on.
func (w *walker) walk(ctx context.Context, e int) error {
	for hops := 0; e >= 0 && w.pos > w.m.Start; hops++ {
		if hops&1023 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		e = w.step(e)
	}
	return nil
}

// inOrder gives the steps in order of time.
func (w *walker) inOrder() []Step {
	n := len(w.steps)
	for _, list := range w.full {
		n += len(list)
	}
	out := make([]Step, n)
	for _, list := range append(w.full, w.steps) {
		for i := range list {
			n--
			out[n] = list[i]
		}
	}
	w.full, w.steps = nil, nil
	return out
}

// step takes the time of an execution and of what held it up, and returns the execution that did; -1 where
// the path ends.
func (w *walker) step(e int) int {
	w.locate(e)
	code := w.m.CodeOf(w.next.CF)
	w.count[code]++
	if w.m.ExecEnd[e] != model.None {
		w.ended[code]++
	}
	l := w.holdOf(e)
	w.next.Reason, w.next.Running, w.next.QueuedNS = l.reason, true, 0
	if l.reason == ReasonWorker && w.ready != model.None {
		w.next.QueuedNS = w.m.ExecStart[e] - w.ready
	}
	w.execution(e)
	w.next.Running = false
	was := w.pos
	w.gap(e, l)
	r := &w.reasons[l.reason]
	r.Count++
	r.NS += was - w.pos
	r.ReadyNS += w.next.QueuedNS
	return l.from
}

// take gives everything from t to the position to a step.
func (w *walker) take(t int64, s Step) {
	t = max(t, w.m.Start)
	if t >= w.pos {
		return
	}
	s.From, s.To = t-w.m.Start, w.pos-w.m.Start
	s.CF, s.Execution, s.QueuedNS, s.Worker, s.Reason, s.Running = w.next.CF, w.next.Execution,
		w.next.QueuedNS,
		w.next.Worker, w.next.Reason, w.next.Running
	if s.Kind != KindTransfer {
		s.Node = w.next.Node
	}
	if len(w.steps) == cap(w.steps) {
		if w.steps != nil {
			w.full = append(w.full, w.steps)
		}
		w.steps = make([]Step, 0, min(2*cap(w.steps)+64, 1<<12))
	}
	w.steps = append(w.steps, s)
	w.pos = t
}

// execution takes the time of an execution up to the position.
func (w *walker) execution(e int) {
	m := w.m
	run := Step{Kind: KindExecute, Factor: slou.FactorU}
	if !m.Atomic(m.ExecCF[e]) {
		run.Kind, run.Factor, run.Part = KindControl, slou.FactorO, slou.PartCreate
		w.cutOut(m.ExecStart[e], run, -1)
		return
	}
	w.cutOut(m.ExecStart[e], run, m.CPU(e))
}

// locate moves to an execution, whose steps are taken next.
func (w *walker) locate(e int) {
	w.next.CF, w.next.Execution = w.m.ExecCF[e], uint32(e)
	if was := w.worker; w.at(e) && w.worker != was {
		w.next.Node = uint16(w.node)
		workers := w.m.Nodes[w.node].Workers
		for i := range workers {
			if &workers[i] == w.worker {
				w.next.Worker = uint16(i)
			}
		}
		i := w.first[w.node] + int(w.next.Worker)
		if !w.known[i] {
			w.known[i], w.cuts[i] = true, w.m.WaitCuts(w.worker, w.worker.Waits)
		}
		w.present = w.cuts[i]
	}
}

// cutOut takes the time from t to the position: what was lost, waits, and for the rest a step. The thread had
// the processor for the first cpu nanoseconds of it; -1: that was not measured.
func (w *walker) cutOut(t int64, rest Step, cpu int64) {
	if t = max(t, w.m.Start); t >= w.pos {
		return
	}
	w.stretches = w.stretches[:0]
	queued, faulted := int64(math.MaxInt64), int64(0)
	if off, ok := w.worker.OffOf(int(w.next.Execution)); ok && cpu >= 0 {
		queued, faulted = off.Queued, off.Faulted
	}
	eachStretch(w.m, w.present, w.next.CF, t, w.pos, func(c stretch) {
		if had := c.to - c.from; cpu >= 0 && c.factor == slou.FactorU {
			had = min(had, cpu)
			cpu -= had
			w.stretches = append(w.stretches, stretch{c.from, c.from + had, slou.FactorU, 0, ""})
			slou.Away(c.from+had, c.to, &queued, &faulted, func(from, to int64, f slou.Factor, p slou.Part) {
				w.stretches = append(w.stretches, stretch{from, to, f, p, p.String()})
			})
			return
		}
		w.stretches = append(w.stretches, c)
	})
	for _, c := range slices.Backward(w.stretches) {
		s := rest
		switch c.factor {
		case slou.FactorU:
		case slou.FactorO:
			s = Step{Kind: KindOverhead, Factor: c.factor, Part: c.part}
		case slou.FactorLoss:
			s = Step{Kind: KindLost, Factor: c.factor}
		default:
			s = Step{Kind: KindWait, Factor: c.factor, Waited: w.nameOf(c.name)}
		}
		w.take(c.from, s)
	}
}

func (w *walker) nameOf(name string) uint16 {
	i := slices.Index(w.names, name)
	if i < 0 && len(w.names) < 1<<16-1 {
		i = len(w.names)
		w.names = append(w.names, name)
	}
	return uint16(i + 1)
}

// holdOf gives the hold through which the path goes on.
func (w *walker) holdOf(e int) hold {
	unknown := hold{from: -1, reason: ReasonUnknown, left: w.m.Start}
	list := w.find(e)
	through := w.through(list)
	for i, l := range list {
		switch {
		case i == through && l.reason != ReasonUnknown:
			return l
		case i == through:
			l.df = unknown.df
			return l
		case l.play == 0: // and from < 0
			unknown.df = l.df
		}
	}
	return unknown
}

// through gives the hold of a list through which the path goes on; -1 if what held up the CF is not known.
func (h *holder) through(list []hold) int {
	return slices.IndexFunc(list, func(l hold) bool {
		return l.play == 0 && (l.from >= 0 || l.reason != ReasonUnknown)
	})
}

// backTo gives the time back to which step takes an execution and what held it up, if that is the execution
// of l.
func (h *holder) backTo(e int, l *hold) int64 {
	t := min(h.m.ExecStart[e], l.left, h.until[l.from])
	if l.reason == ReasonUnknown && h.ready != model.None {
		t = min(t, h.ready)
	}
	return max(t, h.m.Start)
}

// gap takes the time between an execution and what held it up.
func (w *walker) gap(e int, l hold) {
	dispatch := Step{Kind: KindOverhead, Factor: slou.FactorO, Part: slou.PartDispatch}
	switch l.reason {
	case ReasonUnknown:
		if w.ready != model.None {
			w.cutOut(w.ready, dispatch, -1)
		}
		w.take(l.left, Step{Kind: KindUnknown, Factor: slou.FactorS, DF: l.df})
	case ReasonWorker:
		w.cutOut(l.left, dispatch, -1)
	default:
		w.walkBack(e, l)
	}
	if l.from < 0 {
		// What the program did while CFs ran is not known: it may have waited for them.
		w.take(w.firstEnd, Step{Kind: KindUnknown, Factor: slou.FactorS})
		w.take(w.m.Start, Step{Kind: KindStart, Factor: slou.FactorO, Part: slou.PartCreate})
		return
	}
	// A structured CF may create CFs and post values even after its worker has gone on.
	w.take(w.until[l.from], Step{Kind: KindOverhead, Factor: slou.FactorO, Part: slou.PartCreate})
}

// walkBack takes what lies between an execution and a hold that is no worker's, by the rule of slou.
func (w *walker) walkBack(e int, l hold) {
	w.facts.known = w.facts.known[:0]
	if l.df != 0 {
		w.facts.known = append(w.facts.known, l.df)
	}
	w.facts.known = append(w.facts.known, w.late...)
	w.spare = slou.Divide(&w.facts, slou.Gap{Node: w.node, CF: w.next.CF, Execution: e, A: l.left,
		D: w.m.ExecStart[e]}, slou.RuleData, w.spare[:0])
	for i := range w.spare {
		p := &w.spare[i]
		s := Step{Kind: KindOverhead, Factor: p.Factor, Part: p.Part}
		if p.Factor == slou.FactorL {
			s.Kind, s.DF, s.Node, s.Peer = KindTransfer, p.DF, uint16(p.Link.To), uint16(p.Link.From)
		}
		if p.Part == slou.PartDispatch {
			w.cutOut(p.From, s, -1)
			continue
		}
		w.take(p.From, s)
	}
}

// facts answers the rule's questions about an execution whose holds have just been found. It knows of no
// producers: how far to go back is decided by its holds. What it says of messages with DFs is slou's.
type facts struct {
	slou.Lookup
	h     *holder
	known []model.DF
}

func (f *facts) Inputs(int) []model.DF                            { return f.known }
func (f *facts) Made(model.DF, int64) slou.Source                 { return slou.Source{} }
func (f *facts) Control(model.CF) slou.Source                     { return slou.Source{} }
func (f *facts) ControlReceipt(model.CF) (model.DF, slou.Message) { return 0, slou.Message{} }

func (f *facts) Ready(cf model.CF, node int32, t int64) (int64, bool) {
	r, ok := f.Lookup.Ready(cf, node, t)
	return r, ok && r >= f.h.origin.left // None is before all times
}

func (f *facts) Created(model.CF) (int64, int32, bool) {
	return f.h.origin.left, f.h.where, f.h.origin.left != model.None
}

func (f *facts) Came(cf model.CF, node int32, t int64) slou.Message {
	if g := f.Lookup.Came(cf, node, t); g.Arrived && g.Received >= f.h.origin.left {
		return g
	}
	return slou.Message{}
}

// stretch is a part of a worker's time with one CF.
type stretch struct {
	from, to int64
	factor   slou.Factor // U, O (pre-empted) or what is cut out
	part     slou.Part   // of O
	name     string      // what the CF waited for
}

// eachStretch divides the time between from and to that a worker spent on a CF, in order: what cuts takes out
// of the worker's time, when a debugger held the CF, and the rest as U.
//
// The holds are those of this CF, which may be a structured one: model.Cuts has those of atomic CFs only,
// because the division of time says nothing about structured CFs.
func eachStretch(m *model.Model, cuts []model.Cut, cf model.CF, from, to int64, visit func(stretch)) {
	cuts = model.CutsWithin(cuts, from, to)
	if len(m.Held) > 0 {
		var held []model.Cut
		for _, v := range m.Held[cf] {
			held = append(held, model.Cut{Interval: v, Name: model.HeldName})
		}
		cuts = model.Overlay(cuts, held)
	}
	for i := range cuts {
		c := &cuts[i]
		a, b := max(c.From, from), min(c.To, to)
		if a >= b {
			continue
		}
		if from < a {
			visit(stretch{from, a, slou.FactorU, 0, ""})
		}
		visit(stretch{a, b, slou.FactorOfCut(c), 0, c.Name})
		from = b
	}
	if from < to {
		visit(stretch{from, to, slou.FactorU, 0, ""})
	}
}
