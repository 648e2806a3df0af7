package clock

import (
	"math/bits"
	"runtime"
	"sync"
	"testing"
	"time"
)

// TestNowFollowsTheMonotonicClock: to within 100 ppm of the time passed, plus the
// uncertainty of the first pair of readings.
func TestNowFollowsTheMonotonicClock(t *testing.T) {
	own, mono, uncertain := Pair()
	for last := mono; last-mono < 50e6; {
		time.Sleep(5 * time.Millisecond)
		a := nanotime()
		now := Now() - own + mono
		b := nanotime()
		last = b
		if limit := 1000 + uncertain + (b-mono)/maxDrift; now < a-limit || now > b+limit {
			t.Fatalf("clock %s: %d outside [%d, %d] by more than %d", Name(), now, a, b, limit)
		}
	}
	if Now() < 0 || Now() > int64(time.Hour) {
		t.Errorf("origin is not near the start of the process: %d ns", Now())
	}
}

// TestNowNeverGoesBack: in one thread. A time handed over by another thread may be later
// than the next reading, by no more than the processor reads ahead.
func TestNowNeverGoesBack(t *testing.T) {
	const ahead = 1000 // ns; about 100 were seen
	var wg sync.WaitGroup
	var mu sync.Mutex
	shared := Now()
	for range 4 {
		wg.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			own := Now()
			for range 2000 {
				mu.Lock()
				n := Now()
				if n < own {
					t.Errorf("went back by %d ns in one thread", own-n)
				}
				if n < shared-ahead {
					t.Errorf("went back by %d ns between threads", shared-n)
				}
				own, shared = n, n
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

func TestParamsConvertAsNowDoes(t *testing.T) {
	p := GetParams()
	if !p.TSC {
		a := Now()
		got := nanotime() + p.Base
		if b := Now(); got < a || got > b {
			t.Errorf("converted by hand %d, not in [%d, %d]", got, a, b)
		}
		return
	}
	a := Now()
	hi, lo := bits.Mul64(readTSC()-p.Origin, p.Mult)
	got := p.Base + int64(hi<<(64-p.Shift)|lo>>p.Shift)
	b := Now()
	if got < a || got > b {
		t.Errorf("converted by hand %d, not in [%d, %d]", got, a, b)
	}
}

func TestProcessCPU(t *testing.T) {
	a := ProcessCPU()
	for begin := time.Now(); ProcessCPU() <= a; {
		if time.Since(begin) > time.Minute {
			t.Fatalf("process time does not advance: %d", a)
		}
	}
}

func BenchmarkNow(b *testing.B) {
	for b.Loop() {
		Now()
	}
}

func BenchmarkMonotonic(b *testing.B) {
	for b.Loop() {
		nanotime()
	}
}
