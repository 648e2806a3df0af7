package cli

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/whyslow/whyslow/internal/experiment"
)

type experimentOptions struct {
	repeats int
	cores   int
	quick   bool
	page    string
	json    bool
}

func experimentCommand(io stdio) *cobra.Command {
	var o experimentOptions
	cmd := &cobra.Command{
		Use:   "experiment [flags] [NAME]...",
		Short: "Run programs that show what the factors follow",
		Long: `Run programs made for the purpose many times, and show that starvation follows the number of chains that can run at once,
overhead the number of CFs that the same work is cut into, latency the size of the DFs that travel; and how a real program, particle
in cell, fares on one node and on four. What is expected of each is checked. The programs are built in.

Names: starvation, overhead, latency, pic; without names all of them, which takes some minutes.

Exit codes:
  0    everything is as expected
  1    something is not
  2    usage, or an experiment could not be run
  130  interrupted; nothing is written`,
		Example: `  whyslow experiment --quick
  whyslow experiment latency
  whyslow experiment --json | jq '.experiments[].checks'`,
		ValidArgs: experiment.Names(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := experiment.CheckNames(args); err != nil {
				return badCommandLine("experiment: %w", err)
			}
			if o.repeats < 0 || o.cores < 0 {
				return badCommandLine("experiment: --repeats and --cores cannot be negative")
			}
			if !canRun {
				return exitWith(exitUsage, errors.New("this whyslow cannot run programs: it was built with CGO_ENABLED=0"))
			}
			self, err := os.Executable()
			if err != nil {
				return badInput(err)
			}
			line := startProgress(io)
			r, err := experiment.Execute(cmd.Context(), args, experiment.Options{Whyslow: self, Repeats: o.repeats, Cores: o.cores, Quick: o.quick,
				Progress: func(done, all int, what string) { line.set("%d of %d runs done: %s", done, all, what) }})
			line.end()
			switch {
			case cmd.Context().Err() != nil:
				return exitWith(exitInterrupted, errors.New("interrupted"))
			case err != nil:
				return exitWith(exitUsage, err)
			}
			if o.page != "" {
				if err := r.WritePage(o.page); err != nil {
					return badInput(err)
				}
			}
			if o.json {
				err = writeJSON(io.out, r)
			} else {
				err = r.Text(io.out)
			}
			if err == nil && !r.Holds() {
				return exitWith(exitFailed, errors.New("not everything is as expected"))
			}
			return badInput(err)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.repeats, "repeats", 0, "`number` of runs of each point (default: as many as the experiment is meant to have)")
	f.IntVar(&o.cores, "cores", 0, "`number` of cores to use (default: those available)")
	f.BoolVar(&o.quick, "quick", false, "small sizes, to see that everything works, and nothing else")
	f.StringVar(&o.page, "page", "", "put the results in this Markdown `file`, between its marks; figures go beside it")
	f.BoolVar(&o.json, "json", false, "print all runs as JSON")
	return cmd
}
