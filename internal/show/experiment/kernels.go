package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/bits"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/whyslow/whyslow/examples"
	"github.com/whyslow/whyslow/internal/record/pgas/collectors"
	"github.com/whyslow/whyslow/internal/run/compile"
	"github.com/whyslow/whyslow/sdk"
	"github.com/whyslow/whyslow/trace"
)

// What recording PGAS programs costs, and how their events are written best. The programs are modelled on
// kernels of the NAS Parallel Benchmarks (examples/upc); they tell a tracer what a UPC compiler lets them
// tell. The modes are as in the two tables of the source: tracers, then sizes of buffers with synchronous and
// asynchronous writing.

// kernel is a program and the size of its problem, of which the last number says how long it takes.
type kernel struct {
	name, file  string
	args, quick []int
	source      []string // overheads and sizes that the source measured: not compressed, compressed
}

// Some half a second for two threads. The source's class is C, on 32 threads.
var kernels = []kernel{
	{"CG", "cg", []int{150000, 12, 25, 64, 8}, []int{1000, 4, 10, 50, 1}, []string{"9.16 %", "8.15 %"}},
	{"EP", "ep", []int{24000}, []int{50}, []string{"0.24 %", "0.07 %"}},
	{"FT", "ft", []int{64, 80}, []int{64, 1}, []string{"5.42 %", "1.94 %"}},
	{"IS", "is", []int{4000, 16, 50}, []int{20, 12, 3}, []string{"2.00 %", "0.02 %"}},
	{"MG", "mg", []int{128, 8}, []int{64, 1}, []string{"1.45 %", "0.14 %"}},
}

// The names of what the command line says about these experiments, with the most that they may be.
var pgasMost = map[string]int{"threads": 64, "work": 1 << 16, "disk": 1 << 30}

// PGASNames are the names of what can be said about the experiments on PGAS programs.
func PGASNames() []string { return slices.Sorted(maps.Keys(pgasMost)) }

// CheckPGAS tells what is wrong with what is said about them.
func CheckPGAS(given map[string]int) error {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if pgasMost[name] == 0 {
			return fmt.Errorf("PGAS programs have no %q here: use %v", name, PGASNames())
		}
		if n := given[name]; n < 1 || n > pgasMost[name] {
			return fmt.Errorf("PGAS programs: %s=%d: use 1 to %d", name, n, pgasMost[name])
		}
		if n := given[name]; name == "threads" && n&(n-1) != 0 {
			return fmt.Errorf("PGAS programs: threads=%d: use a power of two, as FT and MG need", n)
		}
	}
	return nil
}

// sized is the kernel with the arguments that it is to run with.
func (k kernel) sized(opt Options) kernel {
	k.args = slices.Clone(k.args)
	if opt.Quick {
		k.args = slices.Clone(k.quick)
	}
	k.args[len(k.args)-1] *= cmp.Or(opt.PGAS["work"], 1)
	return k
}

// pgasThreads is a power of two: by default as many as there are cores, and no more than in the source.
func pgasThreads(opt Options) int {
	cores := min(max(opt.Cores, 2), 32)
	return cmp.Or(opt.PGAS["threads"], 1<<(bits.Len(uint(cores))-1))
}

// Tools that a kernel is linked with; others are C sources in examples/upc.
const (
	noTool   = "none"
	gaspTool = "gasp"
)

func nothing(name string) *Mode { return &Mode{Name: name, tool: noTool} }

// kernelsCost is an experiment on what tracers cost, and leave behind.
func kernelsCost(opt Options) *Cost {
	c := &Cost{Title: "what recording costs PGAS programs, and the size of traces", Rounds: 10,
		Workers: pgasThreads(opt), judge: judgeKernels, table: kernelsTable}
	if opt.Quick {
		c.Rounds = 1
	}
	for _, k := range kernels {
		c.Programs = append(c.Programs, &CostProgram{What: k.name, kernel: k.sized(opt),
			off: nothing("nothing recorded"),
			Modes: []*Mode{nothing("nothing recorded again"),
				{Name: "a line of text per event", tool: "text_tracer.c"},
				{Name: notPacked, tool: gaspTool, Env: []string{"WHYSLOW_LEVEL=-1"}, Source: k.source[0]},
				{Name: packed, tool: gaspTool, Source: k.source[1]}}})
	}
	c.run = func(ctx context.Context, at *place, p *CostProgram, m *Mode) (Took, error) {
		return p.kernel.run(ctx, at, c.Workers, disk{}, m)
	}
	c.first = c.once
	return c
}

const (
	notPacked = "trace, not compressed"
	packed    = "trace, compressed"
)

// once runs a program in each way, so that all is compiled.
func (c *Cost) once(ctx context.Context, at *place, p *CostProgram) error {
	for _, m := range append(p.Modes, p.off) {
		if _, err := p.kernel.program(ctx, m.tool); err != nil {
			return err
		}
	}
	return nil
}

// sources is a folder with everything that kernels are compiled from.
func sources() (dir string, err error) {
	texts := map[string]string{}
	for from, folder := range map[fs.FS]string{examples.UPC: "upc", sdk.PGAS: "pgas"} {
		names, err := fs.Glob(from, folder+"/*.[ch]")
		if err != nil {
			return "", err
		}
		for _, name := range names {
			text, err := fs.ReadFile(from, name)
			if err != nil {
				return "", err
			}
			if folder == "upc" || path.Base(name) == "gasp.h" {
				texts[path.Base(name)] = string(text)
			}
		}
	}
	cache, err := compile.Open("", "")
	if err != nil {
		return "", err
	}
	return cache.Folder(texts)
}

// program compiles the kernel for a tool, or finds it in the user's cache.
func (k kernel) program(ctx context.Context, tool string) (string, error) {
	dir, err := sources()
	if err != nil {
		return "", err
	}
	p := compile.Program{Name: k.file, Dir: dir, Compiler: strings.Fields(os.Getenv("CC")),
		Flags:   []string{"-O2", "-g", "-pthread"},
		Sources: []string{k.file + ".c", "layer.c", "collective.c", "hooks.c", "threads.c"}, Link: []string{"-lm"}}
	switch tool {
	case noTool:
		p.Compile = []string{"-DUPC_NO_GASP"}
	case gaspTool:
		library, err := collectors.Build(ctx, "gasp")
		if err != nil {
			return "", err
		}
		p.Link = append([]string{library, "-Wl,-rpath," + filepath.Dir(library)}, p.Link...)
	default:
		p.Sources = append(p.Sources, tool)
	}
	made, err := p.Make(ctx)
	if errors.Is(err, exec.ErrNotFound) {
		err = fmt.Errorf("no C compiler, which kernels of PGAS programs need: %w; install one "+
			"(apt-get install gcc) or name one in CC", err)
	}
	return made, err
}

// run executes the kernel once, with everything recorded that it can tell. Times are those of the whole
// process, and of those that it starts.
func (k kernel) run(ctx context.Context, at *place, threads int, d disk, m *Mode) (took Took, err error) {
	program, err := k.program(ctx, m.tool)
	if err != nil {
		return took, err
	}
	folder := filepath.Join(at.scratch, "cost")
	if err := os.Mkdir(folder, 0o777); err != nil {
		return took, err
	}
	defer os.RemoveAll(folder)
	cmd := exec.CommandContext(ctx, program, words(k.args...)...)
	cmd.Dir = at.scratch
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "WHYSLOW_") && !strings.HasPrefix(v, "UPC_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "UPC_THREADS="+strconv.Itoa(threads), "UPC_SEGMENT=256", "UPC_INST=functions",
		"WHYSLOW_INSTRUMENT=functions", "WHYSLOW_TRACE="+folder, "TEXT_TRACE="+folder)
	if d.slow {
		library, err := slowDisk(ctx)
		if err != nil {
			return took, err
		}
		cmd.Env = append(cmd.Env, "LD_PRELOAD="+library, fmt.Sprintf("SLOW_DISK=%d", 1000*d.speed),
			"SLOW_DISK_QUEUE="+filepath.Join(at.scratch, "queue"))
	}
	cmd.Env = append(cmd.Env, m.Env...)
	start := time.Now()
	stdout, stderr, err := finish(ctx, cmd)
	took.WallNS = time.Since(start).Nanoseconds()
	if err != nil {
		return took, err
	}
	took.CPUNS = cpu(cmd.ProcessState)
	if f := strings.Fields(stdout); len(f) == 5 { // the kernel, its checksum, its own time
		took.output = f[2]
	}
	if m.tool == gaspTool {
		if took.WaitedNS, err = waited(folder); err != nil {
			return took, err
		}
	}
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			took.Bytes += info.Size()
		}
	}
	if err == nil && (took.output == "" || took.Bytes == 0 != (m.tool == noTool)) {
		err = fmt.Errorf("%s, %s: it printed %q and left %d bytes behind\n%s", k.name, m.Name, stdout,
			took.Bytes, stderr)
	}
	return took, err
}

// waited reads from a trace for how long writing kept its first thread from its work.
func waited(folder string) (ns int64, err error) {
	r, err := trace.Open(folder)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	text := r.Run().Settings["waited_ns"]
	if text == "" { // it was not
		return 0, nil
	}
	return strconv.ParseInt(text, 10, 64)
}

// same says whether the program computes the same however it is recorded.
func (p *CostProgram) same() Check {
	c := Check{Claim: p.What + ": the program computes the same in every run", Holds: true,
		Saw: "digit by digit"}
	for _, m := range p.Modes {
		for i := range m.Pairs {
			if !m.Pairs[i].Same {
				c.Holds, c.Saw = false, "other digits with: "+m.Name
			}
		}
	}
	return c
}

// judgeKernels: the source says that tools cost 10 % on average, and calls more too much. CPU time has all
// that the writers take, too, and depends less than wall time on what else runs.
func judgeKernels(p *CostProgram) []Check {
	again, small, large := p.Modes[0].CPU, p.mode(packed), p.mode(notPacked)
	return []Check{p.quiet(again, 10),
		p.atMost("a compressed trace costs at most 10 % more CPU time", again, small.CPU, 10),
		{Claim: p.What + ": a compressed trace is smaller than one that is not",
			Holds: small.bytes() < large.bytes(), Saw: fmt.Sprintf("%s and %s", megabytes(small), megabytes(large))},
		p.same()}
}

func megabytes(m *Mode) string { return fmt.Sprintf("%.3g MB", m.bytes()/1e6) }

func kernelsTable(p *CostProgram) [][]string {
	rows := costTable(p)
	rows[0] = append(rows[0], "trace")
	for i, m := range p.Modes {
		size := ""
		if m.tool != noTool {
			size = megabytes(m)
		}
		rows[1+i] = append(rows[1+i], size)
	}
	return rows
}
