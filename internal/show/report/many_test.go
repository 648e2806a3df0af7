package report

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/testkit/growth"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// Numbers of nodes cost next to nothing: memory goes with what was recorded.
func TestManyNodes(t *testing.T) {
	const events = `#node %d
#code 1 f atomic
#site 1 code=1
0 Global.onProgramStarted
1 CF.onCreated cf=0.1 site=1
2 CF.onReady 0.1
3 CF.onStarted 0.1
9 CF.onFinished 0.1
10ms Global.onProgramFinished
`
	var nodes []string
	for n := range trace.MaxNode + 1 {
		nodes = append(nodes, fmt.Sprintf(`{"node":%d,"process":%d,"workers":4096}`, n, n))
	}
	for name, text := range map[string]string{
		"far":  fmt.Sprintf(events, 0) + fmt.Sprintf(events, trace.MaxNode),
		"many": `#run {"ended":"done","nodes":[` + strings.Join(nodes, ",") + "]}\n" + fmt.Sprintf(events, 0),
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), name)
			if err := twin.Parse(strings.NewReader(text), dir); err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r, err := trace.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			m, err := model.Build(t.Context(), r, model.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Compute(t.Context(), m, Wanted{All: true}, nil); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 500 {
				t.Errorf("%d MB are allocated", mb)
			}
		})
	}
}

// TestManyWorkers: a run of more workers than there is room for in 120 windows each is cut into fewer.
func TestManyWorkers(t *testing.T) {
	const workers = 20_000
	var text strings.Builder
	fmt.Fprintln(&text, "#node 0\n#code 1 f atomic\n#site 1 code=1")
	for n := range workers {
		fmt.Fprintf(&text, "%d n0 s%[1]d Global.onProgramStarted\n%[2]d n0 s%[1]d CF.onStarted 0.%[2]d\n"+
			"%[3]d n0 s%[1]d CF.onFinished 0.%[2]d\n%[4]d n0 s%[1]d Global.onProgramFinished\n", n, n+1, n+900, n+1000)
	}
	dir := filepath.Join(t.TempDir(), "t")
	if err := twin.Parse(strings.NewReader(text.String()), dir); err != nil {
		t.Fatal(err)
	}
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	m, err := model.Build(t.Context(), r, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := Compute(t.Context(), m, Wanted{}, nil)
	if err != nil || all.FactorsError() != nil {
		t.Fatal(err, all.FactorsError())
	}
	if w := all.SLOU.Windows; m.Workers() != workers || w == nil || w.Count < 50 || w.Count >= defaultWindows {
		t.Errorf("%d workers, windows %+v", m.Workers(), w)
	}
}

// TestNamesOfManyNodes: to name all nodes takes time in proportion to them.
func TestNamesOfManyNodes(t *testing.T) {
	growth.Linear(t, 80_000, func(n int) func() {
		m := &model.Model{Nodes: make([]model.Node, n)}
		a := &Everything{model: m, apart: apart(m)}
		return func() {
			for node := range n {
				if a.nodeName(node) == "" {
					t.Fatal(node)
				}
			}
		}
	})
}

// executions writes a trace of one CF that runs n times, by turns on two nodes.
func executions(t testing.TB, n int) *trace.Reader {
	t.Helper()
	var text strings.Builder
	for node := range 2 {
		fmt.Fprintf(&text, "#node %d\n#code 1 loop while\n#site 1 code=1\n", node)
	}
	fmt.Fprintln(&text, "0 n0 Global.onProgramStarted\n0 n1 Global.onProgramStarted\n"+
		"1 n0 CF.onCreated cf=0.1 site=1")
	at := 10
	for i := range n {
		node, other := i%2, 1-i%2
		fmt.Fprintf(&text, "%[1]d n%[2]d CF.onReady 0.1\n%[3]d n%[2]d CF.onStarted 0.1 execution=%[4]d\n"+
			"%[5]d n%[2]d CF.onFinished 0.1 execution=%[4]d\n%[6]d n%[2]d CF.onMigrated 0.1 to=%[7]d bytes=10\n"+
			"%[8]d n%[7]d CF.onReceived 0.1 from=%[2]d bytes=10\n",
			at, node, at+2, i+1, at+7, at+8, other, at+9)
		at += 10
	}
	fmt.Fprintf(&text, "%[1]d n0 Global.onProgramFinished\n%[1]d n1 Global.onProgramFinished\n", at+10)
	dir := filepath.Join(t.TempDir(), "t")
	if err := twin.Parse(strings.NewReader(text.String()), dir); err != nil {
		t.Fatal(err)
	}
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// reported is how a trace is read and reported; the executions are those of its only CF.
func reported(t testing.TB, r *trace.Reader, n int) {
	t.Helper()
	m, err := model.Build(t.Context(), r, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := Compute(t.Context(), m, Wanted{All: true}, nil)
	if err != nil || all.FactorsError() != nil || m.Executions() != n {
		t.Fatal(err, all.FactorsError(), m.Executions())
	}
}

// TestManyExecutions: a report takes time in proportion to the executions of a CF.
func TestManyExecutions(t *testing.T) {
	growth.Linear(t, 16_000, func(n int) func() {
		r := executions(t, n)
		return func() { reported(t, r, n) }
	})
}

func BenchmarkManyExecutions(b *testing.B) {
	r := executions(b, 1_000_000)
	for b.Loop() {
		reported(b, r, 1_000_000)
	}
}
