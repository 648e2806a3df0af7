package experiment

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/median"
)

// What recording costs: programs run without it and in several modes (blocks.go, kernels.go). Each run is a
// process of its own. In every round all modes take turns, with a run without recording before, between and
// behind them; a run is compared with the two beside it. One of the modes is no recording again, the control:
// what it seems to cost is the noise of the machine, and what is smaller than that is not decided.

// Cost is an experiment on what recording costs.
type Cost struct {
	Name     string         `json:"name"`
	Title    string         `json:"title"`
	Rounds   int            `json:"rounds"`
	Workers  int            `json:"workers"` // or threads of a PGAS program
	Programs []*CostProgram `json:"programs"`
	Checks   []Check        `json:"checks"`
	judge    func(*CostProgram) []Check
	table    func(*CostProgram) [][]string
	// first makes a program ready: it compiles, and tries what a mode needs to know.
	first func(context.Context, *place, *CostProgram) error
	run   func(context.Context, *place, *CostProgram, *Mode) (Took, error)
}

// CostProgram is a program, on one computer, with the modes that were tried on it.
type CostProgram struct {
	What   string  `json:"what"`
	Modes  []*Mode `json:"modes"` // the control comes first
	off    *Mode   // without recording
	blocks Blocks
	kernel kernel
	disk   disk
}

// Mode is a way to record, and what it cost.
type Mode struct {
	Name   string   `json:"name"`
	Flags  []string `json:"flags,omitempty"`       // of whyslow run
	Env    []string `json:"environment,omitempty"` // of a PGAS program
	Source string   `json:"source,omitempty"`      // what the source measured
	CPU    Estimate `json:"cpu"`
	Wall   Estimate `json:"wall"`
	// Share is the part of the wall time for which writing kept a thread of a PGAS program from its work.
	Share Estimate `json:"share"`
	Pairs []Pair   `json:"pairs"` // by round
	tool  string   // that a PGAS program is linked with
}

// Estimate is how much more time a mode takes, in percent: the median over rounds, with its 95 % interval.
type Estimate struct {
	Percent float64  `json:"percent"`
	Low     *float64 `json:"low,omitempty"` // both are missing where the rounds are too few
	High    *float64 `json:"high,omitempty"`
}

// Pair is a run of a mode, and the means of the two runs without recording beside it. Times are nanoseconds.
type Pair struct {
	Took
	OffCPUNS  int64 `json:"off_cpu_ns"`
	OffWallNS int64 `json:"off_wall_ns"`
	Same      bool  `json:"same"` // the program printed the same as without recording
}

// Took is what a run took.
type Took struct {
	CPUNS  int64 `json:"cpu_ns"` // of all its processes
	WallNS int64 `json:"wall_ns"`
	Bytes  int64 `json:"bytes,omitempty"` // what it left behind
	// For how long the first thread packed and wrote events, or waited for a buffer that another one writes.
	WaitedNS int64  `json:"waited_ns,omitempty"`
	output   string // that must not depend on the mode
}

const control = "no events again"

// place is where runs find what they need.
type place struct {
	whyslow  string
	programs string // folder of examples
	scratch  string
}

// planCost returns the experiments on costs that are named, without runs.
func planCost(names []string, opt Options) (plan []*Cost) {
	for _, d := range costDefinitions {
		if len(names) > 0 && !slices.Contains(names, d.name) {
			continue
		}
		c := d.make(opt)
		c.Name = d.name
		if opt.Repeats > 0 {
			c.Rounds = opt.Repeats
		}
		plan = append(plan, c)
	}
	return plan
}

var costDefinitions = []struct {
	name string
	make func(Options) *Cost
}{
	{"profiling", blocksCost("what profiling costs: functions, memory, both", profilingModes, judgeProfiling)},
	{"naive", blocksCost("what a trace costs, and logging that opens, writes and closes a file for each event",
		naiveModes, judgeNaive)},
	{"pgas-overhead", kernelsCost},
	{"pgas-buffers", buffersCost},
}

// runs is how many runs it takes, the first ones included.
func (c *Cost) runs() (n int) {
	for _, p := range c.Programs {
		n += 1 + c.Rounds*(2*len(p.Modes)+1)
	}
	return n
}

// execute runs all modes, and judges. step is called before every run.
func (c *Cost) execute(ctx context.Context, at *place, step func(what string)) error {
	for _, p := range c.Programs {
		run := func(m *Mode) (Took, error) {
			step(fmt.Sprintf("%s, %s, %s", c.Name, p.What, m.Name))
			return c.run(ctx, at, p, m)
		}
		step(fmt.Sprintf("%s, %s, first run", c.Name, p.What))
		if err := c.first(ctx, at, p); err != nil {
			return err
		}
		for range c.Rounds {
			before, err := run(p.off)
			if err != nil {
				return err
			}
			for _, m := range p.Modes {
				took, err := run(m)
				if err != nil {
					return err
				}
				after, err := run(p.off)
				if err != nil {
					return err
				}
				m.Pairs = append(m.Pairs, Pair{Took: took, OffCPUNS: (before.CPUNS + after.CPUNS) / 2,
					OffWallNS: (before.WallNS + after.WallNS) / 2, Same: took.output == before.output})
				before = after
			}
		}
		for _, m := range p.Modes {
			m.conclude()
		}
		c.Checks = append(c.Checks, c.judge(p)...)
	}
	return nil
}

// conclude estimates what the mode costs from its pairs.
func (m *Mode) conclude() {
	m.CPU = m.estimate(func(p *Pair) float64 { return part(p.CPUNS-p.OffCPUNS, p.OffCPUNS) })
	m.Wall = m.estimate(func(p *Pair) float64 { return part(p.WallNS-p.OffWallNS, p.OffWallNS) })
	m.Share = m.estimate(func(p *Pair) float64 { return part(p.WaitedNS, p.WallNS) })
}

// part is a in percent of all.
func part(a, all int64) float64 { return 100 * float64(a) / float64(max(all, 1)) }

func (m *Mode) estimate(percent func(*Pair) float64) (e Estimate) {
	values := m.values(percent)
	e.Percent = median.Of(values)
	if low, high := median.Interval(values); !math.IsInf(low, 0) {
		e.Low, e.High = &low, &high
	}
	return e
}

func (m *Mode) values(of func(*Pair) float64) (values []float64) {
	for i := range m.Pairs {
		values = append(values, of(&m.Pairs[i]))
	}
	return values
}

// bytes is the median size of what the mode leaves behind.
func (m *Mode) bytes() float64 {
	return median.Of(m.values(func(p *Pair) float64 { return float64(p.Bytes) }))
}

// interval is the interval in words.
func (e Estimate) interval() string {
	if e.Low == nil {
		return fmt.Sprintf("needs %d rounds", median.Least)
	}
	return fmt.Sprintf("%+.2f to %+.2f", *e.Low, *e.High)
}

func (e Estimate) String() string { return fmt.Sprintf("%+.2f %%, %s", e.Percent, e.interval()) }

// within tells whether the interval lies within so many percent on both sides of 0, and includes 0.
func (e Estimate) within(percent float64) bool {
	return e.Low != nil && *e.Low <= 0 && *e.High >= 0 && -*e.Low <= percent && *e.High <= percent
}

// quiet says whether the noise of the machine is below a bound: what the control seems to cost. If it is not,
// the machine was too busy.
func (p *CostProgram) quiet(control Estimate, most float64) Check {
	holds := control.within(most)
	return Check{Claim: fmt.Sprintf("%s: the control, %s, is within %.0f %%", p.What, p.Modes[0].Name, most),
		Holds: holds, Busy: !holds, Saw: control.String()}
}

// atMost says whether a mode takes at most so many percent more. That is decided only where the control's
// interval is as narrow as the bound, and the whole interval of the mode lies on one side of it.
func (p *CostProgram) atMost(claim string, control, mode Estimate, most float64) Check {
	c := Check{Claim: fmt.Sprintf("%s: %s", p.What, claim), Saw: mode.String()}
	if !control.within(most) {
		c.Busy, c.Saw = true, fmt.Sprintf("%s; the control: %s", c.Saw, control.interval())
		return c
	}
	c.Holds = *mode.High <= most
	c.Busy = !c.Holds && *mode.Low <= most
	return c
}

// less says whether one mode takes less than another: their intervals must not overlap.
func (p *CostProgram) less(claim string, one, other Estimate) Check {
	c := Check{Claim: fmt.Sprintf("%s: %s", p.What, claim), Saw: fmt.Sprintf("%v; %v", one, other)}
	c.Holds = one.Low != nil && *one.High < *other.Low
	c.Busy = !c.Holds && (one.Low == nil || *one.Low <= *other.High)
	return c
}

func (p *CostProgram) mode(name string) *Mode {
	return p.Modes[slices.IndexFunc(p.Modes, func(m *Mode) bool { return m.Name == name })]
}

// table returns rows of cells, the head first.
func costTable(p *CostProgram) [][]string {
	rows := [][]string{{"mode", "more CPU time", "95 % interval", "more wall time", "95 % interval",
		"the source, wall time"}}
	for _, m := range p.Modes {
		rows = append(rows, []string{m.Name, fmt.Sprintf("%+.2f %%", m.CPU.Percent), m.CPU.interval(),
			fmt.Sprintf("%+.2f %%", m.Wall.Percent), m.Wall.interval(), m.Source})
	}
	return rows
}

// cpu is the CPU time of an ended process and of those that it waited for.
func cpu(state *os.ProcessState) int64 {
	return (state.UserTime() + state.SystemTime()).Nanoseconds()
}
