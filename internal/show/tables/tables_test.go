package tables

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/memory"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/show/view/eventlist"
	"github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/internal/tracefile/eventjson"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

var update = flag.Bool("update", false, "write docs/tables.md")

// TestRandom: in runs of every kind each field has the type of its column or is null, keys name one row, and
// what refers to another table is in it.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := ""
		if rapid.IntRange(0, 3).Draw(t, "regions") == 0 {
			text = sloutest.RandomRegions(t)
		} else {
			run := sloutest.Random(t)
			for _, change := range [][]func(*rapid.T){{run.AddWaits}, {run.Stick, run.Harm, run.Kill}} {
				if i := rapid.IntRange(-1, len(change)-1).Draw(t, "change"); i >= 0 {
					change[i](t)
				}
			}
			text = run.Text()
		}
		sloutest.Folder(t, text, func(dir string) { checkRun(t, dir, text) })
	})
}

func checkRun(t *rapid.T, dir, text string) {
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err, text)
	}
	defer r.Close()
	s := &Source{Model: sloutest.Load(t, dir)}
	list := eventlist.Open(r, s.Model)
	defer list.Close()
	s.Events = func() (*eventlist.List, error) { return list, nil }
	checkEvents(t, s, dir, text)
	have := map[string]map[int64]bool{} // by column: its numbers
	refers := map[string]map[int64]bool{}
	for _, table := range All() {
		rows, err := table.Rows(context.Background(), s)
		if err != nil {
			t.Fatal(table.Name, err, text)
		}
		keys := map[string]bool{}
		for row := range rows.Len() {
			key := ""
			for i, c := range table.Columns {
				v := rows.Value(row, i)
				if v.Type != Null && v.Type != c.Type {
					t.Fatalf("%s.%s: %+v is no %s", table.Name, c.Name, v, c.Type)
				}
				if c.Key {
					key += fmt.Sprintf("%+v ", v)
				}
				if v.Type == Integer {
					put(have, table.Name+"."+c.Name, v.Int)
					if c.Refers != "" {
						put(refers, c.Refers, v.Int)
					}
				}
			}
			if key != "" && keys[key] {
				t.Fatalf("%s has the key %s twice\n%s", table.Name, key, text)
			}
			keys[key] = true
		}
	}
	for column, list := range refers {
		for v := range list {
			if !have[column][v] {
				t.Fatalf("%s has no %d\n%s", column, v, text)
			}
		}
	}
}

// TestStable: whatever reads a trace, and in whatever order its streams come, all tables are the same.
func TestStable(t *testing.T) {
	dir := sloutest.Recorded(t, "cholesky", effort.Times(8, 20))
	spill, err := memory.NewSpill(1<<30, 0, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer spill.Close()
	first := map[string][]string{}
	for _, opt := range []model.Options{{Parallel: 1}, {Parallel: 16}, {Parallel: 16, Spill: spill}} {
		r, err := trace.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		m, err := model.Build(context.Background(), r, opt)
		if err != nil {
			t.Fatal(err)
		}
		list := eventlist.Open(r, m)
		s := &Source{Model: m, Events: func() (*eventlist.List, error) { return list, nil }}
		for _, table := range All() {
			rows, err := table.Rows(context.Background(), s)
			if err != nil {
				t.Fatal(table.Name, err)
			}
			got := make([]string, rows.Len())
			for row := range got {
				var b []byte
				for c := range table.Columns {
					v := rows.Value(row, c)
					b = strconv.AppendInt(append(b, byte('0'+v.Type)), v.Int, 10)
					b = append(strconv.AppendFloat(b, v.Real, 'g', -1, 64), v.Text...)
				}
				got[row] = string(b)
			}
			if opt.Parallel == 1 {
				first[table.Name] = got
			} else if want := first[table.Name]; !slices.Equal(want, got) {
				i := slices.IndexFunc(got, func(row string) bool { return !slices.Contains(want, row) })
				t.Errorf("%s, %+v: %d rows, then %d, in another order or such as %v", table.Name, opt, len(want),
					len(got), got[max(i, 0)])
			}
		}
		list.Close()
		r.Close()
	}
}

// checkEvents: the table of events has each that dump has, once, in order of time.
func checkEvents(t *rapid.T, s *Source, dir, text string) {
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	left, total := map[string]int{}, 0
	if err := r.Each(1, func(b *trace.Batch) error {
		for i := range b.N {
			var e struct {
				Node, Stream int
				Event        string
				Fields       json.RawMessage
			}
			if err := json.Unmarshal(eventjson.Append(nil, r.Defs(b.Node), b, i), &e); err != nil {
				return err
			}
			left[fmt.Sprint(e.Node, e.Stream, e.Event, string(e.Fields))]++
			total++
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	rows, err := events.Rows(context.Background(), s)
	if err != nil || rows.Len() != total {
		t.Fatalf("%v: %d events of %d\n%s", err, rows.Len(), total, text)
	}
	at := func(row int, name string) Value { return rows.Value(row, events.Column(name)) }
	for row := range total {
		key := fmt.Sprint(at(row, "node").Int, at(row, "stream").Int, at(row, "kind").Text, at(row, "fields").Text)
		if left[key]--; left[key] < 0 {
			t.Fatalf("%s is no event of\n%s", key, text)
		}
		if row > 0 && at(row, "time_ns").Int < at(row-1, "time_ns").Int {
			t.Fatalf("event %d is before the one before\n%s", row, text)
		}
	}
}

// TestUnreadable: a trace that goes away is an error at the row that needs it.
func TestUnreadable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x.trace")
	if err := twin.Parse(strings.NewReader("#node 0\n#code 1 f atomic\n#site 1 code=1\n"+
		"1 n0 s0 GlobalEvents.onProgramStarted\n2 n0 s0 CFEvents.onCreated cf=0.1 site=1\n"), dir); err != nil {
		t.Fatal(err)
	}
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	m := sloutest.Load(t, dir)
	list := eventlist.Open(r, m)
	defer list.Close()
	s := &Source{Model: m, Events: func() (*eventlist.List, error) { return list, nil }}
	rows, err := events.Rows(context.Background(), s)
	if err != nil || rows.Len() != 2 {
		t.Fatal(err, rows.Len())
	}
	defer r.Close()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := os.Truncate(filepath.Join(dir, f.Name()), 0); err != nil {
			t.Fatal(err)
		}
	}
	read := func() (err error) {
		defer Catch(&err)
		rows.Value(1, 0)
		return nil
	}
	if err := read(); err == nil || !strings.Contains(err.Error(), "can no longer be read") {
		t.Error(err)
	}
}

func put(m map[string]map[int64]bool, name string, v int64) {
	if m[name] == nil {
		m[name] = map[int64]bool{}
	}
	m[name][v] = true
}

// TestNames: names are words of SQL that need no quotes, none stands twice, and what refers to a column
// refers to one that is there.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, table := range All() {
		if Find(table.Name) != table || seen[table.Name] || table.Doc == "" {
			t.Errorf("table %s", table.Name)
		}
		seen[table.Name] = true
		for i, c := range table.Columns {
			full := table.Name + "." + c.Name
			if seen[full] || strings.Trim(c.Name, "abcdefghijklmnopqrstuvwxyz_") != "" || c.Doc == "" ||
				table.Column(c.Name) != i || c.Unit == "ns" && !strings.HasSuffix(c.Name, "ns") {
				t.Errorf("column %s", full)
			}
			seen[full] = true
			if name, column, ok := strings.Cut(c.Refers, "."); c.Refers != "" && (!ok || Find(name) == nil ||
				Find(name).Column(column) < 0) {
				t.Errorf("column %s refers to %s", full, c.Refers)
			}
		}
	}
	if Find("nothing") != nil || Find("cfs").Column("nothing") >= 0 {
		t.Error("found what is not there")
	}
}

// TestDocumented: docs/tables.md has every table and column as they are defined.
func TestDocumented(t *testing.T) {
	const name, begin, end = "../../../docs/tables.md", "<!-- generated: tables -->\n", "<!-- end of tables -->\n"
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := bytes.Cut(page, []byte(begin))
	_, after, ok2 := bytes.Cut(rest, []byte(end))
	if !ok1 || !ok2 {
		t.Fatal(name + " has no place for the tables")
	}
	var b bytes.Buffer
	b.Write(before)
	b.WriteString(begin)
	for _, table := range All() {
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n| column | type | what |\n|---|---|---|\n", table.Name, table.Doc)
		for _, c := range table.Columns {
			kind, about := strings.ToLower(c.Type.String()), strings.ReplaceAll(c.Doc, "|", `\|`)
			if c.Unit != "" {
				kind += ", " + c.Unit
			}
			if c.Key {
				kind += ", key"
			}
			if c.Refers != "" {
				about += "; refers to `" + c.Refers + "`"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.Name, kind, about)
		}
	}
	b.WriteString("\n" + end)
	b.Write(after)
	if bytes.Equal(b.Bytes(), page) {
		return
	}
	if !*update {
		t.Fatal(name + " is not current: run go generate ./internal/show/tables")
	}
	if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
