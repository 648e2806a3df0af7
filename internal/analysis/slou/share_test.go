package slou_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/grouptest"
	"github.com/whyslow/whyslow/internal/testkit/replicate"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// together computes the result of a trace with some processes.
func together(dir string, processes int, build model.Options, opt slou.Options) (*slou.Result, error) {
	results, errs := make([]*slou.Result, processes), make([]error, processes)
	var wg sync.WaitGroup
	for rank, g := range grouptest.Local(processes) {
		wg.Go(func() {
			defer g.Leave()
			r, err := trace.OpenShare(dir, rank, processes)
			if err != nil {
				errs[rank] = err
				return
			}
			defer r.Close()
			m, err := model.BuildShare(context.Background(), r, build, g)
			if err == nil {
				results[rank], err = slou.Compute(context.Background(), m, opt, g)
			}
			errs[rank] = err
			if rank > 0 && results[rank] != nil {
				errs[rank] = fmt.Errorf("process %d has a result", rank)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return results[0], nil
}

func alone(dir string, build model.Options, opt slou.Options) (*slou.Result, error) {
	r, err := trace.Open(dir)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	m, err := model.Build(context.Background(), r, build)
	if err != nil {
		return nil, err
	}
	return slou.Compute(context.Background(), m, opt, procs.Alone())
}

func asJSON(v any) string {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// withClocks makes each node a process of its own, whose clock may be off by more than it says.
func withClocks(t *rapid.T, run *sloutest.Run, text string) string {
	for n := range run.Nodes {
		text = strings.Replace(text, fmt.Sprintf(`{"node":%d,"process":0`, n),
			fmt.Sprintf(`{"node":%d,"process":%d`, n, n), 1)
		for i := range rapid.IntRange(0, 3).Draw(t, "syncs") {
			text += fmt.Sprintf("%d n%d s%d GlobalEvents.onClockSync offset=%d error=3\n", 50*i, n,
				sloutest.System,
				rapid.Int64Range(-40, 40).Draw(t, "offset"))
		}
	}
	return text
}

// damage cuts, removes or changes the file of a node.
func damage(t *rapid.T, dir string) {
	files, err := filepath.Glob(filepath.Join(dir, "*.wst"))
	if err != nil {
		t.Fatal(err)
	}
	path := rapid.SampledFrom(files).Draw(t, "file")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := rapid.IntRange(0, len(b)-1).Draw(t, "at")
	switch rapid.IntRange(0, 2).Draw(t, "how") {
	case 0:
		b = b[:at]
	case 1:
		b[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
	case 2:
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestShareGolden does so with the hand-written traces.
func TestShareGolden(t *testing.T) {
	files, err := goldens()
	if err != nil || len(files) == 0 {
		t.Fatal("no goldens", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		parts, _ := sections(string(text))
		dir := t.TempDir()
		if err := twin.Parse(strings.NewReader(parts["trace"]), dir); err != nil {
			t.Fatal(err)
		}
		for _, opt := range []slou.Options{{Windows: 3, Splits: []string{"worker"}}, {Rule: slou.RuleData}} {
			same(t, dir, 4, opt)
		}
	}
}

// TestShareRandom compares what several processes find in random runs, whole, killed, stuck, with waits or
// harmed, with what one finds.
func TestShareRandom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		run := sloutest.Random(rt)
		if rapid.Bool().Draw(rt, "waits") {
			run.AddWaits(rt)
		}
		switch rapid.IntRange(0, 3).Draw(rt, "end") {
		case 1:
			run.Kill(rt)
		case 2:
			run.Stick(rt)
		case 3:
			run.Harm(rt)
		}
		text := run.Text()
		if rapid.Bool().Draw(rt, "clocks") {
			text = withClocks(rt, run, text)
		}
		dir := t.TempDir()
		if err := twin.Parse(strings.NewReader(text), dir); err != nil {
			rt.Fatal(err)
		}
		if rapid.IntRange(0, 3).Draw(rt, "damaged") == 0 {
			damage(rt, dir)
		}
		opt := slou.Options{Rule: slou.Rule(rapid.IntRange(0, int(slou.RuleSource)).Draw(rt, "rule")),
			Splits:  []string{"index:1", "node", "code", "worker", "index:0"},
			Windows: rapid.IntRange(0, 9).Draw(rt, "windows")}
		want, failed := alone(dir, model.Options{Parallel: 1}, opt)
		for p := 2; p <= 4; p++ {
			got, err := together(dir, p, model.Options{Parallel: 1}, opt)
			if err != nil && failed != nil {
				continue // nothing of it can be read
			}
			if err != nil || failed != nil {
				rt.Fatalf("%d processes: %v\n%s", p, err, run.EventText())
			}
			if g, w := asJSON(got), asJSON(want); g != w {
				rt.Fatalf("%d processes:\n%s\n%s", p, gocmp.Diff(w, g), run.EventText())
			}
		}
	})
}

// TestShareRegions does so with random runs of regions, with and without CFs, right and wrong.
func TestShareRegions(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := sloutest.RandomRegions(rt)
		if rapid.IntRange(0, 2).Draw(rt, "hosts") == 0 {
			text = sloutest.OnHosts(rt, text)
		}
		opt := slou.Options{Splits: []string{"code", "node", "index:0", "worker"},
			Windows:   rapid.IntRange(0, 9).Draw(rt, "windows"),
			MaxGroups: rapid.IntRange(0, 3).Draw(rt, "groups")}
		sloutest.Folder(rt, text, func(dir string) {
			if rapid.IntRange(0, 3).Draw(rt, "damaged") == 0 {
				damage(rt, dir)
			}
			want, failed := alone(dir, model.Options{Parallel: 1}, opt)
			for p := 2; p <= 4; p++ {
				got, err := together(dir, p, model.Options{Parallel: 1}, opt)
				if err != nil && failed != nil {
					continue // nothing of it can be read
				}
				if err != nil || failed != nil {
					rt.Fatalf("%d processes: %v, one: %v\n%s", p, err, failed, text)
				}
				if g, w := asJSON(got), asJSON(want); g != w {
					rt.Fatalf("%d processes:\n%s\n%s", p, gocmp.Diff(w, g), text)
				}
			}
		})
	})
}

// same fails where several processes find something else than one.
func same(t *testing.T, dir string, most int, opt slou.Options) {
	t.Helper()
	want, err := alone(dir, model.Options{Parallel: 1}, opt)
	if err != nil {
		t.Fatal(err)
	}
	for p := 2; p <= most; p++ {
		got, err := together(dir, p, model.Options{Parallel: 1}, opt)
		if err != nil {
			t.Fatalf("%d processes: %v", p, err)
		}
		if g, w := asJSON(got), asJSON(want); g != w {
			t.Errorf("%d processes:\n%s", p, gocmp.Diff(w, g))
		}
	}
}

// TestShareRecorded does so with recorded runs in which CFs are stolen and migrate and which are repeated on
// many nodes with what crosses, and with the trace named by WHYSLOW_TRACE.
func TestShareRecorded(t *testing.T) {
	opts := []slou.Options{{Windows: 7, Splits: []string{"code", "index:0"}, MaxGroups: 3},
		{Rule: slou.RuleData, WindowNS: 1e6, Splits: []string{"node", "worker", "index:1"}}}
	if dir := os.Getenv("WHYSLOW_TRACE"); dir != "" {
		for _, opt := range opts {
			same(t, dir, 5, opt)
		}
		return
	}
	for _, name := range []string{"cholesky", "balance"} {
		text, err := replicate.Recording(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, copies := range []int{1, 3} {
			one, many := t.TempDir(), t.TempDir()
			if err := twin.Parse(bytes.NewReader(text), one); err != nil {
				t.Fatal(err)
			}
			r, err := trace.Open(one)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := replicate.Write(context.Background(), many, r, replicate.Options{Copies: copies,
				Crossing: 0.5}); err != nil {
				t.Fatal(err)
			}
			r.Close()
			for _, opt := range opts {
				same(t, many, 4, opt)
			}
		}
	}
}
