package experiment

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/whyslow/whyslow/internal/analysis/median"
)

// What profiling costs: the product of two block matrices runs without profiling and in several modes. Each
// run is a process of its own. In every round all modes take turns, with a run without profiling before,
// between and behind them; a run is compared with the two beside it. One of the modes is no profiling
// again, the control: what it seems to cost is the noise of the machine.

// Blocks is a size of the matrices: PerSide x PerSide blocks of Size x Size numbers.
type Blocks struct {
	PerSide int `json:"per_side"`
	Size    int `json:"size"`
}

func (b Blocks) String() string {
	return fmt.Sprintf("%d x %d blocks of %d x %d", b.PerSide, b.PerSide, b.Size, b.Size)
}

// ParseBlocks reads "20x200", 20 x 20 blocks of 200 x 200.
func ParseBlocks(text string) (b Blocks, err error) {
	side, size, ok := strings.Cut(text, "x")
	if ok {
		b.PerSide, err = strconv.Atoi(side)
		if err == nil {
			b.Size, err = strconv.Atoi(size)
		}
	}
	if !ok || err != nil || b.PerSide < 1 || b.Size < 1 || b.PerSide > maxSide || b.Size > maxSide ||
		b.PerSide*b.Size > maxSide {
		return b, fmt.Errorf("%q is no size: say 20x200 for 20 x 20 blocks of 200 x 200; matrices have up to"+
			" %d rows", text, maxSide)
	}
	return b, nil
}

// maxSide is how many rows matrices have at most: three of them take 7.5 GB.
const maxSide = 18_000

// Cost is an experiment on what profiling costs.
type Cost struct {
	Name    string      `json:"name"`
	Title   string      `json:"title"`
	Rounds  int         `json:"rounds"`
	Workers int         `json:"workers"`
	Sizes   []*CostSize `json:"sizes"`
	Checks  []Check     `json:"checks"`
	judge   func(*CostSize) []Check
}

// CostSize is a size of the matrices with the modes that were tried on it.
type CostSize struct {
	Blocks
	Modes []*Mode `json:"modes"` // the control comes first
}

// Mode is a way to profile, and what it cost.
type Mode struct {
	Name   string   `json:"name"`
	Flags  []string `json:"flags"`            // of whyslow run
	Source string   `json:"source,omitempty"` // the wall time that the source measured
	CPU    Estimate `json:"cpu"`
	Wall   Estimate `json:"wall"`
	Pairs  []Pair   `json:"pairs"` // by round
}

// Estimate is how much more time a mode takes, in percent: the median over rounds, with its 95 % interval.
type Estimate struct {
	Percent float64  `json:"percent"`
	Low     *float64 `json:"low,omitempty"` // both are missing where the rounds are too few
	High    *float64 `json:"high,omitempty"`
}

// Pair is a run of a mode, and the means of the two runs without profiling beside it. Times are nanoseconds.
type Pair struct {
	CPUNS     int64 `json:"cpu_ns"`
	WallNS    int64 `json:"wall_ns"`
	OffCPUNS  int64 `json:"off_cpu_ns"`
	OffWallNS int64 `json:"off_wall_ns"`
}

var off = []string{"--no-trace", "--events=none", "--modules=none"}

// modules are flags that switch on some events and modules, and nothing else.
func modules(events, modules string) []string {
	return []string{"--no-trace", "--events=" + events, "--modules=" + modules}
}

const (
	functionEvents = "GlobalEvents.onForeignStarted,GlobalEvents.onForeignEnded"
	memoryEvents   = "DFEvents.onCreate,DFEvents.onDestroy"
	control        = "no events again"
)

var costDefinitions = []struct {
	name, title string
	modes       func() []*Mode
	judge       func(*CostSize) []Check
}{
	{"profiling", "what profiling costs: functions, memory, both", func() []*Mode {
		return []*Mode{{Name: control, Flags: off},
			{Name: "functions", Source: "2-3 %", Flags: modules(functionEvents, "foreign_block_timer_module")},
			{Name: "memory", Source: "8-11 %", Flags: modules(memoryEvents, "df_sizer_events_module")},
			{Name: "functions and memory", Source: "9-13 %", Flags: modules(functionEvents+","+memoryEvents,
				"foreign_block_timer_module,df_sizer_events_module")}}
	}, judgeProfiling},
	{"naive", "what a trace costs, and logging that opens, writes and closes a file for each event",
		func() []*Mode {
			return []*Mode{{Name: control, Flags: off}, {Name: "trace", Source: "154.6 %"},
				{Name: "naive logging", Source: "698 %", Flags: modules("all", "naive_logger_module")}}
		}, judgeNaive},
}

// planCost returns the experiments on costs that are named, without runs.
func planCost(names []string, opt Options) (plan []*Cost) {
	rounds, sizes := 10, []Blocks{{10, 100}, {20, 50}}
	if opt.Quick {
		rounds, sizes = 2, []Blocks{{3, 10}}
	}
	if len(opt.Blocks) > 0 {
		sizes = opt.Blocks
	}
	if opt.Repeats > 0 {
		rounds = opt.Repeats
	}
	for _, d := range costDefinitions {
		if len(names) > 0 && !slices.Contains(names, d.name) {
			continue
		}
		c := &Cost{Name: d.name, Title: d.title, Rounds: rounds, Workers: opt.Cores, judge: d.judge}
		for _, b := range sizes {
			c.Sizes = append(c.Sizes, &CostSize{Blocks: b, Modes: d.modes()})
		}
		plan = append(plan, c)
	}
	return plan
}

// runs is how many runs it takes, those that only compile included.
func (c *Cost) runs() (n int) {
	for _, s := range c.Sizes {
		n += 1 + c.Rounds*(2*len(s.Modes)+1)
	}
	return n
}

// execute runs all modes, and judges. step is called before every run.
func (c *Cost) execute(ctx context.Context, whyslow, programs, scratch string, step func(what string)) error {
	for _, s := range c.Sizes {
		run := func(name string, flags []string) (cpu, wall int64, err error) {
			step(fmt.Sprintf("%s, %v, %s", c.Name, s.Blocks, name))
			return c.run(ctx, whyslow, programs, scratch, s.Blocks, flags)
		}
		if _, _, err := run("first run", off); err != nil { // compiles
			return err
		}
		for range c.Rounds {
			offCPU, offWall, err := run("no events", off)
			if err != nil {
				return err
			}
			for _, m := range s.Modes {
				p := Pair{}
				if p.CPUNS, p.WallNS, err = run(m.Name, m.Flags); err != nil {
					return err
				}
				cpu, wall, err := run("no events", off)
				if err != nil {
					return err
				}
				p.OffCPUNS, p.OffWallNS = (offCPU+cpu)/2, (offWall+wall)/2
				offCPU, offWall = cpu, wall
				m.Pairs = append(m.Pairs, p)
			}
		}
		for _, m := range s.Modes {
			m.CPU = m.estimate(func(p *Pair) (int64, int64) { return p.CPUNS, p.OffCPUNS })
			m.Wall = m.estimate(func(p *Pair) (int64, int64) { return p.WallNS, p.OffWallNS })
		}
		c.Checks = append(c.Checks, c.judge(s)...)
	}
	return nil
}

func (m *Mode) estimate(times func(*Pair) (with, without int64)) (e Estimate) {
	var more []float64
	for i := range m.Pairs {
		with, without := times(&m.Pairs[i])
		more = append(more, 100*float64(with-without)/float64(max(without, 1)))
	}
	e.Percent = median.Of(more)
	if low, high := median.Interval(more); !math.IsInf(low, 0) {
		e.Low, e.High = &low, &high
	}
	return e
}

// interval is the interval in words.
func (e Estimate) interval() string {
	if e.Low == nil {
		return fmt.Sprintf("needs %d rounds", median.Least)
	}
	return fmt.Sprintf("%+.2f to %+.2f", *e.Low, *e.High)
}

var wallLine = regexp.MustCompile(`(?m)^whyslow: (\S+), [0-9]+ CFs, .*; no trace$`)

// run executes the program once; wall is the time of the program alone, cpu that of the whole process.
func (c *Cost) run(ctx context.Context, whyslow, programs, scratch string, b Blocks, flags []string) (cpu,
	wall int64, err error) {
	folder := filepath.Join(scratch, "cost")
	if err := os.Mkdir(folder, 0o777); err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(folder)
	traced := len(flags) == 0
	if traced {
		flags = []string{"-q", "-o", "t"}
	}
	line := slices.Concat([]string{whyslow, "run", "-w", strconv.Itoa(c.Workers)}, flags,
		[]string{filepath.Join(programs, "mxm/mxm.fa")}, words(b.PerSide, b.Size))
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Args[0] = "whyslow" // whatever its file is called
	cmd.Dir = folder        // what modules write is gone with it
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = grace
	if err = cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return 0, 0, ctx.Err()
		}
		return 0, 0, fmt.Errorf("%s: %w\n%s", strings.Join(line, " "), err, strings.TrimSpace(stderr.String()))
	}
	cpu = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Nanoseconds()
	if traced {
		r, err := divide(ctx, filepath.Join(folder, "t"))
		if err != nil {
			return 0, 0, err
		}
		return cpu, r.WallNS, nil
	}
	m := wallLine.FindStringSubmatch(stderr.String())
	if m == nil {
		return 0, 0, fmt.Errorf("%s does not tell how long it took:\n%s", strings.Join(line, " "), stderr.String())
	}
	d, err := time.ParseDuration(m[1])
	return cpu, d.Nanoseconds(), err
}

// quiet checks that the control costs nothing. If it seems to, the machine was too busy to say anything.
func (s *CostSize) quiet() Check {
	e := s.Modes[0].CPU
	holds := e.Low != nil && *e.Low <= 0 && *e.High >= 0
	return Check{Claim: fmt.Sprintf("%v: no events cost nothing beside no events", s.Blocks), Holds: holds,
		Busy: !holds, Saw: fmt.Sprintf("%+.2f %%, %s", e.Percent, e.interval())}
}

func (s *CostSize) mode(name string) *Mode {
	return s.Modes[slices.IndexFunc(s.Modes, func(m *Mode) bool { return m.Name == name })]
}

// judgeProfiling: each mode takes no more than the least that the source measured, in CPU time.
func judgeProfiling(s *CostSize) []Check {
	checks := []Check{s.quiet()}
	for name, most := range map[string]float64{"functions": 2, "memory": 8, "functions and memory": 9} {
		e := s.mode(name).CPU
		c := Check{Claim: fmt.Sprintf("%v: %s cost at most %.0f %% more CPU time", s.Blocks, name, most),
			Holds: e.Percent <= most, Saw: fmt.Sprintf("%+.2f %%, %s", e.Percent, e.interval())}
		c.Busy = !c.Holds && (e.Low == nil || *e.Low <= most || !checks[0].Holds)
		checks = append(checks, c)
	}
	slices.SortStableFunc(checks[1:], func(a, b Check) int { return strings.Compare(a.Claim, b.Claim) })
	return checks
}

// judgeNaive: a trace costs less CPU time than naive logging.
func judgeNaive(s *CostSize) []Check {
	trace, naive := s.mode("trace").CPU, s.mode("naive logging").CPU
	c := Check{Claim: fmt.Sprintf("%v: a trace costs less CPU time than naive logging", s.Blocks),
		Holds: trace.Percent < naive.Percent,
		Saw:   fmt.Sprintf("%+.2f %% and %+.2f %%", trace.Percent, naive.Percent)}
	c.Busy = !c.Holds && (trace.Low == nil || *trace.Low <= *naive.High)
	return []Check{s.quiet(), c}
}
