package report

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/model"
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
			if err := trace.Parse(strings.NewReader(text), dir); err != nil {
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
