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
