// Package lifecycle tells whether the CFs and DFs of a run lived as they should: CFs that never ran and what
// they wait for, DFs that were never produced, produced twice, never used or held to the end, requests that
// came too late or were never answered.
//
// Everything comes from recorded events, so it works for every kind of run. For a run that was killed or
// still executes, what is left counts as under way, not as a fault (Result.Final).
package lifecycle

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// Options of Compute; the zero value means the defaults.
type Options struct {
	// All lists every group of CFs that are left; otherwise those that wait only for what others of them
	// would make are counted in CFs.More.
	All bool
	// Examples is how many examples each group names; 0 means 4.
	Examples int
	// Groups is how many groups each finding lists, the largest; 0 means 20.
	Groups int
}

// Result is what was found. All times are nanoseconds, times of day since the start of the run; sizes are
// bytes. A finding that the recorded events do not allow to make is nil, and Missing names the event.
type Result struct {
	Ended  string `json:"ended"`  // as in run.json; "" while it runs or when it was killed
	Killed bool   `json:"killed"` // some worker's trace has no end
	// Final: the run ended by itself, so whatever is left is a fault of the program. Otherwise it was cut
	// short, and what is left was under way.
	Final         bool     `json:"final"`
	CFs           *CFs     `json:"cfs"`
	NeverProduced *Finding `json:"never_produced"` // DFs that CFs waited for or requested
	ProducedTwice *Finding `json:"produced_twice"` // DFs assigned again while they had a value
	// NeverUsed are DFs that no CF was given, waited for or requested from another node. A remaining CF that
	// waits for other DFs may have asked its own node for one.
	NeverUsed *Finding `json:"never_used"`
	HeldToEnd *Finding `json:"held_to_end"` // DFs that the program did not delete; no error in LuNA
	// requests that came to a node where the DF had been destroyed
	LateRequests *Finding  `json:"late_requests"`
	Unanswered   *Finding  `json:"unanswered"` // requests to other nodes without an answer
	Missing      []Missing `json:"missing"`

	Misplaced []Misplaced `json:"-"`
}

// Misplaced are DFs of one name that CFs of one statement asked the wrong node for: they never come.
type Misplaced struct {
	Name  string
	Count int64 // CFs and DFs
	By    Place // the CFs that wait
	// One of the DFs, who made it (no code fragment: not known), the node asked and the one that has it.
	DF            string
	Maker         Place
	Asked, Stored int
	// By which rules, in words; nothing where not known.
	AskedBy, StoredBy words.Text
	Missing, Sub      string // the rule that a sub lacks, "" where not known

	first order
	same  nameSite
}

// Missing names an event that was not recorded, and the findings, by their names in JSON, that need it.
type Missing struct {
	Event    string   `json:"event"`
	Findings []string `json:"findings"`
}

// Place is a statement of the program.
type Place struct {
	Code string `json:"code"` // the code fragment
	Text string `json:"text"` // the statement as written; "" where not known
	File string `json:"file"` // "" where not known
	Line int    `json:"line"`
	col  int
}

// Finding sums up DFs or requests of one kind.
type Finding struct {
	Count  int64   `json:"count"`
	Bytes  int64   `json:"bytes"`  // of the DFs; 0 for DFs that were never produced
	Groups []Group `json:"groups"` // most bytes first, then most
	More   int     `json:"more"`   // groups that are not listed
}

// Group are the DFs of one name that the CFs of one statement made (or asked for, where there is no maker).
type Group struct {
	Name string `json:"name"` // of the DFs, without indices
	// who made them; of late and unanswered requests and of what was never produced: who asked
	By     Place  `json:"by"`
	Second *Place `json:"second,omitempty"` // produced twice: who made them again
	Why    string `json:"why,omitempty"`    // in words; "" where the finding says it
	Count  int64  `json:"count"`
	Bytes  int64  `json:"bytes"`
	// For DFs held to the end: how long in all, and how long after their last use.
	HeldNS   int64     `json:"held_ns,omitempty"`
	UnusedNS int64     `json:"unused_ns,omitempty"`
	Examples []Example `json:"examples"`
}

// Example is one DF, or a request for it.
type Example struct {
	DF string `json:"df"`
	// that made it; of requests and of what was never produced: that asked; "" where not known
	CF   string `json:"cf"`
	Node int    `json:"node"` // where that was; -1 where not known
	AtNS int64  `json:"at_ns"`
	// Second made it again, at SecondNS. Of requests To is the node asked; of late ones DestroyedNS is when
	// the DF was destroyed.
	Second      string `json:"second,omitempty"`
	SecondNS    int64  `json:"second_ns,omitempty"`
	DestroyedNS int64  `json:"destroyed_ns,omitempty"`
	To          *int   `json:"to,omitempty"`
	Bytes       int64  `json:"bytes,omitempty"`
}

// finder is a computation in progress.
//
// Several processes may share a run, each with the model of its nodes. Each finding belongs to one process: a
// CF to the node that created it, a DF to the node that made it last, a request to the node that asked. The
// other processes send what they know. Each process groups its findings, and rank 0 joins the groups in an
// order that is sent along (order).
//
// What the remaining CFs wait for concerns the whole program: rank 0 collects them (left.go) and asks all
// processes about what they wait for (answers.go).
type finder struct {
	m      *model.Model
	g      procs.Group
	opt    Options
	res    *Result
	makers *makers // of findCFs
	// program is what the engine says of a program that cannot finish; nil: a trace tells.
	program *luna.Stuck
	inputs  bool // some execution of the run was given a DF
	// madeAbroad are DFs with a value of which the files that this process read say nothing.
	madeAbroad map[model.DF]bool
	mu         sync.Mutex           // keeps names and res.Missing
	names      map[*string]trace.CF // at rank 0: where names of CFs belong
}

// Compute looks through a run. All members of g call it with the same options, each with its model from
// model.BuildShare; rank 0 gets the result, the others nil. A g of nil is one process with the whole run. It
// fails when ctx ends, and at all members when it fails at one.
func Compute(ctx context.Context, m *model.Model, opt Options, g procs.Group) (*Result, error) {
	opt.Examples, opt.Groups = cmp.Or(opt.Examples, 4), cmp.Or(opt.Groups, 20)
	f := newFinder(m, opt, g)
	var err error
	if f.inputs, err = procs.Any(f.g, m.HasInputs()); err != nil {
		return nil, err
	}
	if err := f.learn(); err != nil {
		return nil, err
	}
	finds := []func() error{f.findCFs, f.findDFs, f.findNeverProduced, f.findLate, f.findUnanswered}
	lanes := 1 // all processes exchange in the same order
	if f.g.Size() == 1 {
		lanes = len(finds)
	}
	err = procs.Each(ctx, lanes, len(finds), func(_, i int) error { return finds[i]() })
	if err == nil {
		err = f.name()
	}
	if err != nil || f.g.Rank() != 0 {
		return nil, err
	}
	slices.SortFunc(f.res.Missing, func(a, b Missing) int { return cmp.Compare(a.Event, b.Event) })
	return f.res, ctx.Err()
}

func newFinder(m *model.Model, opt Options, g procs.Group) *finder {
	if g == nil {
		g = procs.Alone()
	}
	ended := m.Info.Ended
	return &finder{m: m, g: g, opt: opt, names: map[*string]trace.CF{}, res: &Result{Ended: ended,
		Killed: m.Killed, Final: !m.Killed && (ended == trace.EndedDone || ended == trace.EndedStuck),
		Missing: []Missing{}}}
}

// learn asks other processes for the statements of CFs that may be involved in a fault, and for requested DFs
// that got a value of which the own files say nothing.
func (f *finder) learn() error {
	m := f.m
	if f.g.Size() == 1 {
		return nil
	}
	cfs := slices.Concat(m.MadeBy, m.Parent)
	for i := range m.Requests {
		cfs = append(cfs, m.Requests[i].CF)
	}
	if err := m.LearnSites(f.g, cfs); err != nil {
		return err
	}
	unknown, asked := map[uint64]model.DF{}, map[uint64]bool{}
	for i := 1; i < len(m.Requests); i++ {
		if q := &m.Requests[i]; q.DF != 0 && !f.made(q.DF) && m.Shared(q.DF) && m.Own(int(q.From)) {
			unknown[m.DFGlobal(q.DF)], asked[m.DFGlobal(q.DF)] = q.DF, true
		}
	}
	all, err := procs.AllOf(f.g, asked)
	if err != nil {
		return err
	}
	wanted, known := map[uint64]bool{}, []uint64{}
	for _, theirs := range all {
		maps.Copy(wanted, theirs)
	}
	for df := model.DF(1); int(df) < m.DFs() && len(wanted) > 0; df++ {
		if n := m.DFGlobal(df); wanted[n] && f.made(df) {
			known = append(known, n)
		}
	}
	lists, err := procs.AllOf(f.g, known)
	f.madeAbroad = map[model.DF]bool{}
	for _, n := range slices.Concat(lists...) {
		if df := unknown[n]; df != 0 {
			f.madeAbroad[df] = true
		}
	}
	return err
}

// off tells that an event was switched off.
func (f *finder) off(k trace.Kind) bool {
	return f.m.Count[k] == 0 && slices.Contains(f.m.Info.Off, k.String())
}

// missing notes that a finding cannot be made for want of an event.
func (f *finder) missing(finding string, k trace.Kind) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.res.Missing, func(m Missing) bool { return m.Event == k.String() })
	if i < 0 {
		i = len(f.res.Missing)
		f.res.Missing = append(f.res.Missing, Missing{Event: k.String()})
	}
	m := &f.res.Missing[i]
	m.Findings = append(m.Findings, finding)
	slices.Sort(m.Findings)
}

// need notes kinds of events that are missing: switched off, or not there although other events show that
// they must have happened. It tells whether all are there.
func (f *finder) need(finding string, kinds ...trace.Kind) bool {
	ok := true
	for _, k := range kinds {
		if f.m.Count[k] == 0 && (f.off(k) || f.wanted(k)) {
			f.missing(finding, k)
			ok = false
		}
	}
	return ok
}

// wanted tells that other events show that there must have been some of a kind.
func (f *finder) wanted(k trace.Kind) bool {
	n := &f.m.Count
	switch k {
	case trace.KindCFCreated:
		return n[trace.KindCFStarted]+n[trace.KindCFReady]+n[trace.KindCFWaiting] > 0
	case trace.KindCFStarted:
		return n[trace.KindCFFinished] > 0
	case trace.KindCFFinished:
		return n[trace.KindCFStarted] > 0 && f.m.Info.Ended == trace.EndedDone
	case trace.KindDFCreate:
		return n[trace.KindDFStored]+n[trace.KindDFSent]+n[trace.KindDFReceived] > 0 || f.inputs
	case trace.KindDFReceived:
		return n[trace.KindDFSent] > 0 && f.m.Info.Ended == trace.EndedDone
	}
	return false
}

func (f *finder) placeOf(site int) Place {
	if f.program != nil {
		st := f.program.Program.Stmts[site]
		return placeIn(st.Text, st.Pos)
	}
	s := &f.m.Sites[site]
	c := &f.m.Codes[s.Code]
	p := Place{Code: c.Name, Text: s.Text, File: s.File, Line: s.Line}
	if p.File == "" {
		p.File, p.Line = c.File, c.Line
	}
	return p
}

// at gives a time since the start of the run; 0 for what was not recorded.
func (f *finder) at(t int64) int64 {
	if t == model.None {
		return 0
	}
	return t - f.m.Start
}
