package trace

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// Columns. A column is a number of 64-bit words, that number being known from
// elsewhere: one byte says how they are stored, and then
//
//	constant  one varint: all words are equal
//	plain     a varint each
//	signed    a zigzag varint each
//	delta     a zigzag varint each: the difference from the word before
//	split     as delta, but first the low bytes of all differences, then a varint
//	          of the rest of each: the low byte of a duration is noise that no
//	          compressor should be offered together with what is not
//
// The writer takes the form that needs the fewest bytes.

const (
	colConstant = iota
	colPlain
	colSigned
	colDelta
	colSplit
)

var errColumn = errors.New("column is cut off")

func reverse(v uint64) uint64 { return bits.ReverseBytes64(v) }

func zigzag(v uint64) uint64   { return v<<1 ^ uint64(int64(v)>>63) }
func unzigzag(v uint64) uint64 { return v>>1 ^ -(v & 1) }

// varintLen is the length of v as a varint, 1 to 10.
func varintLen(v uint64) int { return (9*bits.Len64(v|1) + 63) / 64 }

// appendColumn stores words; constant allows that form, which readers refuse where
// the number of words must be bounded by the number of bytes.
func appendColumn(b []byte, words []uint64, constant bool) []byte {
	if len(words) == 0 {
		return b
	}
	var plain, signed, delta int
	same := constant
	prev := uint64(0)
	for _, v := range words {
		plain += varintLen(v)
		signed += varintLen(zigzag(v))
		delta += varintLen(zigzag(v - prev))
		same = same && v == words[0]
		prev = v
	}
	switch {
	case same:
		b = append(b, colConstant)
		return binary.AppendUvarint(b, words[0])
	case plain <= signed && plain <= delta:
		b = append(b, colPlain)
		for _, v := range words {
			b = binary.AppendUvarint(b, v)
		}
	case signed <= delta:
		b = append(b, colSigned)
		for _, v := range words {
			b = binary.AppendUvarint(b, zigzag(v))
		}
	default:
		b = append(b, colDelta)
		prev := uint64(0)
		for _, v := range words {
			b = binary.AppendUvarint(b, zigzag(v-prev))
			prev = v
		}
	}
	return b
}

// appendSplit stores words in the form split.
func appendSplit(b []byte, words []uint64) []byte {
	if len(words) == 0 {
		return b
	}
	b = append(b, colSplit)
	prev := uint64(0)
	for _, v := range words {
		b = append(b, byte(zigzag(v-prev)))
		prev = v
	}
	prev = 0
	for _, v := range words {
		b = binary.AppendUvarint(b, zigzag(v-prev)>>8)
		prev = v
	}
	return b
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
	case colSplit:
		low := b[:len(dst)]
		b, err := readVarints(dst, b[len(dst):])
		for i, v := range dst {
			dst[i] = v<<8 | uint64(low[i])
		}
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
