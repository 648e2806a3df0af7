// Package upctest runs programs with the operations of UPC, for tests: examples/upc has them as C
// functions that tell the GASP library what a UPC compiler would tell it. The programs that lose time
// on purpose say how much.
package upctest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/record/pgas/collectors"
	"github.com/whyslow/whyslow/internal/run/compile"
)

// Backends: what the threads of a program are.
const (
	Threads = "threads" // threads of one process
	Shmem   = "shmem"   // processes, by OpenSHMEM
)

// Options say how a program is built and run.
type Options struct {
	Threads int      // default 2
	Backend string   // Threads or Shmem; default Threads
	Args    []string // of the program
	Env     []string // added to the environment: those of examples/upc/upc.h, and the collector's
	Flags   []string // added to those of the compiler
	Status  int      // the exit code that is expected
	Tool    string   // see Build; Run takes the collector for ""
}

// limit is how long a program may take that takes a second or two.
const limit = 4 * time.Minute

// sources of every program, beside that of the backend.
var sources = []string{"layer.c", "collective.c", "hooks.c"}

// None stands for no tool: a program compiled without instrumentation.
const None = "none"

// dir finds examples/upc, in a parent of the working directory.
func dir() (string, error) {
	at, err := os.Getwd()
	for err == nil {
		found := filepath.Join(at, "examples", "upc")
		if _, err := os.Stat(filepath.Join(found, "upc.h")); err == nil {
			return found, nil
		}
		if at == filepath.Dir(at) {
			return "", errors.New("examples/upc is not in a parent of the working directory")
		}
		at = filepath.Dir(at)
	}
	return "", err
}

// Missing says what is not installed that the backend needs, nil if nothing.
func Missing(backend string) error {
	needed := []string{"cc"}
	if backend == Shmem {
		needed = []string{"oshcc", "oshrun"}
	}
	for _, name := range needed {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("%s is not installed (Debian has it in gcc, libopenmpi-dev and openmpi-bin)", name)
		}
	}
	return nil
}

// Build compiles a program of examples/upc, or finds it in the user's cache, and returns its path. It
// is linked with the tool: "" is whyslow's collector; None is nothing; else it is a C source of a GASP
// library.
func Build(ctx context.Context, program, backend, tool string, flags ...string) (string, error) {
	from, err := dir()
	if err != nil {
		return "", err
	}
	// Sources are relative to the folder, so that places in traces are, too.
	p := compile.Program{
		Name: program, Dir: from, Sources: slices.Concat([]string{program + ".c"}, sources,
			[]string{backend + ".c"}),
		Flags:   slices.Concat([]string{"-O2", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"}, flags),
		Compile: []string{"-iquote", filepath.Join("..", "..", "sdk", "pgas")},
	}
	if backend == Shmem {
		p.Compiler = []string{"oshcc"}
	}
	switch tool {
	case None:
		p.Compile = append(p.Compile, "-DUPC_NO_GASP")
	case "":
		library, err := collectors.Build(ctx, "gasp")
		if err != nil {
			return "", err
		}
		p.Link = []string{library, "-Wl,-rpath," + filepath.Dir(library)}
	default:
		p.Sources = append(p.Sources, tool)
	}
	p.Link = append(p.Link, "-lm")
	return p.Make(ctx)
}

// Command is the command that runs a program that Build has made.
func Command(ctx context.Context, bin string, o Options) *exec.Cmd {
	if o.Threads == 0 {
		o.Threads = 2
	}
	words := append([]string{bin}, o.Args...)
	if o.Backend == Shmem {
		words = append([]string{"oshrun", "-np", strconv.Itoa(o.Threads)}, words...)
	}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Env = append(os.Environ(), "UPC_THREADS="+strconv.Itoa(o.Threads))
	if o.Backend == Shmem {
		// As in a container: as root, more processes than cores, which may be anywhere. Open MPI before
		// 4.1.6 crashes at its end with osc rdma.
		cmd.Env = append(cmd.Env, "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
			"OMPI_MCA_rmaps_base_oversubscribe=1",
			"OMPI_MCA_hwloc_base_binding_policy=none", "OMPI_MCA_osc=^rdma", "OMPI_MCA_mpi_yield_when_idle=1")
	}
	cmd.Env = append(cmd.Env, o.Env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // so that oshrun ends its processes
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// Run builds a program, runs it with the collector and returns the folder of the trace. What it printed
// is in the file "output" beside it, see Truth. The test is skipped where what the backend needs is not
// installed.
func Run(t testing.TB, program string, o Options) string {
	t.Helper()
	if o.Backend == "" {
		o.Backend = Threads
	}
	if err := Missing(o.Backend); err != nil {
		t.Skip(err)
	}
	bin, err := Build(t.Context(), program, o.Backend, o.Tool, o.Flags...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	trace := filepath.Join(t.TempDir(), "trace")
	o.Env = append([]string{"WHYSLOW_TRACE=" + trace}, o.Env...)
	cmd := Command(ctx, bin, o)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != o.Status {
		t.Fatalf("%s %s, %d %s: %v\n%s%s", program, strings.Join(o.Args, " "), max(o.Threads, 2), o.Backend,
			err, out, said.Bytes())
	}
	if said.Len() > 0 {
		t.Logf("%s: %s", program, said.Bytes())
	}
	if err := os.WriteFile(output(trace), out, 0o666); err != nil {
		t.Fatal(err)
	}
	return trace
}

func output(trace string) string { return filepath.Join(filepath.Dir(trace), "output") }

// Output is what the program of that trace printed.
func Output(t testing.TB, trace string) string {
	t.Helper()
	text, err := os.ReadFile(output(trace))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Lost is time that a program made a thread lose on purpose.
type Lost struct {
	Thread  int
	Pattern string        // id of the metric
	Design  time.Duration // as asked for
	Seen    time.Duration // by the program's own clock: a busy computer delays threads beyond the design
}

// Truth reads what the program of that trace says it lost, in the order in which it was printed, by
// pattern and thread.
func Truth(t testing.TB, trace string) (all []Lost) {
	t.Helper()
	for line := range strings.Lines(Output(t, trace)) {
		l, err := parse(line)
		if err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		all = append(all, l)
	}
	if len(all) == 0 {
		t.Fatal("the program lost nothing on purpose")
	}
	return all
}

// Of returns what each thread lost by a pattern, 0 for threads that are not listed.
func Of(all []Lost, pattern string, threads int) (design, seen []time.Duration) {
	design, seen = make([]time.Duration, threads), make([]time.Duration, threads)
	for _, l := range all {
		if l.Pattern == pattern && l.Thread < threads {
			design[l.Thread], seen[l.Thread] = l.Design, l.Seen
		}
	}
	return design, seen
}

// Patterns lists the patterns that time was lost by, sorted.
func Patterns(all []Lost) (names []string) {
	for _, l := range all {
		if !slices.Contains(names, l.Pattern) {
			names = append(names, l.Pattern)
		}
	}
	slices.Sort(names)
	return names
}

func parse(line string) (l Lost, err error) {
	if _, err := fmt.Sscan(line, &l.Thread, &l.Pattern, (*int64)(&l.Design), (*int64)(&l.Seen)); err != nil {
		return l, fmt.Errorf("not THREAD PATTERN NS SEEN: %w", err)
	}
	return l, nil
}
