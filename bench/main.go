// Bench measures whyslow, side by side with what it is compared to, and writes tables. Every figure comes
// from the run that writes it: what is compared takes turns (A B A B ...), medians are taken, and ratios come
// first, since the machine may be busy with other things.
//
//	go run . [-quick] [-full] [-o FILE.md] [BENCH]...
//
// Without names all benches run, see the list below. -o renews the sections of the benches that run, and
// leaves the others as they are. -quick makes every one of them as short as will still give numbers, for a
// smoke test. -full takes the problem sizes of the sources where they are scaled down otherwise.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// entry is a bench that can be asked for by name.
type entry struct {
	name, what string
	run        func(ctx context.Context, b *bench) error
}

var benches = []entry{
	{"record", "the cost of an event, beside other ways to record it", benchRecord},
	{"size", "bytes per event on disk", benchSize},
	{"read", "reading a trace into the model, and SLOU", benchRead},
	{"large", "a trace too large for memory: the model on disk, the index, opening it", benchLarge},
	{"answers", "how long the page waits for answers about a large run; -full takes 200 million events", benchAnswers},
	{"share", "a trace of 256 nodes, analysed by one process and by several", benchShare},
	{"imports", "reading traces of other programs; -full takes ten million events", benchImports},
	{"tables", "all tables of a run as Parquet; -full takes ten million events", benchTables},
	{"overhead", "CPU time of the block matrix product, recorded and not", benchOverhead},
	{"follow", "how recent the page of a live run is, and what that takes", benchFollow},
	{"watched", "CPU time of the block matrix product, watched from another process and not", benchWatched},
	{"stream", "from a sender to a collector, beside a plain copy", benchStream},
	{"page", "the first picture of a long run, a frame with a million boxes", benchPage},
	{"playing", "ten million events, played at several speeds: frames, and how old views are", benchPlaying},
	{"buffers", "synchronous and asynchronous writing by buffer size", benchBuffers},
	{"engine", "an empty CF through the engine, recording on and off", benchEngine},
	{"cf", "CFs of two processes: from one to the other, and how many of them", benchCF},
	{"simulate", "a recorded run in virtual time, beside a bare heap and the engine", benchSimulate},
	{"start", "start-up of a program whose C++ is cached", benchStart},
	{"undebugged", "CPU time of empty CFs, with and without the places for a debugger", benchUndebugged},
	{"bind", "workers bound to cores, and not", benchBind},
	{"mpi", "messages between two processes, beside plain MPI in C", benchMPI},
	{"pgas", "a UPC program, original and optimised", benchPGAS},
	{"openmp", "what recording OpenMP programs costs, beside a tool that does nothing", benchOpenMP},
	{"compile", "compiling a LuNA program of 2 000 lines", benchCompile},
}

// bench is one invocation: what was asked for, and the tables so far.
type bench struct {
	quick, full bool
	dir         string // for temporary files
	log         io.Writer
	command     string // of the bench that runs
	bench       string // that runs
	tables      []*table
	binary      string // the built whyslow, "" before it is needed
	// The bench of being watched: blocks in a row of the matrices, and how often everything runs.
	watchedBlocks, watchedPairs int
	shareBlocks                 int // likewise of the run that is repeated on many nodes
	answersBlocks               int // and of the one that the page is asked about
}

// pick returns the number for an ordinary or a quick run.
func (b *bench) pick(ordinary, quick int) int {
	if b.quick {
		return quick
	}
	return ordinary
}

// table starts a table of results.
func (b *bench) table(title, about string, head ...string) *table {
	t := &table{bench: b.bench, title: title, about: about, command: b.command, head: head}
	b.tables = append(b.tables, t)
	return t
}

// temp makes a fresh folder that goes away at the end.
func (b *bench) temp() (string, error) { return os.MkdirTemp(b.dir, "t") }

// whyslow builds the command once and returns its path.
func (b *bench) whyslow(ctx context.Context) (string, error) {
	if b.binary != "" {
		return b.binary, nil
	}
	path := filepath.Join(b.dir, "whyslow")
	if out, err := exec.CommandContext(ctx, "go", "build", "-C", "..", "-o", path,
		"./cmd/whyslow").CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build whyslow: %w\n%s", err, bytes.TrimSpace(out))
	}
	b.binary = path
	return path, nil
}

// run runs the benches of these names, all for none.
func (b *bench) run(ctx context.Context, names []string) (err error) {
	for _, n := range names {
		if !slices.ContainsFunc(benches, func(e entry) bool { return e.name == n }) {
			return fmt.Errorf("there is no bench %q; those that are: %s", n, benchNames())
		}
	}
	if b.dir, err = os.MkdirTemp("", "bench"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	// Whatever else needs a temporary folder, in this process or one it starts, makes it there, so that nothing
	// is left.
	before := os.Getenv("TMPDIR")
	if err := os.Setenv("TMPDIR", b.dir); err != nil {
		return err
	}
	defer func() { _ = os.Setenv("TMPDIR", before) }()
	for _, c := range benches {
		if len(names) > 0 && !slices.Contains(names, c.name) {
			continue
		}
		b.bench, b.command = c.name, "go run . "+c.name
		if b.full {
			b.command = "go run . -full " + c.name
		}
		start := time.Now()
		fmt.Fprintf(b.log, "%s: %s ...", c.name, c.what)
		if err := c.run(ctx, b); err != nil {
			fmt.Fprintln(b.log)
			return fmt.Errorf("%s: %w", c.name, err)
		}
		fmt.Fprintf(b.log, " %.0f s\n", time.Since(start).Seconds())
	}
	return nil
}

func benchNames() string {
	var names []string
	for _, c := range benches {
		names = append(names, c.name)
	}
	return strings.Join(names, ", ")
}

func main() {
	// As the command does, for everybody compared.
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(400)
	}
	if runOnce() {
		return
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	b := &bench{log: os.Stderr}
	file := flag.String("o", "", "renew the tables of these benches in this file, Markdown")
	flag.BoolVar(&b.quick, "quick", false, "as short as will still give numbers")
	flag.BoolVar(&b.full, "full", false, "problem sizes of the sources, which take long")
	flag.IntVar(&b.watchedBlocks, "watched-blocks", 8,
		"blocks of 200 x 200 in a row of the matrices, in the bench of being watched")
	flag.IntVar(&b.shareBlocks, "share-blocks", 67,
		"blocks in a row of the matrix of the run that is repeated on 256 nodes: 67 give 100 million events, the "+
			"number grows with the cube")
	flag.IntVar(&b.watchedPairs, "watched-pairs", 24, "how often everything runs in the bench of being watched")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: go run . [flags] [bench]...\nbenches: %s (default: all)\n",
			benchNames())
		flag.PrintDefaults()
	}
	flag.Parse()
	err := b.run(ctx, flag.Args())
	if err == nil && *file != "" {
		err = b.renew(*file)
	}
	if *file == "" {
		fmt.Println(machine())
		for _, t := range b.tables {
			t.text(os.Stdout)
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

// machine is one line about where and when the figures come from.
func machine() string {
	cpu, memory := "unknown processor", ""
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				cpu = strings.TrimSpace(value)
				break
			}
		}
	}
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		var kb int
		if _, err := fmt.Sscanf(string(text), "MemTotal: %d kB", &kb); err == nil {
			memory = fmt.Sprintf(", %.0f GiB", float64(kb)/(1<<20))
		}
	}
	busy := ""
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		busy = ", load " + strings.Fields(string(text))[0]
	}
	return fmt.Sprintf("%s, %d cores%s%s; %s, %s/%s; %s", cpu, runtime.NumCPU(), memory, busy, runtime.Version(),
		runtime.GOOS, runtime.GOARCH,
		time.Now().Format("2006-01-02 15:04"))
}
