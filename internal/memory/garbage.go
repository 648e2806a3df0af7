package memory

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// Small heaps are worth collecting rarely: what is in them comes and goes, or stays to the end. But as much
// garbage for each byte in use would make a large one several times as large as it must be. So a large heap
// has about fixedGarbage beside what is in use, and a huge one leastGarbage.
const (
	fixedGarbage = 96 << 20 // bytes
	leastGarbage = 25       // percent of what is in use
)

// limited is what LimitGarbage keeps to.
var limited struct {
	sync.Mutex
	most, now int // percent; 0: not limited
	live      int
}

// LimitGarbage lets garbage take at most so many percent of what is in use, less where that is much, until
// undo. It does nothing where a call before wanted less, or the environment sets GOGC.
func LimitGarbage(percent int) (undo func()) {
	if _, set := os.LookupEnv("GOGC"); set {
		return func() {}
	}
	l := &limited
	l.Lock()
	defer l.Unlock()
	before := l.most
	if before == 0 {
		// A finalizer of an object that nobody holds runs after each collection.
		runtime.SetFinalizer(&collected{}, (*collected).look)
	}
	if before == 0 || percent < before {
		l.most = percent
		adjust()
	}
	return func() {
		l.Lock()
		defer l.Unlock()
		if l.most = before; before == 0 {
			l.most = 100
		}
		adjust()
	}
}

// adjust tells the collector. limited is locked.
func adjust() {
	if p := garbageFor(limited.live, limited.most); p != limited.now {
		limited.now = p
		debug.SetGCPercent(p)
	}
}

// garbageFor is debug.SetGCPercent for a heap with so many bytes in use.
func garbageFor(live, most int) int {
	return min(max(fixedGarbage/max(live/100, 1), leastGarbage), most)
}

// collected is made to be collected.
type collected struct{ _ [16]byte }

func (c *collected) look() {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	limited.Lock()
	limited.live = int(sample[0].Value.Uint64())
	adjust()
	limited.Unlock()
	runtime.SetFinalizer(c, (*collected).look)
}
