// Package experiment runs the experiments that show that the factors follow what they are said to follow:
// starvation the number of chains that can run at once, overhead the number of CFs that the same work is cut
// into, latency the size of the DFs that travel; and a real program, particle in cell, on one node and on
// four; and what recording costs (cost.go). Nodes are in one process, with emulated links, or ranks of an MPI
// job of their own.
//
// Each run is a process of its own, whyslow with an example program; its trace is divided as
// `whyslow report --rule=source` does. All points of an experiment take turns, several times over, so that
// what disturbs the machine for a while does not meet one of them only. Whatever is shown of a point is its
// run of median wall time, whole: its factors add up to its total. What an experiment claims is checked with
// the medians of each factor, and round by round (judge.go).
package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/examples"
	"github.com/whyslow/whyslow/internal/analysis/slou"
)

// Options say how to run experiments.
type Options struct {
	Whyslow string // the program that runs everything, absolute; must have the engine
	// Repeats is how often each point runs; 0 means as often as the experiment is meant to.
	Repeats int
	// Cores is how many cores to use; 0 means all that are available.
	Cores int
	Dust  map[string]int // what is not as usual in the shape of particle in cell: CheckDust accepts it
	// Blocks are the sizes of the matrices that profiling and naive multiply; none: those of the experiment.
	Blocks []Blocks
	PGAS   map[string]int // what is not as usual in the experiments on PGAS programs: CheckPGAS accepts it
	Quick  bool           // sizes that show that everything works, and nothing else
	// NoMPI tells why there can be no MPI ranks, "" if there can: experiments that need them are left out.
	NoMPI string
	// Progress is called before every run, with the runs done and those to be done in all. nil: nobody wants to
	// know.
	Progress func(done, all int, what string)
}

// Report is what all experiments found.
type Report struct {
	OS          string        `json:"os"`
	Arch        string        `json:"arch"`
	Cores       int           `json:"cores"` // that were used
	Quick       bool          `json:"quick"`
	Experiments []*Experiment `json:"experiments"`
	Costs       []*Cost       `json:"costs"` // what recording costs
	LeftOut     *LeftOut      `json:"left_out,omitempty"`
}

// LeftOut are experiments that could not be run.
type LeftOut struct {
	Names []string `json:"names"`
	Why   string   `json:"why"`
}

// Experiment is a series of runs of one program, and what it shows.
type Experiment struct {
	Name      string   `json:"name"`
	Title     string   `json:"title"`
	Parameter string   `json:"parameter"` // what differs between points
	Repeats   int      `json:"repeats"`
	Points    []*Point `json:"points"`
	Note      string   `json:"note,omitempty"` // what is to be known of the machine; "": nothing
	Checks    []Check  `json:"checks"`         // what was expected, and whether it is so
	judge     func(*Experiment) []Check
	perCF     bool // O of each CF is shown
	plain     bool // without a figure
}

// Point is one way to run the program.
type Point struct {
	Label   string   `json:"label"` // value of the parameter
	Value   int64    `json:"value"`
	Nodes   int      `json:"nodes"`
	Workers int      `json:"workers"`       // of each node
	Ranks   bool     `json:"ranks"`         // each node is a process started by mpirun
	MPI     []string `json:"mpi,omitempty"` // what mpirun is told
	Flags   []string `json:"flags"`         // of whyslow run
	Program string   `json:"program"`       // in the folder of examples
	Args    []string `json:"args"`
	Runs    []Run    `json:"runs"` // by round
}

// Run is one execution. Times are nanoseconds.
type Run struct {
	WallNS int64 `json:"wall_ns"`
	// all processor time: workers x wall and what the run-time system took beyond
	TotalNS      int64  `json:"total_ns"`
	ExtraNS      int64  `json:"extra_ns"` // the latter; part of O
	UNS          int64  `json:"u_ns"`
	SNS          int64  `json:"s_ns"`
	LNS          int64  `json:"l_ns"`
	ONS          int64  `json:"o_ns"`
	WNS          int64  `json:"w_ns"`
	TakenNS      int64  `json:"taken_ns"` // part of O: taken from running CFs by other threads and programs
	CFs          int64  `json:"cfs"`      // atomic CFs executed
	Output       string `json:"output"`   // what the program printed
	MessageBytes int64  `json:"message_bytes"`
}

// factors are the times of the factors in their order.
func (r *Run) factors() [slou.FactorLoss]*int64 {
	return [slou.FactorLoss]*int64{&r.UNS, &r.SNS, &r.LNS, &r.ONS, &r.WNS}
}

// Sum is what the factors add up to.
func (r *Run) Sum() (ns int64) {
	for _, f := range r.factors() {
		ns += *f
	}
	return ns
}

// Check is a claim about an experiment.
type Check struct {
	Claim string `json:"claim"`
	Holds bool   `json:"holds"`
	// Busy: it did not hold by the medians, but the machine was too busy to say that it does not.
	Busy bool   `json:"busy,omitempty"`
	Saw  string `json:"saw"`
}

// Holds reports whether nothing is otherwise than expected.
func (r *Report) Holds() bool {
	for _, e := range r.Experiments {
		if slices.ContainsFunc(e.Checks, func(c Check) bool { return !c.Holds && !c.Busy }) {
			return false
		}
	}
	for _, c := range r.Costs {
		if slices.ContainsFunc(c.Checks, func(c Check) bool { return !c.Holds && !c.Busy }) {
			return false
		}
	}
	return true
}

// Names are the experiments there are, in order.
func Names() []string {
	var names []string
	for _, d := range definitions {
		names = append(names, d.name)
	}
	for _, d := range costDefinitions {
		names = append(names, d.name)
	}
	return names
}

// CheckNames tells what is wrong with names of experiments.
func CheckNames(names []string) error {
	for _, n := range names {
		if !slices.Contains(Names(), n) {
			return fmt.Errorf("there is no experiment %q: use %v", n, Names())
		}
	}
	return nil
}

// Plan returns experiments without runs, and those left out of them. No names: all. It is an error if all
// that are named have to be left out.
func Plan(names []string, opt Options) ([]*Experiment, *LeftOut, error) {
	if err := CheckNames(names); err != nil {
		return nil, nil, err
	}
	if opt.Cores == 0 {
		opt.Cores = runtime.GOMAXPROCS(0)
	}
	var plan []*Experiment
	out := &LeftOut{Why: opt.NoMPI}
	for _, d := range definitions {
		if len(names) > 0 && !slices.Contains(names, d.name) {
			continue
		}
		e := d.make(opt)
		e.Name = d.name
		if e.Points[0].Ranks && opt.NoMPI != "" {
			out.Names = append(out.Names, d.name)
			continue
		}
		if opt.Repeats > 0 {
			e.Repeats = opt.Repeats
		}
		plan = append(plan, e)
	}
	switch {
	case len(out.Names) == 0:
		return plan, nil, nil
	case len(plan) == 0 && len(planCost(names, opt)) == 0:
		return nil, nil, errors.New(out.String())
	}
	return plan, out, nil
}

func (l *LeftOut) String() string {
	return fmt.Sprintf("%s cannot be run here: %s", strings.Join(l.Names, ", "), l.Why)
}

// Execute runs experiments, all if none is named. Nothing is left behind, however it ends.
func Execute(ctx context.Context, names []string, opt Options) (*Report, error) {
	plan, out, err := Plan(names, opt)
	if err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp("", "whyslow-experiment-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	programs := filepath.Join(scratch, "examples")
	if err := os.CopyFS(programs, examples.Experiments); err != nil {
		return nil, err
	}
	opt.Cores = cmp.Or(opt.Cores, runtime.GOMAXPROCS(0))
	r := &Report{OS: runtime.GOOS, Arch: runtime.GOARCH, Cores: opt.Cores,
		Quick: opt.Quick, Experiments: plan, Costs: planCost(names, opt), LeftOut: out}
	all, done := 0, 0
	for _, e := range plan {
		all += e.Repeats * len(e.Points)
	}
	for _, c := range r.Costs {
		all += c.runs()
	}
	step := func(what string) {
		if opt.Progress != nil {
			opt.Progress(done, all, what)
		}
		done++
	}
	for _, e := range plan {
		for range e.Repeats {
			for _, p := range e.Points {
				step(fmt.Sprintf("%s, %s %s", e.Name, e.Parameter, p.Label))
				run, err := p.run(ctx, opt.Whyslow, programs, scratch)
				if err != nil {
					return nil, err
				}
				p.Runs = append(p.Runs, *run)
			}
		}
		e.Checks = e.judge(e)
	}
	at := &place{whyslow: opt.Whyslow, programs: programs, scratch: scratch}
	for _, c := range r.Costs {
		if err := c.execute(ctx, at, step); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Median is the run whose wall time is the median; of an even number of runs, the shorter of the two in the
// middle.
func (p *Point) Median() *Run {
	order := make([]*Run, len(p.Runs))
	for i := range order {
		order[i] = &p.Runs[i]
	}
	slices.SortStableFunc(order, func(a, b *Run) int { return cmp.Compare(a.WallNS, b.WallNS) })
	return order[(len(order)-1)/2]
}

// factor reads a time of a run.
type factor func(*Run) int64

func starvation(r *Run) int64 { return r.SNS }
func latency(r *Run) int64    { return r.LNS }

// overhead leaves out what other programs and threads took from running CFs: that is not a work of the
// run-time system.
func overhead(r *Run) int64 { return r.ONS - r.TakenNS }

// median is the median of a time over the runs; of an even number, the shorter of the two in the middle.
func (p *Point) median(f factor) int64 {
	var v []int64
	for i := range p.Runs {
		v = append(v, f(&p.Runs[i]))
	}
	slices.Sort(v)
	return v[(len(v)-1)/2]
}
