//go:build !no_logger_module && !no_df_events_module && !no_cf_events_module && !no_global_events_module

package modules

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/tracefile/eventjson"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// golden compares text with a file of testdata.
func golden(t *testing.T, file, text string) {
	t.Helper()
	file = filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Error(diff)
	}
}

func TestLoggerFormats(t *testing.T) {
	for _, format := range []string{"text", "csv", "json"} {
		t.Run(format, func(t *testing.T) {
			r := startRun(t, 2, 1, use(t, "logger_module", map[string]any{"format": format}))
			story(r.ses)
			say, err := r.ses.Define("Solver", "onStep", trace.Field{Name: "n", Type: trace.FieldInt},
				trace.Field{Name: "text", Type: trace.FieldName},
				trace.Field{Name: "residual", Type: trace.FieldFloat}, trace.Field{Name: "sizes", Type: trace.FieldInts})
			if err != nil {
				t.Fatal(err)
			}
			s := r.ses.Stream(1, 1, nil)
			for i, text := range []string{"plain", "", "two words", "a,\"b\"\n", "schön"} {
				if err := say.EmitAt(s, start+2e9, i-1, text, []float64{0.5, math.Inf(1), math.NaN(), 1e300, -0.25}[i],
					[]int64{1, -2}[:i%3]); err != nil {
					t.Fatal(err)
				}
			}
			golden(t, "logger."+format, r.finish(t))
		})
	}
}

func TestLogModulesListenToTheirNamespace(t *testing.T) {
	for name, ns := range map[string]string{"df_events_module": "DFEvents", "cf_events_module": "CFEvents",
		"global_events_module": "GlobalEvents"} {
		r := startRun(t, 2, 1, use(t, name, nil))
		story(r.ses)
		all := lines(r.finish(t))
		if len(all) < 3 {
			t.Errorf("%s: %q", name, all)
		}
		for _, line := range all {
			if !strings.Contains(line, " "+ns+".on") {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
}

func TestLoggerEvents(t *testing.T) {
	r := startRun(t, 1, 1, use(t, "logger_module",
		map[string]any{"events": []string{"DFEvents::onCreateSize", "*.onDestroyed", "Mine.*"}}))
	story(r.ses)
	mine, err := r.ses.Define("Mine", "onIt")
	if err != nil {
		t.Fatal(err)
	}
	if err := mine.EmitAt(r.ses.Stream(0, 0, nil), start); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, line := range lines(r.finish(t)) {
		got = append(got, strings.Fields(line)[3])
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"CFEvents.onDestroyed", "CFEvents.onDestroyed", "DFEvents.onCreate",
		"Mine.onIt"}, got); diff != "" {
		t.Error(diff)
	}
}

// The JSON of the logger is that of dump --json.
func TestLoggerJSONIsThatOfATrace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "t")
	w, err := trace.Create(dir, 0, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "log.json")
	ses := prof.New()
	d := program{1: "main"}
	ses.SetDescriber(d)
	run, err := ses.StartModules([]prof.Use{use(t, "logger_module", map[string]any{"format": "json",
		"file": file})}, prof.RunFacts{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	site := d.Site(0, 1)
	w.DefineCode(trace.CodeDef{Code: 1, Name: w.Name(site.Code)})
	w.DefineSite(trace.SiteDef{Site: 1, Code: 1, Label: w.Name(site.Label), File: w.Name(site.File),
		Line: site.Line, Col: site.Col, Text: w.Name(site.Text)})
	w.DefineDF(5, w.Name("x"), []int64{0, 7, 5})
	s := ses.Stream(0, 0, w.Stream(0))
	ses.CFCreated.EmitAt(s, 10, trace.MakeCF(0, 1), 1, 0, 1, math.Inf(-1), []int32{-1, 2})
	ses.CFStarted.EmitAt(s, 11, trace.MakeCF(0, 1), 1, []trace.DF{5, 200})
	ses.CFFinished.EmitAt(s, 12, trace.MakeCF(0, 1), 1, -1)
	ses.DFSent.EmitAt(s, 13, 5, 1, 9, trace.MakeMessage(0, 3), 0, 0)
	ses.DFDestroy.EmitAt(s, 14, 0, 9, trace.Expired)
	ses.WaitStarted.EmitAt(s, 15, w.Name(d.Name(0, 0)))
	ses.Idle.EmitAt(s, 16)
	if err := run.Finish(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var want []byte
	var b trace.Batch
	for c := r.Stream(0, 0); c.Next(&b); {
		for i := range b.N {
			want = append(eventjson.Append(want, r.Defs(0), &b, i), '\n')
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
}

// Messages of other modules stand in the same order as events.
func TestLog(t *testing.T) {
	for format, want := range map[string]string{
		"text": " n0 w0 Log two, \"words\"\\nand lines\n",
		"csv":  ",0,0,Log,,,,,\"two, \"\"words\"\"\nand lines\"\n",
		"json": `,"node":0,"stream":0,"event":"Log","fields":{"text":"two, \"words\"\nand lines"}}` + "\n",
	} {
		r := startRun(t, 1, 1, use(t, "logger_module", map[string]any{"format": format}))
		log := r.modules.Get("logger_module").(Logger)
		log.Log(r.ses.Stream(0, 0, nil), "two, \"words\"\nand lines\n")
		if got := r.finish(t); !strings.HasSuffix(got, want) {
			t.Errorf("%s: %q, want %q at the end", format, got, want)
		}
	}
}

// Any strings come back from CSV and JSON as they were, whatever is in them.
func TestLoggerStrings(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		texts := rapid.SliceOfN(rapid.String(), 1, 5).Draw(rt, "texts")
		csvRun := startRun(t, 1, 1, use(t, "logger_module", map[string]any{"format": "csv"}))
		jsonRun := startRun(t, 1, 1, use(t, "logger_module", map[string]any{"format": "json"}))
		for _, r := range []*testRun{csvRun, jsonRun} {
			say, err := r.ses.Define("A", "onB", trace.Field{Name: "text", Type: trace.FieldName})
			if err != nil {
				rt.Fatal(err)
			}
			s := r.ses.Stream(0, 0, nil)
			for _, text := range texts {
				if err := say.EmitAt(s, start, text); err != nil {
					rt.Fatal(err)
				}
			}
		}
		rows, err := csv.NewReader(strings.NewReader(csvRun.finish(t))).ReadAll()
		if err != nil || len(rows) != len(texts)+1 {
			rt.Fatal(err, rows)
		}
		for i, line := range lines(jsonRun.finish(t)) {
			got := strings.TrimPrefix(rows[i+1][8], "text=")
			if strings.HasPrefix(got, `"`) {
				if got, err = strconv.Unquote(got); err != nil {
					rt.Fatal(err)
				}
			}
			var e struct{ Fields struct{ Text string } }
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				rt.Fatal(err)
			}
			if got != texts[i] || e.Fields.Text != texts[i] {
				rt.Fatalf("%q is %q in CSV and %q in JSON", texts[i], got, e.Fields.Text)
			}
		}
	})
}

// What many workers emit is all there once, each stream's lines in order.
func TestLoggerManyStreams(t *testing.T) {
	for _, buffer := range []int{0, 200, 1 << 16} {
		file := filepath.Join(t.TempDir(), "log")
		r := startRun(t, 4, 4, use(t, "logger_module", map[string]any{"file": file, "buffer": buffer}))
		const n = 500
		var known sync.WaitGroup // the order is exact from when all streams are known
		known.Add(16)
		crowd(r.ses, 4, 4, func(s *prof.Stream) {
			for i := range n {
				r.ses.ReadyQueue.Emit(s, uint64(i))
				if i == 0 {
					known.Done()
					known.Wait()
				}
			}
		})
		r.finish(t)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]int{}
		last := math.Inf(-1)
		for _, line := range lines(string(text)) {
			var at float64
			var node, worker, length int
			if _, err := fmt.Sscanf(line, "%f n%d w%d GlobalEvents.onReadyQueue length=%d", &at, &node, &worker,
				&length); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			key := fmt.Sprint(node, worker)
			if seen[key] != length {
				t.Fatalf("%s: want length %d", line, seen[key])
			}
			seen[key]++
			if buffer > 0 && length > 0 && at < last {
				t.Fatalf("%s: after %f", line, last)
			}
			last = at
		}
		for key, count := range seen {
			if count != n || len(seen) != 16 {
				t.Errorf("%s: %d of %d; %d streams", key, count, n, len(seen))
			}
		}
	}
}

func TestLoggerRejectsParams(t *testing.T) {
	for _, params := range []map[string]any{{"buffer": -1}, {"format": "xml"}, {"file": "no/such/folder/f"}} {
		_, err := prof.New().StartModules([]prof.Use{use(t, "logger_module", params)}, prof.RunFacts{})
		if err == nil || !strings.HasPrefix(err.Error(), "module logger_module: ") {
			t.Errorf("%v: %v", params, err)
		}
	}
}

func init() {
	for _, format := range []string{"text", "csv", "json"} {
		run := printed("logger_module", map[string]any{"format": format})
		examples = append(examples, example{"logger_module " + format, some(run, "time,", "onCreated", "onSent",
			"onForeignEnded", "onWaiting")})
	}
}
