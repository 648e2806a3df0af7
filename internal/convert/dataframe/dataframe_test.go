package dataframe_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/convert/dataframe"
	"github.com/whyslow/whyslow/internal/show/tables"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// TestRandom: both formats have every field of every table, in its place and with its type.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := sloutest.Random(t).Text()
		if rapid.IntRange(0, 3).Draw(t, "regions") == 0 {
			text = sloutest.RandomRegions(t)
		}
		s := &tables.Source{Model: sloutest.Build(t, text)}
		ctx := context.Background()
		for range 4 {
			table := rapid.SampledFrom(tables.All()).Draw(t, "table")
			rows, err := table.Rows(ctx, s)
			if err != nil {
				t.Fatal(err)
			}
			var comma, columns bytes.Buffer
			if err := dataframe.CSV(ctx, &comma, table, rows); err != nil {
				t.Fatal(err)
			}
			each := rapid.IntRange(1, 100).Draw(t, "rows of a group")
			if err := dataframe.InGroups(ctx, &columns, table, rows, each); err != nil {
				t.Fatal(err)
			}
			checkCSV(t, comma.Bytes(), table, rows)
			checkParquet(t, columns.Bytes(), table, rows)
		}
	})
}

func checkCSV(t *rapid.T, text []byte, table *tables.Table, rows *tables.Rows) {
	got, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(got) != rows.Len()+1 {
		t.Fatalf("%s: %v, %d lines for %d rows", table.Name, err, len(got), rows.Len())
	}
	for i, c := range table.Columns {
		if got[0][i] != c.Name {
			t.Fatalf("%s: column %d is %s", table.Name, i, got[0][i])
		}
		for row := range rows.Len() {
			want := rows.Value(row, i)
			field := got[row+1][i]
			switch n, f := int64(0), 0.0; want.Type {
			case tables.Null:
				if field != "" {
					t.Fatalf("%s.%s: %q is null", table.Name, c.Name, field)
				}
			case tables.Integer:
				if n, err = strconv.ParseInt(field, 10, 64); err != nil || n != want.Int {
					t.Fatalf("%s.%s: %q is %d", table.Name, c.Name, field, want.Int)
				}
			case tables.Real:
				if f, err = strconv.ParseFloat(field, 64); err != nil || f != want.Real {
					t.Fatalf("%s.%s: %q is %g", table.Name, c.Name, field, want.Real)
				}
			case tables.Text:
				if field != want.Text {
					t.Fatalf("%s.%s: %q is %q", table.Name, c.Name, field, want.Text)
				}
			}
		}
	}
}

func checkParquet(t *rapid.T, text []byte, table *tables.Table, rows *tables.Rows) {
	f, err := parquet.OpenFile(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(table.Name, err)
	}
	if v, ok := f.Lookup("whyslow.tables_version"); !ok || v != strconv.Itoa(tables.Version) {
		t.Fatalf("%s: version %q", table.Name, v)
	}
	if f.NumRows() != int64(rows.Len()) {
		t.Fatalf("%s: %d rows, not %d", table.Name, f.NumRows(), rows.Len())
	}
	kinds := map[tables.Type]parquet.Kind{tables.Integer: parquet.Int64, tables.Real: parquet.Double,
		tables.Text: parquet.ByteArray}
	for i, c := range f.Root().Columns() {
		if c.Name() != table.Columns[i].Name || c.Type().Kind() != kinds[table.Columns[i].Type] || !c.Optional() {
			t.Fatalf("%s: column %d is %s, %s", table.Name, i, c.Name(), c.Type())
		}
	}
	in := parquet.NewReader(f)
	defer in.Close()
	got := make([]parquet.Row, 1)
	for row := range rows.Len() {
		if n, err := in.ReadRows(got); n != 1 || err != nil && !errors.Is(err, io.EOF) {
			t.Fatalf("%s: row %d: %v", table.Name, row, err)
		}
		for i, v := range got[0] {
			want := rows.Value(row, i)
			same := false
			switch want.Type {
			case tables.Null:
				same = v.IsNull()
			case tables.Integer:
				same = !v.IsNull() && v.Int64() == want.Int
			case tables.Real:
				same = !v.IsNull() && v.Double() == want.Real
			case tables.Text:
				same = !v.IsNull() && string(v.ByteArray()) == want.Text
			}
			if !same {
				t.Fatalf("%s.%s, row %d: %+v, not %+v", table.Name, table.Columns[i].Name, row, v, want)
			}
		}
	}
}

// TestNames: names come out as they are.
func TestNames(t *testing.T) {
	s := &tables.Source{Model: sloutest.Build(t, sloutest.Named())}
	ctx := context.Background()
	table := tables.Find("codes")
	rows, err := table.Rows(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	var comma, columns bytes.Buffer
	if err := errors.Join(dataframe.CSV(ctx, &comma, table, rows),
		dataframe.Parquet(ctx, &columns, table, rows)); err != nil {
		t.Fatal(err)
	}
	var names, inCSV, inParquet []string
	at := table.Column("name")
	got, err := csv.NewReader(&comma).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range got[1:] {
		inCSV = append(inCSV, row[at])
	}
	in := parquet.NewReader(bytes.NewReader(columns.Bytes()))
	defer in.Close()
	row := make([]parquet.Row, 1)
	for range rows.Len() {
		if n, err := in.ReadRows(row); n != 1 {
			t.Fatal(err)
		}
		inParquet = append(inParquet, string(row[0][at].ByteArray()))
	}
	for _, name := range sloutest.Names {
		names = append(names, strings.ReplaceAll(name, "\r\n", "\n")) // encoding/csv reads it so
	}
	if !slices.Equal(inCSV[1:], names) { // the first is of what is not known
		t.Errorf("CSV: %q", inCSV)
	}
	if !slices.Equal(inParquet[1:], sloutest.Names) {
		t.Errorf("Parquet: %q", inParquet)
	}
}

const small = "#node 0\n0 Global.onProgramStarted\n9 Global.onProgramFinished\n"

// TestFolder: each table is a file; what cannot be written, or is not wanted any more, is said.
func TestFolder(t *testing.T) {
	s := &tables.Source{Model: sloutest.Build(t, small)}
	dir := filepath.Join(t.TempDir(), "deep", "er")
	told := 0
	if err := dataframe.Folder(context.Background(), dir, ".csv", s, dataframe.CSV, func(string) {
		told++
	}); err != nil {
		t.Fatal(err)
	}
	for _, table := range tables.All() {
		if _, err := os.Stat(filepath.Join(dir, table.Name+".csv")); err != nil {
			t.Error(err)
		}
	}
	if told != len(tables.All()) {
		t.Errorf("%d tables were told", told)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, write := range []dataframe.WriteTable{dataframe.CSV, dataframe.Parquet} {
		if err := dataframe.Folder(ctx, t.TempDir(), ".x", &tables.Source{Model: s.Model}, write,
			nil); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		rows, err := tables.Find("runs").Rows(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		if err := write(context.Background(), failing{}, tables.Find("runs"), rows); !errors.Is(err, errFull) {
			t.Error(err)
		}
	}
}

// TestGroupsEnd: where one of many row groups fails, the others do not wait for it.
func TestGroupsEnd(t *testing.T) {
	s := &tables.Source{Model: sloutest.Build(t, small+strings.Replace(small, "0", "1", 1)+
		strings.Replace(small, "0", "2", 1))}
	ctx := context.Background()
	table := tables.Find("nodes")
	rows, err := table.Rows(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	if rows.Len() < 3 {
		t.Fatal(rows.Len())
	}
	if err := dataframe.InGroups(ctx, failing{}, table, rows, 1); !errors.Is(err, errFull) {
		t.Error(err)
	}
	reason := errors.New("enough")
	ctx, cancel := context.WithCancelCause(ctx)
	cancel(reason)
	if err := dataframe.InGroups(ctx, io.Discard, table, rows, 1); !errors.Is(err, reason) {
		t.Error(err)
	}
}

var errFull = errors.New("full")

// failing cannot be written to.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }
