package procs_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/grouptest"
)

func TestLocal(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			grouptest.Run(t, func(do func(g procs.Group) error) error {
				errs := make([]error, n)
				var wg sync.WaitGroup
				for i, g := range grouptest.Local(n) {
					wg.Go(func() { errs[i] = do(g) })
				}
				wg.Wait()
				return errors.Join(errs...)
			})
		})
	}
}

func TestAlone(t *testing.T) {
	grouptest.Run(t, func(do func(g procs.Group) error) error { return do(procs.Alone()) })
}

func TestLeave(t *testing.T) {
	members := grouptest.Local(3)
	var wg sync.WaitGroup
	for _, g := range members[1:] {
		wg.Go(func() {
			if err := procs.Barrier(g); err != nil {
				t.Error(err)
			}
			if err := procs.Barrier(g); !errors.Is(err, grouptest.ErrLeft) {
				t.Errorf("a barrier without all: %v", err)
			}
		})
	}
	if err := procs.Barrier(members[0]); err != nil {
		t.Error(err)
	}
	members[0].Leave()
	wg.Wait()
}
