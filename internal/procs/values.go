package procs

import (
	"bytes"
	"encoding/gob"
	"fmt"
)

// Encode turns a value into bytes for another member, which calls Decode. The type must be one that package
// gob knows.
func Encode(v any) []byte {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(v); err != nil {
		panic(err) // the types are those of the program
	}
	return b.Bytes()
}

// Decode sets *v to what another member has encoded. It fails where the bytes are of no such value.
func Decode(b []byte, v any) error { return gob.NewDecoder(bytes.NewReader(b)).Decode(v) }

// decodeAll decodes what each member gave, except this one: its place stays as it is.
func decodeAll[T any](g Group, in [][]byte, all []T) error {
	for rank, b := range in {
		in[rank] = nil
		if rank == g.Rank() {
			continue
		}
		if err := Decode(b, &all[rank]); err != nil {
			return Told(rank, err)
		}
	}
	return nil
}

// AllOf tells everybody what each member has: the values in the order of members. A member's own value is not
// copied.
func AllOf[T any](g Group, v T) ([]T, error) {
	all := make([]T, g.Size())
	all[g.Rank()] = v
	if g.Size() == 1 {
		return all, nil
	}
	in, err := AllGather(g, Encode(&v))
	if err != nil {
		return nil, err
	}
	return all, decodeAll(g, in, all)
}

// Swap gives out[i] to member i and returns what each member gave to this one, in the order of members. out
// has Size elements; what a member gives itself is not copied.
func Swap[T any](g Group, out []T) ([]T, error) {
	all := make([]T, g.Size())
	all[g.Rank()] = out[g.Rank()]
	if g.Size() == 1 {
		return all, nil
	}
	sent := make([][]byte, g.Size())
	for i := range out {
		if i != g.Rank() {
			sent[i] = Encode(&out[i])
		}
	}
	in, err := g.Exchange(sent)
	if err != nil {
		return nil, err
	}
	return all, decodeAll(g, in, all)
}

// FromMember gives everybody the value that member root calls it with.
func FromMember[T any](g Group, root int, v T) (T, error) {
	if g.Size() == 1 {
		return v, nil
	}
	var b []byte
	if g.Rank() == root {
		b = Encode(&v)
	}
	b, err := Broadcast(g, root, b)
	if err != nil || g.Rank() == root {
		return v, err
	}
	var theirs T
	if err := Decode(b, &theirs); err != nil {
		return v, Told(root, err)
	}
	return theirs, nil
}

// Collect brings a value of every other member to member 0, which calls take with one after the other, in the
// order of members. The others call own for theirs; member 0 does not. It fails at member 0 where take fails.
func Collect[T any](g Group, own func() T, take func(rank int, theirs *T) error) error {
	if g.Size() == 1 {
		return nil
	}
	var b []byte
	if g.Rank() != 0 {
		v := own()
		b = Encode(&v)
	}
	in, err := Gather(g, 0, b)
	if err != nil || g.Rank() != 0 {
		return err
	}
	for rank := 1; rank < len(in); rank++ {
		var v T
		err := Decode(in[rank], &v)
		in[rank] = nil
		if err != nil {
			return Told(rank, err)
		}
		if err := take(rank, &v); err != nil {
			return err
		}
	}
	return nil
}

// Any tells everybody whether something holds for any member.
func Any(g Group, holds bool) (bool, error) {
	n := int64(0)
	if holds {
		n = 1
	}
	sum, err := Sum(g, []int64{n})
	return err == nil && sum[0] > 0, err
}

// Told is the error of something that a member has told and that cannot be used.
func Told(rank int, err error) error { return fmt.Errorf("what process %d told: %w", rank, err) }
