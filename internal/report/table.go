package report

import (
	"fmt"
	"strings"

	pretty "github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// table aligns columns: no borders, two blanks between columns. Cells may hold colours, which take no room.
type table struct {
	right [2]int // the columns from right[0] to right[1], counted from 1, are aligned to the right
	rows  []pretty.Row
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
	w.SetStyle(pretty.Style{Box: pretty.BoxStyle{PaddingRight: "  "}, Options: pretty.OptionsNoBordersAndSeparators})
	var columns []pretty.ColumnConfig
	for i := t.right[0]; i <= t.right[1]; i++ {
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

// wrap breaks text at blanks into lines of at most width columns.
func wrap(s string, width int) []string {
	lines := strings.Split(text.WrapSoft(strings.Join(strings.Fields(s), " "), width), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return lines
}
