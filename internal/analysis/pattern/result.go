package pattern

import (
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/words"
)

// Result is what the search found in a run: severities, that is amounts of metrics, by call path and thread.
//
// A severity is exclusive along the call tree (without calls below) and inclusive along the metric tree (with
// all children). So the sum over a metric's children never exceeds it, and the sum of Time over all call
// paths of a thread is how long it ran.
type Result struct {
	// Metrics is a forest, parents before children. Metrics[0] is Time.
	Metrics []Metric `json:"metrics"`
	// Regions are what is called; Regions[0] stands for the time of a thread outside of all regions.
	Regions []Region `json:"regions"`
	// Calls are the call paths, depth first, parents before children; Calls[0] is outside of all regions.
	Calls   []Call   `json:"calls"`
	Threads []Thread `json:"threads"` // by node and stream
	// Late says who others waited for, largest first.
	Late []Late `json:"late"`
	// Causes say, of MPI programs, whose doings the waiting of all was for, largest first. ChainedNS is how much
	// of it was for threads that waited themselves.
	Causes      []Cause      `json:"causes"`
	ChainedNS   int64        `json:"chained_ns"`
	Locks       []Lock       `json:"locks"`       // largest waits first
	Collectives []Collective `json:"collectives"` // by call path and modes, largest waits first
	Transfers   []Transfer   `json:"transfers"`   // by call path, longest first
	Messages    []Message    `json:"messages"`    // by call path of the send, longest first
	// what could not be paired or was not recorded, a sentence each
	Problems []string `json:"problems"`

	problems []words.Text // Problems
	ranks    bool         // threads are ranks
	pieces   map[model.WorkerID][]Piece
}

// Unit of a metric.
type Unit string

// Units.
const (
	NS    Unit = "ns"
	Occ   Unit = "occ" // how often
	Bytes Unit = "bytes"
)

// Metric is something that is measured: a pattern, or the time it is a part of.
type Metric struct {
	ID     string `json:"id"`     // of the pattern or branch: "wait-at-barrier"; unique
	Name   string `json:"name"`   // "Wait at barrier"
	Parent int    `json:"parent"` // index into Metrics; -1: a root
	Unit   Unit   `json:"unit"`
	Doc    string `json:"doc"` // what it is and how it is computed, a sentence or two
	// Pattern is the number of the pattern, 1 to 15 (see docs/pgas-patterns.md), 0 for other metrics.
	Pattern int `json:"pattern,omitempty"`
	// Reading marks an alternative definition of the metric it names by id, which is a root of its own: not a
	// part of Time, since its time overlaps others'.
	Reading string `json:"reading,omitempty"`
	// Rows are the severities, by call path in increasing order; what is not listed is 0.
	Rows []Row `json:"rows"`
}

// Row is the severities of one metric at one call path.
type Row struct {
	Call   int     `json:"call"`
	Values []int64 `json:"values"` // by thread
}

// Region is a function of the program, or an operation of its run-time system.
type Region struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // trace.CodeKind in words: "barrier"
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// Call is a call path: a region called at a place, from another call path.
type Call struct {
	Parent int    `json:"parent"` // index into Calls, -1 for the roots
	Region int    `json:"region"`
	File   string `json:"file,omitempty"` // where it is called
	Line   int    `json:"line,omitempty"`
}

// Thread is a stream of a node that entered regions.
type Thread struct {
	Node   int    `json:"node"`
	Stream int    `json:"stream"`
	Host   string `json:"host,omitempty"`
	// Counts over the whole run.
	Calls    int64 `json:"calls"`    // operations of the run-time system
	Syncs    int64 `json:"syncs"`    // of them barriers, collectives, locks, completions and waits
	Puts     int64 `json:"puts"`     // one-sided transfers; likewise
	Gets     int64 `json:"gets"`     //
	Sends    int64 `json:"sends"`    // messages sent and received
	Receives int64 `json:"receives"` //
	Atomics  int64 `json:"atomics"`  //
	Sent     int64 `json:"sent"`     // bytes this thread put and its collectives sent
	Received int64 `json:"received"` // bytes it got
}

// Late says for whom others waited, and what that thread did meanwhile.
type Late struct {
	Metric int   `json:"metric"` // the pattern
	Call   int   `json:"call"`   // call path of those who waited
	Thread int   `json:"thread"` // who came last, by index into Threads
	NS     int64 `json:"ns"`     // what others lost, in sum
	Count  int64 `json:"count"`  // how often
	// Doing are the call paths in which the late thread spent its time meanwhile, longest first.
	Doing []Doing `json:"doing"`
	// WorkNS is how much of NS less work of that thread could save. In collectives it is not late by more than
	// it worked since the collective before; in messages it is what it ran of the program meanwhile. LeftNS is
	// how much of NS there was because it left that collective later than those who waited: it had no core.
	WorkNS int64 `json:"-"`
	LeftNS int64 `json:"-"`
}

// Cause is what others lost because a thread was in a call path: directly, or because it kept those waiting
// for whom they waited.
type Cause struct {
	Thread int   `json:"thread"`
	Call   int   `json:"call"`
	NS     int64 `json:"ns"`
}

// Doing is time spent in a call path.
type Doing struct {
	Call int   `json:"call"`
	NS   int64 `json:"ns"`
}

// Lock is what happened to one lock.
type Lock struct {
	ID uint64 `json:"id"`
	// Name is its name, see model.Lock, or its number, "0x4060"; File and Line are where it is declared or
	// allocated.
	Name      string `json:"name"`
	File      string `json:"file,omitempty"`
	Line      int    `json:"line,omitempty"`
	Acquired  int64  `json:"acquired"`   // how often
	Contended int64  `json:"contended"`  // of them after waiting
	WaitNS    int64  `json:"wait_ns"`    // in sum
	HoldNS    int64  `json:"hold_ns"`    // from being acquired to its release, in sum
	LongestNS int64  `json:"longest_ns"` // the longest hold
	// from a release to the next acquisition of a waiting thread, in sum
	HandoverNS int64 `json:"handover_ns"`
	Chain      int   `json:"chain"` // most threads waiting at once
	// Blocks tells who waited for whom. A wait is divided among all that had the lock meanwhile, each from
	// the release before its own hold to the end of that.
	Blocks []Block `json:"blocks"` // longest first
}

// Block is how long one thread waited for a lock that another one had.
type Block struct {
	Waiter int   `json:"waiter"` // indices into Threads
	Owner  int   `json:"owner"`
	NS     int64 `json:"ns"`
	Count  int64 `json:"count"`
}

// Collective is a collective operation at a call path, with what its modes cost.
type Collective struct {
	Call  int    `json:"call"`
	Kind  string `json:"kind"` // as in SyncEvents.onCollective
	Sync  string `json:"sync"` // modes, "all/my"; "" where the interface has none
	Count int64  `json:"count"`
	Bytes int64  `json:"bytes"` // sent, in sum
	NS    int64  `json:"ns"`    // time in it, over all threads
	// EntryNS is all time lost before the last one entered, AllSyncNS the part of it that only the mode
	// IN_ALLSYNC asks for: what IN_MYSYNC would save; ExitNS what was lost at the end.
	EntryNS   int64 `json:"entry_ns"`
	AllSyncNS int64 `json:"allsync_ns"`
	ExitNS    int64 `json:"exit_ns"`
	// AfterBarrier counts those that all members entered right after a barrier: nothing was written between
	// that a weaker mode could let others read too early.
	AfterBarrier int64 `json:"after_barrier"`
	// BetweenNS is the longest time from leaving that barrier to entering the collective.
	BetweenNS int64 `json:"between_ns"`
	// Of barriers too: how many all members entered soon after a barrier, FollowsNS at most, and how many they
	// left so soon before one.
	Follows, Precedes, FollowsNS int64 `json:"-"`
	// AheadNS is how long the members computed after it, up to their next operations, and HideNS the shorter of
	// that and of the time in it, member by member: what could overlap at most.
	AheadNS, HideNS int64 `json:"-"`
}

// Transfer is the blocking one-sided transfers at a call path.
type Transfer struct {
	Call  int   `json:"call"`
	Count int64 `json:"count"`
	Bytes int64 `json:"bytes"`
	NS    int64 `json:"ns"`
	// Runs counts sequences of two or more transfers of a thread with no other operation between them. OverlapNS
	// is what overlapping them would save: their time but for the longest of each run.
	Runs      int64 `json:"runs"`
	OverlapNS int64 `json:"overlap_ns"`
}

// Message is the messages sent at a call path.
type Message struct {
	Call  int   `json:"call"`
	Count int64 `json:"count"`
	Bytes int64 `json:"bytes"`
	NS    int64 `json:"ns"` // in the calls that send and receive them, without waits for the other side
	// Runs counts sequences of two or more messages to one receiver with no other operation between them. JoinNS
	// is the part of NS of all but the first of each run: what one message in place of a run would save.
	Runs   int64 `json:"runs"`
	JoinNS int64 `json:"join_ns"`
}

// PieceKind is what a worker did in a region.
type PieceKind uint8

// The kinds of pieces.
const (
	Waits     PieceKind = iota // for other threads
	Transfers                  // data was on its way
	Runs                       // the run-time system worked
	Works                      // the program worked, in a function
)

// Piece is time of a worker in a region. The pieces of a worker do not overlap and are in order; between them
// it was in none.
type Piece struct {
	From, To int64 // common clock
	Kind     PieceKind
	// Part is the id of the pattern or of the operation's class; of Transfers over one link "0->1"; of Works "".
	Part string
	Call int // index into Calls
}

// Pieces gives the pieces of a worker, for the division of its time.
func (r *Result) Pieces(w model.WorkerID) []Piece { return r.pieces[w] }

// In gives the result with the names of metrics and its sentences in a language. It shares everything else
// with r.
func (r *Result) In(l words.Lang) *Result {
	out := *r
	out.Metrics, out.Problems = slices.Clone(r.Metrics), slices.Clone(r.Problems)
	for i := range out.Metrics {
		m := &out.Metrics[i]
		name, doc := words.Metrics[m.ID].Name, words.Metrics[m.ID].Doc
		if r.ranks {
			name, doc = name.OfRanks(), doc.OfRanks()
		}
		m.Name, m.Doc = name.In(l), doc.In(l)
	}
	for i, p := range r.problems {
		if r.ranks {
			p = p.OfRanks()
		}
		out.Problems[i] = p.In(l)
	}
	return &out
}

// Path names the regions of a call path, from the outermost function: "main > solve > upc_barrier".
func (r *Result) Path(call int) string {
	s := r.Regions[r.Calls[call].Region].Name
	for up := r.Calls[call].Parent; up > 0; up = r.Calls[up].Parent {
		s = r.Regions[r.Calls[up].Region].Name + " > " + s
	}
	return s
}

// Sums are those of a metric.
type Sums struct {
	Total    int64
	ByThread []int64
	Call     int // the call path with most
}

// Sum sums up the rows of a metric that are wanted: want gets their call paths, nil wants all.
func (r *Result) Sum(id string, want func(call int) bool) Sums {
	out := Sums{ByThread: make([]int64, len(r.Threads))}
	longest := int64(0)
	for i := range r.Metrics {
		if r.Metrics[i].ID != id {
			continue
		}
		for _, row := range r.Metrics[i].Rows {
			if want != nil && !want(row.Call) {
				continue
			}
			sum := int64(0)
			for t, v := range row.Values {
				sum += v
				out.ByThread[t] += v
			}
			out.Total += sum
			if sum > longest {
				out.Call, longest = row.Call, sum
			}
		}
	}
	return out
}
