package series

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// link is an ordered pair of nodes.
type link struct{ from, to int32 }

func (l link) String() string { return fmt.Sprintf("%d->%d", l.from, l.to) }

// matrix collects the traffic of the links.
type matrix struct {
	index map[link]int32
	list  []Link

	last      link // most messages follow one of the same link
	lastIndex int32
}

// of gives the number of a link; -1 for one whose ends are not both known.
func (x *matrix) of(g *model.Message) int32 {
	l := link{g.From, g.To}
	if l == x.last {
		return x.lastIndex
	}
	i, ok := x.index[l]
	if !ok {
		i = -1
		if l.from >= 0 && l.to >= 0 {
			i = int32(len(x.list))
			x.list = append(x.list, Link{From: int(l.from), To: int(l.to)})
		}
		x.index[l] = i
	}
	x.last, x.lastIndex = l, i
	return i
}

// numbered leaves out what has no number: what a node did not send but had itself.
func numbered(list []model.Message) []model.Message {
	return list[min(1, len(list)):]
}

// flight adds the way of a message to the sums and gives the part of its time to add.
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

// collect fills the matrix.
func (r *run) collect(x *matrix) {
	m := r.m
	each := func(list []model.Message, add func(t *Traffic, g *model.Message)) {
		for i := range list {
			if g := &list[i]; r.m.Counted(g) {
				if n := x.of(g); n >= 0 {
					add(&x.list[n].Traffic, g)
				}
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

// links follows the traffic.
func (r *run) links() error {
	if !r.wants(MessagesInFlight, BytesInFlight, MessagesSent, BytesSent, CFsMoved) {
		return nil
	}
	x := &matrix{index: map[link]int32{}, last: link{-1, -1}, lastIndex: -1}
	r.collect(x)
	if err := r.shareMatrix(x); err != nil {
		return err
	}
	if len(x.list) == 0 {
		return nil
	}
	r.res.Messages = &Traffic{}
	for i := range x.list {
		r.res.Messages.add(&x.list[i].Traffic)
	}
	own := r.ownSeries(x)
	if err := r.inFlight(x, own); err != nil {
		return err
	}
	if err := r.sent(x, own); err != nil {
		return err
	}
	slices.SortFunc(x.list, func(a, b Link) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	r.res.Links = x.list
	return nil
}

// ownSeries says, for each link of the matrix, which one it is of those that get series; -1 for none.
func (r *run) ownSeries(x *matrix) []int32 {
	var byBytes []int
	for i := range x.list {
		if x.list[i].DFs+x.list[i].CFs > 0 {
			byBytes = append(byBytes, i)
		}
	}
	bytes := func(i int) int64 { return x.list[i].DFBytes + x.list[i].CFBytes }
	slices.SortFunc(byBytes, func(a, b int) int {
		return cmp.Or(cmp.Compare(bytes(b), bytes(a)), cmp.Compare(x.list[a].From, x.list[b].From), cmp.Compare(x.list[a].To, x.list[b].To))
	})
	if n := r.opt.Links; n >= 0 && n < len(byBytes) {
		byBytes = byBytes[:n]
	}
	slices.SortFunc(byBytes, func(a, b int) int {
		return cmp.Or(cmp.Compare(x.list[a].From, x.list[b].From), cmp.Compare(x.list[a].To, x.list[b].To))
	})
	own := make([]int32, len(x.list))
	for i := range own {
		own[i] = -1
	}
	for k, i := range byBytes {
		own[i] = int32(k)
	}
	return own
}

// eachMessage visits DFs and CFs sent with the number of their link's series.
func (r *run) eachMessage(x *matrix, own []int32, visit func(g *model.Message, key int32)) {
	for _, list := range [][]model.Message{numbered(r.m.DFMessages), r.m.Moves} {
		for i := range list {
			if g := &list[i]; r.m.Counted(g) {
				if n := x.of(g); n >= 0 {
					visit(g, own[n])
				}
			}
		}
	}
}

// names gives the names of the links that have series, in their order.
func (x *matrix) names(own []int32) []string {
	var names []string
	for i, k := range own {
		for int(k) >= len(names) {
			names = append(names, "")
		}
		if k >= 0 {
			names[k] = link{int32(x.list[i].From), int32(x.list[i].To)}.String()
		}
	}
	return names
}

// inFlight follows what is under way. A message whose receipt was not recorded is under way to the end of a run that was
// killed; in one that ended it is left out, as is one whose sending was not recorded.
func (r *run) inFlight(x *matrix, own []int32) error {
	if !r.wants(MessagesInFlight, BytesInFlight) {
		return nil
	}
	names := x.names(own)
	n := len(names)
	list, err := levels(r, 2*(n+1), 2*len(r.m.DFMessages), func(emit func(t int64, key int32, d int64)) {
		r.eachMessage(x, own, func(g *model.Message, key int32) {
			switch {
			case g.Sent == model.None:
			case g.Received != model.None:
				if g.Sent < g.Received {
					emit(g.Sent, key<<1, g.Bytes)
					emit(g.Received, key<<1|1, -g.Bytes)
				}
			case r.m.Killed:
				emit(g.Sent, key<<1, g.Bytes)
			}
		})
	}, func(l []level, c *change[int64]) {
		key, count := int(c.key>>1), int64(1)-2*int64(c.key&1)
		if key >= 0 {
			l[key].add(c.t, c.d)
			l[n+1+key].add(c.t, count)
		}
		l[n].add(c.t, c.d)
		l[n+1+n].add(c.t, count)
	})
	if err != nil {
		return err
	}
	add := func(name, unit string, list []level) {
		if !r.wants(name) {
			return
		}
		r.add(list[n].series(name, unit, -1, ""))
		for i := range names {
			r.add(list[i].series(name, unit, -1, names[i]))
		}
	}
	add(BytesInFlight, "bytes", list[:n+1])
	add(MessagesInFlight, "count", list[n+1:])
	return nil
}

// sent adds up what was sent in each window; where the sending was not recorded, the receipt counts.
func (r *run) sent(x *matrix, own []int32) error {
	names := x.names(own)
	n := len(names)
	make2 := func() []amount {
		list := make([]amount, n+1)
		for i := range list {
			list[i] = make(amount, r.grid.n)
		}
		return list
	}
	messages, bytes, moved := make2(), make2(), make2()
	r.eachMessage(x, own, func(g *model.Message, key int32) {
		t := g.Sent
		if t == model.None {
			t = g.Received
		}
		w := r.grid.window(r.grid.clamp(t))
		keys := [2]int{n, int(key)}
		for _, k := range keys[:1+min(1, key+1)] {
			messages[k][w]++
			bytes[k][w] += g.Bytes
			if g.DF == 0 && g.CF != 0 {
				moved[k][w]++
			}
		}
	})
	if err := r.sumAmounts(messages, bytes, moved); err != nil {
		return err
	}
	add := func(name, unit string, list []amount) {
		if !r.wants(name) {
			return
		}
		r.add(list[n].series(&r.grid, name, unit, ""))
		for i := range names {
			r.add(list[i].series(&r.grid, name, unit, names[i]))
		}
	}
	add(MessagesSent, "count", messages)
	add(BytesSent, "bytes", bytes)
	if r.moved() > 0 {
		add(CFsMoved, "count", moved)
	}
	return nil
}
