package counters

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/model/query"
)

// message is a DF or a CF that goes from one node to another. A time is none where that end is not known.
type message struct {
	sent, received int64
	from, to       int32
	bytes          int64
	moved          bool // a CF
}

const none = model.None

// messageChange says which quantities of a link a message changes at a time.
type messageChange uint8

const (
	counts messageChange = 1 << iota // as sent
	countsMoved
	takesOff
	lands
)

// changes tells what a message changes when. Where its sending is not known the receipt counts as that. Where
// its receipt is not known it is under way to the end of a run that was killed or still executes, and never
// in one that has ended.
func (g *message) changes(killed bool, emit func(t int64, what messageChange)) {
	t, what := g.sent, counts
	if t == none {
		t = g.received
	}
	if g.moved {
		what |= countsMoved
	}
	flies := g.sent != none && (g.received > g.sent || g.received == none && killed)
	if flies {
		what |= takesOff
	}
	emit(t, what)
	if flies && g.received != none {
		emit(g.received, lands)
	}
}

// spreadMessage tells what one of the changes of a message changes, for its link and for the whole run; link
// -1 is for the run alone.
func spreadMessage(out sink, t int64, link int32, what messageChange, size, sign int64) {
	both := func(count, sum quantity, sign int64) {
		if link >= 0 {
			out.add(count, link, t, sign)
			out.add(sum, link, t, sign*size)
		}
		out.add(count, whole, t, sign)
		out.add(sum, whole, t, sign*size)
	}
	if what&counts != 0 {
		both(messages, messageBytes, sign)
	}
	if what&countsMoved != 0 {
		both(moved, movedBytes, sign)
	}
	if what&takesOff != 0 {
		both(inFlight, bytesInFlight, sign)
	}
	if what&lands != 0 {
		both(inFlight, bytesInFlight, -sign)
	}
}

// emit tells everything that a message changes.
func (g *message) emit(out sink, link int32, killed bool, sign int64) {
	g.changes(killed, func(t int64, what messageChange) { spreadMessage(out, t, link, what, g.bytes, sign) })
	if g.sent != none && g.received >= g.sent {
		for _, place := range [...]int32{link, whole} {
			out.add(flights, place, g.sent, sign)
			out.add(flightNS, place, g.sent, sign*(g.received-g.sent))
		}
	}
}

// eachMessage gives the DFs and CFs sent, each to one of the processes that have a share of the run; f must
// not keep them.
func eachMessage(m *model.Model, f func(g *message)) {
	var g message
	for _, list := range [][]model.Message{numbered(m.DFMessages), m.Moves} {
		for i := range list {
			if o := &list[i]; m.Counted(o) && o.From >= 0 && o.To >= 0 {
				g = message{o.Sent, o.Received, o.From, o.To, o.Bytes, o.DF == 0 && o.CF != 0}
				f(&g)
			}
		}
	}
}

// numbered leaves out what has no number: what a node did not send but had itself.
func numbered(list []model.Message) []model.Message { return list[min(1, len(list)):] }

// move is the departure or arrival of a CF that moves, on the common clock.
type move struct {
	t, bytes   int64
	node, peer int32
	out        bool
}

// pairMoves makes messages of the moves of one CF, which are in order of time: the i-th departure from one
// node to another goes with the i-th arrival there.
func pairMoves(out []message, list []move) []message {
	for i := range list {
		if v := &list[i]; v.out {
			out = append(out, message{v.t, none, v.node, v.peer, v.bytes, true})
		}
	}
	for i := range list {
		v := &list[i]
		if v.out {
			continue
		}
		at := slices.IndexFunc(out, func(o message) bool {
			return o.from == v.peer && o.to == v.node && o.received == none
		})
		if at < 0 {
			out = append(out, message{none, v.t, v.peer, v.node, v.bytes, true})
		} else {
			out[at].received = v.t
		}
	}
	return out
}

// linkTable numbers the links with traffic.
type linkTable struct {
	index map[query.Link]int32
	list  []query.Link
	last  query.Link // most messages follow one of the same link
	at    int32
}

func newLinkTable() *linkTable {
	return &linkTable{index: map[query.Link]int32{}, last: query.Link{From: -1}}
}

func (x *linkTable) number(from, to int32) int32 {
	l := query.Link{From: int(from), To: int(to)}
	if l == x.last {
		return x.at
	}
	i, ok := x.index[l]
	if !ok {
		i = int32(len(x.list))
		x.index[l] = i
		x.list = append(x.list, l)
	}
	x.last, x.at = l, i
	return i
}

// find gives the number of a link that has one. Any number of goroutines may ask.
func (x *linkTable) find(from, to int32) int32 {
	return x.index[query.Link{From: int(from), To: int(to)}]
}

func linkName(l query.Link) string { return strconv.Itoa(l.From) + "->" + strconv.Itoa(l.To) }

func compareLinks(a, b query.Link) int {
	return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
}
