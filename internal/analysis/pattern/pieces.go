package pattern

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// pieces divides the time of a thread in regions: what patterns explain is waiting, the rest belongs to the
// class of the function or operation. Threads that execute CFs get the waiting only or, in MPI programs,
// what operations took.
func (s *search) pieces(i int) []Piece {
	t, class, charges := &s.r.Threads[i], s.class[i], s.charge[i]
	slices.SortFunc(charges, compareCharges)
	first := make([]int32, len(t.Enter)+1) // by visit: where its charges begin
	for _, x := range charges {
		first[x.visit+1]++
	}
	for v := range t.Enter {
		first[v+1] += first[v]
	}
	tasks := s.m.Count[trace.KindCFStarted] > 0 // anywhere
	waitsOnly := tasks && !s.m.MPI()
	// about as many as there will be
	room := len(charges)
	if !waitsOnly {
		room += len(t.Enter)
	}
	out := make([]Piece, 0, room)
	links := linksOf(t)
	eachVisitIn(t, stretch{t.Start, t.End}, func(v int32, from, to int64) {
		if v < 0 {
			return
		}
		add := func(until int64, p Piece) {
			p.From, p.To, p.Call = from, until, int(s.of[i][v])
			if from < until && (p.Kind == Waits || !waitsOnly && !(tasks && p.Kind == Works)) {
				out = append(out, p)
			}
			from = max(from, until)
		}
		rest := restOf(s.f.metrics[class[v]].ID, links.names[links.of[v]])
		for _, x := range charges[first[v]:first[v+1]] {
			if max(from, x.from) < min(to, x.to) {
				add(x.from, rest)
				add(min(to, x.to), Piece{Kind: Waits, Part: s.f.metrics[x.metric].ID})
			}
		}
		add(to, rest)
	})
	return out
}

// restOf is what the time of a function or operation is that no pattern explains.
func restOf(class, link string) Piece {
	switch class {
	case "program":
		return Piece{Kind: Works}
	case "bulk", "access", "remote-atomic", "message":
		return Piece{Kind: Transfers, Part: cmp.Or(link, class)}
	case "collective", "completion":
		return Piece{Kind: Transfers, Part: class}
	case "await", "io", "sleep":
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
	see := func(visit, peer int32, comes bool) {
		if visit < 0 || int(peer) == t.Node {
			return // memory of its own
		}
		key := int(peer) << 1
		if comes {
			key |= 1
		}
		n, ok := number[key]
		if !ok {
			n = uint32(len(l.names))
			number[key] = n
			if comes {
				l.names = append(l.names, fmt.Sprintf("%d->%d", peer, t.Node))
			} else {
				l.names = append(l.names, fmt.Sprintf("%d->%d", t.Node, peer))
			}
		}
		if old := l.of[visit]; old != noLink && old != n {
			n = manyLinks
		}
		l.of[visit] = n
	}
	for i := range t.Transfers {
		x := &t.Transfers[i]
		see(x.Visit, x.Peer, x.Kind == model.TransferGet)
	}
	for i := range t.Sends {
		see(t.Sends[i].Visit, t.Sends[i].Peer, false)
		see(t.Sends[i].Done, t.Sends[i].Peer, false)
	}
	for i := range t.Receives {
		see(t.Receives[i].Visit, t.Receives[i].Peer, true)
	}
	return l
}
