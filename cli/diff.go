package cli

import (
	"cmp"
	"context"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/whyslow/whyslow/internal/analysis/compare"
	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/show/report"
)

type diffOptions struct {
	json   bool
	failIf failIf
	top    int
	reading
	memory memoryBudget
}

func diffCommand(io console.IO) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff [flags] TRACE-A TRACE-B",
		Short: "Compare two runs: what got better or worse, and how much of the difference it explains",
		Long: `Compare two recorded runs, also of different sizes or versions: factors and their parts, code
fragments, critical path, memory and traffic. The differences of the factors add up exactly to the
difference of the processor time, and so do those of the code fragments. "of it" is the share of
each in that difference.

--fail-if ends with exit code 5 if a condition holds, for scripts: wall>+5%, S>20%,
code:solve>+10%, memory>2Gi.
` + exitCodes(1, 2, 4, 5),
		Example: `  whyslow diff before.trace after.trace
  whyslow diff --fail-if 'wall>+5%' --fail-if 'S>30%' before.trace after.trace
  whyslow diff --json before.trace after.trace | jq .factors`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return console.Misuse("diff: give two traces, %d given", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(o.failIf.check("diff"), o.memory.check("diff", 1),
				o.reading.check("diff")); err != nil {
				return err
			}
			return runDiff(cmd.Context(), io, &o, args[0], args[1])
		},
		ValidArgsFunction: completeTrace,
	}
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "print as JSON")
	o.failIf.addTo(f)
	f.IntVar(&o.top, "top", 10, "`number` of code fragments shown")
	o.reading.addTo(cmd, "text")
	o.memory.addTo(f)
	return cmd
}

// diffWidth is how many columns tables have at least, so that names are whole where no terminal cuts them.
const diffWidth = 120

func runDiff(ctx context.Context, io console.IO, o *diffOptions, a, b string) error {
	var damaged error
	var runs []compare.Run
	a, b = wholeTrace(io, a), wholeTrace(io, b)
	line := console.StartProgress(io)
	for _, path := range []string{a, b} {
		run, problems, err := compared(ctx, o, path, line)
		if err != nil {
			line.End()
			return err
		}
		for _, p := range problems {
			io.Say("warning: %s: %s", path, p)
			damaged = console.Exit(console.Damaged, nil)
		}
		runs = append(runs, run)
	}
	line.End()
	res := compare.Compute(runs[0], runs[1])
	if o.json {
		if err := writeJSON(io.Out, res); err != nil {
			return badInput(err)
		}
	} else if err := report.Diff(io.Out, res, o.top, o.lang, report.Options{Color: io.OutColor(),
		Width: max(width(os.Stdout, io.OutTerm), diffWidth)}); err != nil {
		return badInput(err)
	}
	return cmp.Or(o.failIf.verdict(io, "diff", res), damaged)
}

// compared analyses one of the runs.
func compared(ctx context.Context, o *diffOptions, path string, line *console.Progress) (run compare.Run,
	problems []string, err error) {
	run.Name = filepath.Clean(path)
	var read readShare
	ctx, watched := o.memory.watch(ctx, line.IO, path, read.part, nil)
	defer watched()
	m, problems, err := readWhole(ctx, path, line, &o.memory, &read)
	if err != nil {
		return run, nil, err
	}
	all, err := report.Compute(ctx, m, report.Wanted{Rule: o.slouRule(),
		Splits: []string{"code"}, Windows: 1,
		Only: report.Comparison, Progress: func(what string) { line.Set("%s: %s", path, what) }}, nil)
	if err == nil {
		run, err = all.Compared(run.Name)
	}
	return run, problems, ofTrace(ctx, path, err)
}
