package counters

import (
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
	loadLevel
	residentLevel
	arenasLevel
	threadsLevel
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
	both(copyStored, 1, false, copies)
	both(copyStored, 1, true, bytes)
	both(copyDropped, -1, false, copies)
	both(copyDropped, -1, true, bytes)
	list[dfMade] = []effect{{dfs, true, false, 1}}
	list[dfGone] = []effect{{dfs, true, false, -1}}
	both(messageFlew, 1, false, flights)
	both(messageFlew, 1, true, flightNS)
	both(readyLength, 1, true, readyQueue)
	both(sendLength, 1, true, sendQueue)
	both(loadLevel, 1, true, load)
	both(residentLevel, 1, true, resident)
	both(arenasLevel, 1, true, arenas)
	both(threadsLevel, 1, true, threads)
	both(innerChanged, 1, true, inner)
	both(outerChanged, 1, true, outer)
	for what := range messageChange(1 << messageBits) {
		k := firstOfMessage + kind(what)
		for bit, x := range map[messageChange]struct {
			count, sum quantity
			n          int8
		}{counts: {messages, messageBytes, 1}, countsMoved: {moved, movedBytes, 1},
			countsData: {data, dataBytes, 1}, takesOff: {inFlight, bytesInFlight, 1},
			lands: {inFlight, bytesInFlight, -1}} {
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
			{q: cfs}, {q: weight, sized: true}} {
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

// each tells by how much a change makes quantities grow.
func (c change) each(grow func(q quantity, place int32, d int64)) {
	for _, e := range effects[c.kind] {
		place, d := c.place, int64(e.n)
		if e.whole {
			place = whole
		}
		if e.sized {
			d *= c.size
		}
		if d != 0 && (e.whole || place != whole) {
			grow(e.q, place, d)
		}
	}
}
