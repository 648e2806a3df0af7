package story

import (
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/model/query"
	_ "github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/trace"
)

// randomRun is a run of any kind: whole, killed, with waits, damaged.
func randomRun(t *rapid.T) *model.Model {
	run := sloutest.Random(t)
	if rapid.Bool().Draw(t, "waits") {
		run.AddWaits(t)
	}
	switch rapid.IntRange(0, 3).Draw(t, "fate") {
	case 1:
		run.Kill(t)
	case 2:
		run.Harm(t)
	case 3:
		run.Stick(t)
	}
	return sloutest.Build(t, run.Text())
}

// checkLines looks for what no story may have, in either language.
func checkLines(t *rapid.T, english, russian []Line, wall int64) {
	t.Helper()
	if len(english) != len(russian) {
		t.Fatalf("%d lines in English, %d in Russian", len(english), len(russian))
	}
	for i, a := range english {
		b := russian[i]
		if a.T != b.T || a.Node != b.Node || a.CF != b.CF || a.DF != b.DF {
			t.Fatalf("%+v in English, %+v in Russian", a, b)
		}
		if i > 0 && a.T < english[i-1].T {
			t.Fatalf("%+v comes after %+v", a, english[i-1])
		}
		for _, l := range []Line{a, b} {
			if l.Text == "" || strings.Contains(l.Text, "%!") {
				t.Fatalf("%+v", l)
			}
		}
		if a.Text == b.Text {
			t.Fatalf("%q is not translated", a.Text)
		}
	}
}

// noNulls fails where a list is null in JSON.
func noNulls(t *rapid.T, v any, lists ...string) {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range lists {
		if strings.Contains(string(b), `"`+name+`":null`) {
			t.Fatalf("%s is null in %s", name, b)
		}
	}
}

// Every CF and DF of any run has a story, which agrees with the model and with those of its neighbours.
func TestStories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := randomRun(t)
		tl := made(t, m)
		inputs, outputs := map[[2]string]bool{}, map[[2]string]bool{}
		for cf := range m.CFs() {
			key := tl.CFKey(cf)
			s, err := CF(tl, key, "en")
			if err != nil {
				t.Fatal(err)
			}
			r, err := CF(tl, key, "ru")
			if err != nil {
				t.Fatal(err)
			}
			checkLines(t, s.Lines, r.Lines, m.Wall())
			noNulls(t, s, "lines", "label", "runs", "inputs", "outputs", "children", "consumers")
			runs := 0
			for range m.ExecutionsOf(cf) {
				runs++
			}
			if len(s.Runs) != runs || runs > 0 && len(s.Lines) < runs {
				t.Fatalf("%s: %d of %d runs, %d lines", key, len(s.Runs), runs, len(s.Lines))
			}
			if runs > 0 {
				last := s.Runs[runs-1]
				// Where ends were lost or clocks damaged, runs overlap, and the latest event counts.
				overlap := slices.ContainsFunc(s.Runs[:runs-1],
					func(r Run) bool { return r.End == nil || *r.End >= last.Start })
				moved := slices.ContainsFunc(m.MovesOf(cf),
					func(g model.Message) bool { return max(g.Sent, g.Received)-m.Start >= last.Start })
				if (s.State == "running") != (last.End == nil) && !overlap && !moved {
					t.Fatalf("%s is %s: %+v", key, s.State, s.Runs)
				}
			}
			for _, d := range s.Inputs {
				if runs > 0 && s.State == "finished" {
					inputs[[2]string{key, d.DF}] = true
				}
			}
			for _, d := range s.Outputs {
				outputs[[2]string{key, d.DF}] = true
			}
		}
		for df := model.DF(1); int(df) < m.DFs(); df++ {
			s, err := DF(tl, m.DFKey(df), "en")
			if err != nil {
				t.Fatal(err)
			}
			r, err := DF(tl, m.DFKey(df), "ru")
			if err != nil {
				t.Fatal(err)
			}
			checkLines(t, s.Lines, r.Lines, m.Wall())
			noNulls(t, s, "lines", "consumers", "nodes")
			for _, c := range s.Consumers {
				delete(inputs, [2]string{c.CF, s.DF})
			}
			if s.Producer != nil {
				delete(outputs, [2]string{s.Producer.CF, s.DF})
			}
			// Made again by others.
			first, end := m.Creations(df)
			for i := first + 1; i < end; i++ {
				delete(outputs, [2]string{tl.CFKey(m.MadeBy[i]), s.DF})
			}
		}
		if len(inputs)+len(outputs) > 0 {
			t.Fatalf("DFs do not know of the CFs that were given them, %v, or made them, %v", inputs, outputs)
		}
	})
}

// Everything is found by what it is called.
func TestSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := randomRun(t)
		tl := made(t, m)
		x := NewIndex(tl)
		find := func(q, kind, key string) {
			t.Helper()
			found, err := x.Search(q, 1000)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(found, func(f Found) bool { return f.Kind == kind && f.Key == key }) {
				t.Fatalf("%q does not find %s %s but %+v", q, kind, key, found)
			}
		}
		for cf := range m.CFs() {
			find(tl.CFKey(cf), "cf", tl.CFKey(cf))
			if m.Created[cf] == model.None {
				continue
			}
			title := m.CFTitle(cf)
			find(title, "cf", tl.CFKey(cf))
			find(strings.ToUpper(title), "cf", tl.CFKey(cf))
			find(strings.NewReplacer("[", " ", "]", " ").Replace(title), "cf", tl.CFKey(cf))
			find(strings.TrimRight(title, "]"), "cf", tl.CFKey(cf))
			if name, _, indexed := strings.Cut(title, "["); indexed {
				find(name, "cf", tl.CFKey(cf))
			}
		}
		for df := model.DF(1); int(df) < m.DFs(); df++ {
			find(m.DFString(df), "df", m.DFKey(df))
		}
		for code := range m.Codes[1:] {
			find(m.Codes[code+1].Name, "code", string(rune('1'+code)))
		}
		// CFs of a name are in order of their ids, however the trace was read.
		for _, name := range append([]string{m.Sites[len(m.Sites)-1].Label}, m.Codes[len(m.Codes)-1].Name) {
			found, err := x.Search(name, 1000)
			if err != nil {
				t.Fatal(err)
			}
			last := map[string]trace.CF{} // by name
			for _, f := range found {
				if title, _, _ := strings.Cut(f.Title, "["); f.Kind == "cf" {
					id, err := query.ParseCF(f.Key)
					if err != nil || id <= last[title] {
						t.Fatalf("%q finds %s after %s (%v)", name, id, last[title], err)
					}
					last[title] = id
				}
			}
		}
		// The best comes first, and no more than was asked for.
		found, err := x.Search("x[1]", 1)
		if err != nil || len(found) > 1 || len(found) == 1 && found[0].Title != "x[1]" {
			t.Fatalf("%+v, %v", found, err)
		}
	})
}

// What is left out is counted.
func TestSearchMore(t *testing.T) {
	var s strings.Builder
	s.WriteString("#run {\"nodes\":[{\"node\":0,\"workers\":1}]}\n#node 0\n#code 1 mult atomic\n#site " +
		"1 code=1\n")
	for i := range 30 {
		s.WriteString("#df " + itoa(i+1) + " x [0 1 " + itoa(i/10) + " " + itoa(i%10) + "]\n")
	}
	s.WriteString("0 n0 s0 Global.onProgramStarted\n")
	for i := range 30 {
		s.WriteString("1 n0 s0 CF.onCreated cf=0." + itoa(i+1) + " site=1 indices=[" + itoa(i) + "]\n")
	}
	x := NewIndex(made(t, sloutest.Build(t, s.String())))
	count := func(q string, limit int) (n, more int) {
		found, err := x.Search(q, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			more += f.More
		}
		return len(found), more
	}
	for _, c := range []struct {
		q              string
		limit, n, more int
	}{{"mult", 20, 20, 11}, {"x 1", 4, 4, 6}, {"x", 30, 30, 0}, {"x[1][", 100, 10, 0}, {"x[2][7]", 5, 1, 0},
		{"x[2][7][1]", 5, 0, 0}, {"30", 5, 1, 0}, {"31", 5, 0, 0},
		{"0.31", 5, 0, 0}, {"", 5, 0, 0}, {" ][ ", 5, 0, 0}, {"[1]", 50, 11, 0}} {
		if n, more := count(c.q, c.limit); n != c.n || more != c.more {
			t.Errorf("%q: %d and %d more, want %d and %d", c.q, n, more, c.n, c.more)
		}
	}
	for _, limit := range []int{-1, 1001} {
		if _, err := x.Search("x", limit); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
	if _, err := x.Search(strings.Repeat("x", 1001), 5); !errors.Is(err, fs.ErrInvalid) {
		t.Error(err)
	}
}

func TestUnknown(t *testing.T) {
	m := sloutest.Build(t,
		"#run {\"nodes\":[{\"node\":0,\"workers\":1}]}\n#node 0\n0 n0 s0 Global.onProgramStarted\n")
	tl := made(t, m)
	for key, want := range map[string]error{"0.17": fs.ErrNotExist, "9.1": fs.ErrNotExist, "x": fs.ErrInvalid,
		"": fs.ErrInvalid, "0.0": fs.ErrInvalid} {
		if _, err := CF(tl, key, "en"); !errors.Is(err, want) {
			t.Errorf("CF %q: %v", key, err)
		}
	}
	for _, key := range []string{"0:17", "", "x", "-1:5", "0:0"} {
		if _, err := DF(tl, key, "en"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("DF %q: %v", key, err)
		}
	}
}

// A line of a kind of which there are many is left out, and it is told how many are.
func TestManyLines(t *testing.T) {
	var s strings.Builder
	s.WriteString("#run {\"nodes\":[{\"node\":0,\"workers\":1}]}\n#node 0\n#code 1 w while\n#site 1 code=1\n0 " +
		"n0 s0 Global.onProgramStarted\n0 n0 s0 CF.onCreated 0.1 1\n")
	for i := range 1100 {
		s.WriteString(itoa(10*i+1) + " n0 s0 CF.onStarted cf=0.1 execution=" + itoa(i+1) + "\n" + itoa(10*i+5) +
			" n0 s0 CF.onFinished cf=0.1 execution=" + itoa(i+1) + "\n")
	}
	m := sloutest.Build(t, s.String())
	tl := made(t, m)
	story, err := CF(tl, "0.1", "en")
	if err != nil {
		t.Fatal(err)
	}
	last := story.Lines[len(story.Lines)-1]
	if len(story.Runs) != runsShown || story.TotalNS != 1100*4 ||
		last.Text != "1080 more lines are not shown" || len(story.Lines) != 1+linesShown+1 {
		t.Errorf("%d runs, %d ns, %d lines, %q", len(story.Runs), story.TotalNS, len(story.Lines), last.Text)
	}
}

func itoa(i int) string {
	b, _ := json.Marshal(i)
	return string(b)
}

// FuzzSearch looks for anything.
func FuzzSearch(f *testing.F) {
	for _, q := range []string{"", "x", "x[1]", "x[1][-2", "mult 1 2", "0.1", "1", "9223372036854775808",
		"x[99999999999999999999]", "[[[[", "\xff", "İ"} {
		f.Add(q, 5)
	}
	x := NewIndex(made(f, sloutest.Build(f, `#run {"nodes":[{"node":0,"workers":1}]}
#node 0
#code 1 mult atomic
#site 1 code=1
#df 1 x [0 1 1 -2]
0 n0 s0 Global.onProgramStarted
0 n0 s0 CF.onCreated cf=0.1 site=1 indices=[1 2]
`)))
	f.Fuzz(func(t *testing.T, q string, limit int) {
		found, err := x.Search(q, limit)
		if err != nil && !errors.Is(err, fs.ErrInvalid) {
			t.Fatal(err)
		}
		if err == nil && limit > 0 && len(found) > limit {
			t.Fatalf("%d found, limit %d", len(found), limit)
		}
		a := parse(q)
		if strings.ContainsAny(a.name, "\t[]();,") && len(a.indices) > 0 &&
			a.name == strings.TrimRight(a.name, "0123456789") && strings.HasSuffix(a.name, "[") {
			t.Fatalf("%q: name %q", q, a.name)
		}
	})
}

// FuzzKeys reads keys of CFs and DFs.
func FuzzKeys(f *testing.F) {
	for _, key := range []string{"0.1", "0:1", "", ".", ":", "65536.1", "0.281474976710656", "-1.1",
		"0:4294967296", "0.01"} {
		f.Add(key)
	}
	m := sloutest.Build(f, "#run {\"nodes\":[{\"node\":0,\"workers\":1}]}\n#node 0\n#df 1 x [0 1]\n0 n0 s0 "+
		"Global.onProgramStarted\n0 n0 s0 CF.onCreated cf=0.1\n")
	tl := made(f, m)
	f.Fuzz(func(t *testing.T, key string) {
		s, err := CF(tl, key, "en")
		if err != nil && !errors.Is(err, fs.ErrInvalid) && !errors.Is(err, fs.ErrNotExist) || err == nil &&
			s.CF != "0.1" {
			t.Fatal(s, err)
		}
		d, err := DF(tl, key, "ru")
		if err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && d.DF != "0:1" {
			t.Fatal(d, err)
		}
	})
}
