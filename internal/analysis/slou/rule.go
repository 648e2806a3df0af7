package slou

import "github.com/whyslow/whyslow/internal/model"

// The rule: why did this worker not start its next atomic CF earlier?
//
// Problem. A worker ended one atomic CF at A and started the next one, f, at D. The gap [A, D] has to be
// divided among S, L and O so that the parts add up to D-A in integer nanoseconds, whatever the trace holds:
// clocks that run backwards, events that were lost, messages that match nothing.
//
// Plan. B' is the end of the last CF that produced an input of f, clamped to [A, D]. [A, B'] is S. [B', D] is
// walked backwards from D with one position, pos, which only ever decreases and never passes B'. Each step
// names the time at which something happened and the part that everything between that time and pos belongs
// to; times above pos give an empty piece, times below B' are cut at B'. So the pieces tile [B', D] by
// construction and no step needs to check the order of the facts it was given.
//
// The walk knows where f is, where the data is, and asks one question at each stop: what came here last?
//
//	f's node     ready --O.dispatch-- start
//	             receipt of an input, or of f --O.deliver-- ready
//	a link       sent --L-- received
//	the sender   DF came, or the request for it came --O.send-- sent; for a stolen f: ready --O.steal-- stolen
//	asking node  f came or was created --O.request-- request sent
//	the creator  B' --O.create-- created
//
// Three readings of the text are worth knowing. A receipt that came before f was created was not what f
// waited for: the time between the two is O.create, not O.deliver. A control input counts at the node where
// the ancestor ran that took it. A structured CF posts values while it runs, so what it produced counts as
// produced when it was posted, not when the CF ended.
//
// Tasks that tasks create (OpenMP) need a fourth: what an atomic CF creates, it produces. So the creation is
// among the control inputs of the new CF, in place of those of ancestors, and a worker that idles until then
// is starved by the creator. And a CF may be interrupted and go on later, as its next execution. Its gap is
// divided like the first one's; its inputs are what it waited for, and without any the gap is O.dispatch.

// Rule says what a CF is taken to have waited for.
type Rule uint8

// Rules.
const (
	RuleAll  Rule = iota // for its inputs and, as control inputs, for those of its ancestors
	RuleData             // for its inputs only
	// RuleSource is the rule of the paper that all this comes from (Kireev and Litvinov, 2024), to the letter:
	// as RuleData, and L is nothing but the flight, to the node where the CF runs, of the input that came last.
	// Flights of requests, of CFs and of what a CF was given before it moved are O.
	RuleSource
)

// dataOnly reports whether control inputs are left out.
func (r Rule) dataOnly() bool { return r != RuleAll }

// Piece is an interval of one worker's time, given to one factor, with its cause. From < To.
type Piece struct {
	From, To int64 // nanoseconds on the common clock
	// of W: what was waited for, and where; of a run of regions: the part, but of U, and of L with a Link
	Name     string
	Link     Link     // of L
	Producer model.CF // whose result was waited for (S, L), or who held the lock (W); 0 none
	DF       model.DF // which result (S, L); 0 none
	Consumer model.CF // the CF that could not start, or that ran; 0 none
	Call     int32    // of a run of regions: 1 + the call path, an index into pattern.Result.Calls; 0 none
	Factor   Factor
	Part     Part
	// Again marks a piece whose gap has an earlier one of the same part: S may change its part many times
	// before one CF.
	Again bool
}

// Waiting says what the worker waited for: "sleep", "lock: counter_mutex (step.cpp:12)", or the name alone.
// Pieces of other factors have at most a name.
func (p *Piece) Waiting() string {
	switch {
	case p.Part == PartNone || !p.Factor.Info().CutOut:
		return p.Name
	case p.Name == "":
		return p.Part.String()
	}
	return p.Part.String() + ": " + p.Name
}

// Link is an ordered pair of nodes.
type Link struct{ From, To int32 }

// Gap is the time before an atomic CF during which its worker executed no atomic CF.
type Gap struct {
	Node      int32
	CF        model.CF
	Execution int   // number of the execution in the model
	A, D      int64 // nanoseconds; A <= D
}

// Message is the way of a DF or a CF over a link. Times are on the common clock; where an end of it was not
// recorded, its flag is false and its time means nothing.
type Message struct {
	From             int32
	Sent, Received   int64
	WasSent, Arrived bool
	Stolen           bool   // of a CF: taken by the receiver rather than given by the sender
	Request          uint32 // of a DF: the request it answers, 0 for a push
}

// Source is where a value came from.
type Source struct {
	DF       model.DF
	Producer model.CF // 0 where not known
	End      int64    // when it was produced
	Known    bool
}

// Lookup tells the rule the facts about one CF and its inputs. "By t" means at or before t.
type Lookup interface {
	// Inputs gives the DFs that an execution was given; an input may be repeated.
	Inputs(execution int) []model.DF
	// Made tells who produced the value of a DF that a CF started at t could use.
	Made(df model.DF, t int64) Source
	// Control gives the latest source among the inputs of all ancestors of cf.
	Control(cf model.CF) Source
	// ControlReceipt gives the latest receipt, at the node where cf was created, of an input of an ancestor
	// that ran there.
	ControlReceipt(cf model.CF) (model.DF, Message)
	// Ready gives the last time, by t, at which cf became ready at a node.
	Ready(cf model.CF, node int32, t int64) (int64, bool)
	// Created gives the time and node of the creation of cf.
	Created(cf model.CF) (t int64, node int32, ok bool)
	// Came gives the last migration of cf to a node received by t.
	Came(cf model.CF, node int32, t int64) Message
	// Receipt gives the last message with a DF received at a node by t.
	Receipt(df model.DF, node int32, t int64) Message
	// MadeAt gives the last time, by t, at which a DF was created at a node.
	MadeAt(df model.DF, node int32, t int64) (int64, bool)
	// Request gives the way of a request for a DF.
	Request(request uint32) Message
}

// maxHops ends a walk that absurd traces could make circular; sane ones pass a few nodes.
const maxHops = 256

// gapWalk is the state of one backwards walk.
type gapWalk struct {
	look  Lookup
	gap   Gap
	rule  Rule
	floor int64 // B'
	pos   int64 // everything from pos to D has been given away
	hops  int
	out   []Piece
	node  int32   // where f last became ready
	came  Message // how f got there, if it migrated
}

// Divide appends the pieces of a gap, latest first, and returns the extended slice. The S piece, if there
// is one, is the last and has no part yet.
func Divide(look Lookup, gap Gap, rule Rule, out []Piece) []Piece {
	if gap.A >= gap.D {
		return out
	}
	last := LastInput(look, gap, rule.dataOnly())
	floor := gap.A
	if last.Known {
		floor = min(max(last.End, gap.A), gap.D)
	}
	w := gapWalk{look: look, gap: gap, rule: rule, floor: floor, pos: gap.D, out: out}
	if floor < gap.D {
		w.start()
	}
	if gap.A < floor {
		w.out = append(w.out, Piece{From: gap.A, To: floor, Factor: FactorS,
			Producer: last.Producer, DF: last.DF, Consumer: gap.CF})
	}
	return w.out
}

// LastInput gives the source of the last input that a gap's CF needed, control inputs included unless
// dataOnly leaves them out: of what produced it, the CF was waiting to the last. Its Known is false for a CF
// without inputs.
func LastInput(look Lookup, gap Gap, dataOnly bool) (last Source) {
	for _, df := range look.Inputs(gap.Execution) {
		if s := look.Made(df, gap.D); s.Known && (!last.Known || s.End > last.End) {
			last = s
		}
	}
	if !dataOnly {
		if s := look.Control(gap.CF); s.Known && (!last.Known || s.End > last.End) {
			last = s
		}
	}
	return last
}

// take gives everything from t to the present position to a part of O.
func (w *gapWalk) take(t int64, part Part) { w.give(t, Piece{Factor: FactorO, Part: part}) }

func (w *gapWalk) give(t int64, p Piece) {
	t = max(t, w.floor)
	if t >= w.pos {
		return
	}
	p.From, p.To, p.Consumer = t, w.pos, w.gap.CF
	w.out = append(w.out, p)
	w.pos = t
}

func (w *gapWalk) done() bool {
	w.hops++
	return w.pos <= w.floor || w.hops > maxHops
}

// start walks from the start of the CF to the point where it became ready at its node, and on.
func (w *gapWalk) start() {
	ready, ok := w.look.Ready(w.gap.CF, w.gap.Node, w.gap.D)
	if !ok {
		ready = w.gap.D
	}
	w.take(ready, PartDispatch)
	if ready = min(ready, w.gap.D); w.rule == RuleSource {
		w.source(ready)
	} else {
		w.ready(w.gap.Node, ready)
	}
	// Only a walk cut short by maxHops leaves something.
	w.take(w.floor, PartSend)
}

// receipt gives the input that a node received last, by t.
func (w *gapWalk) receipt(node int32, t int64) (df model.DF, m Message) {
	for _, d := range w.look.Inputs(w.gap.Execution) {
		if r := w.look.Receipt(d, node, t); r.Arrived && (!m.Arrived || r.Received > m.Received) {
			df, m = d, r
		}
	}
	return df, m
}

// source divides what is before the moment at which the CF was ready by the source's text: since its last
// input was received, O; while that was on its way, L; before it was sent, O.
func (w *gapWalk) source(ready int64) {
	df, m := w.receipt(w.gap.Node, ready)
	if !m.Arrived {
		w.created(PartDeliver)
		return
	}
	if t, _, ok := w.look.Created(w.gap.CF); ok && t > m.Received {
		w.take(t, PartDeliver)
		w.take(m.Received, PartCreate)
	}
	w.take(m.Received, PartDeliver)
	w.flight(w.gap.Node, m, df)
	w.take(w.floor, PartSend)
}

// ready goes back from the moment the CF was ready at a node: to the latest receipt, or to its creation.
func (w *gapWalk) ready(node int32, t int64) {
	if w.done() {
		return
	}
	df, m := w.receipt(node, t)
	came := w.look.Came(w.gap.CF, node, t)
	w.node, w.came = node, came
	created, where, known := w.look.Created(w.gap.CF)
	home := known && where == node && !came.Arrived
	if home && !w.rule.dataOnly() {
		if d, r := w.look.ControlReceipt(w.gap.CF); r.Arrived && r.Received <= t &&
			(!m.Arrived || r.Received > m.Received) {
			df, m = d, r
		}
	}
	switch {
	case came.Arrived && (!m.Arrived || came.Received >= m.Received):
		w.take(came.Received, PartDeliver)
		w.migrated(node, came)
	case m.Arrived:
		if home && created > m.Received {
			w.take(created, PartDeliver)
			w.take(m.Received, PartCreate)
		}
		w.take(m.Received, PartDeliver)
		w.sent(df, node, m)
	default:
		w.created(PartDeliver)
	}
}

// created ends the walk at the creation of the CF: what lies between is a part of O, what comes before is
// O.create. Where the creation was not recorded all of it goes to that part.
func (w *gapWalk) created(part Part) {
	if t, _, ok := w.look.Created(w.gap.CF); ok {
		w.take(t, part)
		w.take(w.floor, PartCreate)
	}
	w.take(w.floor, part)
}

// flight gives the time on the link to L. Where the sending was not recorded, or is later than the receipt,
// L is 0. It returns the time at the sender from which the walk goes on.
func (w *gapWalk) flight(to int32, m Message, df model.DF) int64 {
	if !m.WasSent {
		return m.Received
	}
	if m.Sent < m.Received {
		p := Piece{Factor: FactorL, Link: Link{m.From, to}, DF: df}
		if df != 0 {
			p.Producer = w.look.Made(df, w.gap.D).Producer
		}
		w.give(m.Sent, p)
	}
	return m.Sent
}

// migrated goes on from the receipt of the CF itself.
func (w *gapWalk) migrated(node int32, m Message) {
	for !w.done() {
		t := w.flight(node, m, 0)
		node = m.From
		if m.Stolen {
			if ready, ok := w.look.Ready(w.gap.CF, node, t); ok {
				w.take(ready, PartSteal)
				w.ready(node, ready)
				return
			}
		}
		before := w.look.Came(w.gap.CF, node, t)
		if !before.Arrived {
			w.created(PartSend)
			return
		}
		w.take(before.Received, PartSend)
		m = before
	}
}

// sent goes on from the receipt of a DF at node to its producer, or to the request that fetched it.
func (w *gapWalk) sent(df model.DF, node int32, m Message) {
	for !w.done() {
		t := w.flight(node, m, df)
		node = m.From
		before := w.look.Receipt(df, node, t)
		made, isMade := w.look.MadeAt(df, node, t)
		if isMade && before.Arrived && made >= before.Received {
			before.Arrived = false
		}
		if m.Request != 0 {
			q := w.look.Request(m.Request)
			late := q.Arrived && q.Received <= t && (!isMade || q.Received > made) &&
				(!before.Arrived || q.Received > before.Received)
			if late {
				w.requested(df, node, q)
				return
			}
		}
		if !before.Arrived {
			// It was made here; what lies between its producer's end and now is the time it was not sent.
			w.take(w.floor, PartSend)
			return
		}
		w.take(before.Received, PartSend)
		m = before
	}
}

// requested goes on from the receipt, at a node that has the DF, of the request for it.
func (w *gapWalk) requested(df model.DF, node int32, q Message) {
	w.take(q.Received, PartSend)
	w.flight(node, q, df)
	if w.came.Arrived {
		w.take(w.came.Received, PartRequest)
		w.migrated(w.node, w.came)
		return
	}
	w.created(PartRequest)
}
