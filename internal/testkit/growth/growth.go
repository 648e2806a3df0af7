// Package growth tells what takes time in proportion to its size from what takes the square of it.
package growth

import (
	"testing"

	"github.com/whyslow/whyslow/internal/clock"
)

const (
	// parts is how many small works are held against one large one. In proportion, they take as long as it;
	// with the square, it takes as many times longer as there are parts.
	parts = 32
	// most is how many times longer the large one may take: it has fewer of its data in the processor's
	// caches. That is far from both one and parts.
	most = 6
	// turns is how often both are tried: the garbage collector, or others in the same caches, may have slowed
	// some.
	turns = 5
)

// Linear fails if f takes much more processor time for n pieces at once than for as many in small parts; n
// must be so large that the square would show. prepare makes what f works on, and its time does not count; f
// may be called several times.
func Linear(t testing.TB, n int, prepare func(n int) (f func())) {
	t.Helper()
	small, large := prepare(n/parts), prepare(n)
	var apart, whole int64
	for turn := range turns {
		cost := func(f func(), times int, least int64) int64 {
			begin := clock.ProcessCPU()
			for range times {
				f()
			}
			if took := clock.ProcessCPU() - begin; turn == 0 || took < least {
				return took
			}
			return least
		}
		apart, whole = cost(small, parts, apart), cost(large, 1, whole)
		if whole < most*apart {
			return
		}
	}
	t.Errorf("%d ms of processor time for %d pieces at once, %d ms for them in %d parts",
		whole/1e6, n, apart/1e6, parts)
}
