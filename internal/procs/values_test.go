package procs_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/grouptest"
)

// together calls do in all members of a group of n.
func together(n int, do func(g procs.Group) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i, g := range grouptest.Local(n) {
		wg.Go(func() { errs[i] = do(g) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

type value struct {
	From, To int
	Names    map[string]int64
}

func TestValues(t *testing.T) {
	for _, n := range []int{1, 2, 5} {
		err := together(n, func(g procs.Group) error {
			out := make([]value, n)
			for i := range out {
				out[i] = value{g.Rank(), i, map[string]int64{"x": int64(i)}}
			}
			in, err := procs.Swap(g, out)
			for rank, v := range in {
				if v.From != rank || v.To != g.Rank() || v.Names["x"] != int64(g.Rank()) {
					return fmt.Errorf("member %d got %+v from %d", g.Rank(), v, rank)
				}
			}
			if err != nil {
				return err
			}
			all, err := procs.AllOf(g, g.Rank())
			for rank, v := range all {
				if v != rank {
					return fmt.Errorf("member %d has %v of all", g.Rank(), all)
				}
			}
			if err != nil {
				return err
			}
			last, err := procs.FromMember(g, n-1, value{From: g.Rank()})
			if err != nil || last.From != n-1 {
				return fmt.Errorf("from the last of %d came %+v, %w", n, last, err)
			}
			var got []int
			own := func() value {
				if g.Rank() == 0 {
					t.Error("member 0 was asked for its own value")
				}
				return value{From: g.Rank()}
			}
			err = procs.Collect(g, own, func(rank int, theirs *value) error {
				if rank != theirs.From {
					return fmt.Errorf("%d came as %d", theirs.From, rank)
				}
				got = append(got, rank)
				return nil
			})
			if want := n - 1; err != nil || g.Rank() == 0 && len(got) != want || !slices.IsSorted(got) {
				return fmt.Errorf("member %d collected %v: %w", g.Rank(), got, err)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%d members: %v", n, err)
		}
	}
}

// TestValuesOther: a value of another type is refused, and the error names the member.
func TestValuesOther(t *testing.T) {
	err := together(2, func(g procs.Group) error {
		var err error
		if g.Rank() == 0 {
			_, err = procs.AllOf(g, 7)
		} else {
			_, err = procs.AllOf(g, "seven")
		}
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d told", 1-g.Rank())) {
			return fmt.Errorf("member %d: %w", g.Rank(), err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
