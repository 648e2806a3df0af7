package report

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/sharetest"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// by analyses a trace with some processes.
func by(processes int, dir string, want Wanted) (*Everything, error) {
	want.Whole = func() (*model.Model, error) {
		r, err := trace.Open(dir)
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return model.Build(context.Background(), r, model.Options{})
	}
	return sloutest.Share(dir, processes, model.Options{},
		func(m *model.Model, g procs.Group) (*Everything, error) {
			return Compute(context.Background(), m, want, g)
		})
}

// shown is the JSON face, in lines.
func shown(t sloutest.TB, all *Everything) []string {
	t.Helper()
	var out bytes.Buffer
	if err := JSON(&out, all, Options{}); err != nil {
		t.Fatal(err)
	}
	return strings.Split(out.String(), "\n")
}

// sameBy fails where several processes find something else than one.
func sameBy(t sloutest.TB, dir string, want Wanted) (found *Everything) {
	t.Helper()
	var one []string
	for _, processes := range []int{1, 2, 3, 4} {
		all, err := by(processes, dir, want)
		if err != nil {
			t.Fatal(processes, "processes:", err)
		}
		got := shown(t, all)
		if processes == 1 {
			one, found = got, all
		}
		for i := range max(len(one), len(got)) {
			if i >= len(got) || i >= len(one) || one[i] != got[i] {
				from := max(i-20, 0)
				t.Fatal(processes, "processes:\n", strings.Join(got[min(from, len(got)):min(i+2, len(got))], "\n"),
					"\ninstead of\n", strings.Join(one[from:min(i+2, len(one))], "\n"))
			}
		}
	}
	return found
}

func TestShareRecorded(t *testing.T) {
	for _, name := range []string{"cholesky", "balance", "heat"} {
		sameBy(t, sloutest.Recorded(t, name, 1), Wanted{Splits: []string{"node", "worker", "code", "index:0"}})
		sameBy(t, sloutest.Recorded(t, name, 4), Wanted{Splits: []string{"code"}, Windows: 11, All: true,
			Rule: slou.RuleData})
	}
}

// written writes a trace that is given as text into a folder.
func written(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := twin.Parse(strings.NewReader(text), dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// killed is what is left of a trace when its run is killed in the middle.
func killed(text string) string {
	lines := strings.SplitAfter(strings.Replace(text, `"ended":"done"`, `"ended":""`, 1), "\n")
	events, left := 0, 0
	for _, l := range lines {
		if !strings.HasPrefix(l, "#") {
			events++
		}
	}
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool {
		if strings.HasPrefix(l, "#") {
			return false
		}
		left++
		return left > events*2/3
	}), "")
}

func TestShareReal(t *testing.T) {
	names, err := filepath.Glob("../../analysis/advise/testdata/*/fault.trace") // two of them are stuck
	if err != nil || len(names) < 15 {
		t.Fatal(names, err)
	}
	left, advice := 0, 0
	for _, name := range append(names, "testdata/pic.txt") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		found := []*Everything{sameBy(t, written(t, string(text)), Wanted{})}
		if name == "testdata/pic.txt" {
			found = append(found, sameBy(t, written(t, killed(string(text))), Wanted{All: true}))
		}
		for _, all := range found {
			if len(all.Lifecycle.CFs.Left) > 0 {
				left++
			}
			if len(all.Advice) > 0 {
				advice++
			}
		}
	}
	if left < 2 || advice < len(names) {
		t.Errorf("of %d runs %d have CFs left, and for %d there is advice: too little to see anything",
			len(names)+2, left, advice)
	}
}

func TestShareRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sloutest.RandomFolder(t, func(_ *sloutest.Run, dir string) {
			sameBy(t, dir, Wanted{Windows: 9, Splits: []string{"node", "index:0"}})
		})
	})
}

// faces writes everything there is to show.
func faces(t sloutest.TB, all *Everything) string {
	t.Helper()
	var out bytes.Buffer
	for _, write := range []func() error{
		func() error { return JSON(&out, all, Options{}) },
		func() error { return Terminal(&out, all, Options{Width: 160}) },
		func() error { return Terminal(&out, all, Options{Width: 100, Full: true, By: "node"}) },
		func() error { return HTML(&out, all, Options{}) },
		func() error { return CSV(&out, all, Options{}) },
	} {
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

// Runs with regions, of the other packages and random ones.
func TestShareRegions(t *testing.T) {
	patterns, _ := filepath.Glob("../../analysis/pattern/testdata/*.txtar")
	regions, _ := filepath.Glob("../../analysis/slou/testdata/regions/*.txtar")
	if len(patterns) == 0 || len(regions) == 0 {
		t.Fatal("no runs")
	}
	for _, name := range append(patterns, regions...) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, run, _ := strings.Cut(string(text), "-- trace --\n")
		run, _, _ = strings.Cut(run, "\n-- ")
		sharetest.Same(t, written(t, run+"\n"), func(all *Everything) string {
			return faces(t, all) + faces(t, all.In("ru"))
		},
			func(ctx context.Context, m *model.Model, g procs.Group) (*Everything, error) {
				return Compute(ctx, m, Wanted{Splits: []string{"node", "worker", "code", "index:0"}, Windows: 7}, g)
			})
	}
	rapid.Check(t, func(rt *rapid.T) {
		sloutest.Folder(rt, sloutest.RandomRegions(rt), func(dir string) {
			sameBy(rt, dir, Wanted{Splits: []string{"node", "code"}, Windows: rapid.IntRange(1, 9).Draw(rt,
				"windows")})
		})
	})
}

// All faces can show what several processes have found, in both languages.
func TestShareFaces(t *testing.T) {
	dir := sloutest.Recorded(t, "cholesky", 2)
	all, err := by(2, dir, Wanted{Splits: []string{"node", "code"}})
	if err != nil {
		t.Fatal(err)
	}
	if all.Lifecycle == nil || all.Critical == nil || all.Blame == nil || len(all.Failed) > 0 {
		t.Errorf("not there: %+v", all.Failed)
	}
	one, err := by(1, dir, Wanted{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := all.In("ru").Advice, one.In("ru").Advice; len(want) == 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("in another language: %+v, want %+v", got, want)
	}
	for name, face := range map[string]func(*bytes.Buffer) error{
		"terminal": func(b *bytes.Buffer) error { return Terminal(b, all, Options{Width: 160}) },
		"full": func(b *bytes.Buffer) error {
			return Terminal(b, all, Options{Width: 160, Full: true, By: "node"})
		},
		"html": func(b *bytes.Buffer) error { return HTML(b, all, Options{}) },
		"csv":  func(b *bytes.Buffer) error { return CSV(b, all, Options{}) },
		"json": func(b *bytes.Buffer) error { return JSON(b, all, Options{}) },
	} {
		var out bytes.Buffer
		if err := face(&out); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		text := out.String()
		if name == "json" {
			var doc map[string]any
			if err := json.Unmarshal(out.Bytes(), &doc); err != nil || doc["critical"] == nil ||
				doc["factors"] == nil {
				t.Errorf("%v: %.500s", err, text)
			}
		}
	}
}

// Interrupted anywhere is interrupted everywhere.
func TestShareInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := sloutest.Share(sloutest.Recorded(t, "cholesky", 1), 3, model.Options{},
		func(m *model.Model, g procs.Group) (*Everything, error) {
			own := context.Background()
			if g.Rank() == 1 {
				own = ctx
			}
			if all, err := Compute(own, m, Wanted{}, g); err == nil || all != nil || !strings.Contains(err.Error(),
				"context canceled") {
				t.Errorf("process %d: %v", g.Rank(), err)
			}
			return nil, nil
		})
	if err != nil {
		t.Error(err)
	}
}

// Where there are several hosts, nodes are named with theirs.
func TestNodeNames(t *testing.T) {
	all, err := by(1, sloutest.Recorded(t, "cholesky", 2), Wanted{Splits: []string{"node"}})
	if err != nil {
		t.Fatal(err)
	}
	var text, page bytes.Buffer
	if err := errors.Join(Terminal(&text, all, Options{Width: 120, By: "node"}),
		HTML(&page, all, Options{})); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "4 (host-1)") || !strings.Contains(page.String(), "node 4 (host-1)") {
		t.Errorf("%s", &text)
	}
	if one, err := by(1, sloutest.Recorded(t, "cholesky", 1), Wanted{}); err != nil || one.nodeName(1) != "1" ||
		one.nodeName(7) != "7" {
		t.Errorf("%v: a node of one process is called %q", err, one.nodeName(1))
	}
}
