package procs

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// Lanes is how many goroutines Each uses for n things: at most limit, or as many as there are cores if limit
// is 0 or less.
func Lanes(limit, n int) int {
	if limit <= 0 {
		limit = runtime.GOMAXPROCS(0)
	}
	return min(limit, n)
}

// Each calls do for i from 0 to n-1 in Lanes(limit, n) goroutines of this process. Calls with the same lane
// come one after another, so what belongs to a lane needs no lock. Each begins nothing more when ctx ends or
// a call fails, and returns the error of the least i that failed, or that of ctx.
func Each(ctx context.Context, limit, n int, do func(lane, i int) error) error {
	var (
		next   atomic.Int64
		wg     Goroutines
		mu     sync.Mutex
		failed = n
		err    error
	)
	for lane := range Lanes(limit, n) {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if e := do(lane, i); e != nil {
					next.Store(int64(n))
					mu.Lock()
					if i < failed {
						failed, err = i, e
					}
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if err == nil {
		err = ctx.Err()
	}
	return err
}
