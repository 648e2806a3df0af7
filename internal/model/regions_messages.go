package model

import (
	"cmp"
	"slices"
	"strings"
)

// Messages between threads: each is sent by one call and received by another. MPI keeps messages of one
// sender, receiver, tag and communicator in order: the order in which they are sent, and that in which the
// receives are posted that take them. So the first sent is the first received, and so on.

// MPI tells whether the trace is that of an MPI program: its nodes are ranks.
func (m *Model) MPI() bool { return strings.Contains(m.Info.Settings["program"], "MPI") }

// Send is a message that a thread sends.
type Send struct {
	Visit  int32 // of the call that sends it
	Done   int32 // of the call that waited for its completion; -1: it was complete with Visit, or never
	Peer   int32 // the receiver
	Tag    int32
	Comm   uint64
	Bytes  int64
	Number uint64 // 0: it is complete when Visit is
}

// Receive is a message that a thread has received.
type Receive struct {
	Visit  int32 // of the call that it arrived in
	Peer   int32 // the sender
	Tag    int32
	Comm   uint64
	Bytes  int64
	Number uint64 // receives of a node are posted in the order of their numbers
	Posted int64  // when
}

// Letter is a message of which both ends are known: Regions.Threads[From].Sends[Send] and
// Threads[To].Receives[Receive].
type Letter struct{ From, Send, To, Receive int32 }

// channel is what messages go through in order.
type channel struct {
	from, to, tag int32
	comm          uint64
}

// end of a message: an entry of a thread's Sends or Receives.
type letterEnd struct {
	thread, index int32
	at            int64 // the order within a channel: time of the send, number of the receive
}

// pairMessages finds who received what was sent. What was received before it was sent, by the clocks, has
// lost its partner, and so has what is left over.
func (r *Regions) pairMessages() {
	sent, received := map[channel][]letterEnd{}, map[channel][]letterEnd{}
	for i := range r.Threads {
		t := &r.Threads[i]
		for k := range t.Sends {
			if s := &t.Sends[k]; s.Visit >= 0 {
				c := channel{int32(t.Node), s.Peer, s.Tag, s.Comm}
				sent[c] = append(sent[c], letterEnd{int32(i), int32(k), t.Enter[s.Visit]})
			}
		}
		for k := range t.Receives {
			if s := &t.Receives[k]; s.Visit >= 0 {
				c := channel{s.Peer, int32(t.Node), s.Tag, s.Comm}
				received[c] = append(received[c], letterEnd{int32(i), int32(k), int64(s.Number)})
			}
		}
	}
	inOrder := func(list []letterEnd) {
		slices.SortStableFunc(list, func(x, y letterEnd) int { return cmp.Compare(x.at, y.at) })
	}
	for c, from := range sent {
		to := received[c]
		inOrder(from)
		inOrder(to)
		for len(from) > 0 && len(to) > 0 {
			t := &r.Threads[to[0].thread]
			if t.Exit[t.Receives[to[0].index].Visit] < from[0].at {
				to = to[1:]
				r.Strays++
				continue
			}
			r.Letters = append(r.Letters, Letter{from[0].thread, from[0].index, to[0].thread, to[0].index})
			from, to = from[1:], to[1:]
		}
		r.Strays += len(from) + len(to)
		delete(received, c)
	}
	for _, to := range received {
		r.Strays += len(to)
	}
	slices.SortFunc(r.Letters, func(x, y Letter) int {
		return cmp.Or(cmp.Compare(x.To, y.To), cmp.Compare(x.Receive, y.Receive))
	})
}

// completes notes which call waited for sends; done are the transfers that were completed, in order.
func (t *Thread) completes(done []completion) {
	of := map[uint64]int32{}
	for k := range t.Sends {
		if t.Sends[k].Number > 0 {
			of[t.Sends[k].Number] = int32(k)
		}
	}
	for _, d := range done {
		if k, ok := of[d.number]; ok && t.Sends[k].Done < 0 {
			t.Sends[k].Done = d.visit
		}
	}
}

// completion of a transfer.
type completion struct {
	visit  int32
	number uint64
}
