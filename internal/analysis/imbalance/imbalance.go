// Package imbalance tells how evenly the work of a run was spread over its nodes and workers, what that cost,
// and how efficient the run was.
//
// # Efficiency
//
// The measures are those of the POP project (Performance Optimisation and Productivity, a centre of
// excellence of the EU), carried over from processes that compute and communicate to workers that execute
// CFs. With U the useful time of a worker (factor U), and the run lasting T:
//
//	load balance              = mean U / max U
//	communication efficiency  = max U / T
//	parallel efficiency       = mean U / T = load balance x communication efficiency
//
// mean and max are over workers. Load balance is divided further into that between nodes and that within
// them:
//
//	between nodes = mean U / (largest mean of a node's workers)
//	within nodes  = (largest mean of a node's workers) / max U
//
// Communication efficiency looks at the worker with the most useful time: all that kept it from being useful
// all the time. In POP it is serialisation x transfer; here SLOW tells the parts. They are taken away one
// after another, each efficiency being what is left over what there was before it, so that their product is
// communication efficiency exactly:
//
//	runtime        O without the next: the run-time system worked or was not done yet
//	pre-emption    of O: the worker had no processor
//	transfer       L: data or CFs were under way
//	serialisation  S.nowhere: nowhere was anything ready to be executed
//	placement      S.here and S.elsewhere: something was ready, but this worker did not execute it
//	starvation     instead of these two: S, where onReady was not recorded
//	waiting        W: locks, exclusive resources, collectives
//	undivided      factors that the recorded events do not allow to compute, together
//	unrecorded     time of which nothing is known
//
// The same holds for the workers of one node.
//
// # Imbalance of a code fragment
//
// With U the useful time of a worker in CFs of one code fragment, imbalance is max U / mean U: 1 where all
// workers do the same, the number of workers where one does all. As a percentage it is 100 x (max U / mean U
// - 1). Between nodes U is the time per worker of the node, so that a node with more workers may do more.
//
// While the worker with the most is at it, each other worker has max U - U less to do. The sum of that over
// the workers is the excess: workers x (max U - mean U). If the others had enough of other things to do,
// nobody waited. So the time that they waited because of the imbalance is at most the excess, and at most the
// starvation (factor S) that CFs of this code fragment caused; the smaller of the two is waited_ns. It is
// also compared to all that was lost, S + L + O + W.
package imbalance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
)

// Options of Compute; the zero value means the defaults.
type Options struct {
	// SLOU is the division of the same model's time; nil: it is computed.
	SLOU *slou.Result
	// Series are series of the same model with cfs_ready and bytes_held; nil: these are computed.
	Series *counters.Result
	// Windows is the number of windows of time asked for; 0 means those of Series, or 200.
	Windows int
	// Rule is that of SLOU, where that is to be computed.
	Rule slou.Rule
}

// Result tells about balance and efficiency. Times are nanoseconds, those of day since the start of the run.
type Result struct {
	WallNS int64 `json:"wall_ns"`
	// LostNS is S + L + O + W of the workers; nil where one of them cannot be computed.
	LostNS *int64 `json:"lost_ns"`
	// Efficiency is that of all workers; nil where useful time cannot be computed, as are Nodes, Total,
	// Fragments and Time.
	Efficiency *Efficiency `json:"efficiency"`
	Nodes      []Node      `json:"nodes"` // those with workers
	// Total is the balance of all code fragments together; its Code is "".
	Total *Fragment `json:"total"`
	// Fragments are the atomic code fragments, by waited time, then excess, most first.
	Fragments []Fragment `json:"fragments"`
	Time      *Time      `json:"time"`
	// Weights tells how well weights given by the program predict time; nil where none was given, or
	// onCreated is missing.
	Weights *Weights  `json:"weights"`
	Missing []Missing `json:"missing"`
}

// Missing names an event that was not recorded and what it is needed for.
type Missing struct {
	Event string `json:"event"`
	// For lists: "efficiency" (and all that needs useful time), "communication" (its steps), "waited",
	// "cfs_ready", "bytes_held" (of Time.Variations), "weights".
	For []string `json:"for"`
}

// Efficiency of some workers. An efficiency is from 0 to 1 and nil where it would be a quotient of nothing: a
// run of no length, or without useful time.
type Efficiency struct {
	Workers  int   `json:"workers"`
	UsefulNS int64 `json:"useful_ns"` // of all workers
	// MaxNS is that of the worker with the most, the first of several; MaxWorker is "node.worker".
	MaxNS       int64    `json:"max_ns"`
	MaxWorker   string   `json:"max_worker"`
	LoadBalance *float64 `json:"load_balance"`
	// load balance = between x within; nil for one node's workers
	BetweenNodes  *float64 `json:"between_nodes"`
	WithinNodes   *float64 `json:"within_nodes"`
	Communication *float64 `json:"communication"`
	Parallel      *float64 `json:"parallel"` // load balance x communication
	// Steps divide communication efficiency; see the package comment. Steps that took no time are there too.
	Steps []Step `json:"steps"`
}

// Step is a part of communication efficiency.
type Step struct {
	Name string `json:"name"`
	// NS is the time it took from the worker with the most useful time.
	NS int64 `json:"ns"`
	// Efficiency is what it left over what there was before it; nil where nothing was left before.
	Efficiency *float64 `json:"efficiency"`
}

// Node is the efficiency of one node.
type Node struct {
	Node int    `json:"node"`
	Host string `json:"host"`
	Efficiency
}

// Fragment is the balance of a code fragment.
type Fragment struct {
	Code     string `json:"code"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Count    int64  `json:"count"` // executions
	UsefulNS int64  `json:"useful_ns"`
	// LongestNS is the longest useful time of an execution: no worker that executes it can have less.
	LongestNS int64   `json:"longest_ns"`
	Workers   Balance `json:"workers"`
	Nodes     Balance `json:"nodes"` // per worker of the node
	// ExcessNS is workers x (max - mean).
	ExcessNS int64 `json:"excess_ns"`
	// WaitedNS is the time, at most, that others waited because of the imbalance; nil where S cannot be
	// computed. Of Total it is at most all of S.
	WaitedNS *int64 `json:"waited_ns"`
	// LostShare is WaitedNS over LostNS; nil where nothing was lost or either is nil.
	LostShare *float64 `json:"lost_share"`
	// AchievableNS is what the worker with the most would have at best if CFs stay as they are: the mean, or
	// the longest execution if that is longer.
	AchievableNS int64 `json:"achievable_ns"`
}

// Balance is a distribution over workers, or over nodes per worker.
type Balance struct {
	MeanNS    int64    `json:"mean_ns"`
	MinNS     int64    `json:"min_ns"`
	MaxNS     int64    `json:"max_ns"`
	Most      string   `json:"most"`      // who has MaxNS, the first of several: "node.worker" or "node"
	Imbalance *float64 `json:"imbalance"` // max / mean, 1 or more; nil where there is no useful time
	Percent   *float64 `json:"percent"`   // 100 x (imbalance - 1)
	MeanCount float64  `json:"mean_count"`
	MaxCount  float64  `json:"max_count"`
	Of        []Share  `json:"of"` // of each worker or node, in their order
}

// Share is what one worker or node did.
type Share struct {
	Node     int   `json:"node"`
	Worker   int   `json:"worker"` // -1: the whole node
	Count    int64 `json:"count"`
	UsefulNS int64 `json:"useful_ns"`
}

// computation is in progress, in one of the processes that share the run.
type computation struct {
	m       *model.Model
	opt     Options
	group   procs.Group
	slou    *slou.Result     // at member 0, as are all below but windows and width
	series  *counters.Result //
	workers []*tally         // at the others: those of own nodes
	res     *Result

	width   int64 // of a window
	windows int
}

const (
	defaultWindows = 200
	maxCells       = 1 << 24 // workers x windows
)

// Compute tells how evenly the work of a run was spread, which the members of g share: each has its model
// from model.BuildShare and calls Compute with the same options, except for Options.SLOU and Options.Series,
// which only member 0 needs. procs.Alone has the whole model from model.Build. Member 0 gets the result, the
// others nil. It fails when ctx ends or an option is out of range.
func Compute(ctx context.Context, m *model.Model, opt Options, g procs.Group) (*Result, error) {
	r := &computation{m: m, opt: opt, group: g, slou: opt.SLOU, series: opt.Series}
	if opt.Windows < 0 {
		return nil, fmt.Errorf("imbalance: %d windows asked for; give 1 or more, or 0 for %d", opt.Windows,
			defaultWindows)
	}
	if err := r.gather(ctx); err != nil || g.Rank() != 0 {
		return nil, err
	}
	return r.result(), nil
}

// result works out the measures from what was gathered.
func (r *computation) result() *Result {
	r.res = &Result{WallNS: r.m.Wall(), Nodes: []Node{}, Fragments: []Fragment{}, Missing: []Missing{}}
	r.findMissing()
	if r.slou.Factors.U != nil {
		r.efficiency()
		r.fragments()
		r.time()
	}
	r.weights()
	return r.res
}

// given is what member 0 has to begin with.
type given struct {
	SLOU, Series bool
	Windows      int
	Width        int64
}

// have sums up what this process has.
func (r *computation) have() given {
	h := given{SLOU: r.slou != nil, Series: r.series != nil}
	if h.Series {
		h.Windows, h.Width = r.series.Windows, r.series.WindowNS
	}
	return h
}

// gather computes what the measures are made of, as far as member 0 was not given it.
func (r *computation) gather(ctx context.Context) error {
	m, g := r.m, r.group
	if r.series != nil && r.opt.Windows != 0 && r.opt.Windows != r.series.Windows {
		r.series = nil
	}
	has, err := procs.FromMember(g, 0, r.have())
	if err == nil && !has.Series {
		opt := counters.Options{Windows: cmp.Or(r.opt.Windows, defaultWindows),
			Only: []string{counters.CFsReady, counters.BytesHeld}}
		if r.series, err = counters.Compute(ctx, m, opt, g); err == nil {
			has, err = procs.FromMember(g, 0, r.have())
		}
	}
	if err != nil {
		return err
	}
	r.windows, r.width = has.Windows, has.Width
	if n := m.Workers(); r.windows > maxCells/max(n, 1) {
		return fmt.Errorf("imbalance: %d windows of %d workers are too many; ask for at most %d", r.windows,
			n,
			maxCells/n)
	}
	if !has.SLOU {
		opt := slou.Options{Rule: r.opt.Rule}
		if r.slou, err = slou.Compute(ctx, m, opt, g); err != nil {
			return err
		}
	}
	if err := r.tally(ctx); err != nil {
		return err
	}
	err = procs.Collect(g, func() []*tally { return r.workers }, r.join)
	slices.SortFunc(r.workers, func(a, b *tally) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Worker, b.Worker))
	})
	return err
}

var errBroken = errors.New("internal error: what another process sent about balance cannot be read")

// join adds the workers of another process.
func (r *computation) join(_ int, theirs *[]*tally) error {
	for _, t := range *theirs {
		if len(t.Codes) != len(r.m.Codes) || len(t.Windows) != r.windows {
			return errBroken
		}
	}
	r.workers = append(r.workers, *theirs...)
	return nil
}
