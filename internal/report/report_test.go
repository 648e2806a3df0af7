package report

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/slou"
	"github.com/whyslow/whyslow/trace"
)

var update = flag.Bool("update", false, "rewrite the goldens")

func compute(t testing.TB, text string) *slou.Result {
	t.Helper()
	dir := t.TempDir()
	if err := trace.Parse(strings.NewReader(text), dir); err != nil {
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
	res, err := slou.Compute(context.Background(), m, slou.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestGolden renders each trace as its sections say: "terminal", "terminal by=worker width=60", "terminal
// colour", "json".
func TestGolden(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txtar")
	if len(files) == 0 {
		t.Fatal("no goldens")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			parts, name := map[string]string{}, ""
			for line := range strings.Lines(string(text)) {
				if n, ok := strings.CutPrefix(strings.TrimSpace(line), "-- "); ok && strings.HasSuffix(n, " --") {
					name = strings.TrimSuffix(n, " --")
					names = append(names, name)
					continue
				}
				parts[name] += line
			}
			res := compute(t, parts["trace"])
			for _, name := range names {
				if name == "trace" {
					continue
				}
				got := render(t, res, name)
				if diff := cmp.Diff(strings.Split(parts[name], "\n"), strings.Split(got, "\n")); diff != "" && !*update {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
				parts[name] = got
			}
			if *update {
				out := parts[""]
				for _, name := range names {
					out += "-- " + name + " --\n" + parts[name]
				}
				if err := os.WriteFile(file, []byte(out), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func render(t testing.TB, res *slou.Result, how string) string {
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
		}
	}
	face := Terminal
	if words[0] == "json" {
		face = JSON
	}
	if err := face(&out, res, opt); err != nil {
		t.Fatal(err)
	}
	// A golden shows the escapes.
	return strings.ReplaceAll(out.String(), "\x1b", "^")
}

// TestJSONShape checks the names that programs rely on.
func TestJSONShape(t *testing.T) {
	text := render(t, &slou.Result{Factors: slou.Factors{S: &slou.Share{Parts: map[string]int64{}}}}, "json")
	var doc map[string]any
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"program", "ended", "wall_ns", "total_ns", "extra_cores_ns", "loss", "factors", "nodes", "fragments", "causes", "advice"} {
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

func TestDuration(t *testing.T) {
	for ns, want := range map[int64]string{0: "0 ns", 999: "999 ns", 1000: "1.00 us", 12345: "12.3 us", 999_999: "1.00 ms", 123_456_789: "123 ms", 61_500_000_000: "61.5 s"} {
		if got := duration(ns); got != want {
			t.Errorf("duration(%d) is %q, want %q", ns, got, want)
		}
	}
}

// TestHostileNames: names in a trace cannot steer the terminal.
func TestHostileNames(t *testing.T) {
	res := compute(t, "#run {\"program\":\"a\\u001b[31m.fa\"}\n#code 1 \"x\\x1b[2J\\n\" atomic\n#site 1 code=1\n"+
		"0 Global.onProgramStarted\n0 CF.onCreated 0.1 1\n2 CF.onReady 0.1\n9 CF.onStarted 0.1\n12 CF.onFinished 0.1\n20 Global.onProgramFinished\n")
	for _, by := range []string{"", "code", "node", "worker"} {
		if text := render(t, res, "terminal by="+by); strings.Contains(text, "^") || !strings.Contains(text, "x?[2J?") {
			t.Errorf("by %s:\n%q", by, text)
		}
	}
}
