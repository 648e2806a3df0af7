// Package growth tells what takes time in proportion to its size from what takes the square of it.
package growth

import (
	"testing"

	"github.com/whyslow/whyslow/internal/clock"
)

// turns is how often both sizes are tried: the garbage collector may have run beside some.
const turns = 5

// Linear fails if f takes more than three times as much processor time for each of 8 n pieces as for each of
// n. Less than ten milliseconds count as ten, so n must be large enough that the square would show. prepare
// makes what f works on, and its time does not count.
func Linear(t testing.TB, n int, prepare func(n int) (f func())) {
	t.Helper()
	const grain = 10e6 // nanoseconds
	var few, many int64
	for turn := range turns {
		cost := func(n int, least int64) int64 {
			f := prepare(n)
			begin := clock.ProcessCPU()
			f()
			if took := clock.ProcessCPU() - begin; turn == 0 || took < least {
				return took
			}
			return least
		}
		few, many = cost(n, few), cost(8*n, many)
		if many < 24*max(few, grain) {
			return
		}
	}
	t.Errorf("%d ms for %d pieces, %d ms for %d", few/1e6, n, many/1e6, 8*n)
}
