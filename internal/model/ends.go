package model

// Ends finds, among things sorted by their beginnings, those that last at a time, without looking at all that
// began before: it has the latest end of every so many of them.
type Ends []int64

const endsBlock = 128

// Add tells the end of the thing with number i; they come in order, from 0.
func (b *Ends) Add(i int, end int64) {
	if i/endsBlock == len(*b) {
		*b = append(*b, end)
	}
	(*b)[i/endsBlock] = max((*b)[i/endsBlock], end)
}

// Before calls f with the numbers below n, from the last one, but for whole blocks that ended by t. Some of
// those it calls f with may have ended by t, too. It stops when f returns false.
func (b Ends) Before(n int, t int64, f func(i int) bool) {
	for i := n - 1; i >= 0; i-- {
		if b[i/endsBlock] <= t {
			i -= i % endsBlock
			continue
		}
		if !f(i) {
			return
		}
	}
}
