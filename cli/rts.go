//go:build cgo

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/whyslow/whyslow/internal/analysis/lifecycle"
	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/internal/run/luna/records"
)

// runRTS is LuNA's launcher: it runs a library made by "luna -c", and ends as the program ends. Started by mpirun, each rank is
// a node, as with LuNA.
func runRTS(words []string, io stdio) int {
	r := &rtsRun{io: io}
	var err error
	if r.rtsOptions, err = parseRTS(words); err != nil {
		return exitOf(r.fail(err))
	}
	switch {
	case r.help:
		fmt.Fprint(io.out, rtsHelp)
		return exitDone
	case r.version:
		fmt.Fprintln(io.out, "LuNA version: 0.6")
		return exitDone
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ranks := mpiRanks()
	switch {
	case ranks > 1 && startWorld == nil:
		err = fmt.Errorf("started on %d MPI ranks, but built without MPI: build whyslow with 'make mpi', or say 'rts -n %d' without mpirun", ranks, ranks)
		cannotJoin(ctx, err)
		return r.fail(err)
	case ranks > 1 && r.nodes != 1 && r.nodes != ranks:
		return exitOf(r.fail(fmt.Errorf("-n %d, but mpirun has started %d ranks, each of them a node: leave out -n", r.nodes, ranks)))
	}
	w, err := joinWorld()
	if err != nil {
		if !joined {
			cannotJoin(ctx, err)
		}
		return r.fail(err)
	}
	code, signal := r.run(ctx, w)
	leaveUnlessInterrupted(ctx, w, &err)
	if err != nil {
		return r.fail(err)
	}
	if signal != 0 {
		errLines.end()
		dieBy(signal)
	}
	return code
}

// rtsRun is the launcher in this process.
type rtsRun struct {
	*rtsOptions
	io    stdio
	crew  *crew    // nil: all nodes are here
	many  *manyRun // nil likewise
	debug bool     // LuNA's -g
	text  string   // of the program
	read  []source // what the library was compiled from
}

func (r *rtsRun) fail(err error) int {
	if errors.Is(err, errElsewhere) {
		return exitDone // rank 0 says it
	}
	fmt.Fprintf(r.io.err, "rts: %v\n", err)
	return exitFailed
}

// run gives the exit code, or the signal to die of.
func (r *rtsRun) run(ctx context.Context, w world) (code int, signal syscall.Signal) {
	var err error
	if r.crew, err = meet(w); err == nil && w != nil {
		r.nodes = w.Size()
		r.many, err = startMany(ctx, r.io, r.crew, &runOptions{quiet: true})
	}
	if err = r.crew.agree(err); err != nil {
		return r.fail(err), 0
	}
	cfg := engine.Config{
		Nodes: r.nodes, Workers: r.workers, Args: r.args, Steal: r.steal, ThreadClock: engine.ClockOff,
		Warn: func(text string) { fmt.Fprintf(r.io.err, "rts: warning: %s\n", text) },
	}
	if r.many != nil {
		r.io = r.many.io
		cfg.Part = &engine.Part{Node: w.Rank(), Group: w.Group(), Connect: r.many.out.connect(w), Clock: engine.ClockSync{When: engine.ClockSyncOff}}
	}
	rec, err := r.load(&cfg)
	if err = r.crew.agree(err); err == nil {
		err = r.sameCode()
	}
	if err != nil {
		return r.end(r.fail(err)), 0
	}
	_, runErr := engine.Run(ctx, cfg)
	if errors.Is(runErr, engine.ErrInterrupted) && r.many != nil {
		r.abandon(cfg.Library)
		return r.interrupted(), 0
	}
	closeLibrary(cfg.Library, runErr, cfg.Warn)
	var stuck *engine.StuckError
	errors.As(runErr, &stuck)
	if rec != nil {
		err = writePending(rec, stuck)
	}
	if err = r.crew.agree(err); err != nil {
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
	bundle, err := readBundle(path)
	if err != nil {
		return nil, err
	}
	r.read = bundle.Read
	if cfg.Program, err = bundle.compile(); err != nil {
		return nil, err
	}
	if cfg.Library, err = cpp.Open(path, cfg.Program); err != nil {
		return nil, err
	}
	r.text = programText(cfg.Program)
	if r.debug = bundle.Debug; !r.debug {
		return nil, nil
	}
	var rec *records.Records
	if r.crew == nil {
		rec, err = records.New(".", cfg.Program)
	} else {
		rec, err = records.NewPart(".", cfg.Program, r.crew.Rank(), r.crew.Size())
	}
	if err != nil {
		return nil, fileError(err)
	}
	cfg.Records = rec
	return rec, nil
}

// sameCode fails where the ranks are not about to run the same program.
func (r *rtsRun) sameCode() error {
	warning, err := r.crew.sameCode(r.text, r.library, r.read)
	if warning != "" {
		fmt.Fprintf(r.io.err, "rts: warning: %s\n", warning)
	}
	return r.crew.agree(err)
}

// outcome says how the run ended.
func (r *rtsRun) outcome(runErr error, stuck *engine.StuckError) (code int, signal syscall.Signal) {
	var failed *engine.ProgramError
	var badWord *engine.ArgError
	switch {
	case runErr == nil, !r.crew.speaks():
		return exitDone, 0
	case stuck != nil && r.debug:
		for node := range r.nodes {
			if n := unfinished(stuck, node); n > 0 {
				fmt.Fprintf(r.io.err, "%d ERROR:  System is idle, but unfinished CFs (%d) exist.\n", node, n)
			}
		}
		return exitFailed, 0
	case stuck != nil:
		fmt.Fprintf(r.io.err, "rts: %v\n", stuck)
		lifecycle.Explain(r.io.err, &stuck.Stuck, false)
		return exitStuck, 0
	case errors.As(runErr, &failed):
		if failed.LunaLine != "" {
			fmt.Fprintf(r.io.err, "%d ERROR:  %s\n", failed.Node, failed.LunaLine)
		}
		if failed.Exited {
			return failed.ExitCode, 0
		}
		// LuNA ends all faults that it finds itself with an abort.
		return exitFailed, cmp.Or(syscall.Signal(failed.Signal), syscall.SIGABRT)
	case errors.As(runErr, &badWord):
		fmt.Fprintf(r.io.err, "0 ERROR:  %s\n", badWord.LunaLine)
		return exitFailed, syscall.SIGABRT
	case errors.Is(runErr, engine.ErrInterrupted):
		return r.interrupted(), 0
	}
	return r.fail(runErr), 0
}

func (r *rtsRun) interrupted() int {
	if r.crew.speaks() {
		fmt.Fprintln(r.io.err, "Ctrl-C detected")
	}
	return exitInterrupted
}

// end brings to rank 0 what was printed last.
func (r *rtsRun) end(code int) int {
	if r.many == nil {
		return code
	}
	if err := r.many.end(); err != nil {
		return cmp.Or(code, r.fail(err))
	}
	return code
}

// abandon ends this rank when mpirun is about to end all: nobody else is waited for.
func (r *rtsRun) abandon(library *cpp.Library) {
	r.many.world.(*member).abandon()
	flushed := make(chan struct{})
	go func() { library.Flush(); close(flushed) }()
	select {
	case <-flushed:
	case <-time.After(interruptGrace):
	}
	_ = r.many.stopOutput() // there is nothing left to do about it
	r.many.out.abandon()
}

// unfinished counts the CFs left at a node.
func unfinished(stuck *engine.StuckError, node int) int {
	n := 0
	for _, p := range stuck.CFs {
		if p.Node == node {
			n++
		}
	}
	return n
}

// writePending ends LuNA's debug records: the CFs left over, each with the DF it waits for first, as LuNA has it.
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
	return fileError(rec.Close())
}

// compile turns the carried program into one that can run.
func (p *program) compile() (*luna.Program, error) {
	return luna.Compile(luna.Options{
		File: p.File, Source: []byte(p.Source), Defines: macros(p.Defines),
		ReadFile: func(path string) ([]byte, error) {
			if text, ok := p.Includes[path]; ok {
				return []byte(text), nil
			}
			return nil, &os.PathError{Op: "open", Path: path, Err: os.ErrNotExist}
		},
	})
}
