//go:build !no_perfetto_module && !no_state_module && !no_profile_module

package modules

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// profiled emits a small program: a loop that creates two CFs, one of which is executed at another node, and
// a CF that is executed three times.
func profiled(ses *prof.Session) {
	a, b := ses.Stream(0, 0, nil), ses.Stream(1, 0, nil)
	loop, first, second, again := trace.MakeCF(0, 1), trace.MakeCF(0, 2), trace.MakeCF(0, 3), trace.MakeCF(0, 4)
	ses.CFCreated.EmitAt(a, 1000, loop, 3, 0, 1, 1, nil)
	ses.CFStarted.EmitAt(a, 2500, loop, 1, nil)
	ses.CFCreated.EmitAt(a, 3000, first, 1, loop, 1, 1, nil)
	ses.CFCreated.EmitAt(a, 3000, second, 1, loop, 1, 1, nil)
	ses.CFFinished.EmitAt(a, 4500, loop, 1, -1)
	ses.CFMigrated.EmitAt(a, 5000, second, 1, 64, 1)
	ses.CFDestroyed.EmitAt(a, 5000, loop)
	ses.CFStarted.EmitAt(a, 10_000, first, 1, nil)
	ses.CFFinished.EmitAt(a, 110_000, first, 1, 90_000)
	ses.DFCreate.EmitAt(a, 110_000, 1, 800, first)
	ses.DFCreate.EmitAt(a, 110_000, 2, 8, first)
	ses.CFDestroyed.EmitAt(a, 110_000, first)
	ses.CFReceived.EmitAt(b, 8000, second, 0, 64, 1)
	ses.CFStarted.EmitAt(b, 13_000, second, 1, nil)
	ses.CFFinished.EmitAt(b, 313_000, second, 1, -1)
	ses.CFDestroyed.EmitAt(b, 313_000, second)
	ses.CFCreated.EmitAt(b, 400_000, again, 4, 0, 1, 1, nil)
	for i := range int64(3) { // waits 100, 900 and 900 ns
		ses.CFStarted.EmitAt(b, 400_100+1000*i, again, uint64(i+1), nil)
		ses.CFFinished.EmitAt(b, 400_200+1000*i, again, uint64(i+1), -1)
	}
	ses.CFDestroyed.EmitAt(b, 500_000, again)
	// Of these no creation was seen.
	ses.DFCreate.EmitAt(b, 500_000, 3, 16, 99)
	ses.CFReceived.EmitAt(b, 500_000, 98, 7, 64, 1)
	ses.CFStarted.EmitAt(b, 500_010, 98, 1, nil)
	ses.CFFinished.EmitAt(b, 500_030, 98, 1, 20)
	ses.CFFinished.EmitAt(b, 500_031, 97<<20, 1, 20)
}

func TestProfileJSON(t *testing.T) {
	file := filepath.Join(t.TempDir(), "profile.json")
	ses, run := viewed(t, ProfileName, prof.RunFacts{Nodes: 2}, map[string]any{"file": file})
	profiled(ses)
	m := run.Get(ProfileName).(interface {
		Execution(code string) (count, totalNS, p50, p90, p99 int64)
	})
	if count, total, p50, p90, p99 := m.Execution("block_5"); count != 2 || total != 400_000 || p50 != 100_000 ||
		p90 < 295_000 || p99 > 300_000 {
		t.Error(count, total, p50, p90, p99)
	}
	if count, total, p50, p90, p99 := m.Execution("for"); count != 4 || total != 2300 || p50 != 100 ||
		p90 < 1960 || p99 > 2000 {
		t.Error(count, total, p50, p90, p99)
	}
	if count, total, p50, p90, p99 := m.Execution("none"); count|total|p50|p90|p99 != 0 {
		t.Error(count, total, p50, p90, p99)
	}
	if err := run.Finish(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var f profileFile
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		t.Fatal(err)
	}
	same := func(count, ns int64) Durations { return Durations{count, count * ns, ns, ns, ns, ns, ns, ns} }
	block := [2]Figures{
		{Execution: same(1, 100_000), Waiting: same(1, 7000), Measured: 1, CPU: 90_000, MeasuredNS: 100_000, DFs: 2,
			Bytes: 808},
		{Execution: same(1, 300_000), Waiting: same(1, 10_000)}, // also the time in flight
	}
	both := block[0]
	both.Execution = Durations{2, 400_000, 200_000, 100_000, 300_000, 100_000, 300_000, 300_000}
	both.Waiting = Durations{2, 17_000, 8500, 7000, 10_000, 7000, 10_000, 10_000}
	loop, again := Figures{Execution: same(1, 2000), Waiting: same(1, 1500)}, Figures{Execution: same(3, 100),
		Waiting: Durations{3, 1900, 633, 100, 900, 900, 900, 900}}
	unknown := Figures{Execution: same(1, 20), Waiting: same(1, 10), Measured: 1, CPU: 20, MeasuredNS: 20,
		DFs: 1, Bytes: 16}
	want := profileFile{"p.fa", 0.015625, []Fragment{
		{FragmentProfile{"block_5", "atomic", ""}, both, []NodeFigures{{0, block[0]}, {1, block[1]}}},
		{FragmentProfile{"for", "for", "p.fa:5:1"}, loop, []NodeFigures{{0, loop}}},
		{FragmentProfile{"for", "for", "p.fa:9:1"}, again, []NodeFigures{{1, again}}},
		{FragmentProfile{"?", "", ""}, unknown, []NodeFigures{{1, unknown}}},
	}}
	// Quantiles are exact to the promised error.
	near := cmp.FilterPath(func(p cmp.Path) bool {
		return strings.HasPrefix(p.Last().String(), ".P") && p.Last().String() != ".Program"
	},
		cmp.Comparer(func(a, b int64) bool { return max(a-b, b-a) <= max(a, b)/60 }))
	if diff := cmp.Diff(want, f, near, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, b); err != nil {
		t.Fatal(err)
	}
	const figures = `"execution_ns":{"count":1,"total":20,"mean":20,"min":20,"max":20,"p50":20,"p90":20,"p99":20},` +
		`"waiting_ns":{"count":1,"total":10,"mean":10,"min":10,"max":10,"p50":10,"p90":10,"p99":10},` +
		`"cpu_measured":1,"cpu_ns":20,"cpu_execution_ns":20,"dfs_created":1,"bytes_created":16}`
	const last = `{"code":"?","kind":"","at":"","total":{` + figures + `,"nodes":[{"node":1,` + figures + `]}]}`
	if got := compact.String(); !strings.HasPrefix(got,
		`{"program":"p.fa","quantile_error":0.015625,"fragments":[{"code":"block_5",`) ||
		!strings.HasSuffix(got, last) {
		t.Errorf("%s", got)
	}
}

func TestProfileTable(t *testing.T) {
	var out bytes.Buffer
	ses, run := viewed(t, ProfileName, prof.RunFacts{Nodes: 2, Out: &out},
		map[string]any{"file": "", "format": "table"})
	profiled(ses)
	if err := run.Finish(); err != nil {
		t.Fatal(err)
	}
	const want = `
code fragment  node  count  total ms  mean us  min us  p50 us  p90 us  p99 us  max us  cpu %  waiting p50 us  p99 us  DFs  bytes
block_5         all      2     0.400    200.0   100.0   100.0   299.0   299.0   300.0     90             7.0    10.0    2    808
                  0      1     0.100    100.0   100.0   100.0   100.0   100.0   100.0     90             7.0     7.0    2    808
                  1      1     0.300    300.0   300.0   300.0   300.0   300.0   300.0      -            10.0    10.0    0      0
for p.fa:5:1    all      1     0.002      2.0     2.0     2.0     2.0     2.0     2.0      -             1.5     1.5    0      0
for p.fa:9:1    all      3     0.000      0.1     0.1     0.1     0.1     0.1     0.1      -             0.9     0.9    0      0
?               all      1     0.000      0.0     0.0     0.0     0.0     0.0     0.0    100             0.0     0.0    1     16
`
	if got := out.String(); "\n"+got != want {
		t.Errorf("\n%s", got)
	}
}

// What the module has summed up is what a model finds that keeps every execution.
func TestProfileIsExact(t *testing.T) {
	type key struct {
		node int
		code string
	}
	type seen struct {
		execution, waiting []int64
		dfs, bytes, cpu    int64
	}
	rapid.Check(t, func(rt *rapid.T) {
		const nodes, workers = 2, 2
		ses, run := viewed(t, ProfileName, prof.RunFacts{Nodes: nodes, Workers: workers},
			map[string]any{"file": filepath.Join(t.TempDir(), "f")})
		model := map[key]*seen{}
		var streams []*prof.Stream
		for n := range nodes {
			for w := range workers {
				streams = append(streams, ses.Stream(n, w, nil))
			}
		}
		now := int64(0)
		step := func() int64 { now += rapid.Int64Range(0, 1e7).Draw(rt, "step"); return now }
		stream := func() *prof.Stream { return rapid.SampledFrom(streams).Draw(rt, "stream") }
		names := []string{"block_5", "b15"}
		for i := range rapid.IntRange(0, 30).Draw(rt, "cfs") {
			site := rapid.IntRange(1, 2).Draw(rt, "site")
			s := stream()
			cf := trace.MakeCF(s.Node(), uint64(i+1))
			since := step()
			ses.CFCreated.EmitAt(s, since, cf, trace.Site(site), 0, 1, 1, nil)
			s = stream()
			m := model[key{s.Node(), names[site-1]}]
			for e := range rapid.IntRange(0, 3).Draw(rt, "executions") {
				if m == nil {
					m = &seen{}
					model[key{s.Node(), names[site-1]}] = m
				}
				begin, end, cpu := step(), step(), rapid.Int64Range(-1, 1).Draw(rt, "cpu")
				ses.CFStarted.EmitAt(s, begin, cf, uint64(e+1), nil)
				ses.CFFinished.EmitAt(s, end, cf, uint64(e+1), cpu)
				m.execution, m.waiting = append(m.execution, end-begin), append(m.waiting, begin-since)
				m.cpu += max(0, cpu)
				since = end
				size := rapid.Int64Range(0, 1000).Draw(rt, "size")
				ses.DFCreate.EmitAt(s, end, 1, size, cf)
				m.dfs, m.bytes = m.dfs+1, m.bytes+size
			}
			ses.CFDestroyed.EmitAt(s, now, cf)
		}
		var count int64
		for _, f := range run.Get(ProfileName).(*Profile).Fragments() {
			for _, n := range f.Nodes {
				m := model[key{n.Node, f.Code}]
				if m == nil {
					rt.Fatalf("%s at node %d", f.Code, n.Node)
				}
				check := func(what string, d Durations, list []int64) {
					slices.Sort(list)
					total := int64(0)
					for _, v := range list {
						total += v
					}
					l := int64(len(list))
					if d.Count != l || d.Total != total || d.Min != list[0] || d.Max != list[l-1] || d.Mean != total/l {
						rt.Fatalf("%s of %s at node %d: %+v of %v", what, f.Code, n.Node, d, list)
					}
				}
				check("execution", n.Execution, m.execution)
				check("waiting", n.Waiting, m.waiting)
				if n.DFs != m.dfs || n.Bytes != m.bytes || n.CPU != m.cpu {
					rt.Fatalf("%s at node %d: %+v, want %+v", f.Code, n.Node, n, m)
				}
				count += n.Execution.Count
				delete(model, key{n.Node, f.Code})
			}
			count -= f.Total.Execution.Count
		}
		if len(model) > 0 || count != 0 {
			rt.Fatalf("missing: %v; totals off by %d", model, count)
		}
		if err := run.Finish(); err != nil {
			rt.Fatal(err)
		}
	})
}

// The figures may be looked at while streams add to them.
func TestProfileWhileItChanges(t *testing.T) {
	const nodes, workers, cfs = 2, 3, 3000
	ses, run := viewed(t, ProfileName, prof.RunFacts{Nodes: nodes, Workers: workers},
		map[string]any{"file": filepath.Join(t.TempDir(), "f")})
	p := run.Get(ProfileName).(*Profile)
	stop := make(chan struct{})
	var reader sync.WaitGroup
	reader.Add(1)
	go func() {
		defer reader.Done()
		last := int64(0)
		for {
			select {
			case <-stop:
				return
			case <-time.After(200 * time.Microsecond):
			}
			sum := int64(0)
			for _, f := range p.Fragments() {
				e := &f.Total.Execution
				sum += e.Count
				if e.Count > 0 && (e.P50 > e.P99 || e.Min > e.Max) {
					t.Errorf("%+v", f)
				}
			}
			if sum < last {
				t.Errorf("%d executions after %d", sum, last)
			}
			last = sum
		}
	}()
	live(ses, nodes, workers, cfs)
	close(stop)
	reader.Wait()
	var executions, bytes int64
	for _, f := range p.Fragments() {
		executions += f.Total.Execution.Count
		bytes += f.Total.Bytes
		if f.Code == "?" || f.Total.Waiting.Count != f.Total.Execution.Count ||
			f.Total.CPU != 5*f.Total.Execution.Count {
			t.Errorf("%+v", f)
		}
	}
	if executions != nodes*workers*cfs || bytes != 8*executions {
		t.Errorf("%d executions, %d bytes", executions, bytes)
	}
	if err := run.Finish(); err != nil {
		t.Fatal(err)
	}
}
