package advise_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/analysis/advise"
)

// pair is a program with a fault, and the same mended. The traces of both are recorded in testdata/NAME by
//
//	go test ./internal/analysis/advise -run TestRecord -record
//
// which runs every program several times and keeps the run of middle length.
type pair struct {
	name          string // of the folder, and of the rule unless id is given
	id            string
	fault, mended shape
	processor     bool // the gain is processor time
	memory        bool // the gain is memory
	blocking      bool // there is no gain but that the program ends
	loose         bool // too short or too dependent on the machine to be run as a test
	words         []string
}

const lat = 4 * time.Millisecond

var pairs = []pair{
	{name: "parallelism", fault: shape{nodes: 1, workers: 4}, words: []string{"`step`", "1.0 of 4 workers",
		"smaller CFs"}},
	{name: "distribution", fault: shape{nodes: 2, workers: 1}, words: []string{"`task`", "Node 1 idled most",
		"node 0 ran 10 of 12 CFs", "stealing"}},
	{name: "one-node", fault: shape{nodes: 2, workers: 1}, words: []string{"All 10 CFs ran on node 0 of 2",
		"locator_cyclic"}},
	{name: "order", fault: shape{nodes: 1, workers: 2}, words: []string{"`step`", "critical path"}},
	{name: "far-data", fault: shape{nodes: 2, workers: 1, latency: 3 * time.Millisecond},
		words: []string{"`y`", "`step` (fault.fa:7)", "same locator"}},
	{name: "crossed", id: "far-data", fault: shape{nodes: 2, workers: 1, latency: 3 * time.Millisecond},
		words: []string{"`a`", "`b`", "same locator"}},
	{name: "too-small-to-send", fault: shape{nodes: 2, workers: 1, latency: lat},
		words: []string{"`step`", "larger"}},
	{name: "replicate", fault: shape{nodes: 3, workers: 1, latency: lat},
		words: []string{"`c`", "locator_replicating c => all"}},
	{name: "asked-again", fault: shape{nodes: 2, workers: 1, latency: lat},
		words: []string{"`c`", "6 messages for 1 DF"}},
	{name: "late-transfer", fault: shape{nodes: 2, workers: 1, latency: lat},
		words: []string{"`d`", "locator_cyclic d[i]"}},
	{name: "too-large", fault: shape{nodes: 2, workers: 1, bandwidth: 50e6},
		words: []string{"`d`", "1.0 MB each", "smaller"}},
	{name: "locators-disagree", fault: shape{nodes: 3, workers: 1, latency: 3 * time.Millisecond},
		words: []string{"`y`", "neither makes nor uses"}},
	{name: "locators-disagree-stuck", id: "locators-disagree", fault: shape{nodes: 3, workers: 1},
		blocking: true, words: []string{"`y[3]` was made by `step` (fault.fa:10) and lies on node 2",
			"`task` (fault.fa:4) looks for it on node 1"}},
	{name: "migration", fault: shape{nodes: 2, workers: 1, latency: lat}, words: []string{"`step`", "migrated"}},
	{name: "too-small", fault: shape{nodes: 1, workers: 1}, loose: true,
		words: []string{"`spin`", "more to do"}},
	{name: "preempted", fault: shape{nodes: 1, workers: 8, clock: true}, mended: shape{nodes: 1, workers: 2,
		clock: true}, processor: true, loose: true, words: []string{"8 workers share 2 cores", "fewer workers"}},
	{name: "fewer-workers", fault: shape{nodes: 1, workers: 6}, mended: shape{nodes: 1, workers: 2},
		processor: true, words: []string{"6 workers", "2.0 busy"}},
	{name: "too-many-nodes", fault: shape{nodes: 4, workers: 1, latency: lat},
		mended: shape{nodes: 1, workers: 1}, loose: true, words: []string{"4 nodes take", "fewer nodes"}},
	{name: "never-freed", fault: shape{nodes: 1, workers: 1}, memory: true,
		words: []string{"`b`", "req_count b"}},
}

func (p *pair) rule() string {
	if p.id != "" {
		return p.id
	}
	return p.name
}

func (p *pair) mendedShape() shape {
	if p.mended == (shape{}) {
		return p.fault
	}
	return p.mended
}

func (p *pair) file(which, ext string) string { return filepath.Join("testdata", p.name, which+ext) }

// TestRecord replaces the recorded traces.
func TestRecord(t *testing.T) {
	if !*record {
		t.Skip("only with -record")
	}
	for _, p := range pairs {
		t.Run(p.name, func(t *testing.T) {
			times := 9
			if p.loose {
				times = 41
			}
			for which, s := range map[string]shape{"fault": p.fault, "mended": p.mendedShape()} {
				text := median(t, p.file(which, ".fa"), s, times)
				if err := os.WriteFile(p.file(which, ".trace"), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestRules: each rule speaks on the program with its fault, with a gain within 30 % of what mending it
// really gave, and is silent on the mended one.
func TestRules(t *testing.T) {
	for _, p := range pairs {
		t.Run(p.name, func(t *testing.T) {
			var both [2]*analysed
			for i, which := range []string{"fault", "mended"} {
				text, err := os.ReadFile(p.file(which, ".trace"))
				if err != nil {
					t.Fatal(err)
				}
				both[i] = analyse(t, string(text))
			}
			p.check(t, both[0], both[1])
		})
	}
}

// TestLive is TestRules with runs of now, without regard to how much is gained. What a run shows depends on
// what else the machine does at the time, so a rule has twenty runs to speak in.
func TestLive(t *testing.T) {
	if testing.Short() {
		t.Skip("runs programs")
	}
	for _, p := range pairs {
		if p.loose {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			for range 20 {
				a := analyse(t, median(t, p.file("fault", ".fa"), p.fault, 1))
				if a.find(p.rule()) != nil {
					return
				}
				t.Logf("nothing is said of %s, but:", p.rule())
				for i := range a.list {
					t.Log(a.list[i].ID, a.list[i].Text)
				}
			}
			t.Errorf("nothing is said of %s in twenty runs", p.rule())
		})
	}
}

func (p *pair) check(t *testing.T, fault, mended *analysed) {
	t.Helper()
	a := fault.find(p.rule())
	if testing.Verbose() {
		for _, x := range fault.list {
			t.Logf("%s: wall %.2f ms, processors %.2f ms, %d bytes\n%s\n%s\n%v", x.ID, float64(x.GainWallNS)/1e6,
				float64(x.GainNS)/1e6, x.GainBytes, x.Text, x.Bound, x.Evidence)
		}
		for _, x := range mended.list {
			t.Logf("mended: %s: wall %.2f ms, processors %.2f ms\n%s\n%s", x.ID, float64(x.GainWallNS)/1e6,
				float64(x.GainNS)/1e6, x.Text, x.Bound)
		}
	}
	if a == nil {
		t.Fatalf("nothing is said of %s", p.rule())
	}
	if b := mended.find(p.rule()); b != nil {
		t.Errorf("said of the mended program: %s", b.Text)
	}
	contains(t, a, p.words)
	if a.Bound == "" {
		t.Error("no bound is given")
	}
	if p.blocking {
		if !a.Blocking {
			t.Error("not blocking")
		}
		return
	}
	what, got, want := "wall time", a.GainWallNS, fault.res.WallNS-mended.res.WallNS
	switch {
	case p.processor:
		what, got, want = "processor time", a.GainNS, fault.res.TotalNS-mended.res.TotalNS
	case p.memory:
		what, got, want = "memory", a.GainBytes, peak(fault)-peak(mended)
	}
	said := fmt.Sprintf("%s: %d is said to be gained, %d was", what, got, want)
	t.Log(said)
	if d := float64(got) / float64(want); d < 0.7 || d > 1.3 {
		t.Error(said)
	}
	if !p.memory && (a.GainNS <= 0 || a.GainNS > fault.res.TotalNS || a.GainWallNS > fault.res.WallNS) {
		t.Errorf("gains of %d and %d ns", a.GainNS, a.GainWallNS)
	}
}

func contains(t *testing.T, a *advise.Advice, words []string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(a.Text, w) {
			t.Errorf("no %q in: %s", w, a.Text)
		}
	}
}
