package model

import (
	"testing"
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
		var l Life
		for i := range c.events {
			l = newLife(0)
			for k := range i + 1 {
				l.take(&c.events[k], k == i, nil)
			}
			if l.State != c.want[i] {
				t.Errorf("%s: after event %d it is %v, want %v", c.name, i, l.State, c.want[i])
			}
		}
		if last := c.events[len(c.events)-1]; last.Node >= 0 && l.Node != last.Node {
			t.Errorf("%s: it is on node %d", c.name, l.Node)
		}
	}
}
