package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/whyslow/whyslow/internal/analysis/consistency"
	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/model"
)

// examineTrace tells whether a trace is whole and does not contradict itself.
func examineTrace(ctx context.Context, io console.IO, path string, asJSON bool, memory *memoryBudget) error {
	ctx, watched := memory.watch(ctx, io, path, whole, nil)
	defer watched()
	r, err := memory.open(path, 0, 1)
	if err != nil {
		return badInput(err)
	}
	defer r.Close()
	line := console.StartProgress(io)
	line.Set("checking %s", path)
	found, err := consistency.Check(ctx, r)
	line.End()
	switch {
	case ctx.Err() != nil:
		return interrupted(ctx)
	case err != nil:
		return badInput(err)
	}
	if asJSON {
		err = writeJSON(io.Out, found)
	} else {
		printTraceFindings(io, found)
	}
	switch {
	case err != nil:
		return badInput(err)
	case !found.Whole:
		return console.Exit(console.Damaged, nil)
	case !found.Consistent:
		return console.Exit(console.Failed, nil)
	}
	return nil
}

func printTraceFindings(io console.IO, r *consistency.Report) {
	ended := r.Ended
	if ended == "" {
		ended = "no end recorded: killed, or still running"
	}
	fmt.Fprintf(io.Out, "%d events; the run: %s\n", r.Events, ended)
	if r.Whole {
		fmt.Fprintln(io.Out, "whole: nothing is damaged or missing")
	} else {
		fmt.Fprintln(io.Out, "INCOMPLETE:")
		for _, p := range r.Problems {
			fmt.Fprintf(io.Out, "  %s\n", p)
		}
		fmt.Fprintf(io.Out, "lost: %d events (%d dropped because buffers were full), %v of the"+
			" workers' time\n", r.LostEvents, r.Dropped, time.Duration(r.LossNS))
	}
	printClocks(io, r)
	if r.Consistent {
		fmt.Fprintln(io.Out, "consistent: no contradictions")
	} else {
		fmt.Fprintln(io.Out, "NOT CONSISTENT:")
	}
	for _, f := range r.Findings {
		fmt.Fprintf(io.Out, "  %s, %d times: %s\n", f.Kind, f.Count, f.Meaning)
		for _, e := range f.Examples {
			fmt.Fprintf(io.Out, "    node %d stream %d at %d ns: %s\n", e.Node, e.Stream, e.Time, e.Text)
		}
	}
	for _, u := range r.Unchecked {
		fmt.Fprintf(io.Out, "not checked: %s: %s\n", u.Kind, u.Why)
	}
}

// printClocks tells how well the clocks of several processes agree.
func printClocks(io console.IO, r *consistency.Report) {
	for _, c := range r.Clocks {
		fmt.Fprintf(io.Out, "clock of node %d", c.Node)
		if c.Host != "" {
			fmt.Fprintf(io.Out, " on %s", c.Host)
		}
		switch c.Compared {
		case 0:
			fmt.Fprint(io.Out, ": never compared with that of node 0")
		case 1:
			fmt.Fprintf(io.Out, ": compared once, offset %v, error at most %v", time.Duration(c.OffsetNS),
				time.Duration(c.ErrorNS))
		default:
			fmt.Fprintf(io.Out, ": compared %d times", c.Compared)
			if c.Used < c.Compared {
				fmt.Fprintf(io.Out, " (%d of them explain the others)", c.Used)
			}
			fmt.Fprintf(io.Out, ", offset %v at first and %v at last, drift %.3f ppm, error at most %v",
				time.Duration(c.OffsetNS), time.Duration(c.LastNS), c.DriftPPM, time.Duration(c.ErrorNS))
		}
		if p := c.Repair; p.Count > 0 {
			fmt.Fprintf(io.Out, "; put forward %d times, by up to %v, in all by %v", p.Count,
				time.Duration(p.LargestNS), time.Duration(p.SumNS))
		}
		if m := c.Repair.MovedNS; m > 0 {
			fmt.Fprintf(io.Out, "; events moved by up to %v", time.Duration(m))
		}
		fmt.Fprintln(io.Out)
	}
	if o := r.Order; o != nil && o.Messages > 0 {
		fmt.Fprintf(io.Out, "%d messages between processes; received before they were sent:\n", o.Messages)
		for _, v := range []struct {
			by string
			model.Disorder
		}{{"by the clocks as they were", o.Raw}, {"by clocks corrected with their comparisons",
			o.Interpolated}, {"after repair, as in reports", o.Repaired}} {
			fmt.Fprintf(io.Out, "  %-43s %d", v.by+":", v.Count)
			if v.Count > 0 {
				fmt.Fprintf(io.Out, ", by up to %v, in all by %v", time.Duration(v.LargestNS), time.Duration(v.SumNS))
			}
			fmt.Fprintln(io.Out)
		}
	}
}
