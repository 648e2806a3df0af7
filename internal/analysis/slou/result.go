package slou

import (
	"cmp"
	"math"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// Result is the division of all processor time of a run. All times are nanoseconds.
type Result struct {
	Program string `json:"program"`
	Ended   string `json:"ended"` // as in run.json; "" while it runs or when it was killed
	WallNS  int64  `json:"wall_ns"`
	// Interval is the part of the run that this is about; nil: all of it. WallNS is then its length.
	Interval *Interval `json:"interval,omitempty"`
	// workers x wall + extra cores - loss: what the factors add up to
	TotalNS      int64   `json:"total_ns"`
	ExtraCoresNS int64   `json:"extra_cores_ns"` // processor time used beyond the workers'; part of O
	Loss         Loss    `json:"loss"`
	Factors      Factors `json:"factors"`
	// UndividedNS is time that belongs to factors that are null.
	UndividedNS int64     `json:"undivided_ns"`
	Missing     []Missing `json:"missing"`
	// OneOff: the kernel does not report how long threads wait for cores, so O.preempt is also the time
	// for which
	// CFs were blocked for unknown reasons, W.blocked.
	OneOff     bool         `json:"preempt_includes_blocked,omitempty"`
	Nodes      []Node       `json:"nodes"`
	Fragments  []Fragment   `json:"fragments"`  // by useful time, most first
	Structured []Structured `json:"structured"` // beside the sum; by time, most first
	Causes     []Cause      `json:"causes"`     // by time, most first
	Hosts      []model.Host `json:"hosts"`
	Messages   Messages     `json:"messages"`
	Killed     bool         `json:"killed"`     // some worker's trace has no end, and the interval reaches that
	Unfinished int          `json:"unfinished"` // atomic CFs that started and did not end
	DataInputs bool         `json:"data_inputs_only"`
	Source     bool         `json:"source_rule,omitempty"` // as RuleSource
	Problems   []string     `json:"problems"`              // what could not be read
	Splits     []Split      `json:"splits,omitempty"`      // as asked for by Options.Splits, in that order
	Windows    *Windows     `json:"windows,omitempty"`     // nil unless asked for
}

// Interval is a part of a run: nanoseconds since its start, the end not included.
type Interval struct {
	FromNS int64 `json:"from_ns"`
	ToNS   int64 `json:"to_ns"`
}

// Exported is the part of a run that an exported trace has; nil: all of it.
func Exported(m *model.Model) *Interval {
	if v := m.Info.Interval; v != nil {
		return &Interval{FromNS: min(max(v.FromNS, 0), m.Wall()), ToNS: min(max(v.ToNS, v.FromNS, 0), m.Wall())}
	}
	return nil
}

// Of gives the interval on the common clock. One that begins or ends with the run has what was recorded
// before or after that, too; nil has all.
func (v *Interval) Of(m *model.Model) model.Interval {
	out := model.Interval{From: math.MinInt64, To: math.MaxInt64}
	if v != nil && v.FromNS > 0 {
		out.From = m.Start + min(v.FromNS, m.Wall())
	}
	if v != nil && v.ToNS < m.Wall() {
		out.To = max(m.Start+max(v.ToNS, 0), out.From)
	}
	return out
}

// bounds cuts an interval at the ends of the run.
func bounds(m *model.Model, v model.Interval) model.Interval {
	return model.Interval{From: max(v.From, m.Start), To: min(v.To, m.End)}
}

// length is how long an interval lasts.
func length(v model.Interval) int64 { return v.To - v.From }

// StartNS is when what the result is about begins, in nanoseconds since the start of the run.
func (r *Result) StartNS() int64 {
	if r.Interval == nil {
		return 0
	}
	return r.Interval.FromNS
}

// Loss is time and events of which nothing is known; it is in no factor.
type Loss struct {
	NS     int64  `json:"ns"`
	Events uint64 `json:"events"`
}

// Missing names an event that was not recorded and the factors it is needed for.
type Missing struct {
	Event   string   `json:"event"`
	Factors []string `json:"factors"`
	Parts   []string `json:"parts,omitempty"` // where only parts of factors are in doubt
}

// Share is the time of a factor and its parts, which add up to it.
type Share struct {
	NS    int64            `json:"ns"`
	Parts map[string]int64 `json:"parts"`
}

// Of is the time of a part.
func (s *Share) Of(p Part) int64 { return s.Parts[p.String()] }

// Amount is a named amount of time, in nanoseconds.
type Amount struct {
	Name string
	NS   int64
}

// Largest lists the parts that took any time, most first.
func Largest(parts map[string]int64) []Amount {
	var out []Amount
	for k, v := range parts {
		if v > 0 {
			out = append(out, Amount{k, v})
		}
	}
	slices.SortFunc(out, func(a, b Amount) int {
		return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// Useful is the time in user code; MeasuredNS of it was measured by a thread's clock.
type Useful struct {
	Share
	MeasuredNS int64 `json:"measured_ns"`
}

// Node is the share of one node.
type Node struct {
	Node    int      `json:"node"`
	Host    string   `json:"host"`
	TotalNS int64    `json:"total_ns"`
	LossNS  int64    `json:"loss_ns"`
	CFs     int64    `json:"cfs"` // atomic CFs executed
	Factors Factors  `json:"factors"`
	Workers []Worker `json:"workers"`
}

// Worker is the share of one worker.
type Worker struct {
	Worker  int     `json:"worker"`
	TotalNS int64   `json:"total_ns"`
	LossNS  int64   `json:"loss_ns"`
	CFs     int64   `json:"cfs"`
	Factors Factors `json:"factors"`
}

// Fragment sums up an atomic code fragment; in a run of regions a function of the program, by the time
// outside of operations.
type Fragment struct {
	Code     string `json:"code"`
	Count    int64  `json:"count"` // executions; of a region: calls, 0 where the run does not tell
	UsefulNS int64  `json:"useful_ns"`
	MeanNS   int64  `json:"mean_ns"`
	MaxNS    int64  `json:"max_ns"` // longest useful time of one CF; 0 of a region
	Caused   Caused `json:"caused"`
	// Before divides the time that workers spent before and in its CFs, itself included.
	Before Times  `json:"before"`
	File   string `json:"file"`
	Line   int    `json:"line"`
}

// Structured sums up a structured code fragment, run by the system.
type Structured struct {
	Code  string `json:"code"`
	Kind  string `json:"kind"`
	Count int64  `json:"count"`
	NS    int64  `json:"ns"`
}

// Cause is a reason for lost time: who waited for whom, and for what.
type Cause struct {
	Factor   string `json:"factor"`
	Part     string `json:"part"`
	Producer string `json:"producer"`
	DF       string `json:"df"`
	Link     string `json:"link"`
	Consumer string `json:"consumer"` // of a run of regions: the call path
	// What user code waited for, and where, in parts of W: "counter_mutex (step.cpp:12)". Producer is then the
	// code fragment whose CF held it.
	What  string `json:"what,omitempty"`
	NS    int64  `json:"ns"`
	Count int64  `json:"count"`
	// QueuedNS is how much of it, at most, was lost because the producer's CF, ready to run, was kept waiting
	// while its worker ran something else.
	QueuedNS int64 `json:"queued_ns"`
}

// Messages sums up the DFs and CFs that went from node to node; of an interval, those that were sent, in
// flight or received in it.
type Messages struct {
	Count       int64 `json:"count"`
	Bytes       int64 `json:"bytes"`
	FlightNS    int64 `json:"flight_ns"` // sum over all
	Repeated    int64 `json:"repeated"`  // DFs sent to a node that had received them before
	RepeatBytes int64 `json:"repeat_bytes"`
	// Violations counts messages and requests received before they were sent: the clocks disagree.
	Violations int64 `json:"violations"`
	// Repaired counts messages and requests between processes that clocks, corrected by their comparisons
	// alone, let arrive before they were sent. Times of nodes were moved so that they do not; RepairMaxNS is
	// by how much at most.
	Repaired    int64 `json:"repaired"`
	RepairMaxNS int64 `json:"repair_max_ns"`
	// Crossing counts the messages and requests between processes of which both ends were recorded.
	Crossing int64 `json:"crossing"`
	// Half counts messages of which only one end was recorded.
	Half int64 `json:"half"`
}
