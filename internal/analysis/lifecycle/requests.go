package lifecycle

import (
	"cmp"
	"math"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// lateRequest is what the process of the node that was asked tells that of the asking one.
type lateRequest struct {
	Same        sameGroup
	At          order
	CF          trace.CF
	From, To    int
	AtNS        int64
	DestroyedNS int64
	DF          string
}

// orderOf orders requests by a time, then as inOrder does.
func (f *finder) orderOf(q *model.Message, t int64) order {
	return order{[4]uint64{uint64(t) ^ 1<<63, uint64(q.To), uint64(f.m.CFID(q.CF))}, f.m.DFString(q.DF)}
}

// findLate goes through the requests that came to a node for a DF that had been destroyed there and was not
// stored again.
func (f *finder) findLate() error {
	m := f.m
	if !f.need("late_requests", trace.KindDFRequestReceived, trace.KindDFDestroy) {
		return nil
	}
	out := make([][]lateRequest, f.g.Size())
	f.eachLate(func(q *model.Message, why string, destroyed int64) {
		to := m.Owner(int(q.From))
		out[to] = append(out[to], lateRequest{sameGroup{Name: m.DFName[q.DF], Why: why},
			f.orderOf(q, q.Received), m.CFID(q.CF),
			int(q.From), int(q.To), f.at(q.Received), f.at(destroyed), m.DFString(q.DF)})
	})
	in, err := procs.Swap(f.g, out)
	if err != nil {
		return err
	}
	list := slices.Concat(in...)
	ids := make([]trace.CF, len(list))
	for i := range list {
		ids[i] = list[i].CF
	}
	sites, err := f.sitesOf(ids)
	if err != nil {
		return err
	}
	g := f.groups()
	for i := range list {
		q := &list[i]
		q.Same.Site = sites[i]
		g.add(q.Same, q.At, 0, [2]trace.CF{q.CF}, func() Example {
			return Example{DF: q.DF, Node: q.From, To: &q.To, AtNS: q.AtNS, DestroyedNS: q.DestroyedNS}
		})
	}
	f.res.LateRequests, err = g.finding()
	return err
}

// eachLate calls add for the requests that came late to this process's nodes, with the reason and when the DF
// had been destroyed.
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
		if q := &m.Requests[i]; q.Received != model.None && q.DF != 0 && first[q.DF] <= q.Received &&
			m.Own(int(q.To)) {
			late = append(late, uint32(i))
			suspect.set(q.DF)
		}
	}
	if len(late) == 0 {
		return
	}
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

// answered tells that a request, by its id, was answered, and whether the answer came.
type answered struct {
	Request uint64
	Came    bool
}

// answersElsewhere tells what processes know of answers that the asking process does not: of those that left
// and never came and, in damaged traces, of those that came to others.
func (f *finder) answersElsewhere() ([]answered, error) {
	if f.g.Size() == 1 {
		return nil, nil
	}
	m := f.m
	var own []answered
	for i := range m.DFMessages {
		g := &m.DFMessages[i]
		if g.Request == 0 {
			continue
		}
		q := &m.Requests[g.Request]
		switch {
		case g.Received == model.None && g.Sent != model.None && m.Own(int(g.From)):
			own = append(own, answered{m.RequestID(g.Request), false})
		case g.Received != model.None && m.Own(int(g.To)) && !(q.Sent != model.None && m.Own(int(q.From))):
			own = append(own, answered{m.RequestID(g.Request), true})
		}
	}
	all, err := procs.AllOf(f.g, own)
	return slices.Concat(all...), err
}

// findUnanswered goes through the requests of this process's nodes that no message answers.
func (f *finder) findUnanswered() error {
	m := f.m
	if !f.need("unanswered", trace.KindDFRequested, trace.KindDFReceived) {
		return nil
	}
	elsewhere, err := f.answersElsewhere()
	if err != nil {
		return err
	}
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
	g := f.groups()
	for i := 1; i < len(m.Requests); i++ {
		q := &m.Requests[i]
		if !q.Recorded() || answer[i] == came || !m.Own(int(q.From)) {
			continue
		}
		why := "it was never answered"
		switch {
		case answer[i] == left:
			why = "the answer was sent, and never came"
		case q.Received == model.None && m.Count[trace.KindDFRequestReceived] > 0:
			why = "the request never came"
		case !f.madeAnywhere(q.DF) && m.Count[trace.KindDFCreate] > 0:
			why = "the DF was never produced"
		}
		same := sameGroup{Name: m.DFName[q.DF], Why: why, Site: m.SiteOf[q.CF]}
		g.add(same, f.orderOf(q, q.Sent), 0, [2]trace.CF{m.CFID(q.CF)}, func() Example {
			to := int(q.To)
			return Example{DF: m.DFString(q.DF), Node: int(q.From), To: &to, AtNS: f.at(q.Sent)}
		})
	}
	f.res.Unanswered, err = g.finding()
	return err
}

// inOrder sorts requests by a time of theirs: their numbers depend on which stream was read first.
func (f *finder) inOrder(requests []uint32, at func(*model.Message) int64) {
	slices.SortFunc(requests, func(a, b uint32) int {
		p, q := &f.m.Requests[a], &f.m.Requests[b]
		return cmp.Or(cmp.Compare(at(p), at(q)), cmp.Compare(p.To, q.To),
			cmp.Compare(f.m.CFID(p.CF), f.m.CFID(q.CF)),
			cmp.Compare(f.m.DFString(p.DF), f.m.DFString(q.DF)))
	})
}
