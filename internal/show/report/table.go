package report

import (
	"fmt"
	"strings"

	pretty "github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// table aligns columns: no borders, two blanks between columns. Cells may hold colours, which take no room.
type table struct {
	numbers []int // the columns, counted from 1, that are aligned to the right
	rows    []pretty.Row
}

func (t *table) row(cells ...any) {
	var r pretty.Row
	for _, c := range cells {
		r = append(r, fmt.Sprint(c))
	}
	t.rows = append(t.rows, r)
}

// lines gives the table without blanks at the ends of lines.
func (t *table) lines() []string {
	w := pretty.NewWriter()
	w.SetStyle(pretty.Style{Box: pretty.BoxStyle{PaddingRight: "  "},
		Options: pretty.OptionsNoBordersAndSeparators})
	var columns []pretty.ColumnConfig
	for _, i := range t.numbers {
		columns = append(columns, pretty.ColumnConfig{Number: i, Align: text.AlignRight})
	}
	w.SetColumnConfigs(columns)
	w.AppendRows(t.rows)
	lines := strings.Split(w.Render(), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return lines
}

// wrap breaks text at blanks into lines of at most width columns. A number and what follows it stay together.
func wrap(s string, width int) (lines []string) {
	var words []string
	for _, w := range strings.Fields(s) {
		if n := len(words); n > 0 && endsInDigit(words[n-1]) && !strings.Contains(words[n-1], " ") {
			words[n-1] += " " + w
		} else {
			words = append(words, w)
		}
	}
	room := -1
	for _, w := range words {
		n := text.StringWidthWithoutEscSequences(w)
		if room -= n + 1; room < 0 {
			lines, room = append(lines, w), width-n
		} else {
			lines[len(lines)-1] += " " + w
		}
	}
	return lines
}

func endsInDigit(s string) bool {
	c := s[len(s)-1]
	return c >= '0' && c <= '9'
}
