package sql_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/show/report"
	"github.com/whyslow/whyslow/internal/show/sql"
	"github.com/whyslow/whyslow/internal/show/tables"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

const memory = 32 << 20

func open(t interface{ Fatal(args ...any) }, m *model.Model) *sql.DB {
	db, err := sql.Open(context.Background(), &tables.Source{Model: m}, memory)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// ask gives the rows of a query.
func ask(t interface{ Fatal(args ...any) }, db *sql.DB, query string) []map[string]any {
	var b strings.Builder
	if err := db.Run(context.Background(), query, sql.NewJSON(&b)); err != nil {
		t.Fatal(query, err)
	}
	var rows []map[string]any
	d := json.NewDecoder(strings.NewReader(b.String()))
	d.UseNumber()
	if err := d.Decode(&rows); err != nil {
		t.Fatal(err, b.String())
	}
	return rows
}

// one gives the only field of a query's only row, as it is written.
func one(t interface{ Fatal(args ...any) }, db *sql.DB, query string) string {
	rows := ask(t, db, query)
	if len(rows) != 1 || len(rows[0]) != 1 {
		t.Fatal(query, rows)
	}
	for _, v := range rows[0] {
		return fmt.Sprint(v)
	}
	return ""
}

func randomText(t *rapid.T) string {
	if rapid.IntRange(0, 3).Draw(t, "regions") == 0 {
		return sloutest.RandomRegions(t)
	}
	run := sloutest.Random(t)
	for _, change := range [][]func(*rapid.T){{run.AddWaits}, {run.Stick, run.Harm, run.Kill}} {
		if i := rapid.IntRange(-1, len(change)-1).Draw(t, "change"); i >= 0 {
			change[i](t)
		}
	}
	return run.Text()
}

// TestLookUp: a query finds the rows with a number in a column, however often it is asked.
func TestLookUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := sloutest.Build(t, randomText(t))
		db, source := open(t, m), &tables.Source{Model: m}
		defer db.Close()
		for range 3 {
			table := rapid.SampledFrom(tables.All()).Draw(t, "table")
			rows, err := table.Rows(context.Background(), source)
			if err != nil {
				t.Fatal(err)
			}
			for i, c := range table.Columns {
				if c.Type != tables.Integer {
					continue
				}
				var values []tables.Value
				for row := range rows.Len() {
					values = append(values, rows.Value(row, i))
				}
				for range 3 {
					v := rapid.Int64Range(-1, 20).Draw(t, "value")
					if len(values) > 0 && rapid.Bool().Draw(t, "there") {
						v = rapid.SampledFrom(values).Draw(t, "of").Int
					}
					want := 0
					for _, w := range values {
						if w.Type == tables.Integer && w.Int == v {
							want++
						}
					}
					how := rapid.SampledFrom([]string{"%d", "%d.0", "'%d'", "(select %d)"}).Draw(t, "how")
					query := fmt.Sprintf("select count(*) from %s where %s = "+how, table.Name, c.Name, v)
					if got := one(t, db, query); got != fmt.Sprint(want) {
						t.Fatalf("%s: %s, not %d", query, got, want)
					}
				}
			}
		}
	})
}

// TestAgrees: the tables have the numbers of report --json.
func TestAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := randomText(t)
		m := sloutest.Build(t, text)
		db := open(t, m)
		defer db.Close()
		all, err := report.Compute(context.Background(), m, report.Wanted{Windows: 200}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := report.JSON(&b, all, report.Options{}); err != nil {
			t.Fatal(err)
		}
		var r map[string]any
		d := json.NewDecoder(strings.NewReader(b.String()))
		d.UseNumber()
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		same := func(query string, want any) {
			if got := one(t, db, query); got != fmt.Sprint(want) {
				t.Fatalf("%s: %s, not %v\n%s", query, got, want, text)
			}
		}
		for _, name := range []string{"wall_ns", "total_ns", "extra_cores_ns"} {
			same("select "+name+" from runs", r[name])
		}
		same("select coalesce(sum(ns), 0) from factors", r["total_ns"])
		same("select lost_ns from runs", at(r, "loss", "ns"))
		same("select coalesce(sum(ns), 0) from pieces where factor = 'loss'", at(r, "loss", "ns"))
		for letter, f := range r["factors"].(map[string]any) {
			if f == nil {
				continue
			}
			same("select coalesce(sum(ns), 0) from factors where factor = '"+letter+"'", at(f, "ns"))
			extra := "0"
			for part, ns := range at(f, "parts").(map[string]any) {
				where := fmt.Sprintf(" where factor = '%s' and part = '%s'", letter, part)
				same("select coalesce(sum(ns), 0) from factors"+where, ns)
				if part == "extra" {
					extra = fmt.Sprint(ns)
					continue
				}
				same("select coalesce(sum(ns), 0) from pieces"+where, ns)
			}
			same("select coalesce(sum(ns), 0) + "+extra+" from pieces where factor = '"+letter+"'", at(f, "ns"))
		}
		for _, n := range r["nodes"].([]any) {
			for _, w := range at(n, "workers").([]any) {
				same(fmt.Sprintf("select coalesce(sum(ns), 0) from pieces where node = %v and worker = %v and factor"+
					" <> 'loss'", at(n, "node"), at(w, "worker")), at(w, "total_ns"))
			}
		}
		same("select count(*) from causes", len(r["causes"].([]any)))
		if path := at(r, "critical", "path"); path != nil {
			same("select coalesce(sum(ns), 0) from path", r["wall_ns"])
			same("select count(*) from path", at(path, "steps"))
		}
		series := 0
		list, _ := at(r, "series", "series").([]any) // none of a run without CFs
		for _, s := range list {
			series += len(at(s, "mean").([]any))
		}
		same("select count(*) from series", series)
		if at(r, "pgas") != nil {
			values := int64(0)
			for _, x := range all.Pattern.Metrics {
				for _, row := range x.Rows {
					for _, v := range row.Values {
						values += v
					}
				}
			}
			same("select coalesce(sum(value), 0) from patterns", values)
		}
	})
}

// at gives a member of an object in objects; nil where there is none.
func at(v any, names ...string) any {
	for _, n := range names {
		object, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = object[n]
	}
	return v
}

// TestQueries: each query that comes with whyslow works on runs of every kind and says what it tells.
func TestQueries(t *testing.T) {
	if len(sql.Queries) < 12 {
		t.Fatalf("there are %d queries", len(sql.Queries))
	}
	rapid.Check(t, func(t *rapid.T) {
		db := open(t, sloutest.Build(t, randomText(t)))
		defer db.Close()
		for _, q := range sql.Queries {
			if q.Doc == "" || strings.Contains(q.Doc, "select") {
				t.Fatalf("%s: %s", q.Name, q.Doc)
			}
			ask(t, db, q.SQL)
		}
	})
}

const heat = `#run {"program":"heat.fa","ended":"done","nodes":[{"node":0,"process":0,"workers":1},{"node":1,"process":0,"workers":1}]}
#node 0
#code 1 step atomic
#code 2 "say, \"hi\"" atomic
#site 1 code=1 label=step at=heat.fa:3:1
#site 2 code=2 label=say at=heat.fa:4:1
#df 1 x [0 1 7]
0 Global.onProgramStarted
1 CF.onCreated cf=0.1 site=1 indices=[5]
2 CF.onReady 0.1
10 CF.onStarted 0.1
20 CF.onFinished 0.1 cpu=10
21 DF.onCreate 1 size=80 cf=0.1
22 DF.onSent 1 to=1 bytes=80 message=0.1
40 Global.onProgramFinished
#node 1
#code 1 step atomic
#code 2 "say, \"hi\"" atomic
#site 1 code=1 label=step at=heat.fa:3:1
#site 2 code=2 label=say at=heat.fa:4:1
#df 1 x [0 1 7]
0 Global.onProgramStarted
3 CF.onCreated cf=1.1 site=2
30 DF.onReceived 1 from=0 bytes=80 message=0.1
31 CF.onReady 1.1
32 CF.onStarted 1.1 inputs=[1]
38 CF.onFinished 1.1 cpu=6
40 Global.onProgramFinished
`

// TestSinks: results come out right as a table, as CSV and as JSON.
func TestSinks(t *testing.T) {
	db := open(t, sloutest.Build(t, heat))
	defer db.Close()
	const query = `select f.name, c.name, e.duration_ns as ns, null as empty, 1.5 as real, x'00ff' as bytes, 9e999 as big
		from executions e join cfs f using (cf) join codes c on c.code = e.code order by e.start_ns;
		select 'a
b' as two`
	var b strings.Builder
	run := func(s sql.Sink) string {
		b.Reset()
		if err := db.Run(context.Background(), query, s); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	const table = `name     name       ns  empty  real  bytes     big
step[5]  step       10          1.5  x'00ff'  +Inf
say      say, "hi"   6          1.5  x'00ff'  +Inf

two
a b
`
	if got := run(&sql.Table{W: &b}); got != table {
		t.Errorf("%s\nnot\n%s", got, table)
	}
	read := csv.NewReader(strings.NewReader(run(sql.NewCSV(&b))))
	read.FieldsPerRecord = -1
	got, err := read.ReadAll()
	want := [][]string{{"name", "name", "ns", "empty", "real", "bytes", "big"},
		{"step[5]", "step", "10", "", "1.5", "x'00ff'", "+Inf"}, {"say", `say, "hi"`, "6", "", "1.5", "x'00ff'", "+Inf"},
		{"two"}, {"a\nb"}}
	if err != nil || !reflect.DeepEqual(got, want) || !strings.HasPrefix(b.String(), "name,name,ns,") ||
		!strings.Contains(b.String(), ",big\r\n") {
		t.Errorf("%q, %v", got, err)
	}
	if got, want := run(sql.NewJSON(&b)), `[
{"name":"step[5]","name_2":"step","ns":10,"empty":null,"real":1.5,"bytes":"x'00ff'","big":9e999},
{"name":"say","name_2":"say, \"hi\"","ns":6,"empty":null,"real":1.5,"bytes":"x'00ff'","big":9e999}
]
[
{"two":"a\nb"}
]
`; got != want {
		t.Errorf("%s\nnot\n%s", got, want)
	}
	first := &sql.First{Sink: sql.NewJSON(&b), Most: 1}
	if got := run(first); !first.Left || strings.Count(got, "name_2") != 1 || !strings.Contains(got, "two") {
		t.Error(got)
	}
}

// TestMistakes: what is wrong with a query is said, and where.
func TestMistakes(t *testing.T) {
	db := open(t, sloutest.Build(t, heat))
	defer db.Close()
	for query, want := range map[string]string{
		"":           "there is no statement: try select * from runs",
		"-- nothing": "there is no statement: try select * from runs",
		"selec 1":    `1:1: near "selec": syntax error`,
		"select 1;\nselect *\nfrom cfs f\n where wait": "4:8: no such column: wait",
		"select é, nam from cfs":                       "1:8: no such column: é",
		"select '\u00e9', nam from cfs":                "1:13: no such column: nam; did you mean name?",
		"select * from cf":                             "no such table: cf; did you mean cfs?",
		"select * from nonsense":                       "no such table: nonsense; sql --tables lists them",
		"insert into cfs(cf) values (1)":               "table cfs may not be modified",
		"delete from cfs":                              "table cfs may not be modified",
		"attach 'x.db' as x":                           "not allowed: a query reads",
		"vacuum into 'x.db'":                           "not allowed: a query reads",
		"pragma temp_store_directory='/'":              "not allowed: a query reads",
		"create virtual table t using cfs":             "not allowed: a query reads",
		"select load_extension('x')":                   "1:8: no such function: load_extension",
		"select \x00":                                  "the query is not text: it has a NUL",
		"select abs(-9223372036854775808)":             "integer overflow",
	} {
		err := db.Run(context.Background(), query, sql.NewJSON(&strings.Builder{}))
		var mistake *sql.Error
		if !errors.As(err, &mistake) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, not %s", query, err, want)
		}
	}
	// The DB goes on after all of them, and has tables of its own.
	if got := one(t, db, "create temp table t as select * from dfs; create temp view v as select bytes from t;"+
		" select bytes from v"); got != "80" {
		t.Error(got)
	}
	if got := one(t, db, "select type from pragma_table_info('cfs') where name = 'weight'"); got != "REAL" {
		t.Error(got)
	}
}

// endless never ends by itself.
const endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"

// TestBounds: time and memory of a query are bounded, and what the sink says ends it.
func TestBounds(t *testing.T) {
	db := open(t, sloutest.Build(t, heat))
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := db.Run(ctx, endless, sql.NewJSON(&strings.Builder{})); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	ended, end := context.WithCancelCause(context.Background())
	end(errors.New("asked to"))
	if err := db.Run(ended, "select * from pieces", sql.NewJSON(&strings.Builder{})); err == nil ||
		err.Error() != "asked to" {
		t.Error(err)
	}
	if err := db.Run(context.Background(), "select 1", refusing{}); err == nil || err.Error() != "refused" {
		t.Error(err)
	}
	if got := one(t, db, "select 1"); got != "1" {
		t.Error(got)
	}
	const much = "select length(hex(randomblob(30000000)))"
	for range 2 { // it is useless from then on, and says so
		err := db.Run(context.Background(), much, sql.NewJSON(&strings.Builder{}))
		if err == nil || !strings.Contains(err.Error(), "more memory") {
			t.Error(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

type refusing struct{}

func (refusing) Begin([]string) error     { return nil }
func (refusing) Row([]tables.Value) error { return errors.New("refused") }
func (refusing) End() error               { return nil }

// FuzzRun: no text makes SQLite or the tables fail in an unforeseen way.
func FuzzRun(f *testing.F) {
	for _, q := range sql.Queries {
		f.Add(q.SQL)
	}
	f.Add("select * from cfs where cf = 1 and rowid = 2 order by 1 limit 3;;select x'")
	f.Add(endless)
	m := sloutest.Build(f, heat)
	f.Fuzz(func(t *testing.T, query string) {
		db := open(t, m)
		defer db.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		err := db.Run(ctx, query, &sql.First{Sink: sql.NewCSV(&strings.Builder{}), Most: 100})
		var mistake *sql.Error
		if err != nil && !errors.As(err, &mistake) && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	})
}
