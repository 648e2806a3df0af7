package procs

import (
	"bytes"
	"encoding/gob"
	"fmt"
)

// Encode turns a value into bytes for another member, which gets it with Decode. It is to be of a type that package gob knows.
func Encode(v any) []byte {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(v); err != nil {
		panic(err) // the types are those of the program
	}
	return b.Bytes()
}

// Decode sets *v to what another member has encoded. It fails where the bytes are of no such value.
func Decode(b []byte, v any) error { return gob.NewDecoder(bytes.NewReader(b)).Decode(v) }

// AllOf tells everybody what each member has: the values in the order of members. One that is alone gets its own.
func AllOf[T any](g Group, v T) ([]T, error) {
	if g.Size() == 1 {
		return []T{v}, nil
	}
	in, err := AllGather(g, Encode(&v))
	if err != nil {
		return nil, err
	}
	all := make([]T, len(in))
	for i, b := range in {
		if err := Decode(b, &all[i]); err != nil {
			return nil, Told(i, err)
		}
	}
	return all, nil
}

// Told is the error of something that a member has told and that cannot be used.
func Told(rank int, err error) error { return fmt.Errorf("what process %d told: %w", rank, err) }
