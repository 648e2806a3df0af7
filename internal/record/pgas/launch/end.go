package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/record/pgas/symbols"
	"github.com/whyslow/whyslow/trace"
)

// NothingRecorded is the error of a program that has left no trace.
type NothingRecorded struct{ text string }

// Error implements error.
func (e *NothingRecorded) Error() string { return e.text }

// ErrNoEvents is that there are files, and nothing in them: there is nothing to report.
var ErrNoEvents = errors.New("no event was written: the program was killed, or called _exit, too early" +
	" (see --trace-flush)")

// End completes the trace of a program that has ended: how it ended, and which lines its addresses are.
// outcome is the error of the run, nil if it ended well. The trace of such a run is then given to check.
func (l *Launch) End(dir string, outcome error, check func(r *trace.Reader) error) error {
	files, err := NodeFiles(dir)
	if err != nil {
		return console.BadInput(err)
	}
	if files == 0 {
		if outcome != nil {
			var exit *console.Error
			if errors.As(outcome, &exit) && exit.Err != nil {
				return console.Exit(exit.Code, &NothingRecorded{exit.Error() + " before anything was recorded"})
			}
			return console.Exit(console.Code(outcome), &NothingRecorded{"nothing was recorded"})
		}
		return console.Exit(console.BadUsage, &NothingRecorded{l.nothing()})
	}
	// What PE 0 did not live to collect.
	if left, err := filepath.Glob(filepath.Join(dir, "[0-9][0-9][0-9][0-9][0-9]*.host")); err == nil {
		for _, name := range left {
			_ = os.Remove(name)
		}
	}
	if err := tellEnd(dir, outcome); err != nil {
		return console.BadInput(err)
	}
	if l.mpi != nil && l.omp != nil {
		if err := tellWorkers(dir); err != nil {
			return console.BadInput(err)
		}
	}
	r, err := trace.Open(dir)
	switch {
	case errors.Is(err, trace.ErrNothingWhole):
		return console.Exit(console.Damaged, console.FileError(err))
	case err != nil:
		return console.BadInput(err)
	}
	defer r.Close()
	if outcome != nil && len(r.Streams()) == 0 {
		return console.Exit(console.Code(outcome), ErrNoEvents)
	}
	if err := resolveAddresses(r, dir); err != nil || outcome != nil {
		return console.BadInput(err)
	}
	return check(r)
}

// nothing says why a program that ended well may have left no trace.
func (l *Launch) nothing() string {
	name := "the program"
	if l.Program != "" {
		name = l.Program
	}
	if l.mpi != nil {
		return l.mpi.nothing(name)
	}
	if l.omp != nil {
		return l.omp.nothing(name)
	}
	return fmt.Sprintf("nothing was recorded: %s never called shmem_init, or OpenSHMEM is linked into it"+
		" statically (then link it with libwhyslow-shmem.a first: 'whyslow shmem --library DIR')", name)
}

// NodeFiles counts the files of nodes in a folder.
func NodeFiles(dir string) (n int, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".wst" {
			n++
		}
	}
	return n, err
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
	info.Ended, info.Exit = trace.EndedFailed, console.Code(outcome)
	var launcher *exec.ExitError
	switch {
	case info.Exit == console.Interrupted:
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

// tellWorkers writes into run.json how many workers each node has, where node 0 knew its own number only.
// Each worker begins with onProgramStarted.
func tellWorkers(dir string) error {
	r, err := trace.Open(dir)
	if err != nil {
		return nil // End says what is wrong
	}
	defer r.Close()
	workers := map[int]int{}
	for _, s := range r.Streams() {
		if s.Started {
			workers[s.Node] = max(workers[s.Node], s.Stream+1)
		}
	}
	info, err := trace.ReadRunInfo(dir)
	if err != nil {
		return nil // likewise
	}
	for i := range info.Nodes {
		if n := workers[info.Nodes[i].Node]; n > 0 {
			info.Nodes[i].Workers = n
		}
	}
	return trace.WriteRunInfo(dir, info)
}

// resolveAddresses finds the lines, functions and variables that were recorded as addresses, while the
// program is unchanged, and keeps them.
func resolveAddresses(r *trace.Reader, dir string) error {
	if table := symbols.OfTrace(r, -1); table != nil {
		return console.FileError(table.Save(dir))
	}
	return nil
}
