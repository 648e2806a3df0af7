package experiment

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What profiling costs the product of two block matrices.

// Blocks is a size of the matrices: PerSide x PerSide blocks of Size x Size numbers.
type Blocks struct{ PerSide, Size int }

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
		return b, fmt.Errorf("%q is not a size: write 20x200 for 20 x 20 blocks of 200 x 200; matrices have up to"+
			" %d rows", text, maxSide)
	}
	return b, nil
}

// maxSide is how many rows matrices have at most: three of them take 7.5 GB.
const maxSide = 18_000

var off = []string{"--no-trace", "--events=none", "--modules=none"}

// modules are flags that switch on some events and modules, and nothing else.
func modules(events, modules string) []string {
	return []string{"--no-trace", "--events=" + events, "--modules=" + modules}
}

const (
	functionEvents = "GlobalEvents.onForeignStarted,GlobalEvents.onForeignEnded"
	memoryEvents   = "DFEvents.onCreate,DFEvents.onDestroy"
)

func profilingModes() []*Mode {
	return []*Mode{{Name: control, Flags: off},
		{Name: "functions", Source: "2-3 %", Flags: modules(functionEvents, "foreign_block_timer_module")},
		{Name: "memory", Source: "8-11 %", Flags: modules(memoryEvents, "df_sizer_events_module")},
		{Name: "functions and memory", Source: "9-13 %", Flags: modules(functionEvents+","+memoryEvents,
			"foreign_block_timer_module,df_sizer_events_module")}}
}

func naiveModes() []*Mode {
	return []*Mode{{Name: control, Flags: off}, {Name: "trace", Source: "154.6 %"},
		{Name: "naive logging", Source: "698 %", Flags: modules("all", "naive_logger_module")}}
}

// blocksCost is an experiment on the product of block matrices.
func blocksCost(title string, modes func() []*Mode, judge func(*CostProgram) []Check) func(Options) *Cost {
	return func(opt Options) *Cost {
		c := &Cost{Title: title, Rounds: 10, Workers: opt.Cores, judge: judge, table: costTable}
		sizes := []Blocks{{10, 100}, {20, 50}}
		if opt.Quick {
			c.Rounds, sizes = 2, []Blocks{{3, 10}}
		}
		if len(opt.Blocks) > 0 {
			sizes = opt.Blocks
		}
		for _, b := range sizes {
			c.Programs = append(c.Programs, &CostProgram{What: b.String(), blocks: b, Modes: modes(),
				off: &Mode{Name: "no events", Flags: off}})
		}
		c.run = func(ctx context.Context, at *place, p *CostProgram, m *Mode) (Took, error) {
			return p.blocks.run(ctx, at, c.Workers, m.Flags)
		}
		c.first = func(ctx context.Context, at *place, p *CostProgram) error {
			_, err := c.run(ctx, at, p, p.off) // compiles
			return err
		}
		return c
	}
}

var wallLine = regexp.MustCompile(`(?m)^whyslow: (\S+), [0-9]+ CFs, .*; no trace$`)

// run executes the program once; wall time is that of the program alone, CPU time that of the whole process.
func (b Blocks) run(ctx context.Context, at *place, workers int, flags []string) (took Took, err error) {
	folder := filepath.Join(at.scratch, "cost")
	if err := os.Mkdir(folder, 0o777); err != nil {
		return took, err
	}
	defer os.RemoveAll(folder) // what modules write is gone with it
	traced := len(flags) == 0
	if traced {
		flags = []string{"-q", "-o", "t"}
	}
	line := slices.Concat([]string{at.whyslow, "run", "-w", strconv.Itoa(workers)}, flags,
		[]string{filepath.Join(at.programs, "mxm/mxm.fa")}, words(b.PerSide, b.Size))
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Args[0] = "whyslow" // whatever its file is called
	cmd.Dir = folder
	stdout, stderr, err := finish(ctx, cmd)
	if err != nil {
		return took, err
	}
	took.CPUNS, took.output = cpu(cmd.ProcessState), stdout
	if traced {
		r, err := divide(ctx, filepath.Join(folder, "t"))
		if err != nil {
			return took, err
		}
		took.WallNS = r.WallNS
		return took, nil
	}
	m := wallLine.FindStringSubmatch(stderr)
	if m == nil {
		return took, fmt.Errorf("%s does not say how long it took:\n%s", strings.Join(line, " "), stderr)
	}
	d, err := time.ParseDuration(m[1])
	took.WallNS = d.Nanoseconds()
	return took, err
}

// judgeProfiling: each mode takes no more than the least that the source measured, in CPU time.
func judgeProfiling(p *CostProgram) []Check {
	again := p.Modes[0].CPU
	checks := []Check{p.quiet(again, 9)}
	for _, c := range []struct {
		mode string
		most float64
	}{{"functions", 2}, {"memory", 8}, {"functions and memory", 9}} {
		checks = append(checks, p.atMost(fmt.Sprintf("%s cost at most %.0f %% more CPU time", c.mode, c.most),
			again, p.mode(c.mode).CPU, c.most))
	}
	return checks
}

// judgeNaive: a trace costs less CPU time than naive logging.
func judgeNaive(p *CostProgram) []Check {
	return []Check{p.quiet(p.Modes[0].CPU, 9), p.less("a trace costs less CPU time than naive logging",
		p.mode("trace").CPU, p.mode("naive logging").CPU)}
}
