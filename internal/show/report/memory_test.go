package report

import (
	"regexp"
	"strings"
	"testing"
)

// TestOnePeak reports a run in which a node holds two copies of one DF, neither of which is ever dropped.
// What the report says of memory and what the advice says is one figure.
func TestOnePeak(t *testing.T) {
	const text = `
#run {"program":"p.fa","ended":"done","nodes":[{"node":0,"process":0,"workers":1}]}
#node 0
#code 1 use atomic at=p.fa:3:1
#site 1 code=1 at=p.fa:4:2
#df 1 b [0 1]
#df 2 c [0 2]
0 n0 s0 GlobalEvents.onProgramStarted
0 n0 s0 CFEvents.onCreated cf=0.1 site=1
10 n0 s0 CFEvents.onReady cf=0.1
10 n0 s0 CFEvents.onStarted cf=0.1 execution=1 inputs=[]
20 n0 s0 DFEvents.onCreate df=1 size=20000000 cf=0.1
20 n0 s0 DFEvents.onStored df=1 size=20000000
30 n0 s0 DFEvents.onStored df=1 size=20000000
32 n0 s0 DFEvents.onStored df=2 size=5
35 n0 s0 DFEvents.onDropped df=2 size=5
40 n0 s0 CFEvents.onFinished cf=0.1 execution=1
100 n0 s0 DFEvents.onDestroy df=1 size=20000000 reason=end
100 n0 s0 GlobalEvents.onProgramFinished
`
	shown := strings.Join(strings.Fields(render(t, compute(t, text), "terminal")), " ")
	if !strings.Contains(shown, "Memory at most 40.0 MB in 2 copies") {
		t.Fatalf("the copies are not counted:\n%s", shown)
	}
	said := regexp.MustCompile(`all DFs would take at most (.*?) instead of ([0-9.]+ [KMG]?B)`).
		FindStringSubmatch(shown)
	if len(said) == 0 || said[2] != "40.0 MB" {
		t.Errorf("the advice speaks of another peak, %q:\n%s", said, shown)
	}
}
