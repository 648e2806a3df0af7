package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/whyslow/whyslow/internal/analysis/balance"
	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/files"
	"github.com/whyslow/whyslow/internal/show/report"
	"github.com/whyslow/whyslow/trace"
)

// repeated are the flags of a recorded run that its repetitions have, too.
var repeated = []string{"nodes", "workers", "thread-clock", "no-waits", "link-latency", "link-bandwidth",
	"hold", "no-steal", "define", "cpp-dir", "cpp-source", "optimize"}

// repetition runs a recorded program again.
type repetition struct {
	words   []string // the command, up to the flags of a single run
	program []string // the program and its arguments
	first   string   // the trace of the recorded run
	traces  string   // new ones are called after that one
	ranks   bool     // mpirun starts it
}

// repetition finds the command that recorded a run, and changes it to another machine where o says so.
func (o *balanceOptions) repetition(info *trace.RunInfo, path string) (*repetition, error) {
	if !canRun {
		return nil, errNoEngine
	}
	line := info.CommandLine
	if len(line) < 3 || line[1] != "run" {
		return nil, fmt.Errorf("%s was not recorded by whyslow run: --run cannot repeat it", path)
	}
	if slices.ContainsFunc(line, func(word string) bool { return strings.Contains(word, "***") }) {
		return nil, fmt.Errorf("%s does not have the secret arguments of its run: --run cannot repeat it", path)
	}
	f := runCommand(console.IO{}).Flags()
	if err := f.Parse(line[2:]); err != nil || f.NArg() == 0 {
		return nil, fmt.Errorf("%s was recorded by another version of whyslow: --run cannot repeat it", path)
	}
	r := &repetition{program: f.Args(), first: path, traces: strings.TrimSuffix(filepath.Clean(path), ".trace")}
	if _, err := os.Stat(r.program[0]); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not here: use --run in the folder where the run was recorded",
			r.program[0])
	}
	self, err := exec.LookPath(os.Args[0]) // the name counts: there may be others for the same file
	if err != nil {
		return nil, err
	}
	r.words = []string{self, "run", "--quiet"}
	m := o.machine
	if r.ranks = len(info.Processes) > 1; r.ranks {
		if why := whyNoMPI(); why != "" {
			return nil, fmt.Errorf("mpirun started the recorded run: %s", why)
		}
		if m.Nodes == 0 {
			m.Nodes = len(info.Processes)
		}
		r.words = slices.Concat([]string{"mpirun", "-n", strconv.Itoa(m.Nodes), "--bind-to", "none",
			"--oversubscribe"}, r.words)
		m.Nodes = 0
	}
	r.words = append(r.words, childFlags(f, func(flag string) bool {
		return slices.Contains(repeated, flag)
	})...)
	set := func(flag string, value any) { r.words = append(r.words, fmt.Sprintf("--%s=%v", flag, value)) }
	if m.Nodes > 0 {
		set("nodes", m.Nodes)
	}
	switch {
	case m.Workers > 0:
		set("workers", m.Workers)
	case !f.Changed("workers") && len(info.Nodes) > 0: // the default depends on the machine
		set("workers", info.Nodes[0].Workers)
	}
	if m.Latency >= 0 {
		set("link-latency", time.Duration(m.Latency))
	}
	if m.Bandwidth >= 0 {
		set("link-bandwidth", strconv.FormatFloat(m.Bandwidth, 'f', 0, 64))
	}
	return r, nil
}

// run runs the program, placed as a file says if one is given, and gives its trace. What it prints is not
// shown.
func (r *repetition) run(ctx context.Context, place string) (dir string, err error) {
	if dir, err = files.NewTrace(filepath.Dir(r.traces), filepath.Base(r.traces)); err != nil {
		return "", badInput(err)
	}
	line := slices.Clone(r.words)
	if place != "" {
		line = append(line, "--place="+place)
	}
	line = append(append(line, "--output="+dir), r.program...)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return "", interrupted(ctx)
	case err != nil:
		said := strings.Split(strings.TrimSpace(strings.ReplaceAll(stderr.String(), dir, "")), "\n")
		return "", console.Exit(console.Failed, fmt.Errorf("%s failed (%w): %s", r.program[0], err,
			strings.TrimPrefix(said[len(said)-1], "whyslow: ")))
	}
	return dir, nil
}

// fastest runs the program several times, placed as a file says if one is given, and keeps the fastest run:
// its trace, and what strategies do with that. It may have one to begin with.
func (o *balanceOptions) fastest(ctx context.Context, line *console.Progress, r *repetition, place string,
	dir string, d *report.Distribution) (string, *report.Distribution, error) {
	runs := o.repeats
	if dir != "" {
		runs--
	}
	for range runs {
		next, err := r.run(ctx, place)
		if err != nil {
			return "", nil, err
		}
		nextD, _, err := distribute(ctx, line, o, next)
		if err != nil {
			return "", nil, err
		}
		slower := next
		if d == nil || nextD.Recorded.WallNS < d.Recorded.WallNS {
			slower, dir, d = dir, next, nextD
		}
		if slower != "" && slower != r.first {
			_ = os.RemoveAll(slower) // it is only in the way
		}
	}
	return dir, d, nil
}

// runRounds finds the best distribution, runs the program with it, and begins again with what was recorded
// then, until nothing better is found or the rounds are over.
func runRounds(ctx context.Context, io console.IO, o *balanceOptions, path string) error {
	line := console.StartProgress(io)
	defer func() {
		if line != nil {
			line.End()
		}
	}()
	d, problems, err := distribute(ctx, line, o, path)
	if err != nil {
		return err
	}
	again, err := o.repetition(d.Result.Program.Model().Info, path)
	if err != nil {
		return badInput(err)
	}
	name := filepath.Base(again.program[0])
	if m := d.Result.Program.Machine; o.elsewhere || m.Nodes != d.Recorded.Nodes ||
		m.Workers != d.Recorded.Workers {
		path, d = "", nil
	}
	line.Set("running %s as its locators say", name)
	if path, d, err = o.fastest(ctx, line, again, "", path, d); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "whyslow")
	if err != nil {
		return badInput(err)
	}
	defer os.RemoveAll(scratch)
	place := filepath.Join(scratch, "place.json")
	all := &report.Rounds{Distribution: d}
	recorded := d.Result.Of(balance.Recorded)
	all.List = []report.Round{{Strategy: balance.Recorded, Trace: path, PredictedNS: recorded.Predicted.WallNS,
		MeasuredNS: d.Recorded.WallNS}}
	best, bestOf, bestTrial := 0, d, recorded
	for round := range o.rounds {
		trial := d.Result.Best()
		if trial == nil || trial.Place == nil || trial.Strategy == balance.Recorded {
			break
		}
		if err := writePlacement(place, d, trial); err != nil {
			return err
		}
		line.Set("round %d of %d: running %s with %s", round+1, o.rounds, name, trial.Strategy)
		next := report.Round{Strategy: trial.Strategy, PredictedNS: trial.Predicted.WallNS}
		was := d
		if next.Trace, d, err = o.fastest(ctx, line, again, place, "", nil); err != nil {
			return err
		}
		next.MeasuredNS = d.Recorded.WallNS
		if all.List = append(all.List, next); next.MeasuredNS < all.List[best].MeasuredNS {
			best, bestOf, bestTrial = round+1, was, trial
		}
	}
	all.Best = best
	line.End()
	line = nil
	return o.tellRounds(ctx, io, all, bestOf, bestTrial, problems)
}

// tellRounds shows what came of the rounds, and writes the distribution that was the fastest.
func (o *balanceOptions) tellRounds(ctx context.Context, io console.IO, all *report.Rounds,
	of *report.Distribution, best *balance.Trial, problems []string) error {
	if o.json {
		if err := writeJSON(io.Out, all); err != nil {
			return badInput(err)
		}
	} else {
		opt := report.Options{Color: io.OutColor(), Width: max(width(os.Stdout, io.OutTerm), diffWidth)}
		err := report.Distributed(io.Out, all.Distribution, o.lang, opt)
		if err == nil {
			_, err = fmt.Fprintln(io.Out)
		}
		if err == nil {
			err = report.Tried(io.Out, all, o.lang, opt)
		}
		if err != nil {
			return badInput(err)
		}
		if all.Best > 0 {
			diff := diffOptions{top: 5, memory: o.reading, reading: reading{"all", "whyslow", o.lang}}
			fmt.Fprintln(io.Out)
			if err := runDiff(ctx, io, &diff, all.List[0].Trace, all.List[all.Best].Trace); err != nil {
				return err
			}
		}
	}
	err := tellMissing(io, problems)
	if o.out != "" {
		if err := writePlacement(o.out, of, best); err != nil {
			return err
		}
		io.Say("%s", o.out)
	}
	return err
}
