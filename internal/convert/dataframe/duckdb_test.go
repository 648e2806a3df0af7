package dataframe_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/convert/dataframe"
	"github.com/whyslow/whyslow/internal/show/tables"
	"github.com/whyslow/whyslow/internal/testkit/duckdb"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// TestDuckDB: DuckDB reads the same from both formats as is in the tables, and the query of the documents
// works.
func TestDuckDB(t *testing.T) {
	s := &tables.Source{Model: sloutest.Load(t, sloutest.Recorded(t, "cholesky", 1))}
	dir := t.TempDir()
	frames := filepath.Join(dir, "frames")
	ctx := context.Background()
	if err := errors.Join(dataframe.Folder(ctx, frames, ".parquet", s, dataframe.Parquet, nil),
		dataframe.Folder(ctx, frames, ".csv", s, dataframe.CSV, nil)); err != nil {
		t.Fatal(err)
	}
	var queries, want []string
	for _, table := range tables.All() {
		rows, err := table.Rows(ctx, s)
		if err != nil {
			t.Fatal(err)
		}
		ask, sums := "select count(*) || '", fmt.Sprint(rows.Len())
		for c, column := range table.Columns {
			of := map[tables.Type]string{tables.Integer: "sum(%s)", tables.Real: "count(%s)",
				tables.Text: "sum(strlen(%s))"}[column.Type]
			ask += " ' || coalesce(" + fmt.Sprintf(of, `"`+column.Name+`"`) + ", 0) || '"
			sum, count := new(big.Int), 0
			for row := range rows.Len() {
				v := rows.Value(row, c)
				if v.Type != tables.Null {
					count++
				}
				sum.Add(sum, big.NewInt(v.Int+int64(len(v.Text))))
			}
			if column.Type == tables.Real {
				sum.SetInt64(int64(count))
			}
			sums += " " + sum.String()
		}
		queries, want = append(queries, ask+"' as sums from 'frames/"+table.Name+".parquet'"), append(want, sums)
		queries = append(queries, "select count(*) || '' as sums from read_csv('frames/"+table.Name+".csv', header = true)")
		want = append(want, fmt.Sprint(rows.Len()))
	}
	page, err := os.ReadFile("../../../docs/converting.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(page), "```sql\n")
	example, _, _ = strings.Cut(example, "```")
	answers := duckdb.Ask(t, dir, append(queries, example)...)
	for i, sums := range want {
		if got := answers[i][0]["sums"]; got != sums {
			t.Errorf("%s: %v, not %s", queries[i], got, sums)
		}
	}
	if rows := answers[len(want)]; len(rows) == 0 || rows[0]["name"] == nil || rows[0]["ms"].(float64) <= 0 {
		t.Errorf("%s: %v", example, rows)
	}
}
