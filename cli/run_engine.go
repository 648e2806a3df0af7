//go:build cgo

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/whyslow/whyslow/internal/analysis/lifecycle"
	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/prof/config"
)

// canRun tells whether the engine is built in.
const canRun = true

var threadClocks = map[string]engine.ThreadClock{"auto": engine.ClockAuto, "on": engine.ClockOn, "off": engine.ClockOff}

// compile turns the source into a program, telling the user what is wrong with it.
func compile(io stdio, src *sourceOptions) (*luna.Program, error) {
	text, err := readSource(src.file)
	if err != nil {
		return nil, err
	}
	prog, err := luna.Compile(luna.Options{File: src.file, Source: text, Defines: macros(src.defines)})
	var faults *luna.Error
	if errors.As(err, &faults) {
		for _, d := range faults.Diags {
			luna.Format(io.err, d, io.errColor())
		}
		return nil, exitWith(exitUsage, nil)
	}
	if err != nil {
		return nil, badInput(err)
	}
	for _, d := range prog.Warnings {
		luna.Format(io.err, d, io.errColor())
	}
	return prog, nil
}

// macros reads definitions: NAME or NAME=TEXT.
func macros(words []string) []luna.Define {
	var list []luna.Define
	for _, w := range words {
		name, text, _ := strings.Cut(w, "=")
		list = append(list, luna.Define{Name: name, Text: text})
	}
	return list
}

// buildLibrary compiles the C++ of a program, or finds it compiled already.
func buildLibrary(ctx context.Context, io stdio, prog *luna.Program, src *sourceOptions) (*cpp.Built, error) {
	line := startProgress(io)
	spec := cpp.Spec{
		Prog: prog, Dir: filepath.Dir(src.file), CppDirs: src.cppDirs, Sources: src.cppSources, Optimize: "-O" + src.optimize,
		Progress: func(done, total int, file string) { line.set("compiling C++: %s (%d of %d done)", file, done, total) },
	}
	if src.verbose {
		spec.Verbose = io.err
	}
	built, err := cpp.Build(ctx, spec)
	line.end()
	var faults *cpp.CompileError
	switch {
	case err == nil:
		return built, nil
	case ctx.Err() != nil:
		return nil, exitWith(exitInterrupted, errors.New("interrupted while compiling C++"))
	case errors.As(err, &faults):
		fmt.Fprintln(io.err, strings.TrimRight(faults.Error(), "\n"))
		return nil, exitWith(exitUsage, nil)
	}
	return nil, exitWith(exitUsage, err)
}

// prepare compiles the program. All processes of a run of many call it.
func prepare(ctx context.Context, io stdio, c *crew, o *runOptions, args []string) (*luna.Program, *cpp.Library, error) {
	prog, err := compile(io, &o.source)
	for name := range o.holds {
		if err == nil && !hasCode(prog, name) {
			err = badCommandLine("run: --hold=%s: the program has no such code fragment", name)
		}
	}
	if err == nil {
		err = badInput(engine.CheckArgs(prog, args))
	}
	if err = c.agree(err); err != nil {
		return nil, nil, err
	}
	// One process of each host compiles the C++; the others find it compiled.
	var built *cpp.Built
	for _, first := range []bool{true, false} {
		if first == (c == nil || c.HostRank() == 0) {
			built, err = buildLibrary(ctx, io, prog, &o.source)
		}
		if err = c.agree(err); err != nil {
			return nil, nil, err
		}
	}
	warning, err := c.sameCode(programText(prog), built.Path, sources(built.Read))
	if err = c.agree(err); err != nil {
		return nil, nil, err
	}
	if warning != "" {
		io.say("warning: %s", warning)
	}
	library, err := cpp.Open(built.Path, prog)
	if err = c.agree(badInput(err)); err != nil {
		return nil, nil, err
	}
	return prog, library, nil
}

// runProgram compiles, runs, and reports.
func runProgram(ctx context.Context, io stdio, c *crew, o *runOptions, plan *config.Plan, args []string) error {
	if c != nil {
		return runMany(ctx, io, c, o, plan, args)
	}
	prog, library, err := prepare(ctx, io, nil, o, args)
	if err != nil {
		return err
	}
	if cores := availableCores(); o.nodes*o.workers > cores {
		io.say("warning: %d workers share %d available cores: expect pre-emption (-n, -w)", o.nodes*o.workers, cores)
	}
	cfg := engine.Config{
		Program: prog, Library: library, Nodes: o.nodes, Workers: o.workers, Args: args, Steal: !o.noSteal,
		LinkLatency: o.linkLatency, LinkBandwidth: o.bandwidth, ThreadClock: threadClocks[o.threadClock], Hold: o.holds,
		Warn: func(text string) { io.say("warning: %s", text) },
	}
	p, err := startProfiling(io, io.err, nil, o, args, plan)
	if err != nil {
		return err
	}
	cfg.Session, cfg.Writers, cfg.DescribeDFs, cfg.Rules = p.session, p.writers(), p.run.WantsDFs(), p.rules
	// User code may change the current folder; names of files of ours stand for what they stood for before.
	folder, folderErr := os.Getwd()
	res, runErr := engine.Run(ctx, cfg)
	after := afterRun(ctx)
	closeLibrary(library, runErr, cfg.Warn)
	if folderErr == nil {
		folderErr = os.Chdir(folder)
	}
	if folderErr != nil {
		io.say("warning: the current folder may have changed: %v", folderErr)
	}
	outcome := runOutcome(io, runErr)
	endErr := p.end(io, runErr, outcome)
	if p.dir() == "" {
		p.send.finish(after, io, o.quiet)
		if res != nil && !o.quiet {
			io.say("%v, %d CFs, %d messages between nodes; no trace",
				time.Duration(res.WallNS).Round(time.Microsecond), res.CFs, res.Messages)
		}
		return cmp.Or(outcome, endErr)
	}
	return p.report(ctx, after, io, o, outcome, endErr)
}

// report is what the user gets when the run is over: the report, what was sent, and as the last line the path of the trace. after is what
// afterRun made of ctx.
func (p *profiling) report(ctx, after context.Context, io stdio, o *runOptions, outcome, endErr error) error {
	reportErr := reportRun(after, io, &o.report, o.quiet, p.dir())
	p.send.finish(after, io, o.quiet)
	if outcome = cmp.Or(outcome, reportErr, endErr); outcome != nil {
		// The path is the last line: what there is to say about the run comes before it.
		var exit *exitError
		if errors.As(outcome, &exit) && exit.err != nil {
			io.say("%v", exit.err)
			outcome = exitWith(exit.code, nil)
		}
	}
	if p.live != nil {
		p.live.stay(ctx, io)
		p.live.close()
	}
	fmt.Fprintln(io.err, p.dir())
	return outcome
}

// closeLibrary ends the program's C++ side: what it printed comes out. After a failure some of its code may still be
// running or hold a lock, so then nothing is unloaded and the output is waited for only a moment.
func closeLibrary(library *cpp.Library, runErr error, warn func(string)) {
	var stuck *engine.StuckError
	if runErr == nil || errors.As(runErr, &stuck) {
		if err := library.Close(); err != nil {
			warn(err.Error())
		}
		return
	}
	flushed := make(chan struct{})
	go func() { library.Flush(); close(flushed) }()
	select {
	case <-flushed:
	case <-time.After(time.Second):
	}
}

func hasCode(prog *luna.Program, name string) bool {
	for _, c := range prog.Codes {
		if c.Name == name {
			return true
		}
	}
	return false
}

// runOutcome tells the user how a run ended, except where it ended well, and gives the exit code.
func runOutcome(io stdio, err error) error {
	var stuck *engine.StuckError
	var failed *engine.ProgramError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &stuck):
		io.say("%v", stuck)
		lifecycle.Explain(io.err, &stuck.Stuck, false)
		return exitWith(exitStuck, nil)
	case errors.As(err, &failed):
		io.say("%v", failed)
		if failed.Exited && failed.ExitCode == 0 {
			return nil
		}
		return exitWith(exitFailed, nil)
	case errors.Is(err, engine.ErrInterrupted):
		io.say("interrupted")
		return exitWith(exitInterrupted, nil)
	}
	return badInput(err)
}
