package report

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/whyslow/whyslow/internal/analysis/advise"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

var update = flag.Bool("update", false, "rewrite the goldens")

// load builds the model of a trace written as text.
func load(t testing.TB, text string) *model.Model {
	t.Helper()
	dir := t.TempDir()
	if err := twin.Parse(strings.NewReader(text), dir); err != nil {
		t.Fatal(err)
	}
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	m, err := model.Build(context.Background(), r, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func compute(t testing.TB, text string, splits ...string) *Everything {
	t.Helper()
	all, err := Compute(context.Background(), load(t, text), Wanted{Splits: splits, Windows: 12}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all.Failed {
		t.Errorf("%s failed: %s", f.Analysis, f.Why)
	}
	return all
}

// TestGolden renders each trace as its sections say: "terminal", "terminal by=worker width=60", "terminal
// colour", "terminal full", "json" (of the factors alone), "html" (its text and plots, see outlineHTML).
func TestGolden(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txtar")
	if len(files) == 0 {
		t.Fatal("no goldens")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all := compute(t, string(ar.Files[0].Data), "node", "worker", "code", "index:0")
			// What is advised is not what this is about.
			all.Advice = []advise.Advice{
				{Title: "A DF is missing", Text: "Make a DF called `part`.", Gain: "the program can end", Blocking: true,
					Share: 1},
				{Title: "CFs run late", Text: "Call `use` earlier.", Gain: "up to 10.0 µs of 60.0 µs", Share: 0.1667,
					Predicted: "60.0 µs -> 55.0 µs, with `use` first",
					Bound:     "The rest of the run takes no longer."},
				{Title: "Memory", Text: "Delete `x`.", Gain: "up to 8.0 KB less memory"},
				{Title: "Idle workers", Text: "Use fewer workers.", Gain: "up to 5.00 µs", Share: 0.04}}
			if all.Forecast != nil { // how good the simulation is does not matter here
				all.Forecast.Why = "Gains are not simulated: the run is too large for that (46 CFs)."
			}
			for i := range ar.Files[1:] {
				f := &ar.Files[i+1]
				got := render(t, all, f.Name)
				if diff := cmp.Diff(strings.Split(string(f.Data), "\n"), strings.Split(got, "\n")); diff != "" &&
					!*update {
					t.Errorf("%s (-want +got):\n%s", f.Name, diff)
				}
				f.Data = []byte(got)
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(ar), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func render(t testing.TB, all *Everything, how string) string {
	t.Helper()
	var out bytes.Buffer
	var opt Options
	words := strings.Fields(how)
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		switch key {
		case "by":
			opt.By = value
		case "width":
			if err := json.Unmarshal([]byte(value), &opt.Width); err != nil {
				t.Fatal(err)
			}
		case "colour":
			opt.Color = true
		case "full":
			opt.Full = true
		}
	}
	face := Terminal
	switch words[0] {
	case "json":
		res := *all.SLOU
		res.Splits, res.Windows = nil, nil
		face, all = JSON, &Everything{SLOU: &res, Advice: []advise.Advice{}, Failed: []Failure{}}
	case "html":
		face = HTML
	}
	if err := face(&out, all, opt); err != nil {
		t.Fatal(err)
	}
	if words[0] == "html" {
		return outlineHTML(t, out.String())
	}
	// A golden shows the escapes.
	return strings.ReplaceAll(out.String(), "\x1b", "^")
}

// only is a result without the other analyses.
func only(res *slou.Result) *Everything {
	return &Everything{Run: &Run{Info: &trace.RunInfo{}, WallNS: res.WallNS}, SLOU: res}
}

// TestJSONShape checks the names that programs rely on.
func TestJSONShape(t *testing.T) {
	text := render(t, only(&slou.Result{Factors: slou.Factors{S: &slou.Share{Parts: map[string]int64{}}}}),
		"json")
	var doc map[string]any
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"program", "ended", "wall_ns", "total_ns", "extra_cores_ns", "loss", "factors",
		"nodes", "fragments", "causes", "advice"} {
		if _, ok := doc[key]; !ok {
			t.Errorf("no %q in the JSON", key)
		}
	}
	factors := doc["factors"].(map[string]any)
	for _, f := range []string{"U", "L", "O", "W"} {
		if v, ok := factors[f]; !ok || v != nil {
			t.Errorf("factor %s is %v, want null", f, v)
		}
	}
	if !strings.HasPrefix(text, "{\n  \"program\": ") {
		t.Errorf("the JSON does not begin with the program: %.40s", text)
	}
}

// TestHostileNames: names in a trace cannot steer the terminal.
func TestHostileNames(t *testing.T) {
	res := compute(t,
		"#run {\"program\":\"a\\u001b[31m.fa\"}\n#code 1 \"x\\x1b[2J\\n\" atomic\n#site 1 code=1\n"+
			"0 Global.onProgramStarted\n0 CF.onCreated 0.1 1\n2 CF.onReady 0.1\n9 CF.onStarted 0.1\n12 CF.onFinished "+
			"0.1\n20 Global.onProgramFinished\n", "code", "node", "worker")
	for _, how := range []string{"terminal", "terminal by=code", "terminal full"} {
		if text := render(t, res, how); strings.Contains(text, "^") || !strings.Contains(text, "x?[2J?") {
			t.Errorf("%s:\n%q", how, text)
		}
	}
}

// TestNull: what cannot be computed is shown as such and nothing is advised about it.
func TestNull(t *testing.T) {
	res := &slou.Result{WallNS: 100e6, TotalNS: 200e6, UndividedNS: 200e6}
	res.Missing = []slou.Missing{{Event: "CFEvents.onStarted", Factors: []string{"U", "S"}}}
	text := render(t, only(res), "terminal")
	for _, want := range []string{"not recorded", "not divided",
		"CFEvents.onStarted was not recorded, so U, S cannot be computed."} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}

// TestWidth: no line is wider than the terminal.
func TestWidth(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txtar")
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all := compute(t, string(ar.Files[0].Data), "node", "worker", "code", "index:0")
		for width := 60; width <= 200; width += 20 {
			for _, how := range []string{"by=node", "by=code", "by=index:0", "full"} {
				for line := range strings.Lines(render(t, all, fmt.Sprintf("terminal %s width=%d", how, width))) {
					if n := text.StringWidthWithoutEscSequences(strings.TrimSuffix(line, "\n")); n > width {
						t.Errorf("%s, %s: %d columns instead of %d: %s", file, how, n, width, line)
					}
				}
			}
		}
	}
}

// TestFailures: an analysis that fails, or panics, leaves the others alone, and every face says why.
func TestFailures(t *testing.T) {
	all := compute(t, hostile(t, "x"))
	for i := range analyses {
		a := analyses[i]
		for why, do := range map[string]func(*computation, procs.Group) error{
			"it rained": func(*computation, procs.Group) error { return errors.New("it rained") },
			"internal error: it broke (WHYSLOW_DEBUG=1 shows where)": func(*computation, procs.Group) error {
				var some procs.Goroutines
				some.Go(func() { panic("it broke") })
				some.Wait()
				return nil
			},
		} {
			analyses[i].do = do
			got, err := Compute(t.Context(), all.model, Wanted{}, nil)
			analyses[i] = a
			if err != nil || len(got.Failed) == 0 {
				t.Fatalf("%s: %v", a.name, err)
			}
			for _, f := range got.Failed {
				if f.Analysis == a.name && f.Why != why || f.Analysis != a.name && !slices.Contains(needs(f.Analysis),
					a.name) {
					t.Errorf("%s fails: %s: %s", a.name, f.Analysis, f.Why)
				}
			}
			if text := render(t, got, "terminal"); !strings.Contains(strings.Join(strings.Fields(text), " "), why) {
				t.Errorf("%s fails, and the terminal does not say why: %s", a.name, text)
			}
		}
	}
	whole := *all
	for _, f := range []struct {
		name string
		drop func(*Everything)
	}{
		{analysisSLOU, func(a *Everything) { a.SLOU, a.Advice = nil, nil }},
		{analysisCritical, func(a *Everything) {
			a.Critical = nil
		}},
		{analysisSeries, func(a *Everything) { a.Series = nil }}, {analysisLifecycle, func(a *Everything) {
			a.Lifecycle = nil
		}},
		{analysisImbalance, func(a *Everything) { a.Imbalance = nil }}, {analysisBlame, func(a *Everything) {
			a.Blame = nil
		}},
		{analysisAdvice, func(a *Everything) { a.Advice = nil }},
	} {
		some := whole
		f.drop(&some)
		some.Failed = []Failure{{Analysis: f.name, Why: "it rained", Err: errors.New("it rained")}}
		page := pageOf(t, &some)
		checkPage(t, page)
		for face, text := range map[string]string{"html": page, "terminal": render(t, &some, "terminal"),
			"full": render(t, &some, "terminal full")} {
			if !strings.Contains(text, "it rained") {
				t.Errorf("without %s the %s does not say why", f.name, face)
			}
		}
		var out bytes.Buffer
		if err := errors.Join(JSON(&out, &some, Options{}), CSV(&out, &some, Options{})); err != nil ||
			!strings.Contains(out.String(), "it rained") {
			t.Errorf("without %s: %v, %s", f.name, err, out.String())
		}
		if got := some.FactorsError() != nil; got != (f.name == analysisSLOU) {
			t.Errorf("without %s the factors' error is %v", f.name, some.FactorsError())
		}
	}
}

// needs are the analyses whose results one takes, and those that these take.
func needs(name string) (list []string) {
	for _, a := range analyses {
		if a.name == name {
			for _, before := range a.after {
				list = append(append(list, before), needs(before)...)
			}
		}
	}
	return list
}

// TestCSV: sums of the factors over the windows are those of the report.
func TestCSV(t *testing.T) {
	all := compute(t, hostile(t, "x"))
	var out bytes.Buffer
	if err := CSV(&out, all, Options{}); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]int64{}
	for _, r := range rows[1:] {
		if r[2] == "ns" && r[3] == "" {
			var ns int64
			if err := json.Unmarshal([]byte(r[9]), &ns); err != nil {
				t.Fatal(err)
			}
			sums[r[1]+r[4]] += ns
		}
	}
	f := &all.SLOU.Factors
	if sums["U"] != f.U.NS || sums["S.nowhere"] != f.S.Parts["nowhere"] || sums["L1->0"] != f.L.Parts["1->0"] ||
		f.U.NS == 0 || f.L.NS == 0 {
		t.Errorf("the sums are %v", sums)
	}
}
