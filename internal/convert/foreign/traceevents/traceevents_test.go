package traceevents_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/consistency"
	"github.com/whyslow/whyslow/internal/convert/foreign"
	"github.com/whyslow/whyslow/internal/convert/foreign/traceevents"
	"github.com/whyslow/whyslow/internal/convert/perfetto"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/testkit/foreigntest"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

func load(text, dir string) (bool, error) {
	return foreign.Import(context.Background(), traceevents.Format, strings.NewReader(text), nil, dir, trace.RunInfo{})
}

// tell says in a line each what executed, from when to when, on which worker, and with which inputs by whom.
func tell(m *model.Model) string {
	var b strings.Builder
	for id, w := range m.AllWorkers() {
		for e := w.First; e < w.End; e++ {
			fmt.Fprintf(&b, "%d %s %d-%d", id.Worker, m.CFTitle(m.ExecCF[e]), m.ExecStart[e]-m.Start, m.EndOf(e)-m.Start)
			for _, df := range m.Inputs(e) {
				by := "nobody"
				if at, ok := m.Creation(df, m.ExecStart[e]); ok && m.MadeBy[at] != 0 {
					by = m.CFTitle(m.MadeBy[at])
				}
				fmt.Fprintf(&b, ", %s by %s", m.DFNameOf(df), by)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// TestRead: slices become tasks, flows dependences, slices inside of others regions.
func TestRead(t *testing.T) {
	const text = `{"displayTimeUnit": "ns", "otherData": {"a": [1, {}]}, "traceEvents": [
		{"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "x"}},
		{"ph": "X", "pid": 1, "tid": "b", "ts": 1700000000000020.5, "dur": 10, "name": "join \"é\"", "args": {"x": 1}},
		{"ph": "B", "pid": 1, "tid": 7, "ts": 1700000000000000, "name": "make"},
		{"ph": "X", "pid": 1, "tid": 7, "ts": 1700000000000001, "dur": 2, "name": "inside"},
		{"ph": "s", "pid": 1, "tid": 7, "ts": 1700000000000004, "id": 5, "name": "data"},
		{"ph": "E", "pid": 1, "tid": 7, "ts": 1700000000000010},
		null,
		{"ph": "f", "pid": 1, "tid": "b", "ts": 1700000000000015, "id": 5, "name": "data"},
		{"ph": "X", "pid": 2, "tid": 7, "ts": "1700000000000040", "dur": 1, "name": "last", "bind_id": "0x9", "flow_in": true},
		{"ph": "X", "pid": 1, "tid": 7, "ts": 1700000000000030, "dur": 1.001, "name": "late", "bind_id": "0x9", "flow_out": true},
		{"ph": "C", "pid": 1, "ts": 3, "name": "counter", "args": {"v": 3}}
	], "more": 1}`
	const want = `0 join "é" 20500-30500, data by make
1 make 0-4000, not told by nobody
1 make 4000-10000, continues by make
1 late 30000-31001, not told by nobody
2 last 40000-41000, 0x9 by late
`
	for _, text := range []string{text, text[strings.Index(text, "[\n"):strings.Index(text, "], \"more")] + "]",
		text[strings.Index(text, "[\n"):strings.Index(text, "], \"more")] + ","} {
		dir := filepath.Join(t.TempDir(), "x.trace")
		if !traceevents.Format.Is([]byte(text)[:min(len(text), foreign.HeadBytes)]) {
			t.Error("not known by its first bytes")
		}
		if made, err := load(text, dir); !made || err != nil {
			t.Fatal(made, err)
		}
		m := sloutest.Load(t, dir)
		if got := strings.ReplaceAll(tell(m), "flow by late", "0x9 by late"); strings.ReplaceAll(got, ", late by late",
			", 0x9 by late") != want {
			t.Errorf("%s\nnot\n%s", got, want)
		}
		if m.Regions == nil || len(m.Regions.Threads) != 1 || len(m.Regions.Threads[0].Site) != 1 ||
			m.Codes[m.Sites[m.Regions.Threads[0].Site[0]].Code].Name != "inside" {
			t.Errorf("regions: %+v", m.Regions)
		}
		if words.Imported[m.Info.Settings[model.Imported]].About.In(words.English) == "" || m.Killed {
			t.Error(m.Info.Settings, m.Killed)
		}
		foreigntest.Consistent(t, dir)
	}
}

// TestNames: names that we write are read again as they are.
func TestNames(t *testing.T) {
	var text strings.Builder
	if err := perfetto.WriteChrome(t.Context(), &text, sloutest.Build(t, sloutest.Named())); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "x.trace")
	if made, err := load(text.String(), dir); !made || err != nil {
		t.Fatal(made, err)
	}
	if got := sloutest.Executed(sloutest.Load(t, dir)); !slices.Equal(got, sloutest.Names) {
		t.Errorf("%q", got)
	}
}

// TestBeside: counters and asynchronous slices become events of user namespaces; what is left out is counted.
func TestBeside(t *testing.T) {
	const text = `[{"ph": "X", "pid": 1, "tid": 1, "ts": 10, "dur": 90, "name": "task"},
		{"ph": "C", "pid": 1, "ts": 20, "name": "heap size", "args": {"value": 3}},
		{"ph": "C", "pid": 1, "ts": 15, "name": "heap size", "args": {"value": "2.5"}},
		{"ph": "C", "pid": 2, "ts": 30, "name": "heap size", "args": {"value": 7}},
		{"ph": "C", "pid": 1, "ts": 40, "name": "pets", "id": 4, "args": {"cats": 1}},
		{"ph": "C", "pid": 1, "ts": 40, "name": "pets", "args": {"cats": "many"}},
		{"ph": "e", "cat": "io", "id": "0x1", "ts": 50, "name": "read"},
		{"ph": "b", "cat": "io", "id": "0x1", "ts": 15, "name": "read"},
		{"ph": "b", "cat": "io", "id": "0x1", "ts": 20, "name": "part of it"},
		{"ph": "n", "cat": "io", "id": "0x1", "ts": 21, "name": "moment"},
		{"ph": "e", "cat": "io", "id": "0x1", "ts": 30},
		{"ph": "b", "cat": "net", "id": "0x1", "ts": 31, "name": "never ends"},
		{"ph": "b", "cat": "gpu", "id2": {"local": 7}, "pid": 1, "ts": 32, "name": "kernel"},
		{"ph": "b", "cat": "gpu", "id2": {"local": 7}, "pid": 2, "ts": 33, "name": "kernel"},
		{"ph": "e", "cat": "gpu", "id2": {"local": 7}, "pid": 1, "ts": 36},
		{"ph": "e", "cat": "gpu", "id2": {"local": 7}, "pid": 2, "ts": 38},
		{"ph": "S", "cat": "old", "id": 1, "ts": 60, "name": "a"}, {"ph": "S", "cat": "old", "id": 1, "ts": 61, "name": "b"},
		{"ph": "T", "cat": "old", "id": 1, "ts": 61, "name": "a"},
		{"ph": "F", "cat": "old", "id": 1, "ts": 62, "name": "a"}, {"ph": "F", "cat": "old", "id": 1, "ts": 64, "name": "b"},
		{"ph": "F", "cat": "old", "id": 1, "ts": 65, "name": "b"}, {"ph": "E", "pid": 1, "tid": 9, "ts": 3},
		{"ph": "s", "pid": 1, "tid": 1, "ts": 50, "id": 1}, {"ph": "i", "ts": 1, "name": "x"}, {"ph": "M"}, {"ph": "?"}]`
	dir := filepath.Join(t.TempDir(), "x.trace")
	if made, err := load(text, dir); !made || err != nil {
		t.Fatal(made, err)
	}
	const want = `15 Counter.heap_size 2.5
20 Counter.heap_size 3
30 Async.part_of_it 10000
30 Counter.heap_size_of_process_2 7
36 Async.kernel 4000
38 Async.kernel 5000
40 Counter.pets_4_cats 1
50 Async.read 35000
62 Async.a 2000
64 Async.b 3000
1 beginnings, 1 counters, 2 ends, 1 flows, 2 instants, 1 names, 1 others, 1 steps`
	if got := foreigntest.UserEvents(t, dir); got != want {
		t.Errorf("%s\nnot\n%s", got, want)
	}
}

// TestDamaged: errors tell where; what is before is kept.
func TestDamaged(t *testing.T) {
	const slice = `{"ph":"X","pid":1,"tid":1,"ts":1,"dur":2,"name":"a"}`
	for text, want := range map[string]string{
		`{"traceEvents":[]}`:                                "byte 17: there are no slices in it",
		`{"traceEvents":3}`:                                 "byte 16: traceEvents is no list",
		`{"traceEvents":[` + slice + `,{"ph":`:              "the file ends within the list of events",
		`{"traceEvents":[` + slice:                          "the file ends within the list of events",
		`[` + slice + `,{"ph":"X","ts":"now"}]`:             `is not a time in microseconds`,
		`[` + slice + `,{"ph":"X","ts":1e300}]`:             `is not a time in microseconds`,
		`[` + slice + `,{"ph":"X","ts":99999999999999999}]`: `is not a time in microseconds`,
		`[` + slice + `}`:                                   "byte 53: invalid character '}'",
		`[` + slice + `,{"ph":7}]`:                          "byte 61: \"ph\" is no text",
		`[` + slice + `,{"ph":"X","ts":[1]}]`:               "is not a time in microseconds",
		`[` + slice + `,7]`:                                 "an event is no object",
	} {
		dir := filepath.Join(t.TempDir(), "x.trace")
		made, err := load(text, dir)
		var damaged *foreign.Error
		if !errors.As(err, &damaged) || !strings.Contains(err.Error(), want) || damaged.Offset <= 0 {
			t.Errorf("%s: %v, not %s", text, err, want)
		}
		if made != strings.Contains(text, slice) {
			t.Errorf("%s: made is %v", text, made)
		}
		if made {
			if m := sloutest.Load(t, dir); m.Executions() != 1 {
				t.Errorf("%s: %d executions", text, m.Executions())
			}
		}
	}
	for _, head := range []string{"", "{", "[", "{}", `{"a":1}`, "[1,2,3]", "digraph {", `"ph"`} {
		if traceevents.Format.Is([]byte(head)) {
			t.Errorf("%q is taken for one", head)
		}
	}
}

// TestRandom: whatever slices and flows there are, the trace is consistent, and each task is executed once
// for as long as its slice is.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var list []string
		total := 0
		for tid := range rapid.IntRange(1, 3).Draw(r, "threads") {
			at := 0
			for range rapid.IntRange(0, 5).Draw(r, "slices") {
				at += rapid.IntRange(0, 5).Draw(r, "gap")
				dur := rapid.IntRange(1, 6).Draw(r, "length")
				list = append(list, fmt.Sprintf(`{"ph":"X","pid":1,"tid":%d,"ts":%d,"dur":%d,"name":"n%d"}`, tid, at, dur, dur))
				for range rapid.IntRange(0, 3).Draw(r, "inside") {
					from := rapid.IntRange(at, at+dur-1).Draw(r, "from")
					list = append(list, fmt.Sprintf(`{"ph":"X","pid":1,"tid":%d,"ts":%d,"dur":%d,"name":"i"}`, tid, from,
						rapid.IntRange(0, at+dur-from).Draw(r, "for")))
				}
				total += dur
				at += dur
			}
		}
		for range rapid.IntRange(0, 8).Draw(r, "flows") {
			list = append(list, fmt.Sprintf(`{"ph":"%s","pid":1,"tid":%d,"ts":%d,"id":%d,"name":"f","bp":"%s"}`,
				rapid.SampledFrom([]string{"s", "t", "f"}).Draw(r, "end"), rapid.IntRange(0, 2).Draw(r, "thread"),
				rapid.IntRange(0, 30).Draw(r, "at"), rapid.IntRange(1, 3).Draw(r, "id"),
				rapid.SampledFrom([]string{"", "e"}).Draw(r, "bind")))
		}
		for range rapid.IntRange(0, 5).Draw(r, "beside") {
			list = append(list, fmt.Sprintf(`{"ph":"%s","pid":1,"tid":1,"ts":%d,"id":%d,"name":"n","args":{"value":1}}`,
				rapid.SampledFrom([]string{"C", "b", "e", "S", "F", "i"}).Draw(r, "kind"),
				rapid.IntRange(-5, 50).Draw(r, "at"), rapid.IntRange(1, 2).Draw(r, "id")))
		}
		text := "[" + strings.Join(rapid.Permutation(list).Draw(r, "order"), ",") + "]"
		dir := filepath.Join(t.TempDir(), "x.trace")
		if made, err := load(text, dir); total > 0 && (!made || err != nil) {
			r.Fatal(made, err, text)
		} else if total == 0 {
			return
		}
		m := sloutest.Load(r, dir)
		sum := int64(0)
		for e := range m.Executions() {
			sum += m.EndOf(e) - m.ExecStart[e]
			for _, df := range m.Inputs(e) {
				at, ok := m.Creation(df, m.ExecStart[e])
				if !ok || m.MadeTime[at] > m.ExecStart[e] {
					r.Fatalf("%s is used before it is made\n%s", m.DFString(df), text)
				}
			}
		}
		if sum != int64(total)*1000 {
			r.Fatalf("executions take %d ns, slices %d µs\n%s\n%s", sum, total, text, tell(m))
		}
		x, err := trace.Open(dir)
		if err != nil {
			r.Fatal(err)
		}
		defer x.Close()
		if found, err := consistency.Check(context.Background(), x); err != nil || !found.Consistent {
			r.Fatalf("%v, %+v\n%s", err, found, text)
		}
	})
}

// FuzzRead: whatever the bytes are, there is an error that tells where, or a trace that can be read.
func FuzzRead(f *testing.F) {
	f.Add(`[{"ph":"X","pid":1,"tid":1,"ts":1,"dur":2,"name":"a"},{"ph":"B","ts":5},{"ph":"E","ts":9},{"ph":"s","id":1,"ts":2}]`)
	f.Add(`[{"ph":"X","ts":1},{"ph":"C","ts":1,"name":"é","args":{"value":1,"b":"2"}},{"ph":"b","id":1,"ts":5},` +
		`{"ph":"e","id":1,"ts":3},{"ph":"F","id2":{"local":1},"ts":9}]`)
	f.Add(`{"traceEvents":[{"ph":"X","ts":-1.5,"dur":2e3,"name":"a","bind_id":1,"flow_out":true}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		dir := filepath.Join(t.TempDir(), "x.trace")
		made, err := load(text, dir)
		var damaged *foreign.Error
		if err != nil && !errors.As(err, &damaged) {
			t.Fatal(err)
		}
		if made {
			sloutest.Load(t, dir)
		}
	})
}
