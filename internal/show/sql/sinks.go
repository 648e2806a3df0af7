package sql

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"strconv"
	"strings"

	pretty "github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/whyslow/whyslow/internal/show/tables"
)

// First is a Sink that passes on so many rows of each result.
type First struct {
	Sink
	Most int  // 1 or more
	Left bool // there were more
	rows int
}

// Begin begins a result.
func (f *First) Begin(columns []string) error {
	f.rows = 0
	return f.Sink.Begin(columns)
}

// Row passes a row on, or says that it is enough.
func (f *First) Row(values []tables.Value) error {
	if f.rows++; f.rows > f.Most {
		f.Left = true
		return ErrEnough
	}
	return f.Sink.Row(values)
}

// Table is a Sink that writes tables for people: columns as wide as what is in them, numbers to the right.
type Table struct {
	W io.Writer

	begun bool
	right []bool // the column has numbers only
	out   pretty.Writer
}

// Begin begins a table.
func (t *Table) Begin(columns []string) error {
	t.out, t.right = pretty.NewWriter(), make([]bool, len(columns))
	heads := make(pretty.Row, len(columns))
	for i, c := range columns {
		heads[i], t.right[i] = oneLine(c), true
	}
	t.out.AppendHeader(heads)
	return nil
}

// Row keeps a row.
func (t *Table) Row(values []tables.Value) error {
	row := make(pretty.Row, len(values))
	for i, v := range values {
		row[i] = forPeople(v)
		t.right[i] = t.right[i] && v.Type != tables.Text
	}
	t.out.AppendRow(row)
	return nil
}

// End writes the table.
func (t *Table) End() error {
	t.out.SetStyle(pretty.Style{Box: pretty.BoxStyle{PaddingRight: "  "},
		Options: pretty.OptionsNoBordersAndSeparators})
	var right []pretty.ColumnConfig
	for i, r := range t.right {
		if r {
			right = append(right, pretty.ColumnConfig{Number: i + 1, Align: text.AlignRight,
				AlignHeader: text.AlignRight})
		}
	}
	t.out.SetColumnConfigs(right)
	var b strings.Builder
	if t.begun {
		b.WriteByte('\n')
	}
	t.begun = true
	for line := range strings.Lines(t.out.Render() + "\n") {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	_, err := io.WriteString(t.W, b.String())
	return err
}

// forPeople writes a value with at most six digits after the point.
func forPeople(v tables.Value) string {
	if v.Type == tables.Real && math.Abs(v.Real) < 1e15 {
		return strconv.FormatFloat(math.Round(v.Real*1e6)/1e6, 'f', -1, 64)
	}
	return oneLine(exact(v))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// exact writes a value so that it can be read back; nothing for none.
func exact(v tables.Value) string {
	switch v.Type {
	case tables.Integer:
		return strconv.FormatInt(v.Int, 10)
	case tables.Real:
		return strconv.FormatFloat(v.Real, 'g', -1, 64)
	}
	return v.Text
}

// Result is what a statement found.
type Result struct {
	Columns []string `json:"columns"`
	// Rows have a number, a text or null for each column. An integer that JavaScript cannot hold is a text.
	Rows [][]any `json:"rows"`
	Left bool    `json:"left"` // there were more rows
}

// Results is a Sink that keeps everything, up to so many rows and bytes of text of all results together.
type Results struct {
	MostRows, MostBytes int
	List                []*Result

	rows, bytes int
}

// Begin begins a result.
func (r *Results) Begin(columns []string) error {
	r.List = append(r.List, &Result{Columns: columns, Rows: [][]any{}})
	return nil
}

// safe is the greatest integer of which JavaScript's numbers have all before it.
const safe = 1<<53 - 1

// Row keeps a row, or says that it is enough.
func (r *Results) Row(values []tables.Value) error {
	at := r.List[len(r.List)-1]
	if r.rows >= r.MostRows || r.bytes >= r.MostBytes {
		at.Left = true
		return ErrEnough
	}
	r.rows++
	row := make([]any, len(values))
	for i, v := range values {
		switch {
		case v.Type == tables.Integer && -safe <= v.Int && v.Int <= safe:
			row[i] = v.Int
		case v.Type == tables.Real && !math.IsInf(v.Real, 0):
			row[i] = v.Real
		case v.Type != tables.Null:
			text := exact(v)
			r.bytes += len(text)
			row[i] = text
		}
		r.bytes += 8
	}
	at.Rows = append(at.Rows, row)
	return nil
}

// End ends a result.
func (r *Results) End() error { return nil }

// CSV is a Sink that writes values separated by commas, as RFC 4180 says: lines end in CR and LF, the first
// has the names of the columns. An empty line is between results.
type CSV struct {
	w     *csv.Writer
	begun bool
	row   []string
}

// NewCSV makes one that writes to w.
func NewCSV(w io.Writer) *CSV {
	c := &CSV{w: csv.NewWriter(w)}
	c.w.UseCRLF = true
	return c
}

// Begin writes the names.
func (c *CSV) Begin(columns []string) error {
	if c.begun {
		if err := c.w.Write([]string{}); err != nil {
			return err
		}
	}
	c.begun, c.row = true, make([]string, len(columns))
	return c.w.Write(columns)
}

// Row writes a row.
func (c *CSV) Row(values []tables.Value) error {
	for i, v := range values {
		c.row[i] = exact(v)
	}
	return c.w.Write(c.row)
}

// End writes what is left.
func (c *CSV) End() error {
	c.w.Flush()
	return c.w.Error()
}

// JSON is a Sink that writes an array of objects for each result, an object a line. Of columns with the same
// name the second is called NAME_2, and so on.
type JSON struct {
	w     *bufio.Writer
	names [][]byte // with the colon
	rows  int
}

// NewJSON makes one that writes to w.
func NewJSON(w io.Writer) *JSON { return &JSON{w: bufio.NewWriter(w)} }

// Begin begins an array.
func (j *JSON) Begin(columns []string) error {
	j.names, j.rows = nil, 0
	used := map[string]bool{}
	for _, c := range columns {
		name := c
		for n := 2; used[name]; n++ {
			name = c + "_" + strconv.Itoa(n)
		}
		used[name] = true
		j.names = append(j.names, append(quoted(name), ':'))
	}
	return j.w.WriteByte('[')
}

// quoted is a text in JSON.
func quoted(s string) []byte {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string has no way to fail
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}

// Row writes an object.
func (j *JSON) Row(values []tables.Value) error {
	before := "\n{"
	if j.rows > 0 {
		before = ",\n{"
	}
	j.rows++
	for i, v := range values {
		_, _ = j.w.WriteString(before) // the last write says what went wrong
		_, _ = j.w.Write(j.names[i])
		switch {
		case v.Type == tables.Null:
			_, _ = j.w.WriteString("null")
		case v.Type == tables.Text:
			_, _ = j.w.Write(quoted(v.Text))
		case v.Type == tables.Real && math.IsInf(v.Real, 0): // JSON has no word for it
			_, _ = j.w.WriteString(strings.NewReplacer("+Inf", "9e999", "-Inf", "-9e999").Replace(exact(v)))
		default:
			_, _ = j.w.WriteString(exact(v))
		}
		before = ","
	}
	return j.w.WriteByte('}')
}

// End ends the array.
func (j *JSON) End() error {
	if j.rows > 0 {
		_ = j.w.WriteByte('\n')
	}
	_, _ = j.w.WriteString("]\n")
	return j.w.Flush()
}
