package steps

import (
	"math"
	"math/bits"
)

// int128 is a signed number of 128 bits. It wraps.
type int128 struct {
	high int64
	low  uint64
}

func (a int128) plus(b int128) int128 {
	low, carry := bits.Add64(a.low, b.low, 0)
	return int128{a.high + b.high + int64(carry), low}
}

func (a int128) minus(b int128) int128 {
	low, borrow := bits.Sub64(a.low, b.low, 0)
	return int128{a.high - b.high - int64(borrow), low}
}

// product is a*b, exactly.
func product(a, b int64) int128 {
	high, low := bits.Mul64(uint64(a), uint64(b))
	// Mul64 took negative numbers for 2^64 more than they are.
	return int128{int64(high) - a>>63&b - b>>63&a, low}
}

// float is the nearest float64, but for an error of a few units in the last place.
func (a int128) float() float64 {
	if a.high < 0 {
		return -int128{}.minus(a).magnitude()
	}
	return a.magnitude()
}

func (a int128) magnitude() float64 {
	return math.Ldexp(float64(uint64(a.high)), 64) + float64(a.low)
}

// div gives floor(a/b) and the rest, for b > 0 and a quotient that fits into 64 bits.
func (a int128) div(b int64) (quotient, rest int64) {
	negative := a.high < 0
	if negative {
		a = int128{}.minus(a)
	}
	if uint64(a.high) >= uint64(b) {
		return 0, 0 // no int64; only what wrapped gets here
	}
	q, r := bits.Div64(uint64(a.high), a.low, uint64(b))
	if !negative {
		return int64(q), int64(r)
	}
	if r == 0 {
		return -int64(q), 0
	}
	return -int64(q) - 1, b - int64(r)
}
