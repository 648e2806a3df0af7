package simulate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/simulate"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// handed is a run of two nodes. Node 0 makes two values for node 1. It goes on when it has sent the first,
// and its receiver takes 100 us to wake; when it has sent the second it parks after 4.8 us, and 0.3 us later
// the value is there.
const handed = `#run {"processes":[{"pid":1}],"nodes":[{"node":0,"workers":1},{"node":1,"workers":1}]}
#code 1 make atomic
#code 2 use atomic
#site 1 code=1
#site 2 code=2
#node 0
#df 1 a [0 1]
#df 2 b [0 2]
#node 1
#df 1 a [0 1]
#df 2 b [0 2]
0 n0 s0 GlobalEvents.onProgramStarted process=0 cpu=0
0 n0 s0 CFEvents.onCreated cf=0.1 site=1
0 n0 s0 CFEvents.onReady cf=0.1
0 n0 s0 CFEvents.onCreated cf=0.2 site=1
0 n0 s0 CFEvents.onReady cf=0.2
100 n0 s0 CFEvents.onStarted cf=0.1
10100 n0 s0 CFEvents.onFinished cf=0.1 cpu=10000
10100 n0 s0 DFEvents.onCreate df=1 size=8 cf=0.1
10200 n0 s0 DFEvents.onSent df=1 to=1 bytes=40 message=0.1 request=- cf=-
10500 n0 s0 CFEvents.onStarted cf=0.2
200000 n0 s0 CFEvents.onFinished cf=0.2 cpu=189500
200000 n0 s0 DFEvents.onCreate df=2 size=8 cf=0.2
200200 n0 s0 DFEvents.onSent df=2 to=1 bytes=40 message=0.2 request=- cf=-
205000 n0 s0 GlobalEvents.onIdle
212000 n0 s0 GlobalEvents.onProgramFinished cpu=212000
0 n1 s0 GlobalEvents.onProgramStarted process=0 cpu=0
0 n1 s0 CFEvents.onCreated cf=1.1 site=2
0 n1 s0 CFEvents.onCreated cf=1.2 site=2
200 n1 s0 DFEvents.onRequested df=1 cf=1.1 node=1 request=-
200 n1 s0 CFEvents.onWaiting cf=1.1 awaited=[1]
400 n1 s0 DFEvents.onRequested df=2 cf=1.2 node=1 request=-
400 n1 s0 CFEvents.onWaiting cf=1.2 awaited=[2]
600 n1 s0 GlobalEvents.onIdle
110200 n1 s1 DFEvents.onReceived df=1 from=0 bytes=40 message=0.1 request=- cf=-
112000 n1 s0 GlobalEvents.onBusy
112500 n1 s0 CFEvents.onStarted cf=1.1 inputs=[1]
120000 n1 s0 CFEvents.onFinished cf=1.1 cpu=7500
121000 n1 s0 GlobalEvents.onIdle
205300 n1 s1 DFEvents.onReceived df=2 from=0 bytes=40 message=0.2 request=- cf=-
207000 n1 s0 GlobalEvents.onBusy
207500 n1 s0 CFEvents.onStarted cf=1.2 inputs=[2]
212000 n1 s0 CFEvents.onFinished cf=1.2 cpu=4500
212000 n1 s0 GlobalEvents.onProgramFinished cpu=212000
`

// A worker that parks leaves its core to the thread that it has just woken for a message, which need not wait
// for another one then, unless it belongs to another process. How long waking takes is measured where nobody
// parked.
func TestHandOver(t *testing.T) {
	wall := func(text string, transport float64) (ns int64, measured float64) {
		s := simulator(t, sloutest.Build(t, text))
		m := s.Complete(ownCores)
		measured = m.Costs.TransportNS
		m.Costs = m.Costs.With(map[string]float64{"transport": transport}, false, false)
		r := run(t, s, m)
		return r.WallNS, measured
	}
	one, measured := wall(handed, 1e6)
	if measured != 100_000 {
		t.Errorf("to wake the receiver takes %.0f ns", measured)
	}
	if one > 250_000 {
		t.Errorf("node 0 parks after 205 us, but the run takes %d ns", one)
	}
	apart := strings.Replace(handed, `{"pid":1}`, `{"pid":1},{"pid":2}`, 1)
	if two, measured := wall(apart, 1e6); measured != 52_550 || two < 1_000_000 {
		t.Errorf("in two processes a receiver wakes in %.0f ns, and the run takes %d ns", measured, two)
	}
}

// What a worker waited for a core is left out of a prediction only as far as other programs may have had it.
func TestOwnWaits(t *testing.T) {
	wall := func(process string) int64 {
		text := fmt.Sprintf(`#run {"processes":[{"pid":1,"cores":1%s}],"nodes":[{"node":0,"workers":1}]}`+"\n",
			process) + strings.NewReplacer("cf=0.2 cpu=1000000000",
			"cf=0.2 cpu=600000000\n1000000350 n0 s0 GlobalEvents.onThreadTime ago=0 span=1000000000 "+
				"cpu=600000000 queued=400000000",
			"Finished cpu=1000000350", "Finished cpu=600000350").Replace(bag([]int{1e9}))
		return run(t, simulator(t, sloutest.Build(t, text)), simulate.Machine{}).WallNS / 1e6
	}
	for process, want := range map[string]int64{
		``: 600, // nobody knows
		`,"cpu_ns":600000000,"busy_ns":1000000000`: 610, // 390 ms at least, as the kernel counts
		`,"cpu_ns":600000000,"busy_ns":700000000`:  910,
		`,"cpu_ns":600000000,"busy_ns":600000000`:  1000,
	} {
		if got := wall(process); got != want {
			t.Errorf("%s: %d ms are predicted, expected %d", process, got, want)
		}
	}
}
