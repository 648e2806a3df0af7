package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/convert/cube"
	"github.com/whyslow/whyslow/internal/convert/dataframe"
	"github.com/whyslow/whyslow/internal/convert/dot"
	"github.com/whyslow/whyslow/internal/convert/epilog"
	"github.com/whyslow/whyslow/internal/convert/otf2"
	"github.com/whyslow/whyslow/internal/convert/perfetto"
	"github.com/whyslow/whyslow/internal/files"
	"github.com/whyslow/whyslow/internal/files/archives"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/show/tables"
	"github.com/whyslow/whyslow/internal/show/view/eventlist"
	"github.com/whyslow/whyslow/trace"
)

// format is a foreign format a trace can be converted to: a file that write writes, or, if it is nil, a
// folder: what archive writes, or a file for each table.
type format struct {
	name, extension, about string
	write                  func(context.Context, io.Writer, *model.Model) error
	table                  dataframe.WriteTable
	// archive writes a folder that is not there yet.
	archive func(context.Context, string, *model.Model) error
}

var formats = []format{
	{name: "cube", extension: ".cubex",
		about: "metrics by call path and thread or worker, for Cube 4, CubeLib and pyCubexR",
		write: toCube(func(w io.Writer, r *pattern.Result, m *model.Model) error {
			made := m.Info.Started
			if made.IsZero() {
				made = time.Unix(0, 0) // an archive cannot tell of earlier times
			}
			return cube.Write(w, r, m, made)
		})},
	{name: "cube3", extension: ".cube", about: "the same as an XML document, for Cube 3",
		write: toCube(cube.Write3)},
	{name: "epilog", extension: ".elg",
		about: "all events in one file, for KOJAK, Scalasca 1 and TAU's converters",
		write: epilog.Write},
	{name: "perfetto", extension: ".pftrace",
		about: "everything over time, one file for all nodes, for ui.perfetto.dev",
		write: perfetto.Write},
	{name: "chrome", extension: ".json",
		about: "the same in the Trace Event Format, for chrome://tracing and others",
		write: perfetto.WriteChrome},
	{name: "otf2", about: "all events, for Vampir and what reads Score-P's traces; needs libotf2",
		archive: otf2.Write},
	{name: "csv", extension: ".csv", about: "a folder with a file for each table, see 'whyslow sql --tables'",
		table: dataframe.CSV},
	{name: "parquet", extension: ".parquet",
		about: "the same as Parquet, for DuckDB, pandas, Polars, R and Spark",
		table: dataframe.Parquet},
	{name: "dot", extension: ".dot", about: "the task graph by code fragment, for Graphviz", write: dot.Codes},
	{name: "dot-cfs", extension: ".dot", about: "the task graph of all CFs, for Graphviz", write: dot.CFs},
}

// suffix is what the name of the trace gets: the extension of the file, or an ending for the folder.
func (f *format) suffix() string {
	if f.write == nil {
		return "-" + f.name
	}
	return f.extension
}

func toCube(write func(io.Writer, *pattern.Result, *model.Model) error) func(context.Context, io.Writer,
	*model.Model) error {
	return func(ctx context.Context, w io.Writer, m *model.Model) error {
		var r *pattern.Result
		var err error
		if m.Executions() > 0 {
			r, err = cube.Tasks(ctx, m)
		} else {
			r, err = pattern.Compute(ctx, m, procs.Alone())
		}
		if err != nil {
			return err
		}
		return write(w, r, m)
	}
}

type convertOptions struct {
	format, out string
	memory      memoryBudget
}

func convertCommand(std console.IO) *cobra.Command {
	var o convertOptions
	var list strings.Builder
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
		fmt.Fprintf(&list, "  %-8s  %s (%s)\n", f.name, f.about, f.suffix())
	}
	cmd := &cobra.Command{
		Use:   "convert --format FORMAT [-o FILE] TRACE",
		Short: "Convert a trace, or its analysis, for other programs",
		Long: `Convert a trace, or its analysis, to a format that other programs read:

` + list.String() + `
Without -o, the file or folder is named after TRACE, with the ending of the format. If TRACE is an
archive or another program's file, the result goes to the current folder and replaces nothing. An old
file is replaced only once the new one is complete.
` + exitCodes(1, 2, 4),
		Example: `  whyslow convert --format cube is.trace
  whyslow convert --format perfetto heat.trace
  whyslow convert --format parquet -o heat heat.trace && duckdb -c "from 'heat/codes.parquet'"
  whyslow convert --format cube3 -o - is.trace | xmllint --format -`,
		Args: oneArg("trace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.memory.check("convert", 1); err != nil {
				return err
			}
			if o.format == "" {
				return console.Misuse("convert: --format is needed: one of %s", strings.Join(names, ", "))
			}
			for _, f := range formats {
				if f.name == o.format {
					return convertTrace(cmd.Context(), std, &o, f, wholeTrace(std, args[0]))
				}
			}
			return console.Misuse("convert: --format=%s: one of %s", o.format, strings.Join(names, ", "))
		},
		ValidArgsFunction: completeTrace,
	}
	f := cmd.Flags()
	f.StringVar(&o.format, "format", "", "the `format`: "+strings.Join(names, " or "))
	f.StringVar(&o.format, "to", "", "the same")
	f.Lookup("to").Hidden = true // elsewhere it names a collector
	f.StringVarP(&o.out, "output", "o", "", "`file` or folder to write; of a file - for standard output")
	o.memory.addTo(f)
	completeWords(cmd, "format", names)
	completeWords(cmd, "to", names)
	return cmd
}

func convertTrace(ctx context.Context, std console.IO, o *convertOptions, f format, path string) error {
	out := o.out
	if out == "" {
		out = strings.TrimSuffix(filepath.Clean(path), ".trace") + f.suffix()
		if archives.IsMade(filepath.Clean(path)) { // of an archive or another program's file, which out may be
			out = filepath.Base(out)
			if _, err := os.Lstat(out); err == nil {
				return badInput(fmt.Errorf("%s: it already exists; give another name with -o", out))
			}
		}
	}
	if f.write == nil && out == "-" {
		return console.Misuse("convert: --format=%s writes a folder: give its name with -o", f.name)
	}
	if f.archive != nil {
		if _, err := os.Lstat(out); err == nil {
			return badInput(fmt.Errorf("%s: it already exists; give another folder with -o", out))
		}
		if !otf2.HasOTF2() {
			return badInput(otf2.ErrWithout)
		}
	}
	line := console.StartProgress(std)
	var read readShare
	ctx, watched := o.memory.watch(ctx, std, path, read.part, nil)
	defer watched()
	m, problems, err := readWhole(ctx, path, line, &o.memory, &read)
	if err == nil {
		line.Set("writing %s", out)
		switch {
		case f.archive != nil:
			if err = f.archive(ctx, out, m); err != nil {
				err = errors.Join(err, os.RemoveAll(out))
			}
		case f.write == nil:
			source, close := tablesOf(&o.memory, path, m)
			defer close()
			err = dataframe.Folder(ctx, out, f.extension, source, f.table, func(table string) {
				line.Set("writing %s", filepath.Join(out, table+f.extension))
			})
		case out == "-":
			err = f.write(ctx, console.Beneath(std.Out), m)
		default:
			err = files.Replace(out, func(w io.Writer) error { return f.write(ctx, w, m) })
		}
		err = ofTrace(ctx, path, err)
	}
	line.End()
	if err != nil {
		return err
	}
	err = tellMissing(std, problems)
	if out != "-" {
		std.Say("%s", out)
	}
	return err
}

// readShare is how many percent of a trace have been read.
type readShare struct{ percent atomic.Int64 }

func (s *readShare) part() float64 { return float64(s.percent.Load()) / 100 }

// whole stands for a trace of which it is not known how much has been read.
func whole() float64 { return 1 }

// progress notes what model.Options.Progress tells, and shows it.
func (s *readShare) progress(line *console.Progress, path string) func(done, total int64) {
	return func(done, total int64) {
		percent := 100 * done / max(total, 1)
		s.percent.Store(percent)
		line.Set("reading %s: %d %%", path, percent)
	}
}

// readWhole reads a trace into a model; problems says what is missing. Its errors are for the user.
func readWhole(ctx context.Context, path string, line *console.Progress, budget *memoryBudget,
	read *readShare) (m *model.Model, problems []string, err error) {
	r, err := budget.open(path, 0, 1)
	if err != nil {
		return nil, nil, badInput(err)
	}
	defer r.Close()
	spill, err := budget.spill(r)
	if err != nil {
		return nil, nil, err
	}
	line.Set("reading %s", path)
	m, err = model.Build(ctx, r, model.Options{Progress: read.progress(line, path), Spill: spill})
	return m, missing(r), ofTrace(ctx, path, err)
}

// tablesOf gives the tables of a trace. It opens the trace again when somebody asks for events.
func tablesOf(budget *memoryBudget, path string, m *model.Model) (_ *tables.Source, close func()) {
	var list *eventlist.List
	var r *trace.Reader
	events := sync.OnceValues(func() (_ *eventlist.List, err error) {
		if r, err = budget.open(path, 0, 1); err != nil {
			return nil, err
		}
		list = eventlist.Open(r, m)
		return list, nil
	})
	return &tables.Source{Model: m, Events: events}, func() {
		if list != nil {
			list.Close()
			r.Close()
		}
	}
}

// ofTrace is what went wrong with a trace, for the user.
func ofTrace(ctx context.Context, path string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return interrupted(ctx)
	}
	return badInput(fmt.Errorf("%s: %w", cmp.Or(givenAs[path], path), err))
}
