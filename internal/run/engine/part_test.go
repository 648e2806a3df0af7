package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/run/config"
	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/internal/run/luna/records"
	"github.com/whyslow/whyslow/internal/run/transport"
	"github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// Runs of many processes: each node has an engine of its own here.

// TestOver runs random programs with messages that take random times, and processes that say at once that
// they have nothing to do: a run must not end while anything is under way, and must end.
func TestOver(t *testing.T) {
	defer engine.HurryRests()()
	open(t, compile(t, "sub main() { none(); }"))
	deadline := time.Now().Add(time.Duration(effort.Times(1, 3)) * time.Second)
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		if time.Now().After(deadline) {
			return
		}
		g := drawGraph(rt)
		p := compile(t, "\n"+g.Src)
		s := shape{nodes: rapid.IntRange(1, 6).Draw(rt, "nodes"), workers: rapid.IntRange(1, 2).Draw(rt, "workers"),
			apart: true}
		s.delays = rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		steal := rapid.Bool().Draw(rt, "steal")
		s.set = func(c *engine.Config) { c.Steal = steal }
		runs++
		if faults := g.check(t, p, s, false); len(faults) > 0 {
			rt.Fatalf("%v (stealing %v): %s\n%s", s, steal, strings.Join(faults, "\n"), g.Src)
		}
	})
	t.Logf("%d runs", runs)
}

func TestApartTheft(t *testing.T) {
	p := compile(t, `sub main() { for i = 1 .. 200 { busy(300) @ { stealable; }; } }`)
	for range 5 {
		o := runProgram(t, p, shape{nodes: 3, workers: 1, apart: true, set: func(c *engine.Config) {
			c.Steal = true
		}})
		if o.err != nil {
			t.Fatal(o.err)
		}
		if o.res.Stolen > 0 {
			return
		}
	}
	t.Error("nothing was stolen")
}

// TestApartAddresses: what the addresses mean that any process has recorded can be looked up after the run.
func TestApartAddresses(t *testing.T) {
	o := run(t, `sub main() { nap(20) @ { locator_cyclic: 1; }; }`, shape{nodes: 2, workers: 1, apart: true})
	if o.err != nil || !slices.ContainsFunc(o.res.Addresses, func(a string) bool {
		return strings.Contains(a, ".so+0x")
	}) {
		t.Errorf("%v, %q", o.err, o.res.Addresses)
	}
}

// TestApartClocks compares clocks that are the same clock: the offset is 0, and the error must say so.
func TestApartClocks(t *testing.T) {
	const src = `sub main() { for i = 1 .. 100 nap(2) @ { locator_cyclic: i; }; }`
	p := compile(t, src)
	for _, c := range []struct {
		sync        engine.ClockSync
		least, most int
	}{
		{engine.ClockSync{When: engine.ClockSyncOff}, 0, 0},
		{engine.ClockSync{When: engine.ClockSyncEnds}, 2, 2},
		{engine.ClockSync{}, 2, 100},
		{engine.ClockSync{Precision: 40 * time.Nanosecond}, 3, 100000},
	} {
		for _, delays := range []*rand.Rand{nil, rand.New(rand.NewPCG(1, 2))} {
			o := runProgram(t, p, shape{nodes: 3, workers: 1, apart: true, delays: delays,
				part: func(cfg *engine.Config) { cfg.Part.Clock = c.sync }})
			if o.err != nil {
				t.Fatal(o.err)
			}
			if n := len(o.trace.syncs(0)); n != 1 || o.trace.syncs(0)[0] != [2]int64{} {
				t.Errorf("%+v: node 0: %v", c.sync, o.trace.syncs(0))
			}
			for node := 1; node < 3; node++ {
				l := o.trace.syncs(node)
				least := c.least
				if delays != nil {
					least = min(least, 2)
				}
				if len(l) < least || len(l) > c.most {
					t.Errorf("%+v: node %d compared its clock %d times", c.sync, node, len(l))
				}
				for _, s := range l {
					if max(s[0], -s[0]) > s[1] {
						t.Errorf("%+v: node %d: offset %d, error at most %d", c.sync, node, s[0], s[1])
					}
				}
			}
		}
	}
}

// syncs are the comparisons of a node's clock: offset and error.
func (f *facts) syncs(node int) (list [][2]int64) {
	for _, e := range f.events {
		if e.kind == trace.KindClockSync && e.node == node {
			list = append(list, [2]int64{int64(e.a[0]), int64(e.a[1])})
		}
	}
	return list
}

// TestApartStrangers lets processes meet that were not started alike.
func TestApartStrangers(t *testing.T) {
	p, other := compile(t, `sub main(int n) { none(); }`), compile(t, `sub main(int n) { none(); none(); }`)
	lib := open(t, p)
	for what, change := range map[string]func(*engine.Config){
		"process 1 on HOST runs another program than process 0 on HOST: give all the same " +
			"file": func(c *engine.Config) { c.Program = other },
		`process 1 on HOST gives the program the arguments ["2"], process 0 ["1"]: they must be the same`: func(
			c *engine.Config) {
			c.Args = []string{"2"}
		},
		"process 1 on HOST and process 0 do not agree on whether work is " +
			"stolen": func(c *engine.Config) { c.Steal = true },
		"process 1 on HOST and process 0 do not agree on whether debug records are " +
			"written": func(c *engine.Config) { c.Records = &records.Records{} },
		"process 1 on HOST has another placement of CFs and DFs than process 0: give all the same " +
			"file": func(c *engine.Config) { c.Place = anyPlacement(p, 2, 1) },
		"a run needs 1 to 65536 nodes of 1 to 1024 workers " +
			"each": func(c *engine.Config) { c.Workers = 0 },
		"event A.b: there is no point \"x\" in LuNA programs: there are ": func(
			c *engine.Config) {
			c.Rules = []config.EventState{{Namespace: "A", Name: "b", Rule: behind("x")}}
		},
	} {
		live := cpp.Live()
		cfgs := parts(engine.Config{Program: p, Library: lib, Nodes: 3, Workers: 1, Args: []string{"1"},
			Session: prof.New()}, shape{})
		change(&cfgs[1])
		_, errs := runParts(t.Context(), cfgs)
		host, _ := os.Hostname()
		for i, err := range errs {
			if err == nil || !strings.Contains(err.Error(), strings.ReplaceAll(what, "HOST", host)) {
				t.Errorf("node %d: %v, wanted %q", i, err, what)
			}
		}
		if cpp.Live() != live {
			t.Errorf("%s: %d buffers leaked", what, cpp.Live()-live)
		}
	}
	t.Run("arguments", func(t *testing.T) {
		_, errs := runParts(t.Context(), parts(engine.Config{Program: p, Library: lib, Nodes: 2, Workers: 1},
			shape{}))
		for _, err := range errs {
			var bad *engine.ArgError
			if !errors.As(err, &bad) {
				t.Error(err)
			}
		}
	})
}

// TestApartInterrupt interrupts one process only: the others hear of it, and all traces are whole.
func TestApartInterrupt(t *testing.T) {
	defer engine.Unhurried()()
	p := compile(t,
		`sub main() { df n; while 1, i = 0 .. out n { df x; put(x, 4) @ { locator_cyclic: i; }; mix(x[1], x, x) @ { locator_cyclic: i + 1; }; } }`)
	lib := open(t, p)
	for whom := range 3 {
		dir := t.TempDir()
		cfg := engine.Config{Program: p, Library: lib, Nodes: 3, Workers: 1, Session: prof.New()}
		for i := range 3 {
			w, err := trace.Create(dir, i, trace.Options{})
			if err != nil {
				t.Fatal(err)
			}
			cfg.Writers = append(cfg.Writers, w)
		}
		errs := make([]error, 3)
		var wg, connecting sync.WaitGroup
		connecting.Add(3)
		for i, c := range parts(cfg, shape{}) {
			connect := c.Part.Connect
			c.Part.Connect = func(deliver func(*transport.Message)) transport.Network {
				defer connecting.Done()
				return connect(deliver)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if i == whom {
				go func() { // who goes before all are connected can tell nobody: that ends a job of processes
					connecting.Wait()
					time.AfterFunc(30*time.Millisecond, cancel)
				}()
			}
			wg.Go(func() { _, errs[i] = engine.Run(ctx, c) })
		}
		wg.Wait()
		for i, err := range errs {
			if !errors.Is(err, engine.ErrInterrupted) {
				t.Errorf("%d was interrupted, %d ended with %v", whom, i, err)
			}
			if err := cfg.Writers[i].Close(); err != nil {
				t.Error(err)
			}
		}
		if f := readFacts(t, dir, false); len(f.faults) > 0 || f.kinds[trace.KindProgramFinished] != 9 {
			t.Errorf("%d was interrupted: %d streams ended, %v", whom, f.kinds[trace.KindProgramFinished], f.faults)
		}
	}
}

// TestApartRecords compares the debug records of processes with those of nodes in one process.
func TestApartRecords(t *testing.T) {
	const src = `
		sub main()
		{
			df n, x;
			put(x, 0);
			while i < 2 + x, i = 0 .. out n { df y; put(y, i); out_i("y", y) @ { locator_cyclic: 1; }; }
			f(n) @ { locator_cyclic: 1; };
			for i = 0 .. 3 { f(n + i) @ { locator_cyclic: i; }; }
			out_i("never", n[1]) @ { locator_cyclic: 1; };
		}
		sub f(int n) { df z; if n { put(z, 1) @ { locator_cyclic: n; }; } @ { locator_cyclic: 1; } out_i("z", z) @ { locator_cyclic: 2; }; }`
	p := compile(t, src)
	var want []string
	for _, apart := range []bool{false, true} {
		dir := t.TempDir()
		for _, old := range []string{"id.1.map.list", "cf.7.json.list"} {
			if err := os.WriteFile(filepath.Join(dir, old), []byte("old\n"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		var all []*records.Records
		start := func(c *engine.Config, r *records.Records, err error) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, r)
			c.Records = r
		}
		o := runProgram(t, p, shape{nodes: 3, workers: 1, apart: apart, set: func(c *engine.Config) {
			if !apart {
				r, err := records.New(dir, p, -1, 0)
				start(c, r, err)
			}
		}, part: func(c *engine.Config) {
			r, err := records.New(dir, p, c.Part.Node, c.Nodes)
			start(c, r, err)
		}})
		var stuck *engine.StuckError
		if !errors.As(o.err, &stuck) || len(stuck.CFs) != 1 {
			t.Fatal(o.err)
		}
		all[0].Pending(stuck.CFs[0].Node, stuck.CFs[0].ID, nil)
		for _, r := range all {
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
		files, err := filepath.Glob(filepath.Join(dir, "cf.*.json.list"))
		if err != nil || len(files) != 3 {
			t.Fatal(files, err)
		}
		var got []string // of each record the history: numbers of identities depend on who comes first
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(b)) {
				var r struct{ H []int }
				if err := json.Unmarshal([]byte(line), &r); err != nil {
					t.Fatalf("%s: %q: %v", f, line, err)
				}
				got = append(got, fmt.Sprint(r.H))
			}
		}
		slices.Sort(got)
		if apart && !slices.Equal(got, want) {
			t.Errorf("records\n%s\nwanted\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		want = got
	}
}

// TestApartDescriber asks in each process what its events are about.
func TestApartDescriber(t *testing.T) {
	p := compile(t,
		`sub main() { df x; for i = 0 .. 5 put(x[i], i) @ { locator_cyclic: i; }; for i = 0 .. 5 out_i("x", x[i]) @ { locator_cyclic: i + 1; }; } @ { locator_cyclic x[i] => i; }`)
	var mu sync.Mutex
	seen := map[int]map[string]bool{}
	o := runProgram(t, p, shape{nodes: 3, workers: 1, apart: true, part: func(c *engine.Config) {
		c.DescribeDFs = true
		node, ses := c.Part.Node, c.Session
		err := ses.DFStored.Connect("test", 0, func(s *prof.Stream, _ int64, df trace.DF, _ int64) {
			mu.Lock()
			defer mu.Unlock()
			name, id := ses.Describe().DF(s.Node(), df)
			if s.Node() != node || name != "x" || len(id) != 3 {
				t.Errorf("node %d: event of node %d about %s %v", node, s.Node(), name, id)
			}
			if seen[node] == nil {
				seen[node] = map[string]bool{}
			}
			seen[node][fmt.Sprint(id)] = true
		})
		if err != nil {
			t.Error(err)
		}
	}})
	if o.err != nil {
		t.Fatal(o.err)
	}
	for node := range 3 {
		if len(seen[node]) != 4 {
			t.Errorf("node %d held %v", node, seen[node])
		}
	}
}
