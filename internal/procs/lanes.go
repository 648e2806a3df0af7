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

// Merge joins lists that are in an order, by about as many goroutines as there are cores.
func Merge[T any](lists [][]T, before func(a, b T) bool) []T {
	return merge(lists, before, runtime.GOMAXPROCS(0))
}

func merge[T any](lists [][]T, before func(a, b T) bool, lanes int) []T {
	switch len(lists) {
	case 0:
		return nil
	case 1:
		return lists[0]
	}
	var x, y []T
	var wg Goroutines
	half := func() { x = merge(lists[:len(lists)/2], before, lanes/2) }
	if lanes > 1 {
		wg.Go(half)
	} else {
		half()
	}
	y = merge(lists[len(lists)/2:], before, lanes-lanes/2)
	wg.Wait()
	out := make([]T, 0, len(x)+len(y))
	for len(x) > 0 && len(y) > 0 {
		if before(y[0], x[0]) {
			x, y = y, x
		}
		out = append(out, x[0])
		x = x[1:]
	}
	return append(append(out, x...), y...)
}
