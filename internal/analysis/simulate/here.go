package simulate

import (
	"slices"
	"sync"
	"time"
)

// here are costs of this machine, for recorded runs in which no worker was parked and no message sent. It
// takes a few milliseconds, once.
var here = sync.OnceValue(func() Costs {
	const rounds, apart = 15, 200 * time.Microsecond // a thread sleeps only after a while
	wake, awake := make(chan time.Time), make(chan time.Duration)
	go func() {
		for told := range wake {
			awake <- time.Since(told)
		}
	}()
	var wakes, signals []float64
	for range rounds {
		for begin := time.Now(); time.Since(begin) < apart; { // as user code would
		}
		told := time.Now()
		wake <- told
		signals = append(signals, float64(time.Since(told)))
		wakes = append(wakes, float64(<-awake))
	}
	close(wake)
	slices.Sort(wakes)
	slices.Sort(signals)
	c := defaults
	c.WakeNS, c.SignalNS = wakes[rounds/2], signals[rounds/2]
	c.SendNS += c.SignalNS // whoever handles messages at the other node is woken
	c.TransportNS = c.WakeNS
	return c
})
