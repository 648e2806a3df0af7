package simulate

import (
	"bytes"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const longestWake = 200_000 // ns

// here are costs of this machine, for recorded runs in which no worker was woken and no message sent. It
// takes a few milliseconds, once. On a machine that is busy now, threads wait for cores that the predicted
// run would have: no wake-up counts for more than longestWake, which idle cores do not take.
var here = sync.OnceValue(func() Costs {
	const rounds, apart = 15, 500 * time.Microsecond // a thread, and its core, sleep only after a while
	wake := make(chan time.Time, 1)
	var awake atomic.Int64
	go func() {
		for told := range wake {
			awake.Store(max(1, int64(time.Since(told))))
		}
	}()
	var wakes, signals, copies []float64
	for range rounds {
		for begin := time.Now(); time.Since(begin) < apart; { // as user code would
		}
		told := time.Now()
		wake <- told
		signals = append(signals, float64(time.Since(told)))
		for awake.Load() == 0 { // it has to wake on a core of its own: this one goes on
		}
		wakes = append(wakes, float64(awake.Swap(0)))
	}
	close(wake)
	value := make([]byte, 1<<20)
	for range rounds {
		begin := time.Now()
		copied := bytes.Clone(value)
		copies = append(copies, float64(time.Since(begin)))
		runtime.KeepAlive(copied) // the copy is not left out
	}
	c := defaults // other programs made some of them longer
	c.WakeNS, c.SignalNS = min(quick(wakes), longestWake), min(quick(signals), longestWake)
	c.CopyNS = quick(copies)
	c.TransportNS = c.WakeNS
	return c
})
