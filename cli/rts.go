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
	"strconv"
	"syscall"

	"github.com/whyslow/whyslow/internal/cpp"
	"github.com/whyslow/whyslow/internal/engine"
	"github.com/whyslow/whyslow/internal/luna"
	"github.com/whyslow/whyslow/internal/luna/records"
)

// runRTS is LuNA's launcher: it runs a library made by "luna -c", and ends as the program ends.
func runRTS(words []string, io stdio) int {
	fail := func(err error) int {
		fmt.Fprintf(io.err, "rts: %v\n", err)
		return exitFailed
	}
	opt, err := parseRTS(words)
	if err != nil {
		return fail(err)
	}
	switch {
	case opt.help:
		fmt.Fprint(io.out, rtsHelp)
		return exitDone
	case opt.version:
		fmt.Fprintln(io.out, "LuNA version: 0.6")
		return exitDone
	}
	if n := mpiRanks(); n > 1 {
		return fail(fmt.Errorf("started on %d MPI ranks, but built without MPI: say 'rts -n %d' instead of mpirun to have the nodes in one process", n, n))
	}
	path, err := filepath.Abs(opt.library)
	if err != nil {
		return fail(err)
	}
	bundle, err := readBundle(path)
	if err != nil {
		return fail(err)
	}
	prog, err := bundle.compile()
	if err != nil {
		return fail(err)
	}
	library, err := cpp.Open(path, prog)
	if err != nil {
		return fail(err)
	}
	cfg := engine.Config{
		Program: prog, Library: library, Nodes: opt.nodes, Workers: opt.workers, Args: opt.args, Steal: opt.steal,
		ThreadClock: engine.ClockOff,
		Warn:        func(text string) { fmt.Fprintf(io.err, "rts: warning: %s\n", text) },
	}
	var rec *records.Records
	if bundle.Debug {
		if rec, err = records.New(".", prog); err != nil {
			return fail(err)
		}
		cfg.Records = rec
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	_, runErr := engine.Run(ctx, cfg)
	closeLibrary(library, runErr, cfg.Warn)
	var stuck *engine.StuckError
	errors.As(runErr, &stuck)
	if rec != nil {
		if err := writePending(rec, stuck); err != nil {
			return fail(err)
		}
	}
	var failed *engine.ProgramError
	var badWord *engine.ArgError
	switch {
	case runErr == nil:
		return exitDone
	case stuck != nil && bundle.Debug:
		for node := range opt.nodes {
			if n := unfinished(stuck, node); n > 0 {
				fmt.Fprintf(io.err, "%d ERROR:  System is idle, but unfinished CFs (%d) exist.\n", node, n)
			}
		}
		return exitFailed
	case stuck != nil:
		fmt.Fprintf(io.err, "rts: %v\n", stuck)
		stuck.Explain(io.err, false)
		return exitStuck
	case errors.As(runErr, &failed):
		if failed.LunaLine != "" {
			fmt.Fprintf(io.err, "%d ERROR:  %s\n", failed.Node, failed.LunaLine)
		}
		if failed.Exited {
			return failed.ExitCode
		}
		// LuNA ends all faults that it finds itself with an abort.
		dieBy(cmp.Or(syscall.Signal(failed.Signal), syscall.SIGABRT))
	case errors.As(runErr, &badWord):
		fmt.Fprintf(io.err, "0 ERROR:  %s\n", badWord.LunaLine)
		dieBy(syscall.SIGABRT)
	case errors.Is(runErr, engine.ErrInterrupted):
		fmt.Fprintln(io.err, "Ctrl-C detected")
		return exitInterrupted
	}
	return fail(runErr)
}

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

// mpiRanks is the number of ranks this process was started on by mpirun, 1 without it.
func mpiRanks() int {
	for _, name := range []string{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"} {
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
			return n
		}
	}
	return 1
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
