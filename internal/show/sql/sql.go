// Package sql answers questions about a run in SQL: SQLite over the tables of package tables.
//
// SQLite is a library in Go, so no C compiler is needed. It sees the tables as virtual ones (vtab.go).
// Queries read the fields that they ask for out of the model; nothing is loaded into a database first.
//
// # What a query may do
//
// It can do no harm. There is no file to write to: the database is in memory and goes away with its DB, files
// cannot be attached, and the tables of the run cannot be changed. A query may make tables and views of its
// own meanwhile. It is bounded in memory, by what Open is given, and in time, by the context of Run. What it
// sorts may go to a temporary file.
package sql

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ncruces/go-sqlite3"

	"github.com/whyslow/whyslow/internal/show/tables"
	"github.com/whyslow/whyslow/internal/words"
)

// DB is SQLite with the tables of one run. It is for one goroutine at a time.
type DB struct {
	source *tables.Source
	conn   *sqlite3.Conn
	ctx    context.Context // of the query at hand
	broken error           // the connection ran out of memory: nothing more can be done with it
}

// Sink takes the results of statements, one after the other: Begin, each row, End. What it returns ends the
// query.
type Sink interface {
	Begin(columns []string) error
	// Row may keep the strings of the values, not the list. ErrEnough ends the statement alone.
	Row(values []tables.Value) error
	End() error
}

// ErrEnough says that a Sink wants no more rows of a result.
var ErrEnough = errors.New("no more rows are wanted")

// Error is a mistake in a query, or a bound that it met.
type Error struct {
	Line, Column int // where in the text, from 1, in characters; 0 and 0: nowhere
	Msg          string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Msg
	}
	return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Msg)
}

// readable are the pragmas that only tell something.
var readable = []string{"table_info", "table_xinfo", "table_list", "function_list", "pragma_list",
	"collation_list"}

// Open makes a DB of a run. Queries may take up to so many bytes of memory, at least a megabyte, beside the
// model; indices of tables (vtab.go) and results of analyses come on top of that.
func Open(ctx context.Context, source *tables.Source, memory int64) (_ *DB, err error) {
	d := &DB{source: source, ctx: ctx}
	defer d.recover(&err)
	const most = 4 << 30 // SQLite's addresses have 32 bits
	d.conn, err = sqlite3.OpenContext(sqlite3.WithMaxMemory(ctx, min(max(memory, 1<<20), most)), ":memory:")
	if err != nil {
		return nil, err
	}
	for _, t := range tables.All() {
		connect := func(c *sqlite3.Conn, _, _, _ string, _ ...string) (*table, error) {
			return &table{Table: t, db: d}, c.DeclareVTab(t.Schema())
		}
		err := sqlite3.CreateModule(d.conn, t.Name, nil, connect) //nolint:staticcheck // its heir needs Go 1.27
		if err != nil {
			return nil, errors.Join(err, d.conn.Close())
		}
	}
	return d, d.conn.SetAuthorizer(func(action sqlite3.AuthorizerActionCode, name, _, _, _ string) (
		answer sqlite3.AuthorizerReturnCode) {
		switch action {
		case sqlite3.AUTH_ATTACH, sqlite3.AUTH_DETACH, sqlite3.AUTH_CREATE_VTABLE, sqlite3.AUTH_DROP_VTABLE:
			return sqlite3.AUTH_DENY
		case sqlite3.AUTH_PRAGMA:
			if !slices.Contains(readable, strings.ToLower(name)) {
				return sqlite3.AUTH_DENY
			}
		}
		return sqlite3.AUTH_OK
	})
}

// Close gives back what d holds.
func (d *DB) Close() error {
	if d.broken != nil {
		return nil
	}
	return d.conn.Close()
}

// outOfMemory is the panic with which the library says that SQLite has no more memory.
const outOfMemory = "sqlite3: out of memory"

// recover turns that panic into an error, and that of a trace that can no longer be read.
func (d *DB) recover(err *error) {
	switch r := recover().(type) {
	case nil:
	case tables.Unreadable:
		d.broken, *err = r, r
	case error:
		if r.Error() != outOfMemory {
			panic(r)
		}
		d.broken = &Error{Msg: "the query needs more memory than it may take"}
		*err = d.broken
	default:
		panic(r)
	}
}

// Run executes the statements of a text, in order. Errors of the query are of type *Error; what the sink
// returns, and the cause of the end of ctx, come back as they are.
func (d *DB) Run(ctx context.Context, text string, to Sink) (err error) {
	if d.broken != nil {
		return d.broken
	}
	if strings.ContainsRune(text, 0) {
		return &Error{Msg: "the query is not text: it has a NUL"}
	}
	defer d.recover(&err)
	d.ctx = ctx
	d.conn.SetInterrupt(ctx)
	found := false
	for rest := text; rest != ""; {
		stmt, tail, err := d.conn.Prepare(rest)
		if err != nil {
			return d.mistake(err, text, rest)
		}
		if stmt != nil {
			found = true
			if err := d.execute(stmt, to); err != nil {
				return err
			}
		}
		rest = tail
	}
	if !found {
		return &Error{Msg: "there is no statement: try select * from runs"}
	}
	return nil
}

func (d *DB) execute(stmt *sqlite3.Stmt, to Sink) error {
	defer stmt.Close() //nolint:errcheck // it repeats what Err says
	n := stmt.ColumnCount()
	if n > 0 {
		columns := make([]string, n)
		for i := range columns {
			columns[i] = stmt.ColumnName(i)
		}
		if err := to.Begin(columns); err != nil {
			return err
		}
	}
	row := make([]tables.Value, n)
	for stmt.Step() {
		if n == 0 {
			continue
		}
		for i := range row {
			row[i] = value(stmt, i)
		}
		if err := to.Row(row); errors.Is(err, ErrEnough) {
			return to.End()
		} else if err != nil {
			return err
		}
	}
	if err := stmt.Err(); err != nil {
		return d.mistake(err, "", "")
	}
	if n == 0 {
		return nil
	}
	return to.End()
}

// value gives a field of the present row. Bytes are shown as SQL writes them.
func value(stmt *sqlite3.Stmt, i int) tables.Value {
	switch stmt.ColumnType(i) {
	case sqlite3.INTEGER:
		return tables.Int(stmt.ColumnInt64(i))
	case sqlite3.FLOAT:
		return tables.Float(stmt.ColumnFloat(i))
	case sqlite3.TEXT:
		return tables.Value{Type: tables.Text, Text: strings.ToValidUTF8(stmt.ColumnText(i), "\ufffd")}
	case sqlite3.BLOB:
		return tables.Value{Type: tables.Text, Text: "x'" + hex.EncodeToString(stmt.ColumnBlob(i, nil)) + "'"}
	}
	return tables.Value{}
}

var unknown = regexp.MustCompile(`^no such (table|column): (?:\w+\.)?(\w+)`)

// mistake words an error of SQLite. Of one that was found in a text, rest is what was to be prepared.
func (d *DB) mistake(err error, text, rest string) error {
	if cause := context.Cause(d.ctx); cause != nil {
		return cause
	}
	e := &Error{Msg: strings.TrimPrefix(err.Error(), "sqlite3: ")}
	var own *sqlite3.Error
	if errors.As(err, &own) {
		e.Msg = strings.TrimPrefix(e.Msg, strings.TrimPrefix(own.Code().Error(), "sqlite3: ")+": ")
		if at := own.SQL(); at != "" && strings.HasSuffix(rest, at) {
			before := text[:len(text)-len(at)]
			e.Line = 1 + strings.Count(before, "\n")
			e.Column = 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
		}
	}
	if errors.Is(err, sqlite3.AUTH) {
		e.Msg = "not allowed: a query reads the trace, it makes and changes no files"
	}
	if m := unknown.FindStringSubmatch(e.Msg); m != nil {
		known := tables.Names()
		if m[1] == "column" {
			known = nil
			for _, t := range tables.All() {
				for _, c := range t.Columns {
					known = append(known, c.Name)
				}
			}
		}
		if near := words.DidYouMean(m[2], known); near != "" {
			e.Msg += near
		} else {
			e.Msg += "; sql --tables lists them"
		}
	}
	return e
}
