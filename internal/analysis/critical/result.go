package critical

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
)

// Result is what the critical path of a run tells. All times are nanoseconds, times of day relative to the
// run's start. Path, Work and Slack are nil where events they need were not recorded; Missing says which.
type Result struct {
	Program string     `json:"program"`
	Ended   string     `json:"ended"`   // as in run.json
	Killed  bool       `json:"killed"`  // some worker's trace has no end
	Workers int        `json:"workers"` // of all nodes
	WallNS  int64      `json:"wall_ns"`
	Path    *Path      `json:"path"`
	Work    *Work      `json:"work"`
	Slack   []Fragment `json:"slack"` // by least slack, then by useful time, most first
	Missing []Missing  `json:"missing"`
}

// Missing names an event that was not recorded and what could not be computed without it.
type Missing struct {
	Event string   `json:"event"`
	Null  []string `json:"null"`            // names in the JSON that are null
	Doubt []string `json:"doubt,omitempty"` // names that are there but may be wrong
}

// Path is the critical path: the chain of what held up what that ends with the CF that ended last.
type Path struct {
	Last     string `json:"last"`      // the CF that ended last; "" if none ended
	LengthNS int64  `json:"length_ns"` // from the start of the run to its end
	TailNS   int64  `json:"tail_ns"`   // from there to the end of the run
	CFs      int64  `json:"cfs"`       // executions of atomic CFs on it
	// Structured is the number of executions of structured CFs on it.
	Structured int64 `json:"structured"`
	Count      int64 `json:"steps"`
	// Factors, Parts, Fragments, Reasons and Kinds each divide the length and the tail without remainder.
	Factors   Factors        `json:"factors"`
	Parts     []Part         `json:"parts"`     // by time, most first
	Kinds     []Part         `json:"kinds"`     // likewise
	Fragments []PathFragment `json:"fragments"` // likewise
	Reasons   []ReasonSum    `json:"reasons"`   // by time, most first
	Longest   []NamedStep    `json:"longest"`   // by time, most first
	Steps     []Step         `json:"-"`         // all, in order of time

	names     []string            // of what was waited for
	titles    map[model.CF]string // of CFs whose names the model does not have
	dfs       []string            // names of DFs whose numbers are not below m.DFs()
	m         *model.Model
	undivided bool
}

// Factors are the times of the factors on the path, or on a part of it. L and O are nil where the events that
// tell them apart were not recorded. S is the tail and what was not recorded of the reasons: nothing on the
// path waits without a cause.
type Factors struct {
	NS [slou.FactorUndivided + 1]int64
	// Undivided says that L and O cannot be told apart: they are together in that row.
	Undivided bool
}

// Of gives the time of a factor, nil where it cannot be told.
func (f *Factors) Of(k slou.Factor) *int64 {
	if f.Undivided && (k == slou.FactorL || k == slou.FactorO) {
		return nil
	}
	return &f.NS[k]
}

// MarshalJSON writes an object with all factors, lost time and what cannot be told apart.
func (f Factors) MarshalJSON() ([]byte, error) { return append(f.appendJSON([]byte{'{'}), '}'), nil }

func (f *Factors) appendJSON(b []byte) []byte {
	for k := range f.NS {
		if k > 0 {
			b = append(b, ',')
		}
		if b = fmt.Appendf(b, "%q:", slou.Factor(k)); f.Of(slou.Factor(k)) == nil {
			b = append(b, "null"...)
		} else {
			b = strconv.AppendInt(b, f.NS[k], 10)
		}
	}
	return b
}

// Part is a share of the path.
type Part struct {
	// Name is "U", "O.dispatch", "L.0->1", "W.lock", "S" or "loss", or "L+O" where these two cannot be told
	// apart; or a kind of step.
	Name  string `json:"name"`
	NS    int64  `json:"ns"`
	Count int64  `json:"count"` // steps
}

// PathFragment is the share of the CFs of a code fragment: the steps in which one of them ran or could not
// start yet.
type PathFragment struct {
	Code  string `json:"code"` // "" for the tail
	Kind  string `json:"kind"` // "atomic" or the kind of a structured one; "" for the tail
	File  string `json:"file"`
	Line  int    `json:"line"`
	Count int64  `json:"count"` // executions on the path
	NS    int64  `json:"ns"`
	// Factors stand beside the other fields in JSON.
	Factors Factors `json:"-"`
}

// MarshalJSON writes an object of the fields, then the factors.
func (f PathFragment) MarshalJSON() ([]byte, error) {
	type fields PathFragment
	b, err := json.Marshal(fields(f))
	if err != nil {
		return nil, err
	}
	return append(f.Factors.appendJSON(append(b[:len(b)-1], ',')), '}'), nil
}

// ReasonSum sums up how the path came from one CF to the next: because the next needed an input of the first,
// "input" or, over a link, "link"; because it was "created" by it; because it is the same CF "again"; because
// it was ready and the first kept its "worker" busy; "unknown". "run" is the time in which CFs ran, "start"
// and "tail" are the ends.
type ReasonSum struct {
	Reason string `json:"reason"`
	Count  int64  `json:"count"` // of times the path went this way
	NS     int64  `json:"ns"`    // on the way
	// ReadyNS, of "worker", is for how long CFs of the path were ready before their workers started them.
	ReadyNS int64 `json:"ready_ns"`
}

// NamedStep is a Step in words.
type NamedStep struct {
	FromNS int64  `json:"from_ns"`
	ToNS   int64  `json:"to_ns"`
	Kind   string `json:"kind"`
	Name   string `json:"name"` // as Part.Name
	CF     string `json:"cf"`   // with indices and id; "" none
	Code   string `json:"code"`
	DF     string `json:"df"`
	Link   string `json:"link"` // "0->1"; "" unless on a link
	Node   int    `json:"node"`
	Worker int    `json:"worker"`
	Reason string `json:"reason"` // why the next CF of the path waited for this one
}

// Work is what any number of workers could make of the program.
type Work struct {
	T1NS   int64 `json:"t1_ns"`   // useful time of all atomic CFs
	TinfNS int64 `json:"tinf_ns"` // longest chain of useful times along inputs and creations
	// TinfLinksNS is the longest chain if DFs and CFs also take as long on links as they did.
	TinfLinksNS *int64 `json:"tinf_links_ns"`
	// Parallelism is T1 / Tinf: the greatest speed-up; more workers than that cannot be busy on average. 0 if
	// nothing ran.
	Parallelism float64 `json:"parallelism"`
	// HelpfulWorkers is the number of workers up to which the bound on the time falls, at least 1.
	HelpfulWorkers int64 `json:"helpful_workers"`
	// Bounds are those for 1, 2, 4, ... workers, up to twice HelpfulWorkers, and for the run's own number.
	Bounds []Bound `json:"bounds"`
	// Own is the bound for the run's own number of workers, on the cores that they share.
	Own Bound `json:"own"`
	// Cores is how many cores the run's workers share; 0 where each has one of its own, or that is not known.
	Cores int64 `json:"cores"`
	// LostNS is how much longer the run took than Own.LeastNS.
	LostNS int64 `json:"lost_ns"`
	// ChainCFs and Chain describe the longest chain: its atomic CFs, and its useful time by code fragment,
	// most first.
	ChainCFs int64        `json:"chain_cfs"`
	Chain    []PathUseful `json:"chain"`
}

// PathUseful is the useful time of a code fragment on the longest chain.
type PathUseful struct {
	Code string `json:"code"`
	NS   int64  `json:"ns"`
}

// Bound is what p workers, each on a core, can reach at best, and what any scheduler that leaves no worker
// idle while a CF is ready reaches at worst, if communication and the system cost nothing.
type Bound struct {
	Workers int64 `json:"workers"`
	LeastNS int64 `json:"least_ns"` // max(T1/p, Tinf), rounded up
	// GreedyNS is T1/p + Tinf (1 - 1/p), rounded up (Graham 1966, Brent 1974): at most LeastNS times two.
	GreedyNS int64   `json:"greedy_ns"`
	Speedup  float64 `json:"speedup"` // T1 / LeastNS: the greatest
	Greedy   float64 `json:"greedy"`  // T1 / GreedyNS: the least of a greedy scheduler
}

// Fragment sums up the slack of the executions of a code fragment that ended.
//
// The slack of an execution is by how much it alone could have ended later, and all that it let go of with
// it, without the end of the last CF moving, if everything else had cost what it did and every worker had run
// the same CFs in the same order. It is 0 on the path.
type Fragment struct {
	Code     string `json:"code"`
	Kind     string `json:"kind"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Count    int64  `json:"count"` // executions
	UsefulNS int64  `json:"useful_ns"`
	// Critical is the number of executions without slack; OnPath that of those on the path.
	Critical int64 `json:"critical"`
	OnPath   int64 `json:"on_path"`
	// MinNS is by how much any one of them could end later; AllNS by how much all of them at once could: each
	// takes that much longer. AllNS <= MinNS; nil where a very long run has so many code fragments that it
	// would take too long to find out.
	MinNS  int64  `json:"min_ns"`
	AllNS  *int64 `json:"all_ns"`
	MeanNS int64  `json:"mean_ns"`
	SumNS  int64  `json:"sum_ns"`
	MaxNS  int64  `json:"max_ns"`
}
