package memory

import (
	"os"
	"runtime"
	"testing"
)

// A small heap may be four fifths garbage, a huge one a fifth.
func TestGarbageFor(t *testing.T) {
	for _, c := range []struct{ live, most, want int }{
		{0, 400, 400}, {20 << 20, 400, 400}, {20 << 20, 50, 50}, {96 << 20, 400, 100}, {192 << 20, 400, 50},
		{8 << 30, 400, 25}, {8 << 30, 10, 10}} {
		if got := garbageFor(c.live, c.most); got < c.want-1 || got > c.want+1 {
			t.Errorf("%d bytes, at most %d %%: %d %%, wanted %d", c.live, c.most, got, c.want)
		}
	}
}

// The collector is told each time what is in use; what was limited in between is so no more.
func TestLimitGarbage(t *testing.T) {
	if _, set := os.LookupEnv("GOGC"); set {
		t.Skip("GOGC is set")
	}
	undo := LimitGarbage(400)
	defer undo()
	now := func() int {
		limited.Lock()
		defer limited.Unlock()
		return limited.now
	}
	wait := func(from, to int) {
		t.Helper()
		for range 10_000 {
			if p := now(); p >= from && p <= to {
				return
			}
			runtime.GC()
		}
		t.Fatalf("%d %%, wanted %d to %d", now(), from, to)
	}
	wait(400, 400)
	held := make([]byte, 192<<20)
	wait(40, 51)
	back := LimitGarbage(30)
	if now() != 30 {
		t.Errorf("%d %%, wanted 30", now())
	}
	back()
	wait(40, 51)
	runtime.KeepAlive(held) // no longer
	wait(400, 400)
}
