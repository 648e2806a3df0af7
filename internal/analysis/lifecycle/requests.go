package lifecycle

import (
	"cmp"
	"math"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// findLate goes through the requests that came to a node for a DF that had been destroyed there and was not stored again.
func (f *finder) findLate() {
	if !f.need("late_requests", trace.KindDFRequestReceived, trace.KindDFDestroy) {
		return
	}
	g := f.groups()
	f.eachLate(func(q *model.Message, why string, destroyed int64) {
		x := g.add(q.DF, q.CF, 0, why, 0)
		if g.wants() {
			e := f.requested(q, q.Received)
			e.DestroyedNS = f.at(destroyed)
			x.Examples = append(x.Examples, e)
		}
	})
	f.res.LateRequests = g.finding()
}

// eachLate calls add for the requests that came late to this process's nodes, in order, with the reason and when the DF had been
// destroyed.
func (f *finder) eachLate(add func(q *model.Message, why string, destroyed int64)) {
	m := f.m
	if len(m.Requests) <= 1 {
		return
	}
	// The first destruction of each DF anywhere rules out nearly all; only the others are looked at closely.
	first := make([]int64, m.DFs())
	for i := range first {
		first[i] = math.MaxInt64
	}
	for i := range m.Copies {
		if c := &m.Copies[i]; c.What >= model.CopyExpired && c.What != model.CopyEnd {
			first[c.DF] = min(first[c.DF], c.Time)
		}
	}
	var late []uint32
	suspect := newBits(m.DFs())
	for i := 1; i < len(m.Requests); i++ {
		if q := &m.Requests[i]; q.Received != model.None && q.DF != 0 && first[q.DF] <= q.Received && m.Own(int(q.To)) {
			late = append(late, uint32(i))
			suspect.set(q.DF)
		}
	}
	if len(late) == 0 {
		return
	}
	f.inOrder(late, func(q *model.Message) int64 { return q.Received })
	type key struct {
		df   model.DF
		node uint16
	}
	changes := map[key][]model.Copy{}
	for i := range m.Copies {
		if c := m.Copies[i]; suspect.has(c.DF) && c.What != model.CopyDropped && c.What != model.CopyEnd {
			changes[key{c.DF, c.Node}] = append(changes[key{c.DF, c.Node}], c)
		}
	}
	for _, list := range changes {
		slices.SortStableFunc(list, func(a, b model.Copy) int { return cmp.Compare(a.Time, b.Time) })
	}
	for _, i := range late {
		q := &m.Requests[i]
		list := changes[key{q.DF, uint16(q.To)}]
		n, _ := slices.BinarySearchFunc(list, q.Received, func(c model.Copy, t int64) int {
			if c.Time <= t {
				return -1
			}
			return 1
		})
		if n == 0 || list[n-1].What == model.CopyStored {
			continue
		}
		why := "its requests were used up"
		if list[n-1].What == model.CopyDeleted {
			why = "it had been deleted"
		}
		add(q, why, list[n-1].Time)
	}
}

// findUnanswered goes through the requests that no message answers.
func (f *finder) findUnanswered() {
	if !f.need("unanswered", trace.KindDFRequested, trace.KindDFReceived) {
		return
	}
	g := f.groups()
	f.eachUnanswered(nil, func(q *model.Message, why string) {
		x := g.add(q.DF, q.CF, 0, why, 0)
		if g.wants() {
			x.Examples = append(x.Examples, f.requested(q, q.Sent))
		}
	})
	f.res.Unanswered = g.finding()
}

// requested is a request as an example.
func (f *finder) requested(q *model.Message, t int64) Example {
	to := int(q.To)
	return Example{DF: f.m.DFString(q.DF), CF: f.cf(q.CF), Node: int(q.From), To: &to, AtNS: f.at(t)}
}

// eachUnanswered calls add for the requests of this process's nodes that no message answers, in order, with the reason. elsewhere
// is what other processes know of answers.
func (f *finder) eachUnanswered(elsewhere []answered, add func(q *model.Message, why string)) {
	m := f.m
	const left, came = 1, 2
	answer := make([]uint8, len(m.Requests))
	for _, x := range elsewhere {
		r := m.FindRequest(x.Request)
		answer[r] = max(answer[r], left)
		if x.Came {
			answer[r] = came
		}
	}
	for i := range m.DFMessages {
		if r := m.DFMessages[i].Request; r != 0 {
			answer[r] = max(answer[r], left)
			if m.DFMessages[i].Received != model.None {
				answer[r] = came
			}
		}
	}
	var open []uint32
	for i := 1; i < len(m.Requests); i++ {
		if q := &m.Requests[i]; (q.Sent != model.None || q.Received != model.None) && answer[i] != came && m.Own(int(q.From)) {
			open = append(open, uint32(i))
		}
	}
	f.inOrder(open, func(q *model.Message) int64 { return q.Sent })
	for _, i := range open {
		q := &m.Requests[i]
		why := "it was never answered"
		switch {
		case answer[i] == left:
			why = "the answer was sent, and never came"
		case q.Received == model.None && m.Count[trace.KindDFRequestReceived] > 0:
			why = "the request never came"
		case !f.madeAnywhere(q.DF) && m.Count[trace.KindDFCreate] > 0:
			why = "the DF was never produced"
		}
		add(q, why)
	}
}

// inOrder sorts requests by a time of theirs: their numbers depend on which stream was read first.
func (f *finder) inOrder(requests []uint32, at func(*model.Message) int64) {
	slices.SortFunc(requests, func(a, b uint32) int {
		p, q := &f.m.Requests[a], &f.m.Requests[b]
		return cmp.Or(cmp.Compare(at(p), at(q)), cmp.Compare(p.To, q.To), cmp.Compare(f.m.CFID(p.CF), f.m.CFID(q.CF)),
			cmp.Compare(f.m.DFString(p.DF), f.m.DFString(q.DF)))
	})
}
