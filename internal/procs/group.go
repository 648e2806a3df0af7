// Package procs lets processes work on one thing together, as a group, which MPI connects (package mpi); in
// tests goroutines of one process stand for them (grouptest.Local). Each and Goroutines are for the
// goroutines within one process.
//
// All members of a group call the same functions in the same order. A call returns when what it needs from
// the others has come.
package procs

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Group is the processes, seen from one of them.
type Group interface {
	// Rank is the number of this member, from 0.
	Rank() int
	// Size is the number of members.
	Size() int
	// Exchange gives out[i] to member i and returns what each member gave to this one, in the order of
	// members; out has Size elements, nil for those who get nothing. What is returned belongs to the caller;
	// out is not kept. It fails where a member is gone, and then at all others.
	Exchange(out [][]byte) ([][]byte, error)
}

// AllGather gives b to everybody and returns what each gave, in the order of members.
func AllGather(g Group, b []byte) ([][]byte, error) {
	out := make([][]byte, g.Size())
	for i := range out {
		out[i] = b
	}
	return g.Exchange(out)
}

// Gather gives b to member root, which gets what each gave; the others get nil.
func Gather(g Group, root int, b []byte) ([][]byte, error) {
	out := make([][]byte, g.Size())
	out[root] = b
	in, err := g.Exchange(out)
	if g.Rank() != root {
		in = nil
	}
	return in, err
}

// Broadcast gives everybody what member root calls it with.
func Broadcast(g Group, root int, b []byte) ([]byte, error) {
	out := make([][]byte, g.Size())
	if g.Rank() == root {
		for i := range out {
			out[i] = b
		}
	}
	in, err := g.Exchange(out)
	if err != nil {
		return nil, err
	}
	return in[root], nil
}

// Barrier returns when everybody has called it.
func Barrier(g Group) error {
	_, err := g.Exchange(make([][]byte, g.Size()))
	return err
}

// Agree tells everybody whether something failed at anybody: it returns nil where all called it with nil, err
// itself where this member failed, and else an error with the text of the first member that failed.
func Agree(g Group, err error) error {
	var b []byte
	if err != nil {
		b = append([]byte{1}, err.Error()...)
	}
	all, failed := AllGather(g, b)
	switch {
	case err != nil:
		return err
	case failed != nil:
		return failed
	}
	for i, text := range all {
		if len(text) > 0 {
			return fmt.Errorf("process %d: %s", i, text[1:])
		}
	}
	return nil
}

// Sum adds up numbers over all members: everybody gets, for each i, the sum of the members' v[i].
func Sum(g Group, v []int64) ([]int64, error) {
	b := make([]byte, 0, 8*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, uint64(x))
	}
	all, err := AllGather(g, b)
	if err != nil {
		return nil, err
	}
	sum := make([]int64, len(v))
	for _, b := range all {
		if len(b) != 8*len(v) {
			return nil, errors.New("members of a group add up lists of different lengths")
		}
		for i := range sum {
			sum[i] += int64(binary.LittleEndian.Uint64(b[8*i:]))
		}
	}
	return sum, nil
}

// Alone is a group of one.
func Alone() Group { return alone{} }

type alone struct{}

func (alone) Rank() int { return 0 }
func (alone) Size() int { return 1 }

func (alone) Exchange(out [][]byte) ([][]byte, error) {
	return [][]byte{append([]byte(nil), out[0]...)}, nil
}
