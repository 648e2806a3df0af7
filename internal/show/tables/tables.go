// Package tables shows a run as tables: what SQL, CSV and Parquet have of it.
//
// Each table is defined once, with its columns, their types, units and keys, in runs.go, tasks.go, data.go,
// time.go, events.go and regions.go. The list of All serves whyslow sql, whyslow convert and docs/tables.md
// alike.
//
// A table has rows that are addressed by number, and computes a field when it is asked for: nothing is copied
// out of the model. What an analysis has to find out first, such as the pieces of time, is found out when a
// table that needs it is opened, and kept in the Source. Events alone are read from the trace.
//
// Names and meanings of tables and columns are stable. What takes something away or changes a meaning raises
// Version; what adds a table or a column does not.
package tables

import (
	"context"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/model"
)

//go:generate go test -run TestDocumented . -args -update

// Version of the tables.
const Version = 1

// Type of a column or a value.
type Type uint8

// The types. Null is that of a value that is not known, or does not exist; no column has it.
const (
	Null Type = iota
	Integer
	Real
	Text
)

// String gives the name of the type in SQL.
func (t Type) String() string { return [...]string{"NULL", "INTEGER", "REAL", "TEXT"}[t] }

// Value is one field of a row. Type says which of the others holds it.
type Value struct {
	Type Type
	Int  int64
	Real float64
	Text string
}

// Int is an integer value.
func Int(v int64) Value { return Value{Type: Integer, Int: v} }

// Float is a real value.
func Float(v float64) Value { return Value{Type: Real, Real: v} }

// String is a text, null where it is empty.
func String(v string) Value {
	if v == "" {
		return Value{}
	}
	return Value{Type: Text, Text: v}
}

// truth is 1 for true, 0 for false.
func truth(v bool) Value {
	if v {
		return Int(1)
	}
	return Int(0)
}

// positive is a number, null where it is 0.
func positive[T ~uint32 | ~int | ~int32](v T) Value {
	if v == 0 {
		return Value{}
	}
	return Int(int64(v))
}

// natural is a number, null where it is negative.
func natural[T ~int | ~int32 | ~int64](v T) Value {
	if v < 0 {
		return Value{}
	}
	return Int(int64(v))
}

// since is a time as tables have it: since the start of the run, null where it was not recorded.
func since(m *model.Model, t int64) Value {
	if t == model.None {
		return Value{}
	}
	return Int(t - m.Start)
}

// between is the length of an interval, null where an end was not recorded.
func between(from, to int64) Value {
	if from == model.None || to == model.None {
		return Value{}
	}
	return Int(to - from)
}

// Column is a column of a table.
type Column struct {
	Name string
	Type Type
	Unit string // "ns", "bytes", or ""
	Key  bool   // of the columns that name a row together
	// Refers is the column of another table, or of this one, that has the same values: "cfs.cf".
	Refers string
	Doc    string // what it is, a phrase; says when it is null
}

// Table is a table that every run has; it may have no rows.
type Table struct {
	Name    string
	Doc     string // what a row is, a sentence
	Columns []Column

	open func(ctx context.Context, s *Source) (*Rows, error)
}

// Rows are those of a table in one run. Any number of goroutines may read them.
type Rows struct {
	n    int
	get  func(row, column int) Value
	fill func(row int, to []Value)
}

// Len is the number of rows.
func (r *Rows) Len() int { return r.n }

// Value gives a field: 0 <= row < Len, and column is an index into Table.Columns. It panics with Unreadable
// where the trace has to be read and no longer can be; see Catch.
func (r *Rows) Value(row, column int) Value { return r.get(row, column) }

// Row gives all fields of a row, in to, which has as many elements as the table has columns. It panics as
// Value does.
func (r *Rows) Row(row int, to []Value) { r.fill(row, to) }

// Rows gives the rows of the table in a run. It may have to analyse the run first, once for all tables of s.
// It fails when ctx ends or the analysis cannot be done.
func (t *Table) Rows(ctx context.Context, s *Source) (*Rows, error) { return t.open(ctx, s) }

// Column gives the index of a column, -1 where there is none.
func (t *Table) Column(name string) int {
	return slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name })
}

// Schema is the statement that would make the table in SQL.
func (t *Table) Schema() string {
	var columns []string
	for _, c := range t.Columns {
		columns = append(columns, c.Name+" "+c.Type.String())
	}
	return "CREATE TABLE " + t.Name + "(" + strings.Join(columns, ", ") + ")"
}

// Unique tells whether a column names a row by itself.
func (t *Table) Unique(column int) bool {
	keys := 0
	for _, c := range t.Columns {
		if c.Key {
			keys++
		}
	}
	return keys == 1 && t.Columns[column].Key
}

// Listed is a table as lists in JSON have it.
type Listed struct {
	Name    string         `json:"name"`
	Doc     string         `json:"doc"`
	Columns []ListedColumn `json:"columns"`
}

// ListedColumn is a Column of it.
type ListedColumn struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Unit   string `json:"unit,omitempty"`
	Key    bool   `json:"key,omitempty"`
	Refers string `json:"refers,omitempty"`
	Doc    string `json:"doc"`
}

// List lists all tables with their columns.
func List() (list []Listed) {
	for _, t := range all {
		l := Listed{Name: t.Name, Doc: t.Doc}
		for _, c := range t.Columns {
			l.Columns = append(l.Columns, ListedColumn{c.Name, c.Type.String(), c.Unit, c.Key, c.Refers, c.Doc})
		}
		list = append(list, l)
	}
	return list
}

// All lists the tables.
func All() []*Table { return slices.Clone(all) }

var all = []*Table{runs, processes, nodes, workers, codes, sites, cfs, executions, inputs, dfs, creations,
	messages, pieces, waits, factors, causes, path, events, series, regions, calls, patterns}

// Find gives the table of a name, nil where there is none.
func Find(name string) *Table {
	i := slices.IndexFunc(all, func(t *Table) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return all[i]
}

// Names lists the names of all tables.
func Names() (list []string) {
	for _, t := range all {
		list = append(list, t.Name)
	}
	return list
}

// field is a column with the function that computes it from a row R.
type field[R any] struct {
	Column
	get func(r R) Value
}

func integer[R any](name, doc string, get func(r R) Value) field[R] {
	return field[R]{Column{Name: name, Type: Integer, Doc: doc}, get}
}

func decimal[R any](name, doc string, get func(r R) Value) field[R] {
	return field[R]{Column{Name: name, Type: Real, Doc: doc}, get}
}

func text[R any](name, doc string, get func(r R) Value) field[R] {
	return field[R]{Column{Name: name, Type: Text, Doc: doc}, get}
}

// ns is a column of nanoseconds.
func ns[R any](name, doc string, get func(r R) Value) field[R] {
	return integer(name, doc, get).in("ns")
}

// size is a column of bytes.
func size[R any](name, doc string, get func(r R) Value) field[R] {
	return integer(name, doc, get).in("bytes")
}

func (f field[R]) in(unit string) field[R] {
	f.Unit = unit
	return f
}

func (f field[R]) key() field[R] {
	f.Key = true
	return f
}

func (f field[R]) to(column string) field[R] {
	f.Refers = column
	return f
}

// opener finds the rows of a table in a run: how many there are, and each by its number from 0.
type opener[R any] func(ctx context.Context, s *Source) (row func(i int) R, n int, err error)

// define makes a table.
func define[R any](name, doc string, open opener[R], fields ...field[R]) *Table {
	t := &Table{Name: name, Doc: doc}
	for _, f := range fields {
		t.Columns = append(t.Columns, f.Column)
	}
	t.open = func(ctx context.Context, s *Source) (*Rows, error) {
		row, n, err := open(ctx, s)
		if err != nil {
			return nil, err
		}
		return &Rows{n, func(i, column int) Value { return fields[column].get(row(i)) }, func(i int, to []Value) {
			r := row(i)
			for c := range fields {
				to[c] = fields[c].get(r)
			}
		}}, nil
	}
	return t
}

// list opens a table whose rows are the elements of a list.
func list[R any](of func(ctx context.Context, s *Source) ([]R, error)) opener[R] {
	return func(ctx context.Context, s *Source) (func(i int) R, int, error) {
		rows, err := of(ctx, s)
		return func(i int) R { return rows[i] }, len(rows), err
	}
}

// at is a row that the model has at an index.
type at struct {
	*model.Model
	i int
	s *Source
}

// columns opens a table whose rows are those of columns of the model.
func columns(rows func(m *model.Model) int) opener[at] {
	return func(_ context.Context, s *Source) (func(i int) at, int, error) {
		return func(i int) at { return at{s.Model, i, s} }, rows(s.Model), nil
	}
}
