package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

// table is one table of results.
type table struct {
	bench, title, about, command string
	head                         []string
	rows                         [][]string
	notes                        []string
	figure                       *figure // shown below it; nil: none
}

// figure is a picture that belongs to a table.
type figure struct {
	file, about string // name of the file beside the page, and what is to be seen
	svg         []byte
}

// row adds a row; cells are strings or numbers.
func (t *table) row(cells ...any) {
	var row []string
	for _, c := range cells {
		switch c := c.(type) {
		case float64:
			row = append(row, number(c))
		default:
			row = append(row, fmt.Sprint(c))
		}
	}
	t.rows = append(t.rows, row)
}

// missing adds a row for what could not be measured, and the reason as a note.
func (t *table) missing(name, reason string) {
	row := []string{name}
	for range t.head[1:] {
		row = append(row, "-")
	}
	t.rows = append(t.rows, row)
	t.note("%s was not measured: %s", name, reason)
}

func (t *table) note(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

// number prints three significant digits; "-" stands for what was not measured.
func number(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v):
		return "-"
	case a >= 1e4 && a < 1e6:
		return fmt.Sprintf("%.0f", v)
	case a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}

// ratio prints how many times something is something else.
func ratio(v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	return number(v) + "x"
}

// text prints the table for a terminal.
func (t *table) text(w io.Writer) {
	fmt.Fprintf(w, "\n%s\n", t.title)
	if t.about != "" {
		fmt.Fprintf(w, "%s\n", t.about)
	}
	width := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, c := range row {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, c := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
			switch {
			case i == 0:
				fmt.Fprint(w, c+pad)
			default:
				fmt.Fprint(w, "  "+pad+c)
			}
		}
		fmt.Fprintln(w)
	}
	for _, n := range t.notes {
		fmt.Fprintf(w, "  %s\n", n)
	}
}

// markdown prints the table as a section.
func (t *table) markdown(w io.Writer) {
	fmt.Fprintf(w, "\n## %s\n\n`cd bench && %s`\n", t.title, t.command)
	if t.about != "" {
		fmt.Fprintf(w, "\n%s\n", wrapped(t.about, ""))
	}
	fmt.Fprintf(w, "\n| %s |\n|---%s|\n", strings.Join(t.head, " | "), strings.Repeat("|--:", len(t.head)-1))
	for _, row := range t.rows {
		fmt.Fprintf(w, "| %s |\n", strings.ReplaceAll(strings.Join(row, " | "), "\n", " "))
	}
	if len(t.notes) > 0 {
		fmt.Fprintln(w)
		for _, n := range t.notes {
			fmt.Fprintf(w, "%s.\n", wrapped("- "+strings.TrimSuffix(n, "."), "  "))
		}
	}
	if f := t.figure; f != nil {
		fmt.Fprintf(w, "\n![%s](%s)\n", f.about, f.file)
	}
}

// wrapped breaks a text into lines of at most 109 characters, each after the first indented.
func wrapped(text, indent string) string {
	var out strings.Builder
	n := 0
	for i, word := range strings.Split(text, " ") {
		if n += 1 + utf8.RuneCountInString(word); i > 0 && n > 109 {
			out.WriteString("\n" + indent)
			n = len(indent) + utf8.RuneCountInString(word)
		} else if i > 0 {
			out.WriteByte(' ')
		} else {
			n--
		}
		out.WriteString(word)
	}
	return out.String()
}
