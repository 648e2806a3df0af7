package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/whyslow/whyslow/trace"
)

type dumpOptions struct {
	luna  bool
	parse string // file, "-" standard input
	out   string
}

func dumpCommand(io stdio) *cobra.Command {
	var o dumpOptions
	cmd := &cobra.Command{
		Use:   "dump [flags] TRACE",
		Short: "Print every event of a trace as text, or make a trace from such text",
		Long: `Print the text twin of a trace: one line per event, all other lines start with #. Nothing is lost: --parse makes a trace of it
whose twin is the same text.

With --luna, print the events as LuNA's own log does: rank | seconds | message | file:line. Contents of DFs and request
counts are not in a trace: a DF shows as DF<size=BYTES>(...), a count as -1.
` + exitCodesHelp,
		Example: `  whyslow dump prog.001.trace | grep onMigrated
  whyslow dump --parse twin.txt -o new.trace
  whyslow dump --luna prog.001.trace`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.parse == "" {
				return oneArg("trace")(cmd, args)
			}
			return cobra.NoArgs(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.parse != "" && o.out == "":
				return badCommandLine("dump: --parse needs -o TRACE, the folder to make")
			case o.parse == "" && o.out != "":
				return badCommandLine("dump: -o goes with --parse only")
			case o.parse != "" && o.luna:
				return badCommandLine("dump: --luna is for printing; --parse reads the text twin")
			case o.parse != "":
				return parseTwin(io, &o)
			}
			return dumpTrace(io, &o, args[0])
		},
		ValidArgsFunction: completeTrace,
	}
	f := cmd.Flags()
	f.BoolVar(&o.luna, "luna", false, "print LuNA's own form of a trace")
	f.StringVar(&o.parse, "parse", "", "make a trace of the text twin in this `file` (- for standard input)")
	f.StringVarP(&o.out, "output", "o", "", "with --parse: `folder` for the trace; must be new or empty")
	return cmd
}

func parseTwin(io stdio, o *dumpOptions) error {
	in := io.in
	if o.parse != "-" {
		f, err := os.Open(o.parse)
		if err != nil {
			return badInput(err)
		}
		defer f.Close()
		in = f
	}
	if err := makeTraceDir(o.out); err != nil {
		return badInput(err)
	}
	err := trace.Parse(bufio.NewReaderSize(in, 1<<20), o.out)
	var syntax *trace.SyntaxError
	if errors.As(err, &syntax) {
		err = fmt.Errorf("%s:%w", o.parse, err)
	}
	return badInput(err)
}
func dumpTrace(io stdio, o *dumpOptions, path string) error {
	r, err := trace.Open(path)
	if err != nil {
		return badInput(err)
	}
	defer r.Close()
	w := bufio.NewWriterSize(io.out, 1<<16)
	if o.luna {
		err = printLunaLog(w, r)
	} else {
		err = trace.Dump(w, r)
	}
	if err := errors.Join(err, w.Flush()); err != nil {
		return badInput(err)
	}
	problems := missing(r)
	for _, p := range problems {
		io.say("warning: %s", p)
	}
	if len(problems) > 0 {
		return exitWith(exitDamaged, nil)
	}
	return nil
}
