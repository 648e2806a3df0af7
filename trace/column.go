package trace

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"
)

// A column is a number of 64-bit words, known from elsewhere: a byte for the form, then one varint
// (constant), a varint each (plain), a zigzag varint each (signed) or the difference from the word before
// (delta). The writer takes constant or the form that suits the type of the field. (To count the bytes that
// each form would need took longer than all the rest of packing, and the fewest bytes do not compress best.)
const (
	colConstant = iota
	colPlain
	colSigned
	colDelta
)

var errColumn = errors.New("column is cut off")

func reverse(v uint64) uint64 { return bits.ReverseBytes64(v) }

func zigzag(v uint64) uint64   { return v<<1 ^ uint64(int64(v)>>63) }
func unzigzag(v uint64) uint64 { return v>>1 ^ -(v & 1) }

// appendColumn stores words in the given form, or as a constant if they are one and constant allows it.
// Readers refuse constants where the number of words must be bounded by the number of bytes.
func appendColumn(b []byte, words []uint64, form byte, constant bool) []byte {
	if len(words) == 0 {
		return b
	}
	if constant && same(words) {
		return binary.AppendUvarint(append(b, colConstant), words[0])
	}
	b = slices.Grow(append(b, form), len(words)*(binary.MaxVarintLen64+1))
	at := len(b)
	b = b[:cap(b)]
	prev := uint64(0)
	switch form {
	case colPlain:
		for _, v := range words {
			at = putUvarint(b, at, v)
		}
	case colSigned:
		for _, v := range words {
			at = putUvarint(b, at, zigzag(v))
		}
	case colDelta:
		for _, v := range words {
			at = putUvarint(b, at, zigzag(v-prev))
			prev = v
		}
	}
	return b[:at]
}

func same(words []uint64) bool {
	for _, v := range words {
		if v != words[0] {
			return false
		}
	}
	return true
}

// putUvarint stores v at b[at], where there is room, and returns the place after it.
func putUvarint(b []byte, at int, v uint64) int {
	for v >= 0x80 {
		b[at] = byte(v) | 0x80
		v >>= 7
		at++
	}
	b[at] = byte(v)
	return at + 1
}

// readColumn fills dst from the column at the start of b and returns what follows it.
func readColumn(dst []uint64, b []byte, constant bool) ([]byte, error) {
	if len(dst) == 0 {
		return b, nil
	}
	if len(b) == 0 {
		return nil, errColumn
	}
	form := b[0]
	b = b[1:]
	if form != colConstant && len(b) < len(dst) {
		return nil, errColumn
	}
	switch form {
	case colConstant:
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, errColumn
		}
		if !constant {
			return nil, errors.New("constant column where none is allowed")
		}
		for i := range dst {
			dst[i] = v
		}
		return b[n:], nil
	case colPlain:
		return readVarints(dst, b)
	case colSigned:
		b, err := readVarints(dst, b)
		for i, v := range dst {
			dst[i] = unzigzag(v)
		}
		return b, err
	case colDelta:
		b, err := readVarints(dst, b)
		sum(dst)
		return b, err
	}
	return nil, errors.New("column of unknown form")
}

// sum turns zigzag differences into values.
func sum(dst []uint64) {
	prev := uint64(0)
	for i, v := range dst {
		prev += unzigzag(v)
		dst[i] = prev
	}
}

// readVarints is the inner loop of reading a trace: most varints have one byte.
func readVarints(dst []uint64, b []byte) ([]byte, error) {
	at := 0
	for i := range dst {
		if at >= len(b) {
			return nil, errColumn
		}
		c := b[at]
		at++
		if c < 0x80 {
			dst[i] = uint64(c)
			continue
		}
		if at < len(b) && b[at] < 0x80 {
			dst[i] = uint64(c&0x7f) | uint64(b[at])<<7
			at++
			continue
		}
		v, n := binary.Uvarint(b[at-1:])
		if n <= 0 {
			return nil, errColumn
		}
		dst[i] = v
		at += n - 1
	}
	return b[at:], nil
}
