// Package consistency checks whether a trace contradicts itself: ends without starts, receipts without
// sends, copies that are never dropped. Findings point to faults in the recording, or to clocks that
// disagree.
//
// Every stream is read once, in order. What can be checked within a stream is checked at once (stream.go).
// What needs several streams is collected as facts by CF, DF and message (facts.go) and joined afterwards
// (join.go). Each rule says what it needs: kinds of events, a trace without losses, a run that ended well.
// Without that it is left out, with the reason.
//
// Deliberately not done: whether the program did the right thing, and whether times are plausible.
package consistency

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/trace"
)

// MaxExamples is how many examples a Finding has at most.
const MaxExamples = 5

// Report says how consistent a trace is.
type Report struct {
	// as in run.json, "" if it was killed or run.json is missing
	Ended      string `json:"ended"`
	Events     uint64 `json:"events"`     // events read
	Consistent bool   `json:"consistent"` // no Findings
	Whole      bool   `json:"whole"`      // nothing is missing: no Problems, no Dropped
	// what is damaged or missing, a line each; not that streams of a run that failed or was interrupted have
	// no end
	Problems []string `json:"problems"`
	// sum over the workers of the time that is missing, in nanoseconds
	LossNS     int64  `json:"loss_ns"`
	LostEvents uint64 `json:"lost_events"` // those that are known to be missing
	// those of LostEvents that were dropped because buffers were full
	Dropped   uint64      `json:"dropped_events"`
	Findings  []Finding   `json:"findings"`         // in the order of the rules
	Unchecked []Unchecked `json:"unchecked"`        // rules left out
	Clocks    []Clock     `json:"clocks,omitempty"` // of the nodes, where there are several processes
	Order     *Order      `json:"order,omitempty"`  // likewise
}

// Finding is a rule that the trace breaks.
type Finding struct {
	Kind     string    `json:"kind"`    // "sent-not-received"
	Meaning  string    `json:"meaning"` // what that is, in words
	Count    int       `json:"count"`   // how often
	Examples []Example `json:"examples"`
}

// Example is one of the first cases, in the order of time.
type Example struct {
	Node   int    `json:"node"`
	Stream int    `json:"stream"`
	Time   int64  `json:"time"` // nanoseconds, as recorded
	Text   string `json:"text"`
}

// Unchecked is a rule that was left out.
type Unchecked struct {
	Kind string `json:"kind"`
	Why  string `json:"why"`
}

// rule is something that holds in a consistent trace.
type rule struct {
	kind, meaning string
	needs         []trace.Kind // where events of one of these kinds are recorded, those of all must be
	whole         bool         // nothing may be missing from the trace
	ended         bool         // the run must have ended well
}

var rules = []rule{
	{kind: "end-without-start", meaning: "something ends that had not started"},
	{kind: "start-without-end", meaning: "something starts and never ends", ended: true,
		whole: true},
	{kind: "time-back", meaning: "the time of a stream goes back"},
	{kind: "outside-program",
		meaning: "an event of a worker before its onProgramStarted or after its onProgramFinished"},
	{kind: "undefined", meaning: "an event names a DF or statement that is not defined",
		whole: true},
	{kind: "id-collision", meaning: "two DFs have the same 64-bit id"},
	{kind: "created-twice", meaning: "a CF is created twice: two have the same id"},
	{kind: "not-created", meaning: "a CF that was never created",
		needs: []trace.Kind{trace.KindCFCreated, trace.KindCFStarted}, whole: true},
	{kind: "before-creation", meaning: "an event of a CF before it was created"},
	{kind: "destroyed-twice", meaning: "a CF is destroyed twice"},
	{kind: "after-destruction", meaning: "an event of a CF after it was destroyed"},
	{kind: "execution-number", meaning: "the executions of a CF are not numbered 1, 2, 3",
		whole: true},
	{kind: "never-destroyed", meaning: "a CF is never destroyed",
		needs: []trace.Kind{trace.KindCFCreated, trace.KindCFDestroyed}, whole: true, ended: true},
	{kind: "lost-on-the-way",
		meaning: "a CF leaves for a node and does not arrive, or arrives without having left",
		needs:   []trace.Kind{trace.KindCFMigrated, trace.KindCFReceived}, whole: true, ended: true},
	{kind: "number-twice", meaning: "two messages or requests have the same number"},
	{kind: "received-before-sent",
		meaning: "a receipt before the sending: the clocks of the nodes disagree"},
	{kind: "received-not-sent",
		meaning: "a message or request is received but was never sent", whole: true},
	{kind: "sent-not-received", meaning: "a message or request is sent but never received",
		whole: true, ended: true},
	{kind: "other-message",
		meaning: "sending and receipt of a message or request do not agree"},
	{kind: "unanswered", meaning: "a request is never answered",
		needs: []trace.Kind{trace.KindDFRequested, trace.KindDFSent}, whole: true, ended: true},
	{kind: "answered-twice", meaning: "a request is answered twice"},
	{kind: "df-created-twice",
		meaning: "a DF that has a value gets another one without onDuplicate", whole: true},
	{kind: "df-before-creation",
		meaning: "a DF is stored or an input before it has its value",
		needs:   []trace.Kind{trace.KindDFCreate, trace.KindDFStored}, whole: true},
	{kind: "input-not-here",
		meaning: "a CF starts with an input of which the node holds no copy",
		needs:   []trace.Kind{trace.KindDFStored, trace.KindCFStarted}, whole: true},
	{kind: "never-dropped", meaning: "a copy of a DF is stored and never dropped",
		needs: []trace.Kind{trace.KindDFStored, trace.KindDFDropped}, whole: true, ended: true},
	{kind: "not-stored", meaning: "a copy of a DF is dropped that was not stored",
		needs: []trace.Kind{trace.KindDFStored, trace.KindDFDropped}, whole: true},
	{kind: "left", meaning: "a queue or a neighbour relation is left at the end",
		whole: true, ended: true},
}

// found collects what breaks each rule, by its kind.
type found map[string]*Finding

func newFound() found {
	f := found{}
	for _, r := range rules {
		f[r.kind] = &Finding{Kind: r.kind, Meaning: r.meaning}
	}
	return f
}

// add counts a case and keeps it as an example if it is among the first in time.
func (f found) add(kind string, node, stream int, t int64, format string, args ...any) {
	g := f[kind]
	g.Count++
	if n := len(g.Examples); n == MaxExamples && t >= g.Examples[n-1].Time {
		return
	}
	g.keep(Example{node, stream, t, fmt.Sprintf(format, args...)})
}

func (g *Finding) keep(e Example) {
	g.Examples = append(g.Examples, e)
	slices.SortFunc(g.Examples, func(a, b Example) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Node, b.Node),
			cmp.Compare(a.Stream, b.Stream), strings.Compare(a.Text, b.Text))
	})
	g.Examples = g.Examples[:min(len(g.Examples), MaxExamples)]
}

// join takes over what another collection has.
func (f found) join(other found, kinds ...string) {
	for _, kind := range kinds {
		f[kind].Count += other[kind].Count
		for _, e := range other[kind].Examples {
			f[kind].keep(e)
		}
	}
}

// Check reads a whole trace. It fails only when ctx ends.
func Check(ctx context.Context, r *trace.Reader) (*Report, error) {
	c := &checker{r: r, found: newFound(), facts: newFacts()}
	if err := c.readClocks(ctx); err != nil {
		return nil, err
	}
	var err error
	if c.workers, err = model.CountWorkers(ctx, r); err != nil {
		return nil, err
	}
	for _, node := range r.Nodes() {
		c.collisions(node)
	}
	var streams []*stream
	for _, s := range r.Streams() {
		st := newStream(c, s)
		if err := st.read(ctx); err != nil {
			return nil, err
		}
		streams = append(streams, st)
	}
	c.join()
	return c.report(streams), nil
}

// checker is a check in the making.
type checker struct {
	r     *trace.Reader
	found found
	// workers are those counted of nodes that run.json does not tell of.
	workers map[int]int
	// Where there are several processes:
	clocks      [][]model.ClockSync // comparisons by node, in order of time
	chosen      [][]model.ClockSync // of them, those that count
	corrections [][]model.ClockSync // by node
	agreement   *model.Clocks
	count       [trace.FirstUserKind]int
	events      uint64
	loss        uint64 // told by onLost

	complete bool // every event is there

	*facts
}

// report decides which rules count.
func (c *checker) report(streams []*stream) *Report {
	problems := c.r.Problems()
	rep := &Report{Events: c.events, Dropped: c.loss, LostEvents: c.loss, Problems: []string{},
		Findings: []Finding{}, Unchecked: []Unchecked{}}
	info := c.r.Run()
	if info != nil {
		rep.Ended = info.Ended
	}
	gaps := map[[2]int]bool{} // streams with holes
	for _, p := range c.r.Missing() {
		rep.Problems = append(rep.Problems, p.String())
		rep.LostEvents += p.Events
		if p.Timed && p.Kind != trace.Unfinished {
			gaps[[2]int{p.Node, p.Stream}] = true
		}
	}
	for _, g := range c.r.Gaps() {
		if c.isWorker(g.Node, g.Stream) {
			rep.LossNS += g.NS()
		}
	}
	if info == nil {
		rep.Problems = append(rep.Problems, c.noInfo())
	}
	rep.Whole = len(rep.Problems) == 0 && c.loss == 0
	c.complete = len(problems) == 0 && c.loss == 0
	for _, s := range streams {
		c.found.join(s.found, "time-back", "undefined")
		if !gaps[[2]int{s.node, s.id}] {
			c.found.join(s.found, "end-without-start", "start-without-end", "outside-program")
		}
	}
	for i := range rules {
		if why := c.unfit(&rules[i], rep); why != "" {
			rep.Unchecked = append(rep.Unchecked, Unchecked{rules[i].kind, why})
		} else if f := c.found[rules[i].kind]; f.Count > 0 {
			rep.Findings = append(rep.Findings, *f)
		}
	}
	rep.Consistent = len(rep.Findings) == 0
	rep.Clocks, rep.Order = c.clockFacts()
	return rep
}

// isWorker tells whether a stream is a worker's.
func (c *checker) isWorker(node, stream int) bool {
	if n := c.r.Run().Node(node); n != nil {
		return stream < n.Workers
	}
	return stream < c.workers[node]
}

// noInfo says that there is no run.json, and what is assumed instead.
func (c *checker) noInfo() string {
	sum := 0
	for _, n := range c.workers {
		sum += n
	}
	nodes := "nodes"
	if len(c.workers) == 1 {
		nodes = "node"
	}
	return fmt.Sprintf("%s is missing. Workers are counted from what the streams recorded: %d on %d %s",
		tracefile.RunFile, sum, len(c.workers), nodes)
}

// unfit tells why a rule cannot be checked, "" if it can.
func (c *checker) unfit(r *rule, rep *Report) string {
	some, without := false, trace.Kind(0)
	for _, k := range r.needs {
		if c.recorded(r, k) {
			some = true
		} else {
			without = k
		}
	}
	switch {
	case some && without != 0:
		return "there is no " + without.String() + " in the trace"
	case r.whole && !c.complete:
		return "events are missing"
	case r.ended && rep.Ended != "" && rep.Ended != trace.EndedDone:
		return "the run ended " + rep.Ended
	}
	return ""
}

// recorded tells whether there are events of a kind that a rule needs.
func (c *checker) recorded(r *rule, k trace.Kind) bool {
	switch {
	case k == trace.KindCFMigrated:
		return c.count[k] > 0 || c.count[trace.KindCFStolen] > 0
	case k == trace.KindCFStarted && r.kind == "input-not-here":
		return c.inputs
	case k == trace.KindDFRequested:
		return len(c.requests) > 0 // a node's requests to itself get no answer
	}
	return c.count[k] > 0
}
