package experiment

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

func seconds(ns int64) string { return fmt.Sprintf("%.3f s", float64(ns)/1e9) }

func micros(ns int64) string { return fmt.Sprintf("%.2f us", float64(ns)/1e3) }

// table returns rows of cells, the head first: times of the median run, with their shares of all processor
// time.
func (e *Experiment) table() [][]string {
	rows := [][]string{{e.Parameter, "T_wall", "T_total", "T_S", "T_L", "T_O", "of it pre-empted", "T_U", "sum"}}
	if e.perCF {
		rows[0] = append(rows[0], "O of a CF")
	}
	for _, p := range e.Points {
		r := p.Median()
		cells := []string{p.Label, seconds(r.WallNS), seconds(r.TotalNS)}
		for _, v := range []int64{r.SNS, r.LNS, r.ONS, r.TakenNS, r.UNS, r.Sum()} {
			cells = append(cells, fmt.Sprintf("%s (%s)", seconds(v), percent(float64(v)/float64(max(r.TotalNS, 1)))))
		}
		if e.perCF {
			cells = append(cells, micros(p.median(each)))
		}
		rows = append(rows, cells)
	}
	return rows
}

// Text writes what was found for a terminal.
func (r *Report) Text(w io.Writer) error {
	for i, e := range r.Experiments {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s: %s\n\n", e.Name, e.Title)
		if err := aligned(w, e.table()); err != nil {
			return err
		}
		if e.Note != "" {
			fmt.Fprintf(w, "\n%s.\n", e.Note)
		}
		writeChecks(w, e.Checks)
	}
	for i, c := range r.Costs {
		if i > 0 || len(r.Experiments) > 0 {
			fmt.Fprintln(w)
		}
		if err := c.text(w); err != nil {
			return err
		}
	}
	if r.LeftOut != nil {
		fmt.Fprintf(w, "\n%s\n", r.LeftOut)
	}
	return nil
}

// threads is what the program's threads are called.
func (c *Cost) threads() string {
	if c.Programs[0].kernel.name != "" {
		return "threads"
	}
	return "workers"
}

// text writes what recording costs for a terminal.
func (c *Cost) text(w io.Writer) error {
	fmt.Fprintf(w, "%s: %s\n", c.Name, c.Title)
	for _, p := range c.Programs {
		fmt.Fprintf(w, "\n%s, on %d %s, in %d rounds\n\n", p.What, c.Workers, c.threads(), c.Rounds)
		if err := aligned(w, c.table(p)); err != nil {
			return err
		}
	}
	writeChecks(w, c.Checks)
	return nil
}

// aligned writes a table with its columns to the right.
func aligned(w io.Writer, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t")+"\t")
	}
	return t.Flush()
}

func writeChecks(w io.Writer, checks []Check) {
	fmt.Fprintln(w)
	for _, c := range checks {
		fmt.Fprintf(w, "  %-3s  %s: %s\n", c.answer(), c.Claim, c.Saw)
	}
}

// answer says whether a claim holds.
func (c *Check) answer() string {
	switch {
	case c.Holds:
		return "yes"
	case c.Busy:
		return "too busy to say"
	}
	return "NO"
}

// verdict says in a sentence whether an experiment went as expected.
func verdict(checks []Check) string {
	var failed, unsure []string
	for _, c := range checks {
		switch {
		case c.Busy:
			unsure = append(unsure, c.Claim)
		case !c.Holds:
			failed = append(failed, c.Claim)
		}
	}
	switch {
	case len(failed) == 0 && len(unsure) == 0:
		return "This is as expected."
	case len(failed) == 0:
		return "The machine was too busy to say that " + strings.Join(unsure, "; or that ") +
			". The rest is as expected."
	}
	return "This is **not** as expected: it does not hold that " + strings.Join(failed, "; nor that ") + "."
}

// markdown is the section of an experiment on the page of results.
func (r *Report) markdown(e *Experiment) string {
	var b strings.Builder
	if figure := e.figureName(); figure != "" {
		fmt.Fprintf(&b, "![%s](%s)\n\n", e.alternative(), figure)
	}
	markdownTable(&b, e.table())
	if e.Note != "" {
		fmt.Fprintf(&b, "\n%s.\n", e.Note)
	}
	markdownChecks(&b, e.Checks)
	fmt.Fprintf(&b, "\nMeasured on %d cores (%s, %s), each row the median of %d runs by wall time. To "+
		"repeat the last row by hand:\n\n    %s\n",
		r.Cores, r.OS, r.Arch, e.Repeats, e.Points[len(e.Points)-1].command())
	b.WriteString(r.quickly())
	return b.String()
}

// quickly says that a run was quick, if it was.
func (r *Report) quickly() string {
	if !r.Quick {
		return ""
	}
	return "\nThis was a quick run: it shows that the experiment works, nothing else.\n"
}

func markdownTable(b *strings.Builder, rows [][]string) {
	for i, row := range rows {
		fmt.Fprintf(b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(b, "|--:%s|\n", strings.Repeat("|--:", len(row)-1))
		}
	}
}

func markdownChecks(b *strings.Builder, checks []Check) {
	fmt.Fprintf(b, "\n%s\n\n", verdict(checks))
	for _, c := range checks {
		fmt.Fprintf(b, "- %s: %s (%s)\n", c.Claim, strings.ToLower(c.answer()), c.Saw)
	}
}

// costMarkdown is the section of an experiment on costs.
func (r *Report) costMarkdown(c *Cost) string {
	var b strings.Builder
	for _, p := range c.Programs {
		fmt.Fprintf(&b, "%s:\n\n", p.What)
		markdownTable(&b, c.table(p))
		b.WriteString("\n")
	}
	markdownChecks(&b, c.Checks)
	fmt.Fprintf(&b, "\nMeasured on %d cores (%s, %s) with %d %s, in %d rounds.\n", r.Cores, r.OS, r.Arch,
		c.Workers, c.threads(), c.Rounds)
	b.WriteString(r.quickly())
	return b.String()
}
