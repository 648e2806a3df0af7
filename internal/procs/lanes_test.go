package procs_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/whyslow/whyslow/internal/procs"
)

func TestEach(t *testing.T) {
	for _, c := range []struct{ limit, n int }{{0, 100}, {3, 100}, {8, 2}, {1, 5}, {4, 0}} {
		done := make([]atomic.Int32, c.n)
		busy := make([]atomic.Bool, procs.Lanes(c.limit, c.n))
		err := procs.Each(context.Background(), c.limit, c.n, func(lane, i int) error {
			if busy[lane].Swap(true) {
				t.Errorf("two at once in lane %d", lane)
			}
			done[i].Add(1)
			busy[lane].Store(false)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range done {
			if n := done[i].Load(); n != 1 {
				t.Errorf("%d of %d was done %d times", i, c.n, n)
			}
		}
	}
}

func TestEachFails(t *testing.T) {
	err := procs.Each(context.Background(), 1, 10, func(_, i int) error {
		if i > 4 {
			t.Errorf("%d was begun after a failure", i)
		}
		if i == 4 {
			return fmt.Errorf("no %d", i)
		}
		return nil
	})
	if err == nil || err.Error() != "no 4" {
		t.Errorf("failed with %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	err = procs.Each(ctx, 1, 10, func(_, i int) error {
		cancel()
		if i > 0 {
			t.Errorf("%d was begun after the end", i)
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("after the context ended: %v", err)
	}
}
