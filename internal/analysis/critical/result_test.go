package critical_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/critical"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := critical.Compute(ctx, sloutest.Build(t, sloutest.Golden(t, "chain")), critical.Options{},
		procs.Alone()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestEmpty(t *testing.T) {
	m, r := compute(t, "0 Global.onProgramStarted\n9 Global.onProgramFinished\n")
	agree(t, m, r, false)
	if r.Path == nil || r.Path.TailNS != 9 || r.Path.Last != "" || r.Work == nil || r.Work.T1NS != 0 ||
		len(r.Slack) != 0 {
		t.Errorf("%+v", r)
	}
}

func TestLongest(t *testing.T) {
	m := sloutest.Build(t, sloutest.Golden(t, "late_transfer"))
	for longest, want := range map[int]int{-1: 0, 0: 7, 2: 2, 100: 7} {
		r, err := critical.Compute(context.Background(), m, critical.Options{Longest: longest}, procs.Alone())
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Path.Longest) != want {
			t.Errorf("asked for %d: %d of %d steps", longest, len(r.Path.Longest), len(r.Path.Steps))
		}
		if want == 2 && (r.Path.Longest[0].Link != "1->0" || r.Path.Longest[0].DF != "x" ||
			r.Path.Longest[1].Code != "far") {
			t.Errorf("%+v", r.Path.Longest)
		}
	}
}

// TestNull checks what the JSON says where events were off.
func TestNull(t *testing.T) {
	for name, want := range map[string][]string{
		"no_creations":  {`"path":null`, `"work":null`, `"slack":null`, `"event":"CFEvents.onCreated"`},
		"no_sent":       {`"L":null,"O":null`, `"tinf_links_ns":null`, `"event":"DFEvents.onSent"`},
		"late_transfer": {`"L":48,"O":4`, `"tinf_links_ns":66`, `"missing":[]`},
	} {
		_, r := compute(t, sloutest.Golden(t, name))
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range want {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s: no %s in %s", name, part, text)
			}
		}
	}
}

// TestParallel checks that the result does not depend on the number of goroutines.
func TestParallel(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, name := range []string{"while", "stolen", "workers"} {
		m := sloutest.Build(t, sloutest.Golden(t, name))
		var texts []string
		for _, n := range []int{1, 4} {
			runtime.GOMAXPROCS(n)
			r, err := critical.Compute(context.Background(), m, critical.Options{}, procs.Alone())
			if err != nil {
				t.Fatal(err)
			}
			var s strings.Builder
			if err := critical.Write(&s, r); err != nil {
				t.Fatal(err)
			}
			texts = append(texts, s.String())
		}
		if texts[0] != texts[1] {
			t.Errorf("%s\n%s\n%s", name, texts[0], texts[1])
		}
	}
}

// TestFewCores: workers on fewer cores than there are of them cannot end before these have done all the work,
// as far as the threads' clocks tell work from waiting for a core.
func TestFewCores(t *testing.T) {
	for _, c := range []struct {
		cores    int
		measured int64
		want     int64
	}{{1, 1, 1}, {0, 1, 0}, {1, 0, 0}, {64, 1, 0}} {
		m := sloutest.Build(t, sloutest.Golden(t, "workers"))
		for i := range m.Processes {
			m.Processes[i].Cores = c.cores
		}
		for _, w := range m.AllWorkers() {
			w.Measured = c.measured
		}
		r, err := critical.Compute(context.Background(), m, critical.Options{}, procs.Alone())
		if err != nil {
			t.Fatal(err)
		}
		w := r.Work
		alone := max((w.T1NS+w.Own.Workers-1)/w.Own.Workers, w.TinfNS)
		if w.Cores != c.want || c.want > 0 && w.Own.LeastNS < w.T1NS/c.want || c.want == 0 && w.Own.LeastNS != alone {
			t.Errorf("%d cores, measured %d: %d cores, %d workers at best %d of %d", c.cores, c.measured, w.Cores,
				w.Own.Workers, w.Own.LeastNS, w.T1NS)
		}
	}
}
