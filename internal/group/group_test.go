package group_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/whyslow/whyslow/internal/group"
	"github.com/whyslow/whyslow/internal/group/grouptest"
)

func TestLocal(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			grouptest.Run(t, func(do func(g group.Group) error) error {
				errs := make([]error, n)
				var wg sync.WaitGroup
				for i, g := range group.Local(n) {
					wg.Go(func() { errs[i] = do(g) })
				}
				wg.Wait()
				return errors.Join(errs...)
			})
		})
	}
}

func TestAlone(t *testing.T) {
	grouptest.Run(t, func(do func(g group.Group) error) error { return do(group.Alone()) })
}

func TestLeave(t *testing.T) {
	members := group.Local(3)
	var wg sync.WaitGroup
	for _, g := range members[1:] {
		wg.Go(func() {
			if err := group.Barrier(g); err != nil {
				t.Error(err)
			}
			if err := group.Barrier(g); !errors.Is(err, group.ErrLeft) {
				t.Errorf("a barrier without all: %v", err)
			}
		})
	}
	if err := group.Barrier(members[0]); err != nil {
		t.Error(err)
	}
	members[0].Leave()
	wg.Wait()
}
