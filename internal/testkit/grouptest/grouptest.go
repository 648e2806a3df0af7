// Package grouptest tests implementations of procs.Group.
package grouptest

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/whyslow/whyslow/internal/procs"
)

// Run tests a kind of group: run calls do for every member at once and returns the errors of all.
func Run(t *testing.T, run func(do func(g procs.Group) error) error) {
	for name, do := range Checks {
		t.Run(name, func(t *testing.T) {
			if err := run(do); err != nil {
				t.Error(err)
			}
		})
	}
}

// Checks are what must hold of every group; each is called by all members at once.
var Checks = map[string]func(g procs.Group) error{
	"exchange":  exchange,
	"large":     large,
	"gather":    gather,
	"broadcast": broadcast,
	"agree":     agree,
	"sum":       sum,
	"many":      many,
}

func exchange(g procs.Group) error {
	out := make([][]byte, g.Size())
	for i := range out {
		if (i+g.Rank())%3 > 0 {
			out[i] = fmt.Appendf(nil, "%d to %d", g.Rank(), i)
		}
	}
	in, err := g.Exchange(out)
	if err != nil {
		return err
	}
	for i := range in {
		want := ""
		if (i+g.Rank())%3 > 0 {
			want = fmt.Sprintf("%d to %d", i, g.Rank())
		}
		if string(in[i]) != want {
			return fmt.Errorf("%d got %q from %d, want %q", g.Rank(), in[i], i, want)
		}
	}
	return nil
}

func large(g procs.Group) error {
	out := make([][]byte, g.Size())
	for i := range out {
		out[i] = bytes.Repeat([]byte{byte(g.Rank()), byte(i)}, 1<<20+i)
	}
	in, err := g.Exchange(out)
	if err != nil {
		return err
	}
	for i := range in {
		if want := bytes.Repeat([]byte{byte(i), byte(g.Rank())}, 1<<20+g.Rank()); !bytes.Equal(in[i], want) {
			return fmt.Errorf("%d got other bytes from %d", g.Rank(), i)
		}
		in[i][0] = 0xff // it is the caller's
	}
	for i := range out {
		if out[i][0] != byte(g.Rank()) {
			return errors.New("what was given is what somebody got")
		}
	}
	return nil
}

func gather(g procs.Group) error {
	root := g.Size() - 1
	in, err := procs.Gather(g, root, []byte{byte(g.Rank())})
	if err != nil || g.Rank() != root {
		return errors.Join(err, isNil(in))
	}
	for i := range in {
		if !bytes.Equal(in[i], []byte{byte(i)}) {
			return fmt.Errorf("root got %v from %d", in[i], i)
		}
	}
	return nil
}

func isNil(in [][]byte) error {
	if in != nil {
		return errors.New("who is not the root got something")
	}
	return nil
}

func broadcast(g procs.Group) error {
	root := g.Size() / 2
	b, err := procs.Broadcast(g, root, fmt.Appendf(nil, "from %d", g.Rank()))
	if err == nil && string(b) != fmt.Sprintf("from %d", root) {
		err = fmt.Errorf("%d got %q", g.Rank(), b)
	}
	return err
}

func agree(g procs.Group) error {
	if err := procs.Agree(g, nil); err != nil {
		return err
	}
	var mine error
	last := g.Size() - 1
	if g.Rank() == last {
		mine = errors.New("no")
	}
	err := procs.Agree(g, mine)
	if want := fmt.Sprintf("process %d: no", last); err == nil || g.Rank() != last && err.Error() != want ||
		g.Rank() == last && !errors.Is(err, mine) {
		return fmt.Errorf("%d learnt %w", g.Rank(), err)
	}
	return nil
}

func sum(g procs.Group) error {
	got, err := procs.Sum(g, []int64{int64(g.Rank()), -1})
	n := int64(g.Size())
	if err == nil && (got[0] != n*(n-1)/2 || got[1] != -n) {
		err = fmt.Errorf("the sums are %v", got)
	}
	return err
}

func many(g procs.Group) error {
	for i := range 200 {
		b, err := procs.Broadcast(g, i%g.Size(), []byte{byte(i)})
		if err != nil || !bytes.Equal(b, []byte{byte(i)}) {
			return fmt.Errorf("round %d: %v %w", i, b, err)
		}
	}
	return nil
}
