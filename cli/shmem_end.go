package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/whyslow/whyslow/internal/record/pgas/symbols"
	"github.com/whyslow/whyslow/trace"
)

// nothingRecorded is that a program has left no trace.
type nothingRecorded struct{ text string }

func (e *nothingRecorded) Error() string { return e.text }

// errNoEvents is that there are files, and nothing in them: there is nothing to report.
var errNoEvents = errors.New("no PE has left an event: they were killed, or called _exit, before any was written (see --trace-flush)")

// endShmem completes the trace of a program that has ended: how it ended, and which lines its addresses are. outcome is the error of
// the run, nil if it ended well.
func endShmem(io stdio, l *launch, dir string, outcome error) error {
	recorded, err := hasNodes(dir)
	if err != nil {
		return badInput(err)
	}
	if !recorded {
		if outcome != nil {
			var exit *exitError
			if errors.As(outcome, &exit) && exit.err != nil {
				return exitWith(exit.code, &nothingRecorded{exit.Error() + " before anything was recorded"})
			}
			return exitWith(exitCode(outcome), &nothingRecorded{"nothing was recorded"})
		}
		name := "the program"
		if l.program != "" {
			name = l.program
		}
		return exitWith(exitUsage, &nothingRecorded{fmt.Sprintf(
			"nothing was recorded: %s never called shmem_init, or OpenSHMEM is linked into it statically (then link it with libwhyslow-shmem.a first: 'whyslow shmem --library DIR')", name)})
	}
	if err := tellEnd(dir, outcome); err != nil {
		return badInput(err)
	}
	r, err := trace.Open(dir)
	if err != nil {
		return badInput(err)
	}
	defer r.Close()
	if outcome != nil && len(r.Streams()) == 0 {
		return exitWith(exitCode(outcome), errNoEvents)
	}
	if err := resolveAddresses(r, dir); err != nil || outcome != nil {
		return badInput(err)
	}
	return tellMissing(io, missing(r))
}

// hasNodes tells whether a folder has the file of a node.
func hasNodes(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return filepath.Ext(e.Name()) == ".wst" }), err
}

// tellEnd writes into run.json how the run ended, where node 0 could not or knew of itself only.
func tellEnd(dir string, outcome error) error {
	info, err := trace.ReadRunInfo(dir)
	if errors.Is(err, fs.ErrNotExist) {
		info = new(trace.RunInfo) // PE 0 wrote nothing
	} else if err != nil {
		return err
	}
	if outcome == nil {
		return nil // where something is amiss all the same, it is as the PEs have said
	}
	info.Ended, info.Exit = trace.EndedFailed, exitCode(outcome)
	var launcher *exec.ExitError
	switch {
	case info.Exit == exitInterrupted:
		info.Ended = trace.EndedInterrupted
	case errors.As(outcome, &launcher):
		// PE 0 may have been ended because another one failed.
		if info.Message != "" {
			info.Message = "; PE 0: " + info.Message
		}
		info.Exit, info.Message = launcher.ExitCode(), outcome.Error()+info.Message
	}
	return trace.WriteRunInfo(dir, info)
}

// resolveAddresses looks up the lines from which the program called OpenSHMEM, while it is as it was when it ran, and keeps them beside
// the trace.
func resolveAddresses(r *trace.Reader, dir string) error {
	seen := map[string]bool{}
	var addresses []string
	for _, node := range r.Nodes() {
		defs := r.Defs(node)
		defs.EachSite(func(s trace.SiteDef) {
			text := defs.Name(s.Text)
			if _, _, ok := symbols.Split(text); ok && s.File == 0 && !seen[text] {
				seen[text] = true
				addresses = append(addresses, text)
			}
		})
	}
	if len(addresses) == 0 {
		return nil
	}
	return fileError(symbols.Resolve(addresses).Save(dir))
}
