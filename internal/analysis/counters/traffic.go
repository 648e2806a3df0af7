package counters

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/model/query"
	"github.com/whyslow/whyslow/internal/procs"
)

// traffic is the sum of the messages of each link.
type traffic struct {
	links *linkTable
	sums  []Traffic
}

func (x *traffic) of(from, to int32) *Traffic {
	i := int(x.links.number(from, to))
	if i == len(x.sums) {
		x.sums = append(x.sums, Traffic{})
	}
	return &x.sums[i]
}

// flight adds the way of a message to the sums and gives the time to add.
func (t *Traffic) flight(g *model.Message) int64 {
	switch {
	case g.Sent == model.None || g.Received == model.None:
		t.Half++
	case g.Received < g.Sent:
		t.Violations++
	default:
		t.MaxFlightNS = max(t.MaxFlightNS, g.Received-g.Sent)
		return g.Received - g.Sent
	}
	return 0
}

// trafficOf sums up the messages of all processes.
func (c *computation) trafficOf() (*traffic, error) {
	m := c.m
	own := traffic{links: newLinkTable()}
	each := func(list []model.Message, add func(t *Traffic, g *model.Message)) {
		for i := range list {
			if g := &list[i]; m.Counted(g) && g.From >= 0 && g.To >= 0 {
				add(own.of(g.From, g.To), g)
			}
		}
	}
	each(numbered(m.DFMessages), func(t *Traffic, g *model.Message) {
		t.DFs++
		t.DFBytes += g.Bytes
		t.DFFlightNS += t.flight(g)
	})
	each(m.Moves, func(t *Traffic, g *model.Message) {
		t.CFs++
		t.CFBytes += g.Bytes
		t.CFFlightNS += t.flight(g)
		if g.Stolen {
			t.Stolen++
		}
	})
	each(numbered(m.Requests), func(t *Traffic, g *model.Message) {
		t.Requests++
		t.RequestFlightNS += t.flight(g)
	})
	all, err := procs.AllOf(c.group, own.rows())
	x := &traffic{links: newLinkTable()}
	for _, rows := range all {
		for i := range rows {
			x.of(int32(rows[i].From), int32(rows[i].To)).add(&rows[i].Traffic)
		}
	}
	return x, err
}

// rows gives the matrix as a list.
func (x *traffic) rows() []Link {
	list := make([]Link, len(x.sums))
	for i, l := range x.links.list {
		list[i] = Link{l.From, l.To, x.sums[i]}
	}
	return list
}

func (t *Traffic) add(o *Traffic) {
	t.DFs += o.DFs
	t.DFBytes += o.DFBytes
	t.DFFlightNS += o.DFFlightNS
	t.CFs += o.CFs
	t.Stolen += o.Stolen
	t.CFBytes += o.CFBytes
	t.CFFlightNS += o.CFFlightNS
	t.Requests += o.Requests
	t.RequestFlightNS += o.RequestFlightNS
	t.MaxFlightNS = max(t.MaxFlightNS, o.MaxFlightNS)
	t.Half += o.Half
	t.Violations += o.Violations
}

// busiest picks the links that get series of their own: those with most bytes. It gives, by number of a link,
// its place among these or -1, and their names.
func (c *computation) busiest(x *traffic) (place []int32, names []string) {
	var picked []int
	for i := range x.sums {
		if x.sums[i].DFs+x.sums[i].CFs > 0 {
			picked = append(picked, i)
		}
	}
	slices.SortFunc(picked, func(a, b int) int {
		s, o := &x.sums[a], &x.sums[b]
		return cmp.Or(cmp.Compare(o.DFBytes+o.CFBytes, s.DFBytes+s.CFBytes),
			compareLinks(x.links.list[a], x.links.list[b]))
	})
	if n := c.opt.Links; n >= 0 && n < len(picked) {
		picked = picked[:n]
	}
	slices.SortFunc(picked, func(a, b int) int { return compareLinks(x.links.list[a], x.links.list[b]) })
	place = make([]int32, len(x.sums))
	for i := range place {
		place[i] = -1
	}
	for k, i := range picked {
		place[i] = int32(k)
		names = append(names, linkName(x.links.list[i]))
	}
	return place, names
}

const none = model.None

// messageChange says which quantities of a link a message changes at a time.
type messageChange uint8

const (
	counts messageChange = 1 << iota // as sent
	countsMoved
	countsData
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
	switch {
	case g.DF != 0:
		what |= countsData
	case g.CF != 0:
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

// end is the node at the beginning or the end of a link; that of all links stays whole.
func (x *linkTable) end(link int32, from bool) int32 {
	switch {
	case link == whole:
		return whole
	case from:
		return int32(x.list[link].From)
	}
	return int32(x.list[link].To)
}

// find gives the number of a link that has one. Any number of goroutines may ask.
func (x *linkTable) find(from, to int32) int32 {
	return x.index[query.Link{From: int(from), To: int(to)}]
}

func linkName(l query.Link) string { return strconv.Itoa(l.From) + "->" + strconv.Itoa(l.To) }

func compareLinks(a, b query.Link) int {
	return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
}
