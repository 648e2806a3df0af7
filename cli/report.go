package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/report"
	"github.com/whyslow/whyslow/internal/slou"
	"github.com/whyslow/whyslow/trace"
)

// reportOptions say what a report shows and where it goes.
type reportOptions struct {
	by     string // node, worker, code
	inputs string // all, data
	json   string // file, "-" standard output, "" no JSON
}

func (o *reportOptions) addTo(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.by, "by", "", "split the factors by `what`: node, worker or code (fragment)")
	f.StringVar(&o.inputs, "inputs", "all", "`which` inputs a CF waits for: all, or data (not those of the loops and conditions around it)")
	f.StringVar(&o.json, "json", "", "write the report as JSON to standard output, or with --json=`FILE` to a file")
	f.Lookup("json").NoOptDefVal = "-"
	for flag, values := range map[string][]string{"by": {"node", "worker", "code"}, "inputs": {"all", "data"}} {
		if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic(err) // the flag was added above
		}
	}
}

func (o *reportOptions) check(verb string) error {
	if err := report.CheckBy(o.by); err != nil {
		return badCommandLine("%s: --by: %w", verb, err)
	}
	if o.inputs != "all" && o.inputs != "data" {
		return badCommandLine("%s: --inputs=%s: say all or data", verb, o.inputs)
	}
	return nil
}

func reportCommand(io stdio) *cobra.Command {
	var o reportOptions
	cmd := &cobra.Command{
		Use:   "report [flags] TRACE",
		Short: "Report where the time of a recorded run went",
		Long: `Divide the processor time of a recorded run among Useful work, Starvation, Latency, Overhead and Waiting, and name the causes.

A trace that is damaged or ends early is read as far as it goes; what is missing is said.
` + exitCodesHelp,
		Example: `  whyslow report prog.001.trace
  whyslow report --by code prog.001.trace
  whyslow report --json prog.001.trace | jq .factors`,
		Args: oneArg("trace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check("report"); err != nil {
				return err
			}
			return reportTrace(cmd.Context(), io, &o, args[0])
		},
		ValidArgsFunction: completeTrace,
	}
	o.addTo(cmd)
	return cmd
}

// reportTrace reports on a trace to standard output.
func reportTrace(ctx context.Context, io stdio, o *reportOptions, path string) error {
	line := startProgress(io)
	res, problems, err := analyse(ctx, o, path, line)
	line.end()
	if err != nil {
		return err
	}
	for _, p := range problems {
		io.say("warning: %s", p)
	}
	switch {
	case o.json != "":
		err = o.writeJSON(io, res)
	default:
		err = report.Terminal(io.out, res, report.Options{Color: io.outColor(), Width: width(os.Stdout, io.outTerm), By: o.by})
	}
	if err != nil {
		return badInput(err)
	}
	if len(problems) > 0 {
		return exitWith(exitDamaged, nil)
	}
	return nil
}

// analyse reads a trace and divides its time. problems says what is missing or damaged.
func analyse(ctx context.Context, o *reportOptions, path string, line *progress) (res *slou.Result, problems []string, err error) {
	r, err := trace.Open(path)
	if err != nil {
		return nil, nil, badInput(err)
	}
	defer r.Close()
	line.set("reading %s", path)
	m, err := model.Build(ctx, r, model.Options{Progress: func(done, total int64) { line.set("reading %s: %d %%", path, 100*done/max(total, 1)) }})
	if err == nil {
		for _, c := range m.Collisions {
			line.io.say("warning: %s", c)
		}
		line.set("dividing the time of %d events", m.Events)
		res, err = slou.Compute(ctx, m, slou.Options{DataInputsOnly: o.inputs == "data"})
	}
	switch {
	case ctx.Err() != nil:
		return nil, nil, exitWith(exitInterrupted, errors.New("interrupted"))
	case err != nil:
		return nil, nil, badInput(fmt.Errorf("%s: %w", path, err))
	}
	return res, missing(r), nil
}

// missing lists what a trace lacks. The streams of a run that failed or was interrupted may be without an end; that is how it ended.
func missing(r *trace.Reader) (problems []string) {
	info := r.Run()
	known := info != nil && (info.Ended == trace.EndedFailed || info.Ended == trace.EndedInterrupted)
	for _, p := range r.Problems() {
		if p.Kind != trace.Unfinished || !known {
			problems = append(problems, p.String())
		}
	}
	return problems
}

// reportRun reports on the run that has just ended, to standard error.
func reportRun(ctx context.Context, io stdio, o *reportOptions, quiet bool, path string) error {
	if quiet && o.json == "" {
		return nil
	}
	line := startProgress(io)
	res, _, err := analyse(ctx, o, path, line)
	line.end()
	if err != nil {
		return err
	}
	if !quiet {
		opt := report.Options{Color: io.errColor(), Width: width(os.Stderr, io.errTerm), By: o.by}
		if err := report.Terminal(io.err, res, opt); err != nil {
			return badInput(err)
		}
	}
	if o.json != "" {
		return o.writeJSON(io, res)
	}
	return nil
}

func (o *reportOptions) writeJSON(io stdio, res *slou.Result) error {
	if o.json == "-" {
		return badInput(report.JSON(io.out, res, report.Options{}))
	}
	f, err := os.Create(o.json)
	if err != nil {
		return badInput(err)
	}
	return badInput(errors.Join(report.JSON(f, res, report.Options{}), f.Close()))
}

// width is the number of columns of a terminal, 0 for anything else.
func width(f *os.File, terminal bool) int {
	if !terminal {
		return 0
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

// completeTrace completes folders: a trace is one.
func completeTrace(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}
