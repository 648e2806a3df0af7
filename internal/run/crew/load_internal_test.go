package crew

import "testing"

// The cores of a process are those it may use; a core is busy when it neither is idle nor waits for a disk.
func TestBusy(t *testing.T) {
	const stat = `cpu  111 0 0 0 0 0 0 0 0 0
cpu0 1 2 4 1000 1000 8 16 32 1000 1000
cpu1 100 0 0 0 0 0 0 0 0 0
cpu10 10000 0 0 0 0 0 0 0 0 0
intr 1 2 3 4 5 6 7 8 9
`
	for _, c := range []struct {
		cores []int
		ticks int64
	}{{[]int{0}, 63}, {[]int{0, 1}, 163}, {[]int{2}, 0}, {nil, 0}} {
		if got := busy(stat, c.cores); got != c.ticks*10_000_000 {
			t.Errorf("cores %v: %d ns", c.cores, got)
		}
	}
}
