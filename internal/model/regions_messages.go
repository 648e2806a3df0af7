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

// Signals are messages that a run-time system sends in its own calls. Their tags are negative. Those between
// neighbours have the bytes that are exchanged; others have none.
const (
	tagPost     = -1 // from MPI_Win_post to MPI_Win_start, received where the latter's epoch ends
	tagComplete = -2 // from MPI_Win_complete to MPI_Win_wait
	tagBegun    = -3 // from the start of a non-blocking collective to its end, received only
	tagNear     = -4 // from the start of a neighbourhood collective to its end at a neighbour
)

// Posted and Completed tell which signal a message is.
func (s *Send) Posted() bool { return s.Tag == tagPost }

// Completed tells that the message is a signal of MPI_Win_complete.
func (s *Send) Completed() bool { return s.Tag == tagComplete }

// Near tells that the message is a signal between neighbours.
func (s *Send) Near() bool { return s.Tag == tagNear }

// Signal tells whether a message is none of the program.
func (s *Send) Signal() bool { return s.Tag < 0 }

// Near is Send.Near.
func (r *Receive) Near() bool { return r.Tag == tagNear }

// Signal is Send.Signal.
func (r *Receive) Signal() bool { return r.Tag < 0 }

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

// letterEnds are the ends of all messages by channel, each list in the order in which MPI pairs them.
func (r *Regions) letterEnds() (sent, received map[channel][]letterEnd) {
	sent, received = map[channel][]letterEnd{}, map[channel][]letterEnd{}
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
	for _, ends := range []map[channel][]letterEnd{sent, received} {
		for _, list := range ends {
			slices.SortStableFunc(list, func(x, y letterEnd) int { return cmp.Compare(x.at, y.at) })
		}
	}
	return sent, received
}

// pairMessages finds who received what was sent. What was received before it was sent, by the clocks, has
// lost its partner, and so has what is left over.
func (r *Regions) pairMessages() {
	sent, received := r.letterEnds()
	for c, from := range sent {
		to := received[c]
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

// lastTransfers finds the last transfers before MPI_Win_complete.
func (t *Thread) lastTransfers() {
	opened := map[int32]int64{} // by the visit of MPI_Win_complete: when its epoch began
	for i := range t.Receives {
		if r := &t.Receives[i]; r.Tag == tagPost {
			opened[r.Visit] = r.Posted
		}
	}
	next, last := 0, map[int32]int64{} // by node: when the last transfer there ended
	for i := range t.Sends {
		s := &t.Sends[i]
		if !s.Completed() {
			continue
		}
		for ; next < len(t.Transfers) && t.Transfers[next].Visit < s.Visit; next++ {
			if x := &t.Transfers[next]; x.Visit >= 0 {
				last[x.Peer] = t.Exit[x.Visit]
			}
		}
		if at, ok := last[s.Peer]; ok && at >= opened[s.Visit] {
			if t.Since == nil {
				t.Since = map[int32]int64{}
			}
			t.Since[int32(i)] = at
		}
	}
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
