package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/record/pgas/launch"
	"github.com/whyslow/whyslow/internal/run/compile"
)

// What it costs to record OpenMP programs: those of testdata/openmp/suite by themselves, with a tool that
// does nothing when it is told of a construct, and recorded by whyslow. They tell by their own clock what
// their parallel part took.

// ompProgram is a program of the suite, and its size.
type ompProgram struct {
	what string
	line []string
	tiny []string // for a smoke test
}

var ompSuite = []ompProgram{
	{"fib", []string{"fib", "34", "13"}, []string{"fib", "20", "6"}},
	{"fib, a task per call", []string{"fib", "25", "25"}, []string{"fib", "14", "14"}},
	{"sparselu", []string{"sparselu", "30", "30"}, []string{"sparselu", "6", "6"}},
	{"nqueens", []string{"nqueens", "11", "5"}, []string{"nqueens", "7", "3"}},
	{"sort", []string{"sort", "3000000", "2000"}, []string{"sort", "20000", "500"}},
	{"strassen", []string{"strassen", "512", "32"}, []string{"strassen", "64", "16"}},
	{"health", []string{"health", "6", "60"}, []string{"health", "3", "5"}},
	{"alignment", []string{"alignment", "80", "300"}, []string{"alignment", "10", "50"}},
}

// how a program of the suite runs.
const (
	ompAlone = iota
	ompNothing
	ompRecorded
	ompWays
)

// ompBench is what the programs need.
type ompBench struct {
	whyslow, tool string
	programs      map[string]string // by name
	folder        string            // for traces
}

// readyOpenMP compiles the programs. missing says what is not installed.
func (b *bench) readyOpenMP(ctx context.Context) (o *ompBench, missing, err error) {
	compiler := ""
	for _, name := range []string{"clang-16", "clang-19", "clang"} {
		if _, err := exec.LookPath(name); err == nil && compiler == "" {
			compiler = name
		}
	}
	if compiler == "" || launch.FindLibomp() == "" {
		return nil, errors.New("it needs clang and libomp"), nil
	}
	o = &ompBench{programs: map[string]string{}}
	if o.whyslow, err = b.whyslow(ctx); err != nil {
		return nil, nil, err
	}
	if o.tool, err = compileRival(ctx, "cc", "ompt", "-shared", "-fPIC"); err != nil {
		return nil, nil, err
	}
	for _, p := range ompSuite {
		name := p.line[0]
		if o.programs[name], err = (compile.Program{Name: name, Dir: "../testdata/openmp/suite",
			Compiler: []string{compiler}, Flags: []string{"-O2", "-g", "-fopenmp"},
			Sources: []string{name + ".c"}}).Make(ctx); err != nil {
			return nil, nil, err
		}
	}
	o.folder, err = b.temp()
	return o, nil, err
}

// run runs a program in one of the ways, with so many threads, and returns the seconds and tasks that it
// tells. The trace of a recorded one is at o.trace().
func (o *ompBench) run(ctx context.Context, line []string, way, threads int) (seconds float64, tasks int, err error) {
	words := append([]string{o.programs[line[0]]}, line[1:]...)
	if way == ompRecorded {
		if err := os.RemoveAll(o.trace()); err != nil {
			return 0, 0, err
		}
		words = append([]string{o.whyslow, "omp", "-q", "-o", o.trace(), "--"}, words...)
	}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Env = append(os.Environ(), "OMP_NUM_THREADS="+strconv.Itoa(threads))
	if way == ompNothing {
		cmd.Env = append(cmd.Env, "OMP_TOOL_LIBRARIES="+o.tool)
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w\n%s", line[0], err, said.Bytes())
	}
	first, _, _ := strings.Cut(said.String(), "\n")
	if seconds, err = strconv.ParseFloat(first, 64); err != nil {
		return 0, 0, fmt.Errorf("%s said %q", line[0], said.String())
	}
	if _, err := fmt.Sscanf(string(out), line[0]+": %d tasks", &tasks); err != nil {
		return 0, 0, fmt.Errorf("%s printed %q", line[0], out)
	}
	return seconds, tasks, nil
}

func (o *ompBench) trace() string { return filepath.Join(o.folder, "openmp.trace") }

// events counts those of the trace of the last recorded run.
func (o *ompBench) events(ctx context.Context) (events float64, err error) {
	out, err := exec.CommandContext(ctx, o.whyslow, "report", "--json", o.trace()).Output()
	if err != nil {
		return 0, err
	}
	var report struct{ Run struct{ Events float64 } }
	err = json.Unmarshal(out, &report)
	return report.Run.Events, err
}

// benchOpenMP measures what recording costs by program and by event.
func benchOpenMP(ctx context.Context, b *bench) error {
	rounds := b.pick(7, 1)
	t := b.table("OpenMP programs, recorded",
		fmt.Sprintf("The programs of testdata/openmp/suite, in the manner of the Barcelona OpenMP tasks suite, take "+
			"turns: by themselves, with an OMPT tool whose callbacks do nothing, and under `whyslow omp`. Slow-down: "+
			"wall time of the parallel part on two threads, divided by that of the program by itself; medians of %d "+
			"pairs. Cost of an event: what the parallel part takes longer on one thread than with the tool that does "+
			"nothing, by number of events; a bare append is one of table `record`, in the same run.", rounds),
		"program", "slow-down, recorded", "slow-down, do-nothing tool", "event, ratio to a bare append", "goal",
		"ns/event", "tasks", "events", "ms by itself")
	o, missing, err := b.readyOpenMP(ctx)
	if err != nil {
		return err
	}
	if missing != nil {
		t.missing("the suite", missing.Error())
		return nil
	}
	for _, p := range ompSuite {
		line := p.line
		if b.quick {
			line = p.tiny
		}
		var slow [ompWays][]float64
		var ms, ns, ratios []float64
		var tasks int
		var events float64
		for range rounds {
			var one, two [ompWays]float64
			for way := range ompWays {
				if one[way], tasks, err = o.run(ctx, line, way, 1); err != nil {
					return err
				}
			}
			if events, err = o.events(ctx); err != nil {
				return err
			}
			for way := range ompWays {
				if two[way], _, err = o.run(ctx, line, way, 2); err != nil {
					return err
				}
				slow[way] = append(slow[way], two[way]/two[ompAlone])
			}
			cost := (one[ompRecorded] - one[ompNothing]) * 1e9 / events
			ns, ms = append(ns, cost), append(ms, two[ompAlone]*1e3)
			ratios = append(ratios, cost/perEvent(bareAppend, kindPortion))
		}
		t.row(p.what, ratio(median(slow[ompRecorded])), ratio(median(slow[ompNothing])), ratio(median(ratios)), "1.5x",
			median(ns), tasks, events, median(ms))
	}
	return nil
}
