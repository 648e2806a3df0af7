package memory_test

import (
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/whyslow/whyslow/internal/memory"
)

// spill makes a Spill in a folder of the test; it skips where the system has none.
func spill(t *testing.T, resident int64) (s *memory.Spill, dir string) {
	t.Helper()
	dir = t.TempDir()
	s, err := memory.NewSpill(1<<20, resident, dir)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(s.Close)
	return s, dir
}

// TestSpill: columns on disk begin with zeros, keep what is written however often they leave memory, do not
// overlap, and leave nothing behind.
func TestSpill(t *testing.T) {
	s, dir := spill(t, 0) // nothing may stay: pages leave at every look
	child := s.Beget()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for turn := range 30 {
				at := s
				if turn%2 == 1 {
					at = child
				}
				n := 200 + 997*turn*(i+1)
				list := memory.Make[int64](at, n)
				if slices.ContainsFunc(list, func(v int64) bool { return v != 0 }) {
					t.Error("a new column is not zero")
				}
				for k := range list {
					list[k] = int64(k * (i + 1))
				}
				grown := []int32(nil)
				for k := range n {
					grown = memory.Append(at, grown, int32(k))
				}
				for k := range list {
					if list[k] != int64(k*(i+1)) || grown[k] != int32(k) {
						t.Errorf("element %d of %d: %d, %d", k, n, list[k], grown[k])
						return
					}
				}
			}
		})
	}
	wg.Wait()
	if s.Bytes() == 0 || child.Bytes() == 0 {
		t.Errorf("%d and %d bytes on disk", s.Bytes(), child.Bytes())
	}
	child.Close()
	child.Close()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if list := memory.Make[int64](child, 1<<20); len(list) != 1<<20 { // in ordinary memory
		t.Error("nothing is made after Close")
	}
}

// TestSpillPointers: what the garbage collector must see stays in ordinary memory.
func TestSpillPointers(t *testing.T) {
	s, _ := spill(t, 1<<20)
	type named struct {
		_ [3]int64
		_ string
	}
	memory.Make[*int](s, 10_000)
	memory.Make[[]int](s, 10_000)
	memory.Make[named](s, 10_000)
	memory.Make[uintptr](s, 10_000)
	memory.Make[int64](s, 10)
	if s.Bytes() != 0 {
		t.Errorf("%d bytes went to disk", s.Bytes())
	}
	memory.Make[struct {
		a uint8
		b [2]float64
		c struct{ d bool }
	}](s, 10_000)
	if s.Bytes() == 0 {
		t.Error("nothing went to disk")
	}
}

// TestSpillNone: without disk everything is as ever.
func TestSpillNone(t *testing.T) {
	if _, err := memory.NewSpill(1<<60, 0, t.TempDir()); err == nil {
		t.Error("there is room for an exbibyte")
	}
	var none *memory.Spill
	if len(memory.Make[int64](none, 1000)) != 1000 || len(memory.Append(none, []int{1}, 2)) != 2 ||
		none.Beget() != nil || none.Bytes() != 0 {
		t.Error("no Spill does not work like ordinary memory")
	}
	none.Close()
	if memory.Budget(1<<30).Spill(t.TempDir(), 1000, 1, 1, 1) != nil ||
		memory.Budget(0).Spill("x", 1<<40, 1, 1, 1) != nil {
		t.Error("what fits goes to disk")
	}
}
