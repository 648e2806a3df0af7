package report

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// table aligns columns. Cells may hold colours, which take no room.
type table struct {
	right [2]int // the columns from right[0] to right[1], counted from 1, are aligned to the right
	rows  [][]string
}

func (t *table) row(cells ...any) {
	var r []string
	for _, c := range cells {
		r = append(r, fmt.Sprint(c))
	}
	t.rows = append(t.rows, r)
}

// lines gives the table without blanks at the ends of lines.
func (t *table) lines() []string {
	var widths []int
	for _, r := range t.rows {
		for i, c := range r {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], visible(c))
		}
	}
	var out []string
	for _, r := range t.rows {
		var line strings.Builder
		for i, c := range r {
			pad := strings.Repeat(" ", widths[i]-visible(c))
			if i+1 >= t.right[0] && i+1 <= t.right[1] {
				line.WriteString(pad + c)
			} else {
				line.WriteString(c + pad)
			}
			line.WriteString("  ")
		}
		out = append(out, strings.TrimRight(line.String(), " "))
	}
	return out
}

// visible is the number of columns that s takes, colours left out.
func visible(s string) int {
	n := utf8.RuneCountInString(s)
	for {
		_, rest, ok := strings.Cut(s, "\x1b[")
		if !ok {
			return n
		}
		end := strings.IndexByte(rest, 'm')
		if end < 0 {
			return n
		}
		n -= end + 3
		s = rest[end+1:]
	}
}

// wrap breaks text at blanks into lines of at most width columns; longer words stay whole.
func wrap(s string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && visible(line)+1+visible(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
