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
		rows.Row(i, row)
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
// zstd. Integers are stored as differences, texts by a dictionary, or one after the other where most of them differ.
// The metadata tells whyslow.tables_version.
func Parquet(ctx context.Context, w io.Writer, t *tables.Table, rows *tables.Rows) error {
	out := parquet.NewGenericWriter[any](w, schemaOf(t, rows), parquet.Compression(&parquet.Zstd),
		parquet.CreatedBy("whyslow", "", ""),
		parquet.KeyValueMetadata("whyslow.tables_version", strconv.Itoa(tables.Version)))
	columns := out.ColumnWriters()
	values := make([][]parquet.Value, len(columns))
	row := make([]tables.Value, len(columns))
	var texts []byte // of a chunk
	for from := 0; from < rows.Len(); from += chunk {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		texts = texts[:0]
		for c := range values {
			values[c] = values[c][:0]
		}
		for i := from; i < min(from+chunk, rows.Len()); i++ {
			rows.Row(i, row)
			for c, v := range row {
				if v.Type == tables.Text {
					texts = append(texts, v.Text...)
				}
				values[c] = append(values[c], value(v, texts, c))
			}
		}
		for c, column := range columns {
			if _, err := column.WriteRowValues(values[c]); err != nil {
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

// value is a field for a column; of a text it is what stands at the end of texts.
func value(v tables.Value, texts []byte, column int) parquet.Value {
	switch v.Type {
	case tables.Integer:
		return parquet.Int64Value(v.Int).Level(0, 1, column)
	case tables.Real:
		return parquet.DoubleValue(v.Real).Level(0, 1, column)
	case tables.Text:
		return parquet.ByteArrayValue(texts[len(texts)-len(v.Text):]).Level(0, 1, column)
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
