package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/whyslow/whyslow/internal/analysis/compare"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/memory"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/run/crew"
	"github.com/whyslow/whyslow/internal/show/report"
	"github.com/whyslow/whyslow/trace"
)

// reportOptions say what a report shows and where it goes.
type reportOptions struct {
	reading
	interval intervalOptions
	by       string        // as slou.Options.Splits
	windows  int           // into how many windows the run is cut, 0 the default
	window   time.Duration // or how long each is
	full     bool          // all tables in the terminal
	width    int           // columns of the text; 0: those of the terminal
	all      bool          // every CF that never ran, not only the roots
	splits   []string      // computed in any case
	// Where the other faces go: a file, "-" standard output, "" nowhere.
	json, html, csv string
	memory          memoryBudget
}

// reading is the rule that divides a run's time, and the language of the report.
type reading struct {
	inputs string // all, data
	rule   string // whyslow, source
	lang   string // en, ru
}

func (o *reading) addTo(cmd *cobra.Command, what string) {
	f := cmd.Flags()
	f.StringVar(&o.inputs, "inputs", "all", "`which` inputs a CF waits for: all, or data (not those of the"+
		" loops and conditions around it)")
	f.StringVar(&o.rule, "rule", "whyslow", "`rule` that divides the time: whyslow, or source (the paper of"+
		" 2024 to the letter: only data are latency, requests and moving CFs are overhead; implies"+
		" --inputs=data)")
	f.StringVar(&o.lang, "lang", "en", "`language` of "+what+": en or ru")
	for flag, values := range map[string][]string{"inputs": {"all", "data"}, "rule": {"whyslow", "source"},
		"lang": {"en", "ru"}} {
		completeWords(cmd, flag, values)
	}
}

func (o *reading) check(verb string) error {
	return cmp.Or(checkChoice(verb, "inputs", o.inputs, "all", "data"),
		checkChoice(verb, "rule", o.rule, "whyslow", "source"), checkChoice(verb, "lang", o.lang, "en", "ru"))
}

// slouRule is the rule by which time is divided.
func (o *reading) slouRule() slou.Rule {
	switch {
	case o.rule == "source":
		return slou.RuleSource
	case o.inputs == "data":
		return slou.RuleData
	}
	return slou.RuleAll
}

// splitAll are the splits shown where there is room for them.
var splitAll = []string{"node", "worker", "code", "index:0"}

func (o *reportOptions) addTo(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.by, "by", "", "split the factors by `what`: node, worker, code (fragment), or index:0"+
		" (the value of the first index of the CFs' labels, ...)")
	o.reading.addTo(cmd, "text and the HTML page")
	f.StringVar(&o.json, "json", "", "write the report as JSON to `FILE`, whose name ends in .json;"+
		" to standard output without one")
	f.Lookup("json").NoOptDefVal = "-"
	f.StringVar(&o.html, "html", "", "write the report as one HTML page with plots to `FILE`; - is"+
		" standard output")
	f.StringVar(&o.csv, "csv", "", "write factors, memory, CFs and traffic over time as a table to `FILE`;"+
		" - is standard output")
	f.IntVar(&o.windows, "windows", 0, "cut the run into `N` windows for what is shown over time"+
		" (default: 120, or as many as fit)")
	f.DurationVar(&o.window, "window", 0, "cut the run into windows of this `length`, such as 10ms")
	f.BoolVar(&o.full, "full", false, "show all tables; in a pipe nothing is cut")
	f.IntVar(&o.width, "width", 0, "`columns` of the text (default: $COLUMNS, or those of the terminal, or 80)")
	f.BoolVar(&o.all, "all", false, "name all CFs that never ran, not only those that others wait for"+
		" (with --full, --html, --json)")
	o.memory.addTo(f)
	completeWords(cmd, "by", splitAll)
}

func (o *reportOptions) check(verb string) error {
	if o.by != "" {
		if err := slou.CheckBy(o.by); err != nil {
			return console.Misuse("%s: --by: %w", verb, err)
		}
	}
	if err := o.reading.check(verb); err != nil {
		return err
	}
	switch {
	case o.width < 0 || o.width > 0 && o.width < 40:
		return console.Misuse("%s: --width=%d: give 40 columns or more", verb, o.width)
	case o.windows < 0:
		return console.Misuse("%s: --windows=%d: give 1 or more", verb, o.windows)
	case o.window < 0:
		return console.Misuse("%s: --window=%s: a length cannot be negative", verb, o.window)
	case o.windows > 0 && o.window > 0:
		return console.Misuse("%s: give either --windows or --window", verb)
	}
	if err := o.memory.check(verb, 1); err != nil {
		return err
	}
	toOutput := 0
	for _, f := range o.faces() {
		if f.file == "-" {
			toOutput++
		}
	}
	if toOutput > 1 {
		return console.Misuse("%s: only one of --json, --html and --csv can go to standard output", verb)
	}
	return nil
}

// face is a way to write a report, and where it goes.
type face struct {
	file  string
	write func(io.Writer, *report.Everything, report.Options) error
}

// faces are those asked for beside the terminal's.
func (o *reportOptions) faces() (list []face) {
	for _, f := range []face{{o.json, report.JSON}, {o.html, o.writeHTML}, {o.csv, report.CSV}} {
		if f.file != "" {
			list = append(list, f)
		}
	}
	return list
}

func (o *reportOptions) writeHTML(w io.Writer, all *report.Everything, opt report.Options) error {
	return report.HTML(w, all.In(o.lang), opt)
}

func reportCommand(std console.IO) *cobra.Command {
	var o reportOptions
	var fail failIf
	cmd := &cobra.Command{
		Use:   "report [flags] TRACE",
		Short: "Report where the time of a recorded run went",
		Long: `Divide the processor time of a recorded run among Useful work, Starvation, Latency, Overhead and
Waiting, and name the causes.

A damaged or truncated trace is read as far as possible; the report says what is missing. A trace
that does not fit into --memory is analysed on disk (on Linux).

--since and --until, or --iteration, report an interval: its factors, splits, links and causes. They
equal those on the page to the nanosecond. Sections that need the whole run are left out; the report
names them.

--fail-if ends with exit code 5 if a condition holds, for scripts: S>20%, wall>2s, memory>2Gi,
code:solve>30%, pgas.wait-at-barrier>10%.

For a trace that is too large for one process, use several: 'mpirun -n P whyslow report TRACE'. Each
reads the files of some of the nodes. The report is the same.
` + exitCodes(1, 2, 4, 5),
		Example: `  whyslow report prog.001.trace
  whyslow report --by code prog.001.trace
  whyslow report --html report.html prog.001.trace
  whyslow report --html report.html --lang ru prog.001.trace
  whyslow report --full prog.001.trace | less
  whyslow report --since 10ms --until 50% prog.001.trace
  whyslow report --iteration 'step[3]' prog.001.trace
  whyslow report --json prog.001.trace | jq .factors
  mpirun -n 4 whyslow report prog.001.trace`,
		Args: oneArg("trace"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if err := cmp.Or(o.check("report"), o.interval.check("report"), fail.check("report")); err != nil {
				return err
			}
			c, err := crew.Join(buildName())
			if err != nil {
				return err
			}
			defer c.Leave(&err)
			if err := o.memory.check("report", c.HostSize()); err != nil {
				return err
			}
			return reportTrace(cmd.Context(), std, c, &o, &fail, wholeTrace(c.Hush(std), args[0]))
		},
		ValidArgsFunction: completeTrace,
	}
	o.addTo(cmd)
	o.interval.addTo(cmd)
	fail.addTo(cmd.Flags())
	return cmd
}

// reportTrace reports on a trace: to standard output, or to where the options say. All ranks analyse, and
// rank 0 reports.
func reportTrace(ctx context.Context, std console.IO, c *crew.Crew, o *reportOptions, fail *failIf,
	path string) error {
	line := console.StartProgress(std)
	if len(fail.conditions) > 0 {
		o.splits = append(o.splits, "code")
	}
	// Other ranks are about to end, too, and what they still owe nobody can wait for; nothing is written before
	// the analysis is complete.
	done := crew.EndAtOnce(ctx, func() {
		line.End()
		std.Say("interrupted")
	})
	all, problems, err := analyse(ctx, c, o, path, line, nil)
	done()
	line.End()
	switch {
	case err != nil:
		return err
	case !c.Speaks():
		return crew.ErrElsewhere
	}
	damaged := tellMissing(std, problems)
	if len(o.faces()) > 0 {
		err = o.writeFaces(std, all)
	} else {
		err = report.Terminal(std.Out, all.In(o.lang), o.terminal(std.OutColor(), width(os.Stdout, std.OutTerm)))
	}
	switch {
	case err != nil:
		return badInput(err)
	case all.FactorsError() != nil:
		return badInput(fmt.Errorf("%s: %w", path, all.FactorsError()))
	}
	// Nothing to compare with: the run beside itself has its figures, and no growth.
	run, err := all.Compared(path)
	if err != nil {
		return badInput(fmt.Errorf("%s: %w", path, err))
	}
	return cmp.Or(fail.verdict(std, "report", compare.Compute(run, run)), damaged)
}

// terminal says how the report looks as text, on a terminal of so many columns; 0: it goes elsewhere.
func (o *reportOptions) terminal(color bool, columns int) report.Options {
	columns = cmp.Or(o.width, columns)
	return report.Options{Color: color, Width: columns, Whole: o.full && columns == 0, By: o.by, Full: o.full}
}

// analyse reads a trace and does all analyses; problems says what is missing or damaged. All ranks do it
// together, and rank 0 has the results. end is that of memoryBudget.watch.
func analyse(ctx context.Context, c *crew.Crew, o *reportOptions, path string,
	line *console.Progress, end func(error)) (all *report.Everything, problems []string, err error) {
	g := c.Group()
	if c.Many() {
		shareHost(c)
	}
	var r *trace.Reader
	var m *model.Model
	var spill *memory.Spill
	var read readShare
	ctx, watched := o.memory.watch(ctx, line.IO, path, read.part, end)
	defer watched()
	defer func() {
		if r != nil {
			r.Close()
		}
	}()
	if err := procs.Together(g, func(procs.Group) (err error) {
		if r, err = o.memory.open(path, g.Rank(), g.Size()); err != nil {
			return err
		}
		if g.Size() == 1 {
			spill, err = o.memory.spill(r)
			return err
		}
		return o.memory.fits(r)
	}); err != nil {
		return nil, nil, badInput(err)
	}
	line.Set("reading %s", path)
	err = procs.Together(g, func(g procs.Group) (err error) {
		m, err = model.BuildShare(ctx, r,
			model.Options{Progress: read.progress(line, path), Spill: spill}, g)
		return err
	})
	var within *slou.Interval
	if err == nil {
		within, err = o.interval.within(m, g)
	}
	if errors.As(err, new(*console.Error)) {
		return nil, nil, err
	}
	if err == nil {
		warn(line.IO, m.Collisions)
		want := o.wanted(m, line)
		want.Within = within
		if c.Many() {
			want.Whole = func() (*model.Model, error) { return o.whole(ctx, path) }
		}
		all, err = report.Compute(ctx, m, want, g)
	}
	if err == nil {
		problems, err = crew.GatherLines(g, missing(r))
	}
	switch {
	case ctx.Err() != nil:
		return nil, nil, interrupted(ctx)
	case err != nil:
		return nil, nil, badInput(fmt.Errorf("%s: %w", path, err))
	}
	return all, problems, nil
}

// whole reads all of a trace of which this process has a part.
func (o *reportOptions) whole(ctx context.Context, path string) (*model.Model, error) {
	r, err := o.memory.open(path, 0, 1)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return model.Build(ctx, r, model.Options{})
}

// wanted says what is to be computed.
func (o *reportOptions) wanted(m *model.Model, line *console.Progress) report.Wanted {
	want := report.Wanted{Rule: o.slouRule(), By: o.by, Windows: o.windows,
		WindowNS: o.window.Nanoseconds(), All: o.all,
		Progress: func(what string) { line.Set("analysing %d events: %s", m.Events, what) }}
	want.Splits = slices.Clone(o.splits)
	if o.json != "" || o.html != "" || o.full {
		want.Splits = slices.Clone(splitAll)
	}
	if o.by != "" && !slices.Contains(want.Splits, o.by) {
		want.Splits = append(want.Splits, o.by)
	}
	return want
}

// missing lists what a trace lacks, a line each.
func missing(r *trace.Reader) (problems []string) {
	for _, p := range r.Missing() {
		problems = append(problems, p.String())
	}
	return problems
}

// tellMissing warns of what a trace lacks; where that is anything, it returns the exit code that says so.
func tellMissing(std console.IO, problems []string) error {
	warn(std, problems)
	if len(problems) > 0 {
		return console.Exit(console.Damaged, nil)
	}
	return nil
}

// afterRun is the context of what is left to do when a program has ended: a Ctrl+C that came before must not
// stop that as well.
func afterRun(ctx context.Context) context.Context {
	if ctx.Err() != nil {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// reportRun reports on the run that has just ended, to standard error, and to where the options say. outcome
// is how the run ended.
func reportRun(ctx context.Context, std console.IO, o *reportOptions, quiet bool, path string,
	outcome error) error {
	if quiet && len(o.faces()) == 0 {
		return nil
	}
	line := console.StartProgress(std)
	all, _, err := analyse(ctx, crew.Alone(), o, path, line, func(err error) {
		// The process ends here, as the run would have.
		result := cmp.Or(std.Tell(outcome), std.Tell(err))
		fmt.Fprintln(std.Err, path)
		os.Exit(console.Code(result))
	})
	line.End()
	if errors.As(err, new(*memory.TooLarge)) {
		return std.Tell(err) // also where the run failed
	}
	if err != nil {
		return err
	}
	if !quiet {
		if err := report.Terminal(std.Err, all.In(o.lang),
			o.terminal(std.ErrColor(), width(os.Stderr, std.ErrTerm))); err != nil {
			return badInput(err)
		}
	}
	if err := o.writeFaces(std, all); err != nil {
		return badInput(err)
	}
	return badInput(all.FactorsError())
}

// tellTrace tells what to do with the trace of a run that has ended, and, in the last line, where it is.
func tellTrace(io console.IO, dir string, quiet bool) {
	if !quiet {
		fmt.Fprintf(io.Err, "On a page: whyslow view %[1]s   All tables: whyslow report --full %[1]s\n", dir)
	}
	fmt.Fprintln(io.Err, dir)
}

// writeFaces writes the faces that were asked for.
func (o *reportOptions) writeFaces(std console.IO, all *report.Everything) error {
	for _, f := range o.faces() {
		if f.file == "-" {
			if err := f.write(std.Out, all, report.Options{}); err != nil {
				return err
			}
			continue
		}
		out, err := os.Create(f.file)
		if err != nil {
			return err
		}
		if err := errors.Join(f.write(out, all, report.Options{}), out.Close()); err != nil {
			return err
		}
	}
	return nil
}

// width is the number of columns that $COLUMNS asks for, or of a terminal, 0 for anything else.
func width(f *os.File, terminal bool) int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
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

// shareHost keeps the ranks of a host out of each other's way: each uses its share of the cores, and as
// little memory as it can. Many ranks are for traces that one process has no room for.
func shareHost(c *crew.Crew) {
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0)/max(c.HostSize(), 1), 1))
	memory.LimitGarbage(50)
}
