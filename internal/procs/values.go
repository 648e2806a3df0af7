package procs

import (
	"bytes"
	"cmp"
	"encoding/gob"
	"fmt"
	"reflect"
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
	return all, takeAll(g, in, into(all))
}

// Swap gives out[i] to member i and returns what each member gave to this one, in the order of members. out
// has Size elements; what a member gives itself is not copied.
func Swap[T any](g Group, out []T) ([]T, error) {
	all := make([]T, g.Size())
	all[g.Rank()] = out[g.Rank()]
	return all, Hand(g, out, into(all))
}

func into[T any](all []T) func(rank int, theirs *T) error {
	return func(rank int, theirs *T) error {
		all[rank] = *theirs
		return nil
	}
}

// Hand gives out[i] to member i, and calls take with what each other member gave to this one, in the order of
// members. A zero value is not given. It fails where take fails.
func Hand[T any](g Group, out []T, take func(rank int, theirs *T) error) error {
	if g.Size() == 1 {
		return nil
	}
	sent := make([][]byte, g.Size())
	for i := range out {
		if i != g.Rank() && !reflect.ValueOf(&out[i]).Elem().IsZero() {
			sent[i] = Encode(&out[i])
		}
	}
	in, err := g.Exchange(sent)
	if err != nil {
		return err
	}
	return takeAll(g, in, take)
}

// Ask puts questions, those of questions[i] to member i, and returns the answers in the same places. All
// members answer each other; where one cannot, all fail.
func Ask[Q, A any](g Group, questions [][]Q, answer func(question Q) (A, error)) ([][]A, error) {
	theirs, err := Swap(g, questions)
	if err != nil {
		return nil, err
	}
	answers := make([][]A, g.Size())
	for i, list := range theirs {
		for _, q := range list {
			a, e := answer(q)
			answers[i], err = append(answers[i], a), cmp.Or(err, e)
		}
	}
	if err := Agree(g, err); err != nil {
		return nil, err
	}
	return Swap(g, answers)
}

// takeAll decodes what the other members gave, one after the other.
func takeAll[T any](g Group, in [][]byte, take func(rank int, theirs *T) error) error {
	for rank, b := range in {
		in[rank] = nil
		if rank == g.Rank() || len(b) == 0 {
			continue
		}
		var theirs T
		if err := Decode(b, &theirs); err != nil {
			return Told(rank, err)
		}
		if err := take(rank, &theirs); err != nil {
			return err
		}
	}
	return nil
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
	return takeAll(g, in, take)
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
