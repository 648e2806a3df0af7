package model_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
)

// DFs whose definitions are lost are called by their numbers; a name has one number for all processes, also
// where only one of them met it.
func TestShareUndefined(t *testing.T) {
	dir := t.TempDir()
	text := `#node 0
0 Global.onProgramStarted
1 DF.onStored df=5 size=8
9 Global.onProgramFinished
#node 1
#df 1 x [0 1]
0 Global.onProgramStarted
1 DF.onStored df=1 size=8
2 DF.onStored df=2 size=8
3 DF.onStored df=7 size=8
9 Global.onProgramFinished
`
	if err := twin.Parse(strings.NewReader(text), dir); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var names [][]string
	titles := map[string]bool{}
	if _, err := sloutest.Share(dir, 2, model.Options{}, func(m *model.Model, g procs.Group) (*int, error) {
		mu.Lock()
		defer mu.Unlock()
		names = append(names, m.Names)
		for df := 1; df < m.DFs(); df++ {
			titles[m.DFString(model.DF(df))] = true
		}
		return nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(names) != 2 || !slices.Equal(names[0], names[1]) {
		t.Errorf("processes have different names: %q", names)
	}
	for _, want := range []string{"#2", "#5", "#7", "x"} {
		if !titles[want] {
			t.Errorf("no DF is %s: %v", want, titles)
		}
	}
}
