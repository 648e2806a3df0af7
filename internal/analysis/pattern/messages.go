package pattern

import (
	"cmp"
	"math"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// Waits for messages. A call may wait for several (MPI_Waitall), and both for a message to come and for one
// of its own to be taken (MPI_Sendrecv). It waits for the last of them: first until that is sent (late
// sender), then until the receive of its own message is posted (late receiver). What is left is the time of
// the transfer.
//
// A send waits for its receive only if it ends after that is posted. One that ends before was buffered.

// stall is how long a call waits for another thread in messages.
type stall struct {
	thread, visit int32
	metric        int32
	until         int64
	late          int32 // thread
	wrong         bool  // the message came in the wrong order
}

// messages looks at every message and signal.
func (s *search) messages() {
	r := s.r
	lateSender, lateReceiver := int32(s.f.index["late-sender"]), int32(s.f.index["late-receiver"])
	wrong := s.wrongOrder()
	var all []stall
	for i, l := range r.Letters {
		from, to := &r.Threads[l.From], &r.Threads[l.To]
		send, receive := &from.Sends[l.Send], &to.Receives[l.Receive]
		if send.Signal() {
			all = s.awaitSignal(&r.Letters[i], all)
			continue
		}
		sent := from.Enter[send.Visit]
		if sent > to.Enter[receive.Visit] {
			all = append(all, stall{l.To, receive.Visit, lateSender, sent, l.From, wrong[i]})
		}
		v := send.Visit
		if send.Number > 0 {
			v = send.Done
		}
		if v >= 0 && receive.Posted > from.Enter[v] && receive.Posted < from.Exit[v] {
			all = append(all, stall{l.From, v, lateReceiver, receive.Posted, l.To, false})
		}
	}
	slices.SortFunc(all, func(x, y stall) int {
		return cmp.Or(cmp.Compare(x.thread, y.thread), cmp.Compare(x.visit, y.visit),
			cmp.Compare(x.metric, y.metric), cmp.Compare(y.until, x.until), cmp.Compare(x.late, y.late))
	})
	for i := 0; i < len(all); {
		first, at := all[i], r.Threads[all[i].thread].Enter[all[i].visit]
		for i < len(all) && all[i].thread == first.thread && all[i].visit == first.visit {
			at = s.stalled(&all[i], at)
			for metric := all[i].metric; i < len(all) && all[i].thread == first.thread &&
				all[i].visit == first.visit && all[i].metric == metric; {
				i++ // it waited for the last of them
			}
		}
	}
	s.awaitMessages()
}

// stalled charges a wait from a time on, and gives its end.
func (s *search) stalled(w *stall, from int64) int64 {
	t := &s.r.Threads[w.thread]
	to := min(w.until, t.Exit[w.visit])
	if from >= to {
		return from
	}
	metric := w.metric
	if w.wrong {
		metric = int32(s.f.index["wrong-order"])
	}
	s.stalls[w.thread] = append(s.stalls[w.thread], charge{w.visit, metric, from, to, w.late})
	return to
}

// wrongOrder tells, by message, whether another one that its receiver took later was sent before it.
func (s *search) wrongOrder() []bool {
	list := s.r.Letters
	out := make([]bool, len(list))
	// Of those with a later visit, and of those with the visit at hand: the first that was sent.
	later, here := int64(math.MaxInt64), int64(math.MaxInt64)
	for i := len(list) - 1; i >= 0; i-- {
		l := &list[i]
		visit := func(l *model.Letter) int32 { return s.r.Threads[l.To].Receives[l.Receive].Visit }
		if i+1 == len(list) || list[i+1].To != l.To {
			later, here = math.MaxInt64, math.MaxInt64
		} else if visit(&list[i+1]) != visit(l) {
			later, here = min(later, here), math.MaxInt64
		}
		send := &s.r.Threads[l.From].Sends[l.Send]
		if send.Signal() {
			continue
		}
		sent := s.r.Threads[l.From].Enter[send.Visit]
		out[i] = later < sent
		here = min(here, sent)
	}
	return out
}

// awaitMessages sums up the waits for messages, when all are known.
func (s *search) awaitMessages() {
	for i, list := range s.stalls {
		t := &s.r.Threads[i]
		if s.own[i] {
			s.charge[i] = append(s.charge[i], list...)
		}
		for _, x := range list {
			ns := ownTime(t, int(x.visit), x.from, x.to)
			if ns <= 0 {
				continue
			}
			call := int(s.of[i][x.visit])
			if s.own[i] {
				s.add(int(x.metric), call, i, ns)
			}
			if late := int(x.late); s.own[late] {
				during := stretch{x.from, x.to}
				l := s.waited(int(x.metric), call, late, ns, during, false)
				l.Work += min(ns, s.computed(late, during))
			}
		}
	}
}

// computed is how long a thread ran the program in a stretch.
func (s *search) computed(thread int, in stretch) (ns int64) {
	eachVisitIn(&s.r.Threads[thread], in, func(v int32, from, to int64) {
		if v < 0 || s.class[thread][v] == uint8(s.f.program) {
			ns += to - from
		}
	})
	return ns
}

// compareCharges orders charges by visit and time.
func compareCharges(x, y charge) int {
	return cmp.Or(cmp.Compare(x.visit, y.visit), cmp.Compare(x.from, y.from), cmp.Compare(x.to, y.to))
}

// messageWait is how much of a stretch a visit waited for messages.
func (s *search) messageWait(thread int, visit int32, from, to int64) (ns int64) {
	list := s.stalls[thread]
	at, _ := slices.BinarySearchFunc(list, visit, func(x charge, v int32) int { return cmp.Compare(x.visit, v) })
	for ; at < len(list) && list[at].visit == visit; at++ {
		ns += max(0, min(to, list[at].to)-max(from, list[at].from))
	}
	return ns
}

// countMessages counts messages by call path, and finds runs of them, of own threads that send.
func (s *search) countMessages() {
	s.sent = map[int32]Message{}
	received := make([][]int64, len(s.r.Threads)) // by sending thread and message: the time of its receiver
	for i := range s.r.Threads {
		received[i] = make([]int64, len(s.r.Threads[i].Sends))
	}
	shared := map[[2]int32]int64{} // how many messages a visit receives, by thread
	for _, l := range s.r.Letters {
		shared[[2]int32{l.To, s.r.Threads[l.To].Receives[l.Receive].Visit}]++
	}
	for _, l := range s.r.Letters {
		v := s.r.Threads[l.To].Receives[l.Receive].Visit
		received[l.From][l.Send] = s.moving(int(l.To), v) / shared[[2]int32{l.To, v}]
	}
	program := uint8(s.f.program)
	for i := range s.r.Threads {
		if !s.own[i] {
			continue
		}
		t := &s.r.Threads[i]
		for k := range t.Sends {
			x := &t.Sends[k]
			if x.Visit < 0 || x.Signal() {
				continue
			}
			call := s.of[i][x.Visit]
			o := Message{Count: 1, Bytes: x.Bytes, NS: s.moving(i, x.Visit) + received[i][k]}
			if follows := func(k int) bool { // a send the one before it, with nothing but the program in between
				if k < 1 || k >= len(t.Sends) {
					return false
				}
				last, next := &t.Sends[k-1], &t.Sends[k]
				if last.Peer != next.Peer || last.Visit < 0 || next.Visit <= last.Visit ||
					t.Enter[next.Visit]-t.Exit[last.Visit] > soon ||
					s.of[i][last.Visit] != s.of[i][next.Visit] {
					return false
				}
				for v := last.Visit + 1; v < next.Visit; v++ {
					if s.class[i][v] != program {
						return false
					}
				}
				return true
			}; follows(k) {
				o.JoinNS = o.NS
			} else if follows(k + 1) {
				o.Runs = 1
			}
			s.sent[call] = s.sent[call].plus(o)
		}
	}
}

// moving is the own time of a visit without waits for messages.
func (s *search) moving(thread int, visit int32) int64 {
	t := &s.r.Threads[thread]
	from, to := t.Enter[visit], t.Exit[visit]
	return max(0, ownTime(t, int(visit), from, to)-s.messageWait(thread, visit, from, to))
}

// plus adds up what is known of the messages at a call path.
func (m Message) plus(o Message) Message {
	return Message{m.Call, m.Count + o.Count, m.Bytes + o.Bytes, m.NS + o.NS, m.Runs + o.Runs,
		m.JoinNS + o.JoinNS}
}

func (s *search) messageList() []Message {
	out := make([]Message, 0, len(s.sent))
	for call, m := range s.sent {
		m.Call = int(call)
		out = append(out, m)
	}
	slices.SortFunc(out, func(x, y Message) int {
		return cmp.Or(cmp.Compare(y.NS, x.NS), cmp.Compare(x.Call,
			y.Call))
	})
	return out
}
