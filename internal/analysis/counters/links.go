package counters

import (
	"cmp"
	"strconv"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/model/query"
)

const none = model.None

// messageChange says which quantities of a link a message changes at a time.
type messageChange uint8

const (
	counts messageChange = 1 << iota // as sent
	countsMoved
	takesOff
	lands
	messageBits = iota
)

// messageChanges tells what a message changes when, on its link. Where its sending is not known the receipt
// counts as that. Where its receipt is not known it is under way to the end of a run that was killed or still
// executes, and never in one that has ended.
func messageChanges(g *model.Message, link int32, killed bool, emit func(c change)) {
	t, what := g.Sent, counts
	if t == none {
		t = g.Received
	}
	if g.DF == 0 && g.CF != 0 {
		what |= countsMoved
	}
	flies := g.Sent != none && (g.Received > g.Sent || g.Received == none && killed)
	if flies {
		what |= takesOff
	}
	emit(change{t, g.Bytes, link, firstOfMessage + kind(what)})
	if flies && g.Received != none {
		emit(change{g.Received, g.Bytes, link, firstOfMessage + kind(lands)})
	}
}

// messageFlight tells how long a message flew, if both ends are known, in order.
func messageFlight(g *model.Message, link int32, emit func(c change)) {
	if g.Sent != none && g.Received >= g.Sent {
		emit(change{g.Sent, g.Received - g.Sent, link, messageFlew})
	}
}

// eachMessage gives the DFs and CFs sent, each to one of the processes that have a share of the run.
func eachMessage(m *model.Model, f func(g *model.Message)) {
	for _, list := range [][]model.Message{numbered(m.DFMessages), m.Moves} {
		for i := range list {
			if g := &list[i]; m.Counted(g) && g.From >= 0 && g.To >= 0 {
				f(g)
			}
		}
	}
}

// numbered leaves out what has no number: what a node did not send but had itself.
func numbered(list []model.Message) []model.Message { return list[min(1, len(list)):] }

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
