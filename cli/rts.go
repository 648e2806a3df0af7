//go:build cgo && linux

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"

	"github.com/whyslow/whyslow/internal/analysis/lifecycle"
	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/record/recording"
	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/crew"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/internal/run/luna/bundle"
	"github.com/whyslow/whyslow/internal/run/luna/records"
)

// runRTS is LuNA's launcher: it runs a library made by "luna -c". Under mpirun each rank is a node.
func runRTS(words []string, io console.IO) int {
	r := &rtsRun{io: io}
	var err error
	if r.rtsOptions, err = parseRTS(words); err != nil {
		return exitOf(r.fail(err))
	}
	switch {
	case r.help:
		fmt.Fprint(io.Out, rtsHelp)
		return console.Done
	case r.version:
		fmt.Fprintln(io.Out, "LuNA version: 0.6")
		return console.Done
	}
	ctx, stop := console.Asked(context.Background())
	defer stop()
	ranks := crew.Ranks()
	switch {
	case ranks > 1 && !crew.HasMPI():
		err = fmt.Errorf("started on %d MPI ranks, but built without MPI: build whyslow with 'make mpi', or"+
			" use 'rts -n %d' without mpirun", ranks, ranks)
		crew.CannotJoin(ctx, err)
		return r.fail(err)
	case ranks > 1 && r.nodes != 1 && r.nodes != ranks:
		return exitOf(r.fail(fmt.Errorf("-n %d, but mpirun has started %d ranks, each of them a node:"+
			" leave out -n", r.nodes, ranks)))
	}
	r.crew, err = crew.Join(buildName())
	if err != nil {
		if !crew.Joined() {
			crew.CannotJoin(ctx, err)
		}
		return r.fail(err)
	}
	code, signal := r.run(ctx)
	r.crew.LeaveUnlessInterrupted(ctx, &err)
	if err != nil {
		return r.fail(err)
	}
	if signal != 0 {
		crew.EndStderr()
		console.DieBy(signal)
	}
	return code
}

// rtsRun is the launcher in this process.
type rtsRun struct {
	*rtsOptions
	io    console.IO
	crew  *crew.Crew
	voice *crew.Voice
	debug bool          // LuNA's -g
	text  string        // of the program
	file  string        // its name
	read  []crew.Source // what the library was compiled from
}

func (r *rtsRun) fail(err error) int {
	if errors.Is(err, crew.ErrElsewhere) {
		return console.Done // rank 0 says it
	}
	fmt.Fprintf(r.io.Err, "rts: %v\n", err)
	return console.Failed
}

// run gives the exit code, or the signal to die of.
func (r *rtsRun) run(ctx context.Context) (code int, signal syscall.Signal) {
	c := r.crew
	if c.Many() {
		r.nodes = c.Size()
	}
	var err error
	r.voice, err = c.Lead(ctx, r.io)
	if err = c.Agree(err); err != nil {
		return r.fail(err), 0
	}
	r.io = r.voice.IO
	plan, err := r.plan()
	if err = c.Agree(err); err != nil {
		return r.end(r.fail(err)), 0
	}
	cfg := engine.Config{
		Nodes: r.nodes, Workers: r.workers, Args: r.args, Steal: r.steal, ThreadClock: engine.ClockOff,
		Warn: func(text string) { fmt.Fprintf(r.io.Err, "rts: warning: %s\n", text) },
	}
	if c.Many() {
		cfg.Part = &engine.Part{
			Node: c.Rank(), Group: c.Group(), Connect: r.voice.Connect(),
			Clock: engine.ClockSync{When: engine.ClockSyncOff},
		}
	}
	rec, err := r.load(&cfg)
	if err = c.Agree(err); err == nil {
		err = r.sameCode()
	}
	var profiled *recording.Recording
	if err == nil && plan != nil {
		profiled, err = r.profile(ctx, plan, &cfg)
	}
	if err != nil {
		return r.end(r.fail(err)), 0
	}
	_, runErr := engine.Run(ctx, cfg)
	if errors.Is(runErr, engine.ErrInterrupted) && c.Many() {
		if profiled != nil {
			_ = profiled.Interrupted(r.voice, func() { r.interrupted() },
				func() { flush(cfg.Library, recording.Grace) }, runErr)
			return console.Interrupted, 0
		}
		c.Abandon() // mpirun is about to end all: nobody else is waited for
		flush(cfg.Library, recording.Grace)
		r.voice.Abandon()
		return r.interrupted(), 0
	}
	closeLibrary(cfg.Library, runErr, cfg.Warn)
	var stuck *engine.StuckError
	errors.As(runErr, &stuck)
	if rec != nil {
		err = writePending(rec, stuck)
	}
	if profiled != nil {
		r.endProfile(profiled, runErr, stuck)
	}
	if err = c.Agree(err); err != nil {
		return r.end(r.fail(err)), 0
	}
	code, signal = r.outcome(runErr, stuck)
	return r.end(code), signal
}

// load completes the configuration with the program.
func (r *rtsRun) load(cfg *engine.Config) (*records.Records, error) {
	path, err := filepath.Abs(r.library)
	if err != nil {
		return nil, err
	}
	carried, err := bundle.Read(path)
	if err != nil {
		return nil, err
	}
	r.read = carried.Read
	if cfg.Program, err = carried.Compile(); err != nil {
		return nil, err
	}
	if cfg.Library, err = cpp.Open(path, cfg.Program); err != nil {
		return nil, err
	}
	r.text, r.file = crew.ProgramText(cfg.Program), carried.File
	if r.debug = carried.Debug; !r.debug {
		return nil, nil
	}
	node := r.crew.Rank()
	if !r.crew.Many() {
		node = -1
	}
	rec, err := records.New(".", cfg.Program, node, r.crew.Size())
	if err != nil {
		return nil, console.FileError(err)
	}
	cfg.Records = rec
	return rec, nil
}

// sameCode fails where the ranks are not about to run the same program.
func (r *rtsRun) sameCode() error {
	warning, err := r.crew.SameCode(r.text, r.library, r.read)
	if warning != "" {
		fmt.Fprintf(r.io.Err, "rts: warning: %s\n", warning)
	}
	return r.crew.Agree(err)
}

// outcome says how the run ended.
func (r *rtsRun) outcome(runErr error, stuck *engine.StuckError) (code int, signal syscall.Signal) {
	var failed *engine.ProgramError
	var badWord *engine.ArgError
	switch {
	case runErr == nil, !r.crew.Speaks():
		return console.Done, 0
	case stuck != nil && r.debug:
		left := map[int]int{} // CFs by node
		for _, p := range stuck.CFs {
			left[p.Node]++
		}
		for node := range r.nodes {
			if n := left[node]; n > 0 {
				fmt.Fprintf(r.io.Err, "%d ERROR:  System is idle, but unfinished CFs (%d) exist.\n", node, n)
			}
		}
		return console.Failed, 0
	case stuck != nil:
		fmt.Fprintf(r.io.Err, "rts: %v\n", stuck)
		lifecycle.Explain(r.io.Err, &stuck.Stuck, false)
		return console.Stuck, 0
	case errors.As(runErr, &failed):
		if failed.LunaLine != "" {
			fmt.Fprintf(r.io.Err, "%d ERROR:  %s\n", failed.Node, failed.LunaLine)
		}
		if failed.Exited {
			return failed.ExitCode, 0
		}
		// LuNA ends all faults that it finds itself with an abort.
		return console.Failed, cmp.Or(syscall.Signal(failed.Signal), syscall.SIGABRT)
	case errors.As(runErr, &badWord):
		fmt.Fprintf(r.io.Err, "0 ERROR:  %s\n", badWord.LunaLine)
		return console.Failed, syscall.SIGABRT
	case errors.Is(runErr, engine.ErrInterrupted):
		return r.interrupted(), 0
	}
	return r.fail(runErr), 0
}

func (r *rtsRun) interrupted() int {
	if r.crew.Speaks() {
		fmt.Fprintln(r.io.Err, "Ctrl-C detected")
	}
	return console.Interrupted
}

// end brings to rank 0 what was printed last.
func (r *rtsRun) end(code int) int {
	if err := r.voice.End(); err != nil {
		return cmp.Or(code, r.fail(err))
	}
	return code
}

// writePending ends LuNA's debug records: the CFs left over, each with the first DF it waits for.
func writePending(rec *records.Records, stuck *engine.StuckError) error {
	if stuck != nil {
		for _, p := range stuck.CFs {
			var awaits []records.Awaited
			if len(p.Awaits) > 0 {
				awaits = []records.Awaited{{ID: p.Awaits[0].ID, Text: p.Awaits[0].Text}}
			}
			rec.Pending(p.Node, p.ID, awaits)
		}
	}
	return console.FileError(rec.Close())
}
