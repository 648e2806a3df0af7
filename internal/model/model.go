// Package model arranges a whole trace as columns: arrays indexed by small numbers that say when each CF was
// created, ready, started and finished, who produced each DF, and which way every message went.
//
// Numbers. CF, DF, and executions are dense numbers given while reading; 0 is no CF and no DF. A DF that
// several nodes mention has one number. Names, sites and code fragments of all nodes are merged into one
// table each.
//
// Times are int64 nanoseconds on the common clock: the offsets of GlobalEvents.onClockSync are applied here,
// interpolated between those measurements that count (clocks.go), and where a message between processes
// would still be received before it was sent, clocks are put forward (repair.go). None is the time of what
// was not recorded.
//
// Building. Streams are read in parallel; each fills columns of its own, so nothing is shared but the tables
// that give out numbers. Then each kind of fact is joined by one goroutine. After Build a Model does not
// change and any number of goroutines may read it.
package model

import (
	"math"

	"github.com/whyslow/whyslow/internal/memory"
	"github.com/whyslow/whyslow/trace"
)

// None is the time of what was not recorded.
const None = int64(math.MinInt64)

// CF is the number of a computational fragment in a Model; 0 is none.
type CF uint32

// DF is the number of a data fragment in a Model; 0 is none.
type DF uint32

// Interval is a stretch of time, From <= To.
type Interval struct{ From, To int64 }

// Wait is the time a worker waited for a lock, an exclusive resource or a collective.
type Wait struct {
	Interval
	Name string // of what it waited for
	// Blocked: a call of user code was blocked. Then Name is the reason. What it waited for and the place of
	// the call, as "step.cpp:12", are empty where they are not known, and the CF that held the lock is 0.
	Blocked    bool
	What, Site string
	Holder     CF
	Doing      Doing
}

// Doing is what a worker did in time that is none of its CFs' and was found as waits are.
type Doing uint8

// What it may have done.
const (
	Waited      Doing = iota
	Transferred       // it moved data; Name is the link, "0->1", or the kind of operation
	Operated          // it was in another operation of a run-time system
)

// Text says what a call waited for and where it is: "counter_mutex (step.cpp:12)", "pipe", "step.cpp:12".
func (w *Wait) Text() string {
	switch {
	case w.What == "":
		return w.Site
	case w.Site == "":
		return w.What
	}
	return w.What + " (" + w.Site + ")"
}

// Code is a code fragment.
type Code struct {
	Name string
	Kind trace.CodeKind
	File string // "" where not known
	Line int
}

// Site is a statement of the program.
type Site struct {
	Code  int    // index into Model.Codes
	Label string // of the CFs it makes
	File  string // where only an address was recorded that nothing is known of: "program+0x1a2b"
	Line  int
	Text  string
	DFs   string // which its CFs read and make, as in trace.SiteDef; "" where not known
	// Stealable: nodes with nothing to do may take its CFs.
	Stealable bool
	// Function is the function of the program that the statement is in, where only its address was recorded; of
	// a site that tells which variable a lock is, that.
	Function string
}

// Worker is one stream of a node that executes CFs.
type Worker struct {
	// First and End bound the executions on this worker, ordered by start: First <= execution < End.
	First, End int
	// Started and Finished are the times of onProgramStarted and onProgramFinished; None where missing.
	Started, Finished int64
	Last              int64          // time of the last event, None if there is none
	Lost              []Interval     // of what was not recorded; ordered, disjoint, within the run
	Waits             []Wait         // ordered by start; may be nested
	Idle              []Interval     // parked
	Off               []OffProcessor // by execution: where much is known
	// Measured is how much of its time, not parked, its threads' clocks were read for, CPU what they said.
	Measured, CPU int64
}

// Node is one run-time system.
type Node struct {
	Host    string
	Process int  // index into Model.Processes
	Read    bool // a file of this node was found
	Workers []Worker
}

// Process is an operating system process of the run.
type Process struct {
	Host  string
	Cores int // available to it; 0 not known
	// CPU is the CPU time between the start and the end of the program, in nanoseconds; -1 not known.
	CPU int64
}

// Message is the way of a DF, a request or a CF over a link. A time is None where that end was not recorded.
type Message struct {
	Sent, Received int64
	From, To       int32
	Bytes          int64
	Request        uint32 // of a DF: the request it answers; 0 for a push
	DF             DF
	CF             CF   // it is for, or it is
	Stolen         bool // of a CF
}

// Recorded tells that an end of the message was recorded. Other entries are unused numbers.
func (g *Message) Recorded() bool { return g.Sent != None || g.Received != None }

// Placed is where a locator wants a CF (for its next execution) or a DF (at its next creation): the value
// before it is taken modulo the number of nodes. What has no such record is where its locator wants it.
type Placed struct {
	Time  int64
	CF    CF // 0: a DF
	DF    DF
	Place int64
}

// Model is one execution.
type Model struct {
	Info      *trace.RunInfo // never nil
	NoInfo    bool           // there is no run.json: see CountWorkers
	Start     int64          // earliest onProgramStarted
	End       int64          // latest onProgramFinished, or the last recorded time of a killed run
	Killed    bool           // a worker has no onProgramFinished
	Nodes     []Node         // by node number
	Processes []Process
	Events    uint64 // all events read
	Count     [trace.FirstUserKind]uint64
	LostCount uint64 // events known to be lost
	Problems  []trace.Problem
	NoPlaces  string   // why the places of addresses could not be read, "" if they were
	Clocks    Clocks   // how well those of the processes agree
	Regions   *Regions // nil: the threads entered none

	Codes []Code // Codes[0] stands for what is not known
	Sites []Site // Sites[0] likewise

	// By CF.
	Created    []int64 // None where not recorded
	Parent     []CF
	ParentExec []uint32 // number, from 1, of the parent's execution that created it
	SiteOf     []uint32
	Ready      []int64  // last time it became ready, on ReadyNode
	ReadyNode  []uint16 //
	ExecOf     []uint32 // 1 + its last execution; 0 if it never ran

	// By execution; those of a worker are neighbours, in order of start.
	ExecStart  []int64
	ExecEnd    []int64 // None where it has not ended
	ExecCF     []CF
	ExecNumber []uint32 // from 1
	inputsAt   []uint32
	byEnd      []workerRef // those that executed something, in the order of their executions
	inputs     []DF
	execCPU    []int64 // see CPU; nil: all -1

	// By DF.
	DFName     []uint32 // index into Names: the name without indices
	Names      []string
	firstSeen  map[DF]int64 // of DFs whose creation was not recorded
	Collisions []string     // pairs of different identities with the same 64-bit id

	// Creations of DFs, ordered by DF, then time: those of df are MadeFrom[df] <= i < MadeFrom[df+1].
	MadeFrom []uint32
	MadeTime []int64
	MadeBy   []CF
	MadeNode []uint16
	madeSize []int64      // see SizeMade; nil: all 0
	stored   map[DF]int64 // sizes of DFs without any, as told when copies of them were stored

	DFMessages []Message // by message number; entries with neither end are unused numbers
	Requests   []Message // by request number; likewise
	Moves      []Message // migrations of CFs, ordered by CF, then time
	Copies     []Copy    // by node and stream, in order of time within one
	Queues     []Queue   // likewise
	Awaits     Awaits
	Asked      []Asked // by CFs that have not started since; ordered by CF, then time
	Duplicates []Duplicate
	Held       map[CF][]Interval // held by a debugger
	Stopped    []Interval        // when a debugger had stopped the program; ordered, disjoint
	Placed     []Placed          // by node and stream, in order of time within one

	received  []receipts
	travelled bits             // DFs that some node received
	moved     []uint32         // by CF: 1 + its first of Moves, 0 if there is none; nil if nobody has any
	readyMore map[CF][]readyAt // all but the latest, by node, then by time
	multi     repeated
	labels    []int32
	labelAt   []uint32
	weights   map[CF]float64

	cfs, messages, requests *ids

	// By DF. nil: all are as one node's file numbers them, from 1, and numbers is nil too.
	dfHome []dfRef
	// By node, then its file's numbers of DFs: theirs here. Those that no definition tells of are in late.
	numbers     [][]DF
	onlyNode    uint32 // where dfHome is nil
	late        map[dfRef]DF
	siteNumbers [][]uint32    // by node, then its file's numbers of statements: theirs here
	defs        []*trace.Defs // by node
	clocks      [][]ClockSync // by node: the correction of its clock

	indexes indexes

	spill  *memory.Spill  // nil: all columns are in ordinary memory
	share  *share         // nil: the whole run is here
	abroad map[DF][]int64 // identities of DFs that no file read here mentions
}

// dfRef says where the identity of a DF stands.
type dfRef struct {
	node uint32
	df   trace.DF
}

type workerRef struct {
	*Worker
	node, number int32
}

type readyAt struct {
	t    int64
	node uint16
}

// receipts are the DFs received at one node, ordered by DF, then time.
type receipts struct {
	df      []DF
	message []uint32
}

// Make gives a list of n zero elements for what is derived from a model, as long as that is used: on disk
// where the model's columns are.
func Make[T any](m *Model, n int) []T { return memory.Make[T](m.spill, n) }

// Append is append, with the list where Make would put it.
func Append[T any](m *Model, list []T, v T) []T { return memory.Append(m.spill, list, v) }

// Scratch is a Spill for what is not needed as long as the model, to be closed; nil where columns are in
// memory.
func (m *Model) Scratch() *memory.Spill { return m.spill.Beget() }

// OnDisk tells whether the columns are in a Spill.
func (m *Model) OnDisk() bool { return m.spill != nil }

// Unread says in English what could not be read.
func (m *Model) Unread() []string {
	out := []string{}
	if m.NoPlaces != "" {
		out = append(out, m.NoPlaces)
	}
	for _, p := range m.Problems {
		out = append(out, p.String())
	}
	return out
}

// CPU gives the thread CPU time of an execution in nanoseconds, -1 where it was not measured.
func (m *Model) CPU(execution int) int64 {
	if m.execCPU == nil {
		return -1
	}
	return m.execCPU[execution]
}

// SizeMade gives the bytes of a creation of a DF.
func (m *Model) SizeMade(creation int) int64 {
	if m.madeSize == nil {
		return 0
	}
	return m.madeSize[creation]
}

// CodeOf gives the code fragment of a CF, 0 where it is not known.
func (m *Model) CodeOf(cf CF) int { return m.Sites[m.SiteOf[cf]].Code }

// Atomic tells whether a CF runs user code. A CF whose creation was not recorded counts as atomic.
func (m *Model) Atomic(cf CF) bool { return m.Codes[m.CodeOf(cf)].Kind == trace.Atomic }

// Inputs gives the DFs an execution was given.
func (m *Model) Inputs(execution int) []DF {
	return m.inputs[m.inputsAt[execution]:m.inputsAt[execution+1]]
}

// Executions is the number of executions, of atomic and structured CFs.
func (m *Model) Executions() int { return len(m.ExecStart) }

// Workers is the number of workers of all nodes.
func (m *Model) Workers() (n int) {
	for i := range m.Nodes {
		n += len(m.Nodes[i].Workers)
	}
	return n
}

// InRun moves a time, in nanoseconds, that was recorded before the start of the run or after its end to
// that.
func (m *Model) InRun(t int64) int64 { return min(max(t, m.Start), m.End) }

// Wall is the length of the run in nanoseconds.
func (m *Model) Wall() int64 { return m.End - m.Start }
