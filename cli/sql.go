package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/files"
	"github.com/whyslow/whyslow/internal/show/sql"
	"github.com/whyslow/whyslow/internal/show/tables"
	"github.com/whyslow/whyslow/internal/words"
)

type sqlOptions struct {
	file, query  string // the text is in a file, or one of ours; "": an argument
	csv, json    string // a file, "-" standard output, "" nowhere
	list, tables bool
	limit        int // 0: none
	timeout      time.Duration
	memory       memoryBudget
	text, source string // of the query; the file it is from, "" for an argument
}

// shownRows is how many rows a table on the terminal has unless asked for more.
const shownRows = 1000

func sqlCommand(std console.IO) *cobra.Command {
	var o sqlOptions
	cmd := &cobra.Command{
		Use:   "sql [flags] TRACE [QUERY]",
		Short: "Query a trace in SQL",
		Long: `Run SQL queries over a trace: its tasks, data and messages, and the pieces of time with their causes.
SQLite executes them; no server and no import is needed. A query cannot change the trace or any other file.

--tables lists the tables and their columns. --list lists queries that come with whyslow, and --query NAME
runs one. All times are nanoseconds since the start of the run.
` + exitCodes(1, 2, 4),
		Example: `  whyslow sql heat.trace "select code, count(*), sum(duration_ns) from executions group by code"
  whyslow sql heat.trace --query waited-for
  whyslow sql --list
  whyslow sql heat.trace --csv "select * from pieces" >pieces.csv
  whyslow sql heat.trace --file slow.sql --json | jq`,
		Args: func(_ *cobra.Command, args []string) error {
			return o.check(args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.list:
				return listQueries(std, o.json != "")
			case o.tables:
				return listTables(std, o.json != "")
			}
			if err := o.readQuery(std, args[1:]); err != nil {
				return err
			}
			if o.csv+o.json != "" && !cmd.Flags().Changed("limit") {
				o.limit = 0
			}
			return runQuery(cmd.Context(), std, &o, wholeTrace(std, args[0]))
		},
		ValidArgsFunction: completeTrace,
	}
	f := cmd.Flags()
	f.StringVarP(&o.file, "file", "f", "", "read the query from a `file`, - for standard input")
	f.StringVar(&o.query, "query", "", "run the query of this `name`, see --list")
	f.BoolVar(&o.list, "list", false, "list the queries that come with whyslow")
	f.BoolVar(&o.tables, "tables", false, "list the tables and their columns")
	f.StringVar(&o.csv, "csv", "", "write CSV to standard output, or with --csv=`FILE` to a file")
	f.StringVar(&o.json, "json", "", "write JSON to standard output, or with --json=`FILE` to a file")
	f.Lookup("csv").NoOptDefVal, f.Lookup("json").NoOptDefVal = "-", "-"
	f.IntVar(&o.limit, "limit", shownRows, "show at most this `number` of rows of a result, 0 for all; CSV and"+
		" JSON have all unless it is given")
	f.DurationVar(&o.timeout, "timeout", 0, "end a query after this `time`, such as 10s")
	o.memory.addTo(f)
	var names []string
	for _, q := range sql.Queries {
		names = append(names, q.Name)
	}
	completeWords(cmd, "query", names)
	return cmd
}

func (o *sqlOptions) check(args []string) error {
	if o.list || o.tables {
		if len(args) > 0 {
			return console.Misuse("sql: --list and --tables take no trace")
		}
		return nil
	}
	given := 0
	for _, is := range []bool{len(args) > 1, o.file != "", o.query != ""} {
		if is {
			given++
		}
	}
	switch {
	case len(args) == 0:
		return console.Misuse("sql: no trace given")
	case len(args) > 2:
		return console.Misuse("sql: unexpected argument %q after the query: put the query in quotes", args[2])
	case given == 0:
		return console.Misuse("sql: no query given: give one in quotes, --file, or --query")
	case given > 1:
		return console.Misuse("sql: give one query: as an argument, with --file, or with --query")
	case o.csv != "" && o.csv == o.json:
		return console.Misuse("sql: --csv and --json cannot both go to %s", o.csv)
	case o.limit < 0:
		return console.Misuse("sql: --limit=%d: give 0 or more", o.limit)
	case o.timeout < 0:
		return console.Misuse("sql: --timeout=%s: a time cannot be negative", o.timeout)
	}
	return o.memory.check("sql", 1)
}

// mostQuery is how many bytes of a file are read as a query.
const mostQuery = 1 << 20

func (o *sqlOptions) readQuery(std console.IO, args []string) error {
	switch {
	case o.query != "":
		q, ok := sql.Find(o.query)
		if !ok {
			var names []string
			for _, q := range sql.Queries {
				names = append(names, q.Name)
			}
			return console.Misuse("sql: --query=%s: there is no such query; --list lists them%s", o.query,
				words.DidYouMean(o.query, names))
		}
		o.text = q.SQL
		return nil
	case o.file == "":
		o.text = args[0]
		return nil
	}
	from, name := std.In, "standard input"
	if o.file != "-" {
		f, err := os.Open(o.file)
		if err != nil {
			return badInput(err)
		}
		defer f.Close()
		from, name = f, o.file
	}
	text, err := io.ReadAll(io.LimitReader(from, mostQuery+1))
	switch {
	case err != nil:
		return badInput(fmt.Errorf("%s: %w", name, err))
	case len(text) > mostQuery:
		return badInput(fmt.Errorf("%s: more than %d bytes: not a query", name, mostQuery))
	}
	o.text, o.source = string(text), name
	return nil
}

// runQuery runs the query over a trace.
func runQuery(ctx context.Context, std console.IO, o *sqlOptions, path string) error {
	line := console.StartProgress(std)
	end := sync.OnceFunc(line.End)
	var read readShare
	ctx, watched := o.memory.watch(ctx, std, path, read.part, nil)
	defer watched()
	m, problems, err := readWhole(ctx, path, line, &o.memory, &read)
	if err == nil {
		line.Set("running the query")
		source, close := tablesOf(&o.memory, path, m)
		defer close()
		err = o.run(ctx, std, source, end)
	}
	end()
	if err != nil {
		return err
	}
	return tellMissing(std, problems)
}

// run runs the query. It calls end before it writes to standard output.
func (o *sqlOptions) run(ctx context.Context, std console.IO, source *tables.Source, end func()) error {
	within := ctx
	if o.timeout > 0 {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, o.timeout)
		defer cancel()
	}
	db, err := sql.Open(within, source, int64(o.memory.Budget)/4)
	if err != nil {
		return o.wrong(ctx, err)
	}
	defer db.Close() //nolint:errcheck // nothing was written
	write := func(w io.Writer) error {
		sink := &sql.First{Sink: o.sink(w), Most: cmp.Or(o.limit, math.MaxInt)}
		if err := db.Run(within, o.text, sink); err != nil {
			return o.wrong(ctx, err)
		}
		if end(); sink.Left {
			std.Say("only the first %d rows are shown; --limit=0 shows all", o.limit)
		}
		return nil
	}
	if to := cmp.Or(o.json, o.csv, "-"); to != "-" {
		var told *console.Error
		if err := files.Replace(to, write); err != nil && !errors.As(err, &told) {
			return badInput(err)
		} else if err != nil {
			return told
		}
		std.Say("%s", to)
		return nil
	}
	out := std.Out
	if o.json+o.csv != "" && !std.OutTerm {
		out = console.Beneath(out) // as it is
	}
	return write(&endFirst{out, end})
}

// sink writes results as the flags say.
func (o *sqlOptions) sink(w io.Writer) sql.Sink {
	switch {
	case o.json != "":
		return sql.NewJSON(w)
	case o.csv != "":
		return sql.NewCSV(w)
	}
	return &sql.Table{W: w}
}

// endFirst calls end before the first byte.
type endFirst struct {
	io.Writer
	end func()
}

func (e *endFirst) Write(b []byte) (int, error) {
	e.end()
	return e.Writer.Write(b)
}

// wrong is what went wrong with a query, for the user.
func (o *sqlOptions) wrong(ctx context.Context, err error) error {
	var mistake *sql.Error
	switch {
	case ctx.Err() != nil:
		return interrupted(ctx)
	case errors.Is(err, context.DeadlineExceeded):
		return badInput(fmt.Errorf("the query took longer than --timeout=%s", o.timeout))
	case !errors.As(err, &mistake):
		return err
	case o.source == "":
		return badInput(fmt.Errorf("sql: %w", err))
	case mistake.Line == 0:
		return badInput(fmt.Errorf("%s: %w", o.source, err))
	}
	return badInput(fmt.Errorf("%s:%w", o.source, err))
}

func listQueries(std console.IO, asJSON bool) error {
	if asJSON {
		return writeJSON(std.Out, sql.Queries)
	}
	w := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
	for _, q := range sql.Queries {
		fmt.Fprintf(w, "%s\t%s\n", q.Name, q.Doc)
	}
	return w.Flush()
}

func listTables(std console.IO, asJSON bool) error {
	list := tables.List()
	if asJSON {
		return writeJSON(std.Out, map[string]any{"version": tables.Version, "tables": list})
	}
	for i, t := range list {
		if i > 0 {
			fmt.Fprintln(std.Out)
		}
		fmt.Fprintf(std.Out, "%s: %s\n", t.Name, t.Doc)
		w := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
		for _, c := range t.Columns {
			about := c.Doc
			if c.Refers != "" {
				about += " (" + c.Refers + ")"
			}
			fmt.Fprintf(w, "  %s\t%s\t%s\n", c.Name, strings.ToLower(cmp.Or(c.Unit, c.Type)), about)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}
