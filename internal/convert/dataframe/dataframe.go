// Package dataframe writes the tables of a run (package tables) as files for data frames: CSV, which
// everything reads, and Parquet, which is smaller, keeps types, and lets readers skip what they do not need.
//
// A table is written a few rows at a time, of Parquet some row groups. Memory does not grow with the table.
package dataframe

import (
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"unsafe"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/whyslow/whyslow/internal/files"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/show/sql"
	"github.com/whyslow/whyslow/internal/show/tables"
)

// WriteTable writes the rows of a table.
type WriteTable func(ctx context.Context, w io.Writer, t *tables.Table, rows *tables.Rows) error

// Folder writes all tables of a run to a folder, which is made if need be: TABLE plus the extension for each.
// A file replaces an old one when it is complete. done, if not nil, is called before each table.
func Folder(ctx context.Context, dir, extension string, s *tables.Source, write WriteTable,
	done func(table string)) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for _, t := range tables.All() {
		if done != nil {
			done(t.Name)
		}
		rows, err := t.Rows(ctx, s)
		if err != nil {
			return err
		}
		if err := files.Replace(filepath.Join(dir, t.Name+extension), func(w io.Writer) (err error) {
			defer tables.Catch(&err)
			return write(ctx, w, t, rows)
		}); err != nil {
			return err
		}
	}
	return nil
}

// chunk is how many rows are written at once: so few that their fields stay in the processor's cache.
const chunk = 64

// CSV writes a table as RFC 4180 says; what is null is empty.
func CSV(ctx context.Context, w io.Writer, t *tables.Table, rows *tables.Rows) error {
	out := sql.NewCSV(w)
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = c.Name
	}
	if err := out.Begin(names); err != nil {
		return err
	}
	row := make([]tables.Value, len(names))
	for i := range rows.Len() {
		if i%chunk == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		rows.Row(i, row)
		if err := out.Row(row); err != nil {
			return err
		}
	}
	return out.End()
}

// rowGroup is how many rows a reader of Parquet can skip at once. Their columns are in memory until the group
// is written.
const rowGroup = 1 << 18

// atOnce is how many row groups are made at once at most.
const atOnce = 4

// Parquet writes a table as a Parquet file: columns of int64, double or UTF-8, all optional, compressed with
// zstd at its fastest level, as others take longer and save nothing. Integers are stored as differences,
// texts by a dictionary, or one after the other where most of them differ. The metadata tells
// whyslow.tables_version.
//
// Several row groups are made at once; they are written in order.
func Parquet(ctx context.Context, w io.Writer, t *tables.Table, rows *tables.Rows) error {
	return inGroups(ctx, w, t, rows, rowGroup)
}

func inGroups(ctx context.Context, w io.Writer, t *tables.Table, rows *tables.Rows, each int) error {
	out := parquet.NewGenericWriter[any](w, schemaOf(t, rows),
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}), parquet.CreatedBy("whyslow", "", ""),
		parquet.KeyValueMetadata("whyslow.tables_version", strconv.Itoa(tables.Version)))
	groups := (rows.Len() + each - 1) / each
	turns := make([]chan struct{}, groups+1) // closed when the groups before are written
	for i := range turns {
		turns[i] = make(chan struct{})
	}
	close(turns[0])
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	made := make([]*parquet.ConcurrentRowGroupWriter, procs.Lanes(min(atOnce, runtime.GOMAXPROCS(0)), groups))
	if err := procs.Each(ctx, len(made), groups, func(lane, g int) (err error) {
		defer func() {
			if err != nil {
				cancel(err) // nobody waits for its turn any more
			}
		}()
		defer tables.Catch(&err)
		if made[lane] == nil {
			made[lane] = out.BeginRowGroup()
		}
		if err := fillGroup(ctx, made[lane], rows, g*each, min((g+1)*each, rows.Len())); err != nil {
			return err
		}
		select {
		case <-turns[g]:
			if _, err := made[lane].Commit(); err != nil {
				return err
			}
			close(turns[g+1])
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}); err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	return out.Close()
}

// fillGroup makes a row group of rows from up to to.
func fillGroup(ctx context.Context, group *parquet.ConcurrentRowGroupWriter, rows *tables.Rows,
	from, to int) error {
	columns := group.ColumnWriters()
	values := make([][]parquet.Value, len(columns))
	row := make([]tables.Value, len(columns))
	for ; from < to; from += chunk {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for c := range values {
			values[c] = values[c][:0]
		}
		for i := from; i < min(from+chunk, to); i++ {
			rows.Row(i, row)
			for c := range row {
				values[c] = append(values[c], value(&row[c], c))
			}
		}
		for c, column := range columns {
			if _, err := column.WriteRowValues(values[c]); err != nil {
				return err
			}
		}
	}
	return group.Flush()
}

// value is a field for a column. A text is not copied: Parquet only reads it.
func value(v *tables.Value, column int) parquet.Value {
	switch v.Type {
	case tables.Integer:
		return parquet.Int64Value(v.Int).Level(0, 1, column)
	case tables.Real:
		return parquet.DoubleValue(v.Real).Level(0, 1, column)
	case tables.Text:
		return parquet.ByteArrayValue(unsafe.Slice(unsafe.StringData(v.Text), len(v.Text))).Level(0, 1, column)
	}
	return parquet.NullValue().Level(0, 0, column)
}

// differ tells whether most texts of a column are different ones, as far as some rows tell.
func differ(rows *tables.Rows, column int) bool {
	const some = 200
	if rows.Len() < some {
		return false
	}
	seen := map[string]bool{}
	for k := range some {
		seen[rows.Value(k*(rows.Len()/some), column).Text] = true
	}
	return len(seen) > some/2
}

// schemaOf gives the schema of a table. It comes from a struct, because only that keeps the order of columns.
func schemaOf(t *tables.Table, rows *tables.Rows) *parquet.Schema {
	var fields []reflect.StructField
	for i, c := range t.Columns {
		f := reflect.StructField{Name: "Column" + strconv.Itoa(i)}
		how := ""
		switch c.Type {
		case tables.Integer:
			f.Type, how = reflect.TypeFor[int64](), ",delta"
		case tables.Real:
			f.Type = reflect.TypeFor[float64]()
		default:
			if f.Type, how = reflect.TypeFor[string](), ",dict"; differ(rows, i) {
				how = ",plain"
			}
		}
		f.Tag = reflect.StructTag("parquet:" + strconv.Quote(c.Name+",optional"+how))
		fields = append(fields, f)
	}
	return parquet.NewSchema(t.Name, parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface()))
}
