package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/run/instrument"
	"github.com/whyslow/whyslow/internal/words"
)

type instrumentOptions struct {
	events string
	groups []string
	out    string
	check  bool
	diff   bool
	remove bool
	json   bool
}

func instrumentCommand(io console.IO) *cobra.Command {
	var o instrumentOptions
	cmd := &cobra.Command{
		Use:   "instrument --events events_config.json [flags] FILE.cpp...",
		Short: "Insert events into C++ source where rules say so",
		Long: `Insert EMIT_EVENT(...) into C++ source where the rules of events_config.json say so. Everything else
stays unchanged, and lines keep their numbers. sdk/whyslow.hpp defines EMIT_EVENT. Files are
changed in place, or written to another folder with -o. Earlier insertions are replaced, so you can
repeat the command with other rules.

A file that cannot be parsed is skipped with a warning.

Exit codes:
  0    done; with --check: nothing would change
  1    with --check: something would change
  2    usage or bad input, or a file was skipped`,
		Example: `  whyslow instrument --events config/events_config.json --diff src/*.cpp
  whyslow instrument --events config/events_config.json -o build/instrumented src/*.cpp
  whyslow instrument --remove src/*.cpp`,
		Args: someArgs("C++ file"),
		RunE: func(_ *cobra.Command, args []string) error { return runInstrument(io, &o, args) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"cpp", "cc", "cxx", "hpp", "h"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.events, "events", "", "the `file` with the rules, events_config.json")
	f.StringArrayVar(&o.groups, "group", nil, "switch a group of events: `NAME=on|off` (repeatable)")
	f.StringVarP(&o.out, "output", "o", "", "write all files to this `folder` instead of changing them")
	f.BoolVar(&o.check, "check", false, "write nothing; name the files that would change, and exit with 1"+
		" if there are any")
	f.BoolVar(&o.diff, "diff", false, "write nothing; print what would change as a unified diff")
	f.BoolVar(&o.remove, "remove", false, "take out what was inserted")
	f.BoolVar(&o.json, "json", false, "print what was inserted where as JSON")
	return cmd
}

func runInstrument(io console.IO, o *instrumentOptions, files []string) error {
	if (o.events == "") != o.remove {
		return console.Misuse("instrument: use either --events FILE or --remove")
	}
	rules, err := o.rules(io)
	if err != nil {
		return err
	}
	res, err := instrument.Run(files, rules, instrument.Options{OutDir: o.out, DryRun: o.check || o.diff,
		Diff: o.diff, Remove: o.remove})
	if err != nil {
		return console.Exit(console.BadUsage, err)
	}
	warn(io, res.Warnings)
	skipped := 0
	for i := range res.Files {
		f := &res.Files[i]
		warn(io, f.Warnings)
		if f.Skipped {
			skipped++
		}
		switch {
		case o.json:
		case o.diff:
			if _, err := io.Out.Write(f.Diff); err != nil {
				return badInput(err)
			}
		case o.check && f.Changed:
			fmt.Fprintln(io.Out, f.Target)
		case !o.check && f.Changed && o.remove:
			fmt.Fprintf(io.Out, "%s: restored\n", f.Target)
		case !o.check && f.Changed:
			fmt.Fprintf(io.Out, "%s: %s inserted\n", f.Target, words.Count(len(f.Insertions), "event"))
		}
	}
	if o.json {
		if err := writeJSON(io.Out, res.Files); err != nil {
			return badInput(err)
		}
	}
	switch {
	case skipped > 0:
		return console.Exit(console.BadUsage, fmt.Errorf("%d of %d files were not changed: see the"+
			" warnings", skipped, len(files)))
	case o.check && res.Changed() > 0:
		return console.Exit(console.Failed, nil)
	}
	return nil
}

// rules reads the rules of the events that are on.
func (o *instrumentOptions) rules(io console.IO) ([]instrument.Rule, error) {
	if o.remove {
		return nil, nil
	}
	rules, warnings, err := instrument.ReadRules(o.events, o.groups...)
	if err != nil {
		return nil, console.Exit(console.BadUsage, err)
	}
	warn(io, warnings)
	if len(rules) == 0 {
		return nil, console.Exit(console.BadUsage, errors.New(o.events+": no event that is on has a rule:"+
			" nothing to insert"))
	}
	return rules, nil
}
