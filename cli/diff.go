package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	pretty "github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/whyslow/whyslow/internal/analysis/compare"
	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/show/report"
	"github.com/whyslow/whyslow/internal/words"
)

type diffOptions struct {
	json   bool
	failIf failIf
	top    int
	inputs string
}

func diffCommand(io console.IO) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff [flags] TRACE-A TRACE-B",
		Short: "Compare two runs: what got better or worse, and by how much of the difference",
		Long: `Compare two recorded runs, also of different sizes or versions: factors and their parts, code
fragments, critical path, memory and traffic. The differences of the factors add up exactly to the
difference of the processor time, and so do those of the code fragments. "of it" is the share of
each in that difference.

--fail-if ends with exit code 5 if a condition holds, for scripts: wall>+5%, S>20%,
code:solve>+10%, memory>2Gi.
` + exitCodesHelp + `
  5    a condition of --fail-if holds`,
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
			if err := o.failIf.check("diff"); err != nil {
				return err
			}
			if o.inputs != "all" && o.inputs != "data" {
				return console.Misuse("diff: --inputs=%s: say all or data", o.inputs)
			}
			return runDiff(cmd.Context(), io, &o, args[0], args[1])
		},
		ValidArgsFunction: completeTrace,
	}
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "print as JSON")
	o.failIf.addTo(f)
	f.IntVar(&o.top, "top", 10, "`number` of code fragments shown")
	f.StringVar(&o.inputs, "inputs", "all", "`which` inputs a CF waits for: all, or data (not those of the"+
		" loops and conditions around it)")
	return cmd
}

func runDiff(ctx context.Context, io console.IO, o *diffOptions, a, b string) error {
	line := console.StartProgress(io)
	damaged := false
	var runs []compare.Run
	for _, path := range []string{a, b} {
		run, problems, err := compared(ctx, o, path, line)
		if err != nil {
			line.End()
			return err
		}
		for _, p := range problems {
			io.Say("warning: %s: %s", path, p)
			damaged = true
		}
		runs = append(runs, run)
	}
	line.End()
	res := compare.Compute(runs[0], runs[1])
	if o.json {
		if err := writeJSON(io.Out, res); err != nil {
			return badInput(err)
		}
	} else {
		printDiff(io, res, o.top)
	}
	held, err := o.failIf.holds(io, "diff", res)
	if err != nil {
		return err
	}
	switch {
	case held:
		return console.Exit(console.Condition, nil)
	case damaged:
		return console.Exit(console.Damaged, nil)
	}
	return nil
}

// compared analyses one of the runs.
func compared(ctx context.Context, o *diffOptions, path string, line *console.Progress) (run compare.Run,
	problems []string, err error) {
	run.Name = filepath.Clean(path)
	m, problems, err := readWhole(ctx, path, line)
	if err != nil {
		return run, nil, err
	}
	all, err := report.Compute(ctx, m, report.Wanted{DataInputsOnly: o.inputs == "data",
		Splits: []string{"code"}, Windows: 1,
		Only: report.Comparison, Progress: func(what string) { line.Set("%s: %s", path, what) }}, nil)
	if err == nil {
		run, err = all.Compared(run.Name)
	}
	return run, problems, ofTrace(ctx, path, err)
}

// printDiff prints a comparison for people.
func printDiff(io console.IO, r *compare.Result, top int) {
	fmt.Fprintf(io.Out, "A  %s\nB  %s\n", describeSide(&r.A), describeSide(&r.B))
	p := diffPrinter{io: io}
	p.section("Run", "")
	ranCFs := len(r.Patterns) == 0 || slices.ContainsFunc(r.Fragments,
		func(f compare.Fragment) bool { return f.CountA+f.CountB > 0 })
	for i := range r.Whole {
		if !ranCFs && slices.Contains(ofCFs, r.Whole[i].Name) {
			continue
		}
		p.row(&r.Whole[i], wholeWords[r.Whole[i].Name], false)
	}
	for _, name := range ofRegions {
		if w := r.Find("pgas." + name); !ranCFs && w != nil {
			p.row(w, wholeWords[name], false)
		}
	}
	p.print()
	p.section("Factors", "of it")
	for i := range r.Factors {
		f := &r.Factors[i]
		p.row(f, f.Name+"  "+factorWords[f.Name], true)
		for k := range r.Parts {
			if strings.HasPrefix(r.Parts[k].Name, f.Name+".") && worthShowing(&r.Parts[k], r) {
				p.row(&r.Parts[k], "     "+strings.TrimPrefix(r.Parts[k].Name, f.Name+"."), true)
			}
		}
	}
	p.print()
	heading, none := "Code fragments, with the time before their CFs", "no CF: ends, extra cores"
	if !ranCFs {
		heading, none = "Functions and operations", "none: before the start, after the end"
	}
	p.section(heading, "of it")
	shown := 0
	for i := range r.Fragments {
		f := &r.Fragments[i]
		if shown == top && f.Code != "" {
			continue
		}
		name := fmt.Sprintf("%s (%d -> %d CFs)", printableName(f.Code), f.CountA, f.CountB)
		if f.CountA == f.CountB {
			name = fmt.Sprintf("%s (%s)", printableName(f.Code), words.Count(f.CountA, "CF"))
		}
		if f.CountA == 0 && f.CountB == 0 {
			name = printableName(f.Code) // a region
		}
		if f.Code == "" {
			name = none
		} else {
			shown++
		}
		p.row(&f.Time, name, true)
		if f.Mean.A != nil || f.Mean.B != nil {
			p.row(&f.Mean, "     useful, mean of a CF", false)
		}
	}
	p.print()
	if n := len(r.Fragments) - 1 - shown; n > 0 {
		fmt.Fprintf(io.Out, "%d more, see --top and --json\n", n)
	}
	if len(r.Patterns) > 0 {
		p.section("Regions and patterns", "of it")
		for i := range r.Patterns {
			if w := &r.Patterns[i]; w.Unit == "ns" && worthShowing(w, r) {
				p.row(w, strings.TrimPrefix(w.Name, "pgas."), true)
			}
		}
		p.print()
	}
	if len(r.Path) > 0 {
		p.section("Critical path", "of it")
		for i := range r.Path {
			if i > 0 && !worthShowing(&r.Path[i], r) || i >= 6+top {
				continue
			}
			name := strings.TrimPrefix(strings.TrimPrefix(r.Path[i].Name, "path."), "code:")
			p.row(&r.Path[i], printableName(name), i > 0)
		}
		p.print()
	}
}

// worthShowing leaves out rows that are next to nothing in both runs.
func worthShowing(row *compare.Row, r *compare.Result) bool {
	least := *r.Find("total").B / 1000
	return row.A != nil && *row.A > least || row.B != nil && *row.B > least
}

var wholeWords = map[string]string{
	"wall": "wall time", "total": "processor time", "workers": "workers", "cfs": "CFs executed",
	"t1": "useful work (T1)", "tinf": "longest chain (Tinf)",
	"memory": "most held by DFs", "messages": "messages", "bytes": "bytes sent",
	"bytes-sent": "bytes put or sent", "bytes-received": "bytes got or received",
}

// ofCFs are the rows of the whole run that say nothing where neither run has CFs: transfers are no messages.
// ofRegions stand in their place.
var (
	ofCFs     = []string{"cfs", "t1", "tinf", "memory", "messages", "bytes"}
	ofRegions = []string{"bytes-sent", "bytes-received"}
)

var factorWords = map[string]string{"U": "Useful work", "S": "Starvation", "L": "Latency", "O": "Overhead",
	"W": "Waiting"}

func describeSide(s *compare.Side) string {
	ended := ""
	if s.Ended != "done" {
		ended = ", " + s.Ended
		if s.Ended == "" {
			ended = ", without an end"
		}
	}
	return fmt.Sprintf("%s: %s, %s, %s%s", printableName(s.Name), printableName(s.Program),
		words.Count(int64(s.Nodes), "node"), words.Count(int64(s.Workers), "worker"), ended)
}

// printableName makes a name from a trace fit for a terminal.
func printableName(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 &&
			r <= 0x2069 {
			return '?'
		}
		return r
	}, s)
}

// diffPrinter prints tables of rows.
type diffPrinter struct {
	io  console.IO
	w   pretty.Writer
	own string
}

func (p *diffPrinter) section(title, share string) {
	p.w = pretty.NewWriter()
	p.w.SetStyle(pretty.Style{Box: pretty.BoxStyle{PaddingRight: "  "},
		Options: pretty.OptionsNoBordersAndSeparators})
	var right []pretty.ColumnConfig
	for i := 2; i <= 6; i++ {
		right = append(right, pretty.ColumnConfig{Number: i, Align: text.AlignRight})
	}
	p.w.SetColumnConfigs(right)
	p.own = title
	p.w.AppendRow(pretty.Row{"", "A", "B", "B - A", "B / A", share})
}

func (p *diffPrinter) row(r *compare.Row, name string, share bool) {
	cell := func(v *int64) string {
		if v == nil {
			return "-"
		}
		return compare.Figure(*v, r.Unit)
	}
	cells := pretty.Row{name, cell(r.A), cell(r.B), "", "", ""}
	if d, ok := r.Change(); ok {
		cells[3] = p.colour(d, r.Unit, plus(d, r.Unit))
		if *r.A != 0 {
			cells[4] = fmt.Sprintf("%.2f", float64(*r.B)/float64(*r.A))
		}
		if share && r.Share != 0 {
			cells[5] = fmt.Sprintf("%.0f %%", 100*r.Share)
		}
	}
	p.w.AppendRow(cells)
}

func plus(d int64, unit string) string {
	if d > 0 {
		return "+" + compare.Figure(d, unit)
	}
	return compare.Figure(d, unit)
}

// colour shows what got worse: more time, more memory, more traffic.
func (p *diffPrinter) colour(d int64, unit, s string) string {
	switch {
	case !p.io.OutColor() || unit == "count" || d == 0:
		return s
	case d > 0:
		return "\x1b[31m" + s + "\x1b[0m"
	}
	return "\x1b[32m" + s + "\x1b[0m"
}

func (p *diffPrinter) print() {
	fmt.Fprintf(p.io.Out, "\n%s\n", p.own)
	for _, l := range strings.Split(p.w.Render(), "\n") {
		fmt.Fprintln(p.io.Out, strings.TrimRight(l, " "))
	}
}
