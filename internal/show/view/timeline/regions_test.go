package timeline

import (
	"context"
	"testing"

	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// TestRegionParts: parts of a run of regions have their own names in every factor.
func TestRegionParts(t *testing.T) {
	m := sloutest.Build(t, `#node 0
#code 1 memget bulk
#code 2 unlock lock
#site 1 code=1
#site 2 code=2
0 Global.onProgramStarted
10 Region.onEntered 1
20 Region.onExited 1
30 Region.onEntered 2
40 Region.onExited 2
50 Global.onProgramFinished
#node 1
20 Global.onProgramStarted
30 Global.onProgramFinished
`)
	tl, err := Build(context.Background(), m, Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for i := range tl.parts {
		got[tl.parts[i].factor.String()+"."+tl.parts[i].String()] = true
	}
	for _, want := range []string{"U.", "L.bulk", "O.runtime", "S.start", "S.end"} {
		if !got[want] {
			t.Errorf("there is no %s: %v", want, got)
		}
	}
}
