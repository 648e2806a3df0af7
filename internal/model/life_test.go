package model

import (
	"testing"

	"pgregory.net/rapid"
)

// TestLife plays lives of a few events and checks the states in between.
func TestLife(t *testing.T) {
	for _, c := range []struct {
		name   string
		events []CFEvent
		want   []CFState
	}{
		{"plain", []CFEvent{{1, 0, 0, CFCreated}, {2, 0, 0, CFBecameReady}, {3, 0, 1, CFStarted},
			{4, 0, 1, CFEnded}},
			[]CFState{CFWaiting, CFReady, CFRunning, CFFinished}},
		{"migrates", []CFEvent{{1, 0, 0, CFCreated}, {2, 0, 0, CFLeft}, {3, 1, 0, CFReceived},
			{4, 1, 0, CFBecameReady}},
			[]CFState{CFWaiting, CFMoving, CFWaiting, CFReady}},
		{"runs again", []CFEvent{{1, 0, 0, CFCreated}, {2, 0, 1, CFStarted}, {3, 0, 1, CFEnded},
			{3, -1, 0, CFWaited},
			{5, 0, 2, CFStarted}, {6, 0, 2, CFEnded}},
			[]CFState{CFWaiting, CFRunning, CFFinished, CFWaiting, CFRunning, CFFinished}},
		{"starts elsewhere unseen", []CFEvent{{1, 0, 0, CFBecameReady}, {2, 1, 1, CFStarted}},
			[]CFState{CFReady, CFRunning}},
	} {
		l := NewLife(0)
		for i := range c.events {
			l.Take(&c.events[i], nil)
			if l.State != c.want[i] {
				t.Errorf("%s: after event %d it is %v, want %v", c.name, i, l.State, c.want[i])
			}
		}
		if last := c.events[len(c.events)-1]; last.Node >= 0 && l.Node != last.Node {
			t.Errorf("%s: it is on node %d", c.name, l.Node)
		}
	}
}

// TestLivesAgree compares a life that is continued event by event with a walk that knows which event is the
// last: every node has as many CFs in each state at the end.
func TestLivesAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []CFEvent
		for range rapid.IntRange(0, 12).Draw(t, "events") {
			list = append(list, CFEvent{T: rapid.Int64Range(0, 9).Draw(t, "t"),
				Node: int32(rapid.IntRange(-1, 2).Draw(t, "node")),
				What: CFChange(rapid.IntRange(0, int(CFLeft)).Draw(t, "what"))})
		}
		SortCFEvents(list)
		type place struct {
			t     int64
			node  int32
			state CFState
		}
		sums := [2]map[place]int{{}, {}}
		step := func(i int) Step {
			return func(t int64, node int32, from, to CFState) {
				for _, x := range []struct {
					s CFState
					d int
				}{{from, -1}, {to, 1}} {
					if x.s <= CFMoving {
						p := place{t, node, x.s}
						if x.s == CFMoving {
							p.node = -1 // at no node
						}
						if sums[i][p] += x.d; sums[i][p] == 0 {
							delete(sums[i], p)
						}
					}
				}
			}
		}
		l := NewLife(1)
		for i := range list {
			l.Take(&list[i], step(0))
		}
		(&Lives{step: step(1)}).Walk(1, list)
		if len(sums[0]) != len(sums[1]) {
			t.Fatalf("%v, want %v", sums[0], sums[1])
		}
		for p, n := range sums[0] {
			if sums[1][p] != n {
				t.Fatalf("%v, want %v", sums[0], sums[1])
			}
		}
	})
}
