package pattern

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// pieces divides the time of a thread in operations: what patterns explain is waiting, the rest belongs to
// the operation's class. Threads that execute CFs get the waiting only.
func (s *search) pieces(i int) []Piece {
	t, of, class := &s.r.Threads[i], s.of[i], s.class[i]
	charges := s.charge[i]
	slices.SortFunc(charges, func(x, y charge) int {
		return cmp.Or(cmp.Compare(x.visit, y.visit), cmp.Compare(x.from, y.from), cmp.Compare(x.to, y.to))
	})
	waitsOnly := s.m.Count[trace.KindCFStarted] > 0 // anywhere
	room := 2 * len(charges)
	if !waitsOnly {
		room += len(t.Enter)
	}
	out := make([]Piece, 0, room)
	links := linksOf(t)
	program := uint8(s.f.index["program"])
	sorted := true
	add := func(p Piece) {
		if p.From >= p.To || (waitsOnly && p.Kind != Waits) {
			return
		}
		sorted = sorted && (len(out) == 0 || out[len(out)-1].To <= p.From)
		out = append(out, p)
	}
	for v, c := 0, 0; v < len(t.Enter); v++ {
		first := c
		for c < len(charges) && int(charges[c].visit) == v {
			c++
		}
		if class[v] == program {
			continue
		}
		rest := s.rest(s.f.metrics[class[v]].ID, links.names[links.of[v]])
		rest.Call = int(of[v])
		eachOwn(t, v, func(from, to int64) {
			for _, x := range charges[first:c] {
				a, b := max(from, x.from), min(to, x.to)
				if a >= b {
					continue
				}
				add(Piece{from, a, rest.Kind, rest.Part, rest.Call})
				add(Piece{a, b, Waits, s.f.metrics[x.metric].ID, rest.Call})
				from = b
			}
			add(Piece{from, to, rest.Kind, rest.Part, rest.Call})
		})
	}
	if !sorted {
		slices.SortFunc(out, func(x, y Piece) int { return cmp.Compare(x.From, y.From) })
	}
	return out
}

// rest is what the time of an operation is that no pattern explains.
func (s *search) rest(class, link string) Piece {
	switch class {
	case "bulk", "access", "remote-atomic":
		if link != "" {
			return Piece{Kind: Transfers, Part: link}
		}
		return Piece{Kind: Transfers, Part: class}
	case "collective", "completion":
		return Piece{Kind: Transfers, Part: class}
	case "await":
		return Piece{Kind: Waits, Part: class}
	}
	return Piece{Kind: Runs, Part: "runtime"}
}

// links are those that the transfers of a thread go over.
type links struct {
	of    []uint32 // by visit: index into names
	names []string
}

const (
	noLink = iota
	manyLinks
)

// linksOf gives, by visit, the link that its transfers go over; "" where there are several.
func linksOf(t *model.Thread) links {
	l := links{make([]uint32, len(t.Enter)), []string{noLink: "", manyLinks: ""}}
	number := map[int]uint32{}
	for i := range t.Transfers {
		x := &t.Transfers[i]
		if x.Visit < 0 || int(x.Peer) == t.Node {
			continue // memory of its own
		}
		key := int(x.Peer) << 1
		if x.Kind == model.TransferGet {
			key |= 1
		}
		n, ok := number[key]
		if !ok {
			n = uint32(len(l.names))
			number[key] = n
			if x.Kind == model.TransferGet {
				l.names = append(l.names, fmt.Sprintf("%d->%d", x.Peer, t.Node))
			} else {
				l.names = append(l.names, fmt.Sprintf("%d->%d", t.Node, x.Peer))
			}
		}
		if old := l.of[x.Visit]; old != noLink && old != n {
			n = manyLinks
		}
		l.of[x.Visit] = n
	}
	return l
}
