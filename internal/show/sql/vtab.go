package sql

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"

	"github.com/ncruces/go-sqlite3"

	"github.com/whyslow/whyslow/internal/show/tables"
)

// Virtual tables. SQLite asks a table for all of its rows, or for those with a given value in one integer
// column, which is what joins ask a million times. So each integer column has an index: if its values ascend
// with the rows, the rows themselves are one; otherwise the rows in the order of the column, four bytes each,
// made when a value is looked up for the second time. Everything else is left to SQLite, which checks each
// row in any case.

// table is a table of the run in SQLite. It is opened when a query uses it.
type table struct {
	*tables.Table
	db      *DB
	rows    *tables.Rows
	indices map[int]*index // by column
}

func (t *table) open() error {
	if t.rows != nil {
		return nil
	}
	rows, err := t.Rows(t.db.ctx, t.db.source)
	if err == nil {
		t.rows, t.indices = rows, map[int]*index{}
	}
	return err
}

// wholeTable is the plan to read all rows; other plans are the number of a column, whose value is given.
const wholeTable = -1

// BestIndex chooses a plan.
func (t *table) BestIndex(info *sqlite3.IndexInfo) error {
	if err := t.open(); err != nil {
		return err
	}
	n := float64(t.rows.Len())
	info.IdxNum, info.EstimatedCost, info.EstimatedRows = wholeTable, n+1, int64(n)
	used := -1
	for i, c := range info.Constraint {
		if !c.Usable || c.Op != sqlite3.INDEX_CONSTRAINT_EQ || c.Column < 0 ||
			t.Columns[c.Column].Type != tables.Integer {
			continue
		}
		if found := t.matching(c.Column); used < 0 || found < float64(info.EstimatedRows) {
			used = i
			info.IdxNum, info.EstimatedRows = c.Column, int64(found)
			info.EstimatedCost = math.Log2(n+2) + found
		}
	}
	if used >= 0 {
		info.ConstraintUsage[used].ArgvIndex = 1
		if t.Unique(info.IdxNum) {
			info.IdxFlags = sqlite3.INDEX_SCAN_UNIQUE
		}
	}
	return nil
}

// matching guesses how many rows have a given value in a column.
func (t *table) matching(column int) float64 {
	n := float64(t.rows.Len())
	switch c := t.Columns[column]; {
	case t.Unique(column):
		return 1
	case c.Refers == "nodes.node" || c.Refers == "workers.worker" || c.Refers == "codes.code" || c.Refers == "":
		return max(n/8, 1)
	}
	return max(min(n/8, 10), 1)
}

// Open makes a cursor.
func (t *table) Open() (sqlite3.VTabCursor, error) {
	return &cursor{t: t}, t.open()
}

// cursor goes through rows of a table: those of a list, or, where it has none, all from at to end.
type cursor struct {
	t       *table
	list    []uint32
	at, end int
}

// Filter begins a plan.
func (c *cursor) Filter(plan int, _ string, arg ...sqlite3.Value) error {
	c.list, c.at, c.end = nil, 0, c.t.rows.Len()
	if plan == wholeTable || len(arg) == 0 {
		return nil
	}
	v := int64(0)
	switch arg[0].Type() {
	case sqlite3.INTEGER:
		v = arg[0].Int64()
	case sqlite3.FLOAT:
		f := arg[0].Float()
		if v = int64(f); float64(v) != f {
			c.end = 0
			return nil
		}
	case sqlite3.NULL:
		c.end = 0
		return nil
	default:
		return nil // SQLite compares
	}
	ix := c.t.indices[plan]
	if ix == nil {
		ix = &index{rows: c.t.rows, column: plan}
		c.t.indices[plan] = ix
	}
	var err error
	c.list, c.at, c.end, err = ix.find(c.t.db.ctx, v)
	return err
}

// Next goes to the next row.
func (c *cursor) Next() error {
	c.at++
	return nil
}

// EOF tells whether there is none.
func (c *cursor) EOF() bool { return c.at >= c.end }

func (c *cursor) row() int {
	if c.list != nil {
		return int(c.list[c.at])
	}
	return c.at
}

// Column gives a field.
func (c *cursor) Column(ctx sqlite3.Context, n int) error {
	switch v := c.t.rows.Value(c.row(), n); v.Type {
	case tables.Integer:
		ctx.ResultInt64(v.Int)
	case tables.Real:
		ctx.ResultFloat(v.Real)
	case tables.Text:
		ctx.ResultText(v.Text)
	default:
		ctx.ResultNull()
	}
	return nil
}

// RowID gives the number of the row, from 1.
func (c *cursor) RowID() (int64, error) { return int64(c.row()) + 1, nil }

// index finds the rows with a value in an integer column.
type index struct {
	rows     *tables.Rows
	column   int
	asked    bool
	ascends  bool     // the values ascend with the rows, and none is null
	byValue  []uint32 // else, once made: the rows by value; those without any are left out
	complete bool     // byValue is made
}

// find gives the rows with a value: those of a list from at to end, or, if it is nil, rows from at to end.
func (x *index) find(ctx context.Context, v int64) (list []uint32, at, end int, err error) {
	switch {
	case x.ascends:
		at, end = x.search(x.rows.Len(), func(i int) int { return i }, v)
		return nil, at, end, nil
	case !x.asked:
		x.asked, x.ascends = true, true
		list, err = x.scan(ctx, v)
		return list, 0, len(list), err
	case !x.complete:
		if err := x.sort(ctx); err != nil {
			return nil, 0, 0, err
		}
	}
	at, end = x.search(len(x.byValue), func(i int) int { return int(x.byValue[i]) }, v)
	return x.byValue, at, end, nil
}

// checkEvery is after how many rows a pass looks whether it is still wanted.
const checkEvery = 1 << 14

// pass calls f with the number in the column of every row, and whether there is one.
func (x *index) pass(ctx context.Context, f func(row int, v int64, ok bool)) error {
	for row := range x.rows.Len() {
		if row%checkEvery == 0 && ctx.Err() != nil {
			return sqlite3.INTERRUPT
		}
		v := x.rows.Value(row, x.column)
		f(row, v.Int, v.Type == tables.Integer)
	}
	return nil
}

// scan finds the rows by going through all, and whether the values ascend.
func (x *index) scan(ctx context.Context, v int64) ([]uint32, error) {
	found, last := []uint32{}, int64(math.MinInt64)
	err := x.pass(ctx, func(row int, w int64, ok bool) {
		if !ok || w < last {
			x.ascends = false
		}
		if last = w; ok && w == v {
			found = append(found, uint32(row))
		}
	})
	if err != nil {
		x.asked, x.ascends = false, false
	}
	return found, err
}

// sort makes byValue.
func (x *index) sort(ctx context.Context) error {
	type pair struct {
		v   int64
		row uint32
	}
	var pairs []pair
	if err := x.pass(ctx, func(row int, v int64, ok bool) {
		if ok {
			pairs = append(pairs, pair{v, uint32(row)})
		}
	}); err != nil {
		return err
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(a.v, b.v), cmp.Compare(a.row, b.row))
	})
	x.byValue, x.complete = make([]uint32, len(pairs)), true
	for i, p := range pairs {
		x.byValue[i] = p.row
	}
	return nil
}

// search finds a value among n rows in its order.
func (x *index) search(n int, row func(i int) int, v int64) (at, end int) {
	least := func(than int64, from int) int {
		return from + sort.Search(n-from, func(i int) bool {
			return x.rows.Value(row(from+i), x.column).Int >= than
		})
	}
	at = least(v, 0)
	if v == math.MaxInt64 {
		return at, n
	}
	return at, least(v+1, at)
}
