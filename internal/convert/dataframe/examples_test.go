package dataframe_test

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/convert/dataframe"
	"github.com/whyslow/whyslow/internal/show/tables"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// TestExamples: the examples of the documents for pandas and R give the sums that are in the tables.
func TestExamples(t *testing.T) {
	s := &tables.Source{Model: sloutest.Load(t, sloutest.Recorded(t, "cholesky", 1))}
	dir := t.TempDir()
	frames := filepath.Join(dir, "frames")
	ctx := context.Background()
	if err := dataframe.Folder(ctx, frames, ".csv", s, dataframe.CSV, nil); err != nil {
		t.Fatal(err)
	}
	table := tables.Find("pieces")
	rows, err := table.Rows(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{}
	for row := range rows.Len() {
		want[rows.Value(row, table.Column("factor")).Text] += rows.Value(row, table.Column("ns")).Int
	}
	page, err := os.ReadFile("../../../docs/converting.md")
	if err != nil {
		t.Fatal(err)
	}
	run := func(t *testing.T, pkg string, command ...string) string {
		if _, err := exec.LookPath(command[0]); err != nil {
			t.Skipf("no %s here: apt-get install %s", command[0], pkg)
		}
		c := exec.Command(command[0], command[1:]...)
		c.Dir = dir
		out, err := c.CombinedOutput()
		if strings.Contains(string(out), "ModuleNotFoundError") {
			t.Skipf("apt-get install %s: %s", pkg, out)
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	for _, example := range []struct {
		name, fence string
		ask         func(t *testing.T, code string) string
	}{
		{"pandas", "python", func(t *testing.T, code string) string {
			return run(t, "python3-pandas", "/usr/bin/python3", "-c", code)
		}},
		{"R", "r", func(t *testing.T, code string) string {
			return run(t, "r-base-core", "Rscript", "-e", "options(digits = 15)\n"+code)
		}},
	} {
		t.Run(example.name, func(t *testing.T) {
			_, code, found := strings.Cut(string(page), "```"+example.fence+"\n")
			code, _, _ = strings.Cut(code, "```")
			if !found {
				t.Fatal("docs/converting.md has no example")
			}
			out := example.ask(t, code)
			got := map[string]int64{}
			for _, m := range regexp.MustCompile(`([A-Z])\W+(?:ns\W+)?(\d+)`).FindAllStringSubmatch(out, -1) {
				got[m[1]], _ = strconv.ParseInt(m[2], 10, 64)
			}
			if !maps.Equal(got, want) {
				t.Errorf("%v, not %v\n%s", got, want, out)
			}
		})
	}
}
