package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/whyslow/whyslow/internal/analysis/consistency"
	"github.com/whyslow/whyslow/internal/model"
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
	printClocks(io, r)
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

// printClocks tells how well the clocks of several processes agree.
func printClocks(io stdio, r *consistency.Report) {
	for _, c := range r.Clocks {
		fmt.Fprintf(io.out, "clock of node %d", c.Node)
		if c.Host != "" {
			fmt.Fprintf(io.out, " on %s", c.Host)
		}
		switch c.Compared {
		case 0:
			fmt.Fprint(io.out, ": never compared with that of node 0")
		case 1:
			fmt.Fprintf(io.out, ": compared once, offset %v, error at most %v", time.Duration(c.OffsetNS), time.Duration(c.ErrorNS))
		default:
			fmt.Fprintf(io.out, ": compared %d times", c.Compared)
			if c.Used < c.Compared {
				fmt.Fprintf(io.out, " (%d of them explain the others)", c.Used)
			}
			fmt.Fprintf(io.out, ", offset %v at first and %v at last, drift %.3f ppm, error at most %v",
				time.Duration(c.OffsetNS), time.Duration(c.LastNS), c.DriftPPM, time.Duration(c.ErrorNS))
		}
		if p := c.Repair; p.Count > 0 {
			fmt.Fprintf(io.out, "; put forward %d times, by up to %v, in all by %v", p.Count, time.Duration(p.LargestNS), time.Duration(p.SumNS))
		}
		if m := c.Repair.MovedNS; m > 0 {
			fmt.Fprintf(io.out, "; events moved by up to %v", time.Duration(m))
		}
		fmt.Fprintln(io.out)
	}
	if o := r.Order; o != nil && o.Messages > 0 {
		fmt.Fprintf(io.out, "%d messages between processes; received before they were sent:\n", o.Messages)
		for _, v := range []struct {
			by string
			model.Disorder
		}{{"by the clocks as they were", o.Raw}, {"by clocks corrected with their comparisons", o.Interpolated}, {"after repair, as in reports", o.Repaired}} {
			fmt.Fprintf(io.out, "  %-43s %d", v.by+":", v.Count)
			if v.Count > 0 {
				fmt.Fprintf(io.out, ", by up to %v, in all by %v", time.Duration(v.LargestNS), time.Duration(v.SumNS))
			}
			fmt.Fprintln(io.out)
		}
	}
}
