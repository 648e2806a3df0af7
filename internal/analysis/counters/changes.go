package counters

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// change is something that happened to a CF, a DF, a message or a queue. What it does to the quantities is
// said once, by effects.
type change struct {
	t     int64
	size  int64 // bytes, a weight, a flight in nanoseconds, or by how much a length grew
	place int32 // the node or link; whole: neither is told apart
	kind  kind
}

// kind is what happened.
type kind uint8

// The kinds after those of stateChange.
const (
	copyStored kind = states*states + iota
	copyDropped
	dfMade
	dfGone
	messageFlew // all of its way is known
	readyLength
	sendLength
	innerChanged
	outerChanged
	firstOfMessage
	kinds = firstOfMessage + 1<<messageBits
)

// states is the number of states of a CF.
const states = kind(model.CFAbsent) + 1

// stateChange is a CF that goes from one state to another at a node; see model.Life.
func stateChange(t int64, node int32, from, to model.CFState, weight int64) change {
	return change{t, weight, node, kind(from)*states + kind(to)}
}

// effect is what a change does to a quantity: it grows by n, or by n times the size of the change.
type effect struct {
	q     quantity
	whole bool // of the run, not of the change's place
	sized bool
	n     int8
}

// effects are those of each kind of change.
var effects = func() (list [kinds][]effect) {
	both := func(k kind, n int8, sized bool, quantities ...quantity) {
		for _, q := range quantities {
			list[k] = append(list[k], effect{q, false, sized, n}, effect{q, true, sized, n})
		}
	}
	for from := range states {
		for to := range states {
			list[from*states+to] = stateEffects(model.CFState(from), model.CFState(to))
		}
	}
	both(copyStored, 1, false, copies, objects)
	both(copyStored, 1, true, bytes)
	both(copyDropped, -1, false, copies, objects)
	both(copyDropped, -1, true, bytes)
	list[dfMade] = []effect{{dfs, true, false, 1}}
	list[dfGone] = []effect{{dfs, true, false, -1}}
	both(messageFlew, 1, false, flights)
	both(messageFlew, 1, true, flightNS)
	both(readyLength, 1, true, readyQueue)
	both(sendLength, 1, true, sendQueue)
	both(innerChanged, 1, true, inner)
	both(outerChanged, 1, true, outer)
	for what := range messageChange(1 << messageBits) {
		k := firstOfMessage + kind(what)
		for bit, x := range map[messageChange]struct {
			count, sum quantity
			n          int8
		}{counts: {messages, messageBytes, 1}, countsMoved: {moved, movedBytes, 1},
			takesOff: {inFlight, bytesInFlight, 1}, lands: {inFlight, bytesInFlight, -1}} {
			if what&bit != 0 {
				both(k, x.n, false, x.count)
				both(k, x.n, true, x.sum)
			}
		}
	}
	return list
}()

// stateEffects are those of a CF that goes from one state to another. A CF that moves exists, but on no node.
func stateEffects(from, to model.CFState) (list []effect) {
	for _, x := range []struct {
		state model.CFState
		n     int8
	}{{from, -1}, {to, 1}} {
		for _, e := range []effect{{q: quantity(x.state)}, // the states of CFs are the first quantities
			{q: cfs}, {q: objects}, {q: weight, sized: true}} {
			e.n = x.n
			if x.state < model.CFMoving {
				list = append(list, e)
			}
			if e.whole = true; x.state <= model.CFMoving {
				list = append(list, e)
			}
		}
	}
	// What it is before and after does not change.
	return slices.DeleteFunc(slices.Clone(list), func(e effect) bool {
		e.n = -e.n
		return slices.Contains(list, e)
	})
}

// each tells by how much a change makes quantities grow, n times.
func (c *change) each(n int64, grow func(q quantity, place int32, t, d int64)) {
	for _, e := range effects[c.kind] {
		place, d := c.place, n*int64(e.n)
		if e.whole {
			place = whole
		}
		if e.sized {
			d *= c.size
		}
		if d != 0 && (e.whole || place != whole) {
			grow(e.q, place, c.t, d)
		}
	}
}

// arrange puts changes in order of time, into the list or the spare one, and returns that first. They are
// many, spread over the run and nearly in order. So each goes into its bucket, a small piece of the time, and
// the few of a bucket are sorted.
func arrange(list, spare []change) (ordered, rest []change) {
	const perBucket = 4
	if len(list) == 0 {
		return list, spare
	}
	low, high, inOrder := list[0].t, list[0].t, true
	for i := 1; i < len(list); i++ {
		inOrder = inOrder && list[i].t >= list[i-1].t
		low, high = min(low, list[i].t), max(high, list[i].t)
	}
	if inOrder {
		return list, spare
	}
	shift := max(bits.Len64(uint64(high)-uint64(low))-bits.Len(uint(len(list)/perBucket)), 0)
	bucket := func(t int64) uint64 { return (uint64(t) - uint64(low)) >> shift }
	next := make([]uint32, bucket(high)+2) // where the next of a bucket goes
	for i := range list {
		next[bucket(list[i].t)+1]++
	}
	for b := range len(next) - 1 {
		next[b+1] += next[b]
	}
	out := slices.Grow(spare[:0], len(list))[:len(list)]
	for i := range list {
		b := bucket(list[i].t)
		out[next[b]] = list[i]
		next[b]++
	}
	from := uint32(0) // now next[b] is where bucket b ends
	for _, end := range next[:len(next)-1] {
		sortFew(out[from:end])
		from = end
	}
	return out, list
}

// sortFew sorts the changes of a bucket.
func sortFew(list []change) {
	const few = 24
	if len(list) > few {
		slices.SortFunc(list, func(x, y change) int { return cmp.Compare(x.t, y.t) })
		return
	}
	for i := 1; i < len(list); i++ {
		for k := i; k > 0 && list[k].t < list[k-1].t; k-- {
			list[k], list[k-1] = list[k-1], list[k]
		}
	}
}
