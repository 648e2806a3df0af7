// Package dataframe writes the tables of a run (package tables) as files for data frames: CSV, which
// everything reads, and Parquet, which is smaller, keeps types, and lets readers skip what they do not need.
//
// A table is written a few thousand rows at a time. Memory does not grow with the table.
package dataframe

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"github.com/whyslow/whyslow/internal/files"
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

// chunk is how many rows are written at once.
const chunk = 4096

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
		for c := range row {
			row[c] = rows.Value(i, c)
		}
		if err := out.Row(row); err != nil {
			return err
		}
	}
	return out.End()
}

// rowGroup is how many rows a reader of Parquet can skip at once. Their columns are in memory until the group
// is written.
const rowGroup = 64 * chunk

// Parquet writes a table as a Parquet file: columns of int64, double or UTF-8, all optional, compressed with
// zstd. Integers are stored as differences, texts by a dictionary. The metadata tells whyslow.tables_version.
func Parquet(ctx context.Context, w io.Writer, t *tables.Table, rows *tables.Rows) error {
	out := parquet.NewGenericWriter[any](w, schemaOf(t), parquet.Compression(&parquet.Zstd),
		parquet.CreatedBy("whyslow", "", ""),
		parquet.KeyValueMetadata("whyslow.tables_version", strconv.Itoa(tables.Version)))
	columns := out.ColumnWriters()
	values := make([]parquet.Value, 0, chunk)
	for from := 0; from < rows.Len(); from += chunk {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for c, column := range columns {
			values = values[:0]
			for i := from; i < min(from+chunk, rows.Len()); i++ {
				values = append(values, value(rows.Value(i, c), c))
			}
			if _, err := column.WriteRowValues(values); err != nil {
				return err
			}
		}
		if (from+chunk)%rowGroup == 0 {
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
	return out.Close()
}

func value(v tables.Value, column int) parquet.Value {
	switch v.Type {
	case tables.Integer:
		return parquet.Int64Value(v.Int).Level(0, 1, column)
	case tables.Real:
		return parquet.DoubleValue(v.Real).Level(0, 1, column)
	case tables.Text:
		return parquet.ByteArrayValue([]byte(v.Text)).Level(0, 1, column)
	}
	return parquet.NullValue().Level(0, 0, column)
}

// schemaOf gives the schema of a table. It comes from a struct, because only that keeps the order of columns.
func schemaOf(t *tables.Table) *parquet.Schema {
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
			f.Type, how = reflect.TypeFor[string](), ",dict"
		}
		f.Tag = reflect.StructTag("parquet:" + strconv.Quote(c.Name+",optional"+how))
		fields = append(fields, f)
	}
	return parquet.NewSchema(t.Name, parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface()))
}
