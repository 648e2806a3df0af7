package timeline

import (
	"context"
	"fmt"
	"slices"
	"strings"
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

// together is a run of two threads: a barrier of both, a lock that both want, a put and a get.
const together = `#node 0
#code 1 main function
#code 2 barrier barrier
#code 3 lock lock
#code 4 put bulk
#site 1 code=1
#site 2 code=2 at=b.c:5:0
#site 3 code=3 at=b.c:7:0
#site 4 code=4 at=b.c:9:0
0 Global.onProgramStarted
0 Region.onEntered 1
10 Region.onEntered 2
10 Sync.onCollective barrier size=2
43 Region.onExited 2
50 Region.onEntered 3
52 Sync.onAcquired 7
52 Region.onExited 3
60 Region.onEntered 4
61 Message.onPut 1 100
65 Region.onExited 4
70 Sync.onReleased 7
90 Region.onExited 1
90 Global.onProgramFinished
#node 1
#code 1 main function
#code 2 barrier barrier
#code 3 lock lock
#site 1 code=1
#site 2 code=2 at=b.c:5:0
#site 3 code=3 at=b.c:7:0
0 Global.onProgramStarted
0 Region.onEntered 1
40 Region.onEntered 2
40 Sync.onCollective barrier size=2
42 Region.onExited 2
55 Region.onEntered 3
71 Sync.onAcquired 7
71 Region.onExited 3
80 Sync.onReleased 7
90 Region.onExited 1
90 Global.onProgramFinished
`

// TestRegions: visits lie inside each other, collectives span the lanes, a lock has an owner and who waits
// for it, and what is too short for the picture is merged.
func TestRegions(t *testing.T) {
	tl, err := Build(context.Background(), sloutest.Build(t, together), Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := tl.Regions(RegionQuery{From: 0, To: 90, Width: 90})
	if err != nil {
		t.Fatal(err)
	}
	var visits []string
	for i, lane := range got.Visits.Lane {
		v := &got.Visits
		p := got.Places[v.Place[i]]
		visits = append(visits, fmt.Sprint(lane, v.Depth[i], " ", v.Start[i], "-", v.End[i], " ",
			tl.m.Codes[p.Code].Name, ":", p.Line, " x", v.Count[i]))
	}
	slices.Sort(visits)
	want := []string{"0 0 0-90 main:0 x1", "0 1 10-43 barrier:5 x1", "0 1 50-52 lock:7 x1", "0 1 60-65 put:9 x1",
		"1 0 0-90 main:0 x1", "1 1 40-42 barrier:5 x1", "1 1 55-71 lock:7 x1"}
	if !slices.Equal(visits, want) || got.Depth != 2 {
		t.Errorf("depth %d, visits %q", got.Depth, visits)
	}
	if b := got.Collectives; len(b) != 1 || b[0].Kind != "barrier" || got.Places[b[0].Place].Line != 5 ||
		!slices.Equal(b[0].Members, []BandMember{{0, 10, 43}, {1, 40, 42}}) {
		t.Errorf("collectives %+v", b)
	}
	if len(got.Locks) != 1 || got.LocksMore != 0 {
		t.Fatalf("locks %+v", got.Locks)
	}
	l := got.Locks[0]
	if fmt.Sprint(l.Holds) != "{[0 1] [52 71] [70 80] [1 1]}" || fmt.Sprint(l.Waits) != "{[1] [55] [71] [1]}" {
		t.Errorf("holds %v, waits %v", l.Holds, l.Waits)
	}
	// One pixel for all: each depth of a lane is one visit, the longest says which.
	got, err = tl.Regions(RegionQuery{From: 0, To: 90, Width: 1, Lanes: []int{0}})
	if err != nil {
		t.Fatal(err)
	}
	if v := got.Visits; fmt.Sprint(v.Depth, v.Start, v.End, v.Count) != "[0 1] [0 10] [90 65] [1 3]" ||
		got.Places[v.Place[1]].Line != 5 {
		t.Errorf("merged: %+v", v)
	}
	// What was entered before the interval is still around it.
	got, err = tl.Regions(RegionQuery{From: 20, To: 30, Width: 10, Lanes: []int{0}})
	if err != nil {
		t.Fatal(err)
	}
	if v := got.Visits; len(v.Lane) != 2 || got.Collectives[0].Members[0].Lane != 0 || len(got.Locks) != 0 {
		t.Errorf("within the barrier: %+v, locks %+v", v, got.Locks)
	}
	for _, q := range []RegionQuery{{From: 5, To: 5, Width: 1}, {From: 0, To: 5}, {From: 0, To: 5, Width: 1,
		Lanes: []int{9}}} {
		if _, err := tl.Regions(q); err == nil {
			t.Errorf("%+v is answered", q)
		}
	}
}

// TestTransfers: a put is an arrow with the place that asked for it, and waits are found by place.
func TestTransfers(t *testing.T) {
	tl, err := Build(context.Background(), sloutest.Build(t, together), Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := tl.Arrows(ArrowQuery{From: 0, To: 90})
	if err != nil {
		t.Fatal(err)
	}
	want := Arrow{Kind: "put", T0: 60, T1: 65, FromLane: 0, ToLane: 1, FromNode: 0, ToNode: 1, What: "put",
		Bytes: 100, Link: "0->1", File: "b.c", Line: 9}
	if len(got.Arrows) != 1 || got.Arrows[0] != want {
		t.Errorf("arrows %+v", got.Arrows)
	}
	// A get comes from the other node, an atomic goes there.
	for event, want := range map[string]Arrow{
		"Message.onGet 1 100": {Kind: "get", T0: 60, T1: 65, FromLane: 1, ToLane: 0, FromNode: 1, ToNode: 0, What: "put",
			Bytes: 100, Link: "1->0", File: "b.c", Line: 9},
		"Message.onRemoteAtomic 1 8": {Kind: "atomic", T0: 60, T1: 65, FromLane: 0, ToLane: 1, FromNode: 0, ToNode: 1,
			What: "put", Bytes: 8, Link: "0->1", File: "b.c", Line: 9},
	} {
		other := strings.Replace(together, "Message.onPut 1 100", event, 1)
		tl, err := Build(context.Background(), sloutest.Build(t, other), Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := tl.Arrows(ArrowQuery{From: 0, To: 90})
		if err != nil || len(got.Arrows) != 1 || got.Arrows[0] != want {
			t.Errorf("%s: arrows %+v, %v", event, got, err)
		}
	}
	w, err := tl.Longest(WaitQuery{From: 0, To: 90, Parts: []string{"wait-at-barrier"}, Place: "b.c:5", Windows: 1})
	if err != nil {
		t.Fatal(err)
	}
	if w.Count != 1 || w.NS != 30 || w.Rows[0].Where != "barrier, b.c:5" {
		t.Errorf("waits %+v", w)
	}
	if w, err = tl.Longest(WaitQuery{From: 0, To: 90, Place: "b.c:6", Windows: 1}); err != nil || w.Count != 0 {
		t.Errorf("waits elsewhere: %+v, %v", w, err)
	}
}
