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
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		for _, row := range e.table() {
			fmt.Fprintln(t, strings.Join(row, "\t")+"\t")
		}
		if err := t.Flush(); err != nil {
			return err
		}
		if e.Note != "" {
			fmt.Fprintf(w, "\n%s.\n", e.Note)
		}
		fmt.Fprintln(w)
		for _, c := range e.Checks {
			fmt.Fprintf(w, "  %-3s  %s: %s\n", c.answer(), c.Claim, c.Saw)
		}
	}
	if r.LeftOut != nil {
		fmt.Fprintf(w, "\n%s\n", r.LeftOut)
	}
	return nil
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
func (e *Experiment) verdict() string {
	var failed, unsure []string
	for _, c := range e.Checks {
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
	for i, row := range e.table() {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(&b, "|--:%s|\n", strings.Repeat("|--:", len(row)-1))
		}
	}
	if e.Note != "" {
		fmt.Fprintf(&b, "\n%s.\n", e.Note)
	}
	fmt.Fprintf(&b, "\n%s\n\n", e.verdict())
	for _, c := range e.Checks {
		fmt.Fprintf(&b, "- %s: %s (%s)\n", c.Claim, strings.ToLower(c.answer()), c.Saw)
	}
	fmt.Fprintf(&b, "\nMeasured on %d cores (%s, %s), each row the median of %d runs by wall time. To "+
		"repeat the last row by hand:\n\n    %s\n",
		r.Cores, r.OS, r.Arch, e.Repeats, e.Points[len(e.Points)-1].command())
	if r.Quick {
		b.WriteString("\nThis was a quick run: it shows that the experiment works, nothing else.\n")
	}
	return b.String()
}
