package advise_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/analysis/advise"
	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/analysis/critical"
	"github.com/whyslow/whyslow/internal/analysis/lifecycle"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

var record = flag.Bool("record", false, "run the programs and replace the recorded traces in testdata")

// shape is how a program is run.
type shape struct {
	nodes, workers int
	latency        time.Duration
	bandwidth      float64 // bytes per second
	clock          bool    // threads' own clocks are read
}

var (
	libraryOnce sync.Once
	library     *cpp.Library
)

func compile(t testing.TB, file string) *luna.Program {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p, err := luna.Compile(luna.Options{File: filepath.Base(file), Source: text,
		ReadFile: func(path string) ([]byte, error) {
			return os.ReadFile(filepath.Join(filepath.Dir(file), path))
		}})
	if err != nil {
		var b strings.Builder
		if e := (*luna.Error)(nil); errors.As(err, &e) {
			for _, d := range e.Diags {
				luna.Format(&b, d, false)
			}
		}
		t.Fatalf("%v\n%s", err, b.String())
	}
	return p
}

func open(t testing.TB, p *luna.Program) *cpp.Library {
	t.Helper()
	libraryOnce.Do(func() {
		b, err := cpp.Build(context.Background(), cpp.Spec{Prog: p, Dir: "testdata/codes", Optimize: "-O0",
			NoWaits: true})
		if err != nil {
			t.Fatal(err)
		}
		if library, err = cpp.Open(b.Path, p); err != nil {
			t.Fatal(err)
		}
	})
	if library == nil {
		t.Fatal("the programs' C++ code could not be built")
	}
	return library
}

// run runs a program and gives its trace as text.
func run(t testing.TB, file string, s shape) string {
	t.Helper()
	p := compile(t, file)
	cfg := engine.Config{Program: p, Library: open(t, p), Nodes: s.nodes, Workers: s.workers,
		LinkLatency:   s.latency,
		LinkBandwidth: s.bandwidth, Session: prof.New(), ThreadClock: engine.ClockOff}
	if s.clock {
		cfg.ThreadClock = engine.ClockOn
	}
	cfg.Session.Choose(func(ns, name string) bool {
		return ns != "GlobalEvents" ||
			slices.Contains([]string{"onProgramStarted", "onProgramFinished", "onIdle", "onBusy"}, name)
	})
	dir := t.TempDir()
	info := trace.RunInfo{Program: filepath.Base(file), Ended: trace.EndedDone,
		Processes: []trace.ProcessInfo{{Host: "host", Cores: runtime.NumCPU()}},
		Settings:  map[string]string{"link_latency": s.latency.String()}}
	if s.bandwidth > 0 {
		info.Settings["link_bandwidth"] = fmt.Sprint(s.bandwidth)
	}
	for i := range s.nodes {
		w, err := trace.Create(dir, i, trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		cfg.Writers = append(cfg.Writers, w)
		info.Nodes = append(info.Nodes, trace.NodeInfo{Node: i, Host: "host", Workers: s.workers})
	}
	_, err := engine.Run(context.Background(), cfg)
	if stuck := (*engine.StuckError)(nil); errors.As(err, &stuck) {
		info.Ended, err = trace.EndedStuck, nil
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range cfg.Writers {
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := trace.WriteRunInfo(dir, &info); err != nil {
		t.Fatal(err)
	}
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var b bytes.Buffer
	if err := twin.Dump(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// median runs a program several times and gives the trace of the run of middle length.
func median(t testing.TB, file string, s shape, times int) string {
	t.Helper()
	type one struct {
		text string
		wall int64
	}
	var all []one
	for range times {
		text := run(t, file, s)
		all = append(all, one{text, sloutest.Build(t, text).Wall()})
	}
	slices.SortFunc(all, func(x, y one) int { return cmp.Compare(x.wall, y.wall) })
	return all[times/2].text
}

// analysed is a trace with all that advice is made of.
type analysed struct {
	m    *model.Model
	res  *slou.Result
	in   advise.Input
	list []advise.Advice
}

func analyse(t testing.TB, text string) *analysed {
	t.Helper()
	ctx := context.Background()
	a := &analysed{m: sloutest.Build(t, text)}
	var err error
	if a.res, err = slou.Compute(ctx, a.m, slou.Options{}, procs.Alone()); err != nil {
		t.Fatal(err)
	}
	a.in = advise.Input{SLOU: a.res, Model: a.m}
	if a.in.Critical, err = critical.Compute(ctx, a.m, critical.Options{}, procs.Alone()); err != nil {
		t.Fatal(err)
	}
	if a.in.Lifecycle, err = lifecycle.Compute(ctx, a.m, lifecycle.Options{}, nil); err != nil {
		t.Fatal(err)
	}
	held, err := counters.Compute(ctx, a.m, counters.Options{Windows: 1, Only: []string{counters.BytesHeld}},
		nil)
	if err != nil {
		t.Fatal(err)
	}
	a.in.Memory = held.Memory
	a.list = advise.Alone(a.in)
	return a
}

func (a *analysed) find(id string) *advise.Advice {
	for i := range a.list {
		if a.list[i].ID == id {
			return &a.list[i]
		}
	}
	return nil
}
