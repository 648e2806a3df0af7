package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/record/lunalog"
	"github.com/whyslow/whyslow/internal/record/recording"
	"github.com/whyslow/whyslow/internal/tracefile/eventjson"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
)

type dumpOptions struct {
	luna   bool
	parse  string // file, "-" standard input
	out    string
	json   bool
	stats  bool
	filter eventFilter
	memory memoryBudget
}

func dumpCommand(io console.IO) *cobra.Command {
	var o dumpOptions
	cmd := &cobra.Command{
		Use:   "dump [flags] TRACE",
		Short: "Print every event of a trace as text, or make a trace from such text",
		Long: `Print the text twin of a trace: one line per event; all other lines start with #. Nothing is lost:
--parse turns the text back into a trace with the same twin.

--since, --until, --node, --worker, --kind, --cf and --df select events; the definitions that these use
are printed too, so --parse makes a smaller trace. --json prints each event as a JSON object on a
line, with names instead of numbers:
  {"time":1000,"node":0,"stream":1,"event":"CFEvents.onStarted",
   "fields":{"cf":"0.1","execution":1,"inputs":[{"df":3,"name":"a[2]"}]}}
--stats prints how many events of each kind there are, how many bytes they take, and how many are
lost.

--luna prints the events in the form of LuNA's own log: rank | seconds | message | file:line. A
trace holds neither the contents of DFs nor request counts: a DF shows as DF<size=BYTES>(...), a
count as -1.
` + exitCodes(1, 2, 4),
		Example: `  whyslow dump prog.001.trace | grep onMigrated
  whyslow dump --since 10ms --until 12ms --node 1 --kind 'CF.*' prog.001.trace
  whyslow dump --df 'A[0][1]' --json prog.001.trace | jq .time
  whyslow dump --stats prog.001.trace
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
				return console.Misuse("dump: --parse needs -o TRACE, the folder to make")
			case o.parse == "" && o.out != "":
				return console.Misuse("dump: -o goes with --parse only")
			case o.parse != "" && (o.luna || o.json || o.stats || !o.filter.empty()):
				return console.Misuse("dump: --parse reads the text twin and goes with -o only")
			case o.luna && (o.json || o.stats || !o.filter.empty()):
				return console.Misuse("dump: --luna prints the whole trace and goes with no other flag")
			case o.stats && !o.filter.empty():
				return console.Misuse("dump: --stats is about the whole trace")
			case o.parse != "":
				return parseTwin(io, &o)
			}
			if err := o.memory.check("dump", 1); err != nil {
				return err
			}
			return dumpTrace(cmd.Context(), io, &o, wholeTrace(io, args[0]))
		},
		ValidArgsFunction: completeTrace,
	}
	f := cmd.Flags()
	f.BoolVar(&o.luna, "luna", false, "print LuNA's own form of a trace")
	f.BoolVar(&o.json, "json", false, "print events, or with --stats the figures, as JSON")
	f.BoolVar(&o.stats, "stats", false, "print figures: events and bytes of each kind and column,"+
		" definitions, blocks, what is lost")
	o.filter.addTo(cmd)
	o.memory.addTo(f)
	f.StringVar(&o.parse, "parse", "", "make a trace of the text twin in this `file` (- for standard input)")
	f.StringVarP(&o.out, "output", "o", "", "with --parse: `folder` for the trace; must be new or empty")
	return cmd
}

func parseTwin(io console.IO, o *dumpOptions) error {
	in := io.In
	if o.parse != "-" {
		f, err := os.Open(o.parse)
		if err != nil {
			return badInput(err)
		}
		defer f.Close()
		in = f
	}
	if err := recording.MakeFolder(o.out); err != nil {
		return badInput(err)
	}
	err := twin.Parse(bufio.NewReaderSize(in, 1<<20), o.out)
	var syntax *twin.SyntaxError
	if errors.As(err, &syntax) {
		err = fmt.Errorf("%s:%w", o.parse, err)
	}
	return badInput(err)
}

func dumpTrace(ctx context.Context, std console.IO, o *dumpOptions, path string) error {
	ctx, watched := o.memory.watch(ctx, std, path, whole, nil)
	defer watched()
	r, err := o.memory.open(path, 0, 1)
	if err != nil {
		return badInput(err)
	}
	defer r.Close()
	opt, err := o.filter.options(r)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(lasting{ctx, std.Out}, 1<<16)
	switch {
	case o.stats && o.json:
		err = writeJSON(w, readStatistics(r))
	case o.stats:
		err = readStatistics(r).print(w)
	case o.luna:
		err = lunalog.Print(w, r)
	case o.json:
		err = eventjson.Dump(w, r, &opt)
	default:
		err = twin.Dump(w, r, opt)
	}
	err = errors.Join(err, w.Flush())
	switch {
	case err != nil && ctx.Err() != nil:
		return interrupted(ctx)
	case err != nil:
		return badInput(err)
	}
	return tellMissing(std, missing(r))
}

// lasting is a writer that fails when its context has ended.
type lasting struct {
	ctx context.Context
	io.Writer
}

func (w lasting) Write(b []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.Writer.Write(b)
}
