package procs_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/grouptest"
)

// Whoever fails, and wherever the others are then, all learn of it at once, and the group can be used
// further.
func TestTogether(t *testing.T) {
	for _, c := range []struct {
		name string
		fail func(rank, step int) bool
	}{
		{"nobody", func(int, int) bool { return false }},
		{"one at once", func(rank, step int) bool { return rank == 1 && step == 0 }},
		{"one later", func(rank, step int) bool { return rank == 2 && step == 2 }},
		{"one at the end", func(rank, step int) bool { return rank == 0 && step == 3 }},
		{"all", func(_, step int) bool { return step == 1 }},
		{"one after the other", func(rank, step int) bool { return rank > 0 && step == rank }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var wg sync.WaitGroup
			failures := make([]error, 3)
			for rank, g := range grouptest.Local(3) {
				wg.Go(func() {
					defer g.Leave()
					failures[rank] = procs.Together(g, func(g procs.Group) error {
						for step := range 4 {
							if c.fail(rank, step) {
								return errors.New("it fails")
							}
							if step < 3 {
								if _, err := procs.AllGather(g, []byte{byte(rank), byte(step)}); err != nil {
									return err
								}
							}
						}
						return nil
					})
					all, err := procs.AllGather(g, []byte{byte(10 + rank)})
					if err != nil || all[0][0] != 10 || all[2][0] != 12 {
						t.Errorf("afterwards process %d gets %v, %v", rank, all, err)
					}
				})
			}
			wg.Wait()
			for rank, err := range failures {
				switch {
				case (err == nil) != (c.name == "nobody"):
					t.Errorf("process %d: %v", rank, err)
				case err != nil && !strings.Contains(err.Error(), "it fails"):
					t.Errorf("process %d does not know why: %v", rank, err)
				}
			}
		})
	}
}

// An error that is not passed on does not go unnoticed, nor does a panic.
func TestTogetherSwallowed(t *testing.T) {
	var wg sync.WaitGroup
	for rank, g := range grouptest.Local(2) {
		wg.Go(func() {
			defer g.Leave()
			if err := procs.Together(g, func(g procs.Group) error {
				if rank == 0 {
					panic("it breaks")
				}
				_ = procs.Barrier(g)
				return nil
			}); err == nil || !strings.Contains(err.Error(), "it breaks") {
				t.Errorf("process %d: %v", rank, err)
			}
		})
	}
	wg.Wait()
	if err := procs.Together(procs.Alone(), func(procs.Group) error { panic("it breaks") }); err == nil {
		t.Error("alone a panic is no error")
	}
}
