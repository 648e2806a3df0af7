package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// TestInside: arrows inside a node are the ways of all inputs that end within the interval and came from
// another lane of the node, the longest first, and beside the messages. What is not looked at is counted.
func TestInside(t *testing.T) {
	defer func(n int) { mostInputs = n }(mostInputs)
	rapid.Check(t, func(t *rapid.T) {
		m := randomRun(t)
		tl, _ := made(t, m)
		q := ArrowQuery{Lanes: drawLanes(t, len(tl.lanes)), Limit: rapid.SampledFrom([]int{1, 3, 100000}).Draw(t,
			"limit")}
		q.From, q.To = drawRange(t, m.Wall())
		mostInputs = 200_000
		messages, err := tl.Arrows(q)
		if err != nil {
			t.Fatal(err)
		}
		q.Inside = true
		got, err := tl.Arrows(q)
		if err != nil {
			t.Fatal(err)
		}
		want, inputs := slices.Clone(messages.Arrows), 0
		for _, lane := range chosenLanes(tl, q.Lanes) {
			w := tl.lanes[lane].worker
			for e := w.First; e < w.End; e++ {
				if start := tl.at(m.ExecStart[e]); start < q.From || start >= q.To {
					continue
				}
				inputs += len(m.Inputs(e))
				for _, df := range m.Inputs(e) {
					a := tl.wait(e, df)
					if a.FromNode == tl.lanes[lane].id.Node && a.FromLane >= 0 && a.FromLane != lane {
						want = append(want, a)
					}
				}
			}
		}
		slices.SortStableFunc(want, func(a, b Arrow) int { return cmp.Compare(b.T1-b.T0, a.T1-a.T0) })
		n := min(q.Limit, len(want))
		if len(got.Arrows) != n || got.More != messages.More+len(want)-n {
			t.Fatalf("%d arrows and %d more, want %d and %d", len(got.Arrows), got.More, n,
				messages.More+len(want)-n)
		}
		for i, a := range got.Arrows {
			k := slices.Index(want, a)
			if k < 0 || a.T1-a.T0 != want[i].T1-want[i].T0 {
				t.Fatalf("arrow %d: %+v, want %+v", i, a, want[i])
			}
			want[i], want[k] = want[k], want[i]
		}
		mostInputs = 0
		if got, err = tl.Arrows(q); err != nil || got.More != messages.More+inputs {
			t.Fatalf("%v: %+v, want %d more", err, got, messages.More+inputs)
		}
	})
}

// TestMutexes: the rows of locks that code of CFs waited for, with who had them meanwhile and who waited.
func TestMutexes(t *testing.T) {
	m := sloutest.Build(t, `#run {"ended":"done","nodes":[{"node":0,"workers":3}]}
#node 0
#code 1 work atomic
#site 1 code=1
0 n0 s0 Global.onProgramStarted
0 n0 s1 Global.onProgramStarted
0 n0 s2 Global.onProgramStarted
0 n0 s0 CF.onCreated 0.1 1
0 n0 s1 CF.onCreated 0.2 1
0 n0 s2 CF.onCreated 0.3 1
0 n0 s0 CF.onStarted 0.1
0 n0 s1 CF.onStarted 0.2
0 n0 s2 CF.onStarted 0.3
40 n0 s1 SyncEvents.onBlocked cf=0.2 span=30 reason=lock what=total holder=0.1
60 n0 s2 SyncEvents.onBlocked cf=0.3 span=40 reason=lock what=total holder=0.1
70 n0 s2 SyncEvents.onBlocked cf=0.3 span=5 reason=io what=file
90 n0 s0 SyncEvents.onBlocked cf=0.1 span=10 reason=lock what=total holder=0.3
100 n0 s0 CF.onFinished 0.1
100 n0 s1 CF.onFinished 0.2
100 n0 s2 CF.onFinished 0.3
100 n0 s0 Global.onProgramFinished
100 n0 s1 Global.onProgramFinished
100 n0 s2 Global.onProgramFinished
`)
	tl, _ := made(t, m)
	got, err := tl.Regions(RegionQuery{To: 100, Width: 100})
	if err != nil {
		t.Fatal(err)
	}
	// Lane 1 got it at 40, while lane 2 waited; lane 2 got it at 60. At 80 it still had it, or again.
	const want = "[{total  0 {[0 1 2] [10 40 80] [40 60 90] [1 1 1]} {[0 1 2] [80 10 20] [90 40 60] [1 1 1]}}]"
	if text := fmt.Sprint(got.Locks); text != want {
		t.Errorf("%s\nwant %s", text, want)
	}
	if got, err = tl.Regions(RegionQuery{From: 62, To: 75, Width: 100}); err != nil || len(got.Locks) != 0 {
		t.Errorf("%v: %+v, nobody waited", err, got.Locks)
	}
}
