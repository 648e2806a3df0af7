package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/whyslow/whyslow/internal/consistency"
	"github.com/whyslow/whyslow/trace"
)

// examineTrace tells whether a trace is whole and does not contradict itself.
func examineTrace(ctx context.Context, io stdio, path string, asJSON bool) error {
	r, err := trace.Open(path)
	if err != nil {
		return badInput(err)
	}
	defer r.Close()
	line := startProgress(io)
	line.set("checking %s", path)
	found, err := consistency.Check(ctx, r)
	line.end()
	switch {
	case ctx.Err() != nil:
		return exitWith(exitInterrupted, errors.New("interrupted"))
	case err != nil:
		return badInput(err)
	}
	if asJSON {
		err = writeJSON(io.out, found)
	} else {
		printTraceFindings(io, found)
	}
	switch {
	case err != nil:
		return badInput(err)
	case !found.Whole:
		return exitWith(exitDamaged, nil)
	case !found.Consistent:
		return exitWith(exitFailed, nil)
	}
	return nil
}

func printTraceFindings(io stdio, r *consistency.Report) {
	ended := r.Ended
	if ended == "" {
		ended = "no end recorded: killed, or still running"
	}
	fmt.Fprintf(io.out, "%d events; the run: %s\n", r.Events, ended)
	if r.Whole {
		fmt.Fprintln(io.out, "whole: nothing is damaged or missing")
	} else {
		fmt.Fprintln(io.out, "NOT WHOLE:")
		for _, p := range r.Problems {
			fmt.Fprintf(io.out, "  %s\n", p)
		}
		fmt.Fprintf(io.out, "lost: %d events (%d dropped because buffers were full), %v of the workers' time\n", r.LostEvents, r.Dropped, time.Duration(r.LossNS))
	}
	for _, c := range r.Clocks {
		fmt.Fprintf(io.out, "clock of node %d: compared %d times, offset %v, drift %.3f ppm, error at most %v\n", c.Node, c.Compared,
			time.Duration(c.OffsetNS), c.DriftPPM, time.Duration(c.ErrorNS))
	}
	if r.Consistent {
		fmt.Fprintln(io.out, "consistent: no contradictions")
	} else {
		fmt.Fprintln(io.out, "NOT CONSISTENT:")
	}
	for _, f := range r.Findings {
		fmt.Fprintf(io.out, "  %s, %d times: %s\n", f.Kind, f.Count, f.Meaning)
		for _, e := range f.Examples {
			fmt.Fprintf(io.out, "    node %d stream %d at %d ns: %s\n", e.Node, e.Stream, e.Time, e.Text)
		}
	}
	for _, u := range r.Unchecked {
		fmt.Fprintf(io.out, "not checked: %s: %s\n", u.Kind, u.Why)
	}
}
