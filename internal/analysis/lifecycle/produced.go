package lifecycle

import (
	"cmp"
	"math"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// DFs that never got a value, or got one twice. Several processes may find the same fault, so all faults of a
// DF go to one process, where the first counts.

// fault is something that is wrong with a DF. The CFs asked for it, or made it first and again; x has the
// node and the times of that.
func (f *finder) fault(df model.DF, at order, bytes int64, cfs [2]model.CF, x Example) find {
	m := f.m
	x.DF, x.Bytes = m.DFString(df), bytes
	return find{DF: m.DFGlobal(df), Same: sameGroup{Name: m.DFName[df]}, Bytes: bytes,
		Shown: candidate{At: at, Example: x, CFs: [2]trace.CF{m.CFID(cfs[0]), m.CFID(cfs[1])}}}
}

// faulty groups the faults of all processes, at rank 0.
func (f *finder) faulty(own []find) (*Finding, error) {
	out := make([][]find, f.g.Size())
	for _, x := range own {
		to := x.DF % uint64(f.g.Size())
		out[to] = append(out[to], x)
	}
	return f.grouped(out, true)
}

// findNeverProduced goes through what CFs waited for and what they asked other nodes for.
func (f *finder) findNeverProduced() (err error) {
	m := f.m
	if !f.need("never_produced", trace.KindDFCreate, trace.KindCFWaiting) {
		return nil
	}
	var own []find
	add := func(df model.DF, cf model.CF, at order, node int, t int64) {
		own = append(own, f.fault(df, at, 0, [2]model.CF{cf}, Example{Node: node, AtNS: f.at(t)}))
	}
	awaited := make([]bool, m.DFs())
	for i, cf := range m.Awaits.CF {
		for k, df := range m.Awaits.Of(i) {
			if df != 0 && !f.made(df) && !awaited[df] {
				awaited[df] = true
				add(df, cf, order{N: [5]uint64{0, uint64(f.g.Rank()), uint64(i), uint64(k)}},
					m.NodeAt(cf, m.Awaits.Time[i]), m.Awaits.Time[i])
			}
		}
	}
	for i := 1; i < len(m.Requests); i++ {
		q := &m.Requests[i]
		if q.Sent != model.None && q.DF != 0 && m.Own(int(q.From)) && !f.madeAnywhere(q.DF) && !awaited[q.DF] {
			at := f.orderOf(q, q.Sent)
			at.N = [5]uint64{1, uint64(q.From), at.N[0], at.N[1], at.N[2]}
			add(q.DF, q.CF, at, int(q.From), q.Sent)
		}
	}
	f.res.NeverProduced, err = f.faulty(own)
	return err
}

// findTwice goes through the duplicates that were recorded and, where destructions were recorded too, the DFs
// that got a value again before the first one was destroyed.
func (f *finder) findTwice(k *dfFacts) (err error) {
	m := f.m
	var own []find
	add := func(df model.DF, at order, by [2]model.CF, t0, t1, size int64) {
		node := -1
		if i, end := m.Creations(df); i < end {
			node = int(m.MadeNode[i])
		}
		own = append(own, f.fault(df, at, size, by, Example{Node: node, AtNS: f.at(t0), SecondNS: f.at(t1)}))
	}
	for i, d := range m.Duplicates {
		if d.DF == 0 {
			continue
		}
		t0, size := model.None, int64(0)
		if first, end := m.Creations(d.DF); first < end {
			t0, size = m.MadeTime[first], m.SizeMade(first)
		}
		add(d.DF, order{N: [5]uint64{0, uint64(f.g.Rank()), uint64(i)}}, [2]model.CF{d.First, d.Second}, t0,
			d.Time, size)
	}
	for df := model.DF(1); int(df) < m.DFs() && m.Count[trace.KindDFDestroy] > 0; df++ {
		if first, end := m.Creations(df); end <= first+1 || !f.madeHere(df) {
			continue
		}
		if i, ok := f.remade(df, k.destroyed[df]); ok {
			home := k.home(df)
			add(df, order{N: [5]uint64{1, home[0], home[1]}}, [2]model.CF(m.MadeBy[i:]), m.MadeTime[i],
				m.MadeTime[i+1], m.SizeMade(i))
		}
	}
	f.res.ProducedTwice, err = f.faulty(own)
	return err
}

// remade gives the first creation of a DF after which it was not destroyed before the next one.
func (f *finder) remade(df model.DF, destroyed []int64) (int, bool) {
	slices.Sort(destroyed)
	first, end := f.m.Creations(df)
	for i := first; i+1 < end; i++ {
		at, _ := slices.BinarySearch(destroyed, f.m.MadeTime[i])
		if at == len(destroyed) || destroyed[at] > f.m.MadeTime[i+1] {
			return i, true
		}
	}
	return 0, false
}

// orderOf orders requests by a time; their numbers depend on which stream was read first.
func (f *finder) orderOf(q *model.Message, t int64) order {
	return order{[5]uint64{uint64(t) ^ 1<<63, uint64(q.To), uint64(f.m.CFID(q.CF))}, f.m.DFString(q.DF)}
}

// findLate finds requests that came to a node after the DF was destroyed there.
func (f *finder) findLate() (err error) {
	m := f.m
	if !f.need("late_requests", trace.KindDFRequestReceived, trace.KindDFDestroy) {
		return nil
	}
	out := make([][]find, f.g.Size())
	f.eachLate(func(q *model.Message, why string, destroyed int64) {
		to := m.Owner(int(q.From))
		x := f.asked(q, q.Received)
		x.At, x.Example.DestroyedNS = f.orderOf(q, q.Received), f.at(destroyed)
		out[to] = append(out[to], find{Shown: x, Same: sameGroup{Name: m.DFName[q.DF], Why: why}})
	})
	f.res.LateRequests, err = f.grouped(out, false)
	return err
}

// asked is an example of a request at a time.
func (f *finder) asked(q *model.Message, t int64) candidate {
	return candidate{Example: Example{DF: f.m.DFString(q.DF), Node: int(q.From), AtNS: f.at(t)},
		To: int(q.To) + 1, CFs: [2]trace.CF{f.m.CFID(q.CF)}}
}

// eachLate gives the late requests to this process's nodes, with the reason and when the DF was destroyed.
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
	suspect := make([]bool, m.DFs())
	for i := 1; i < len(m.Requests); i++ {
		if q := &m.Requests[i]; q.Received != model.None && q.DF != 0 && first[q.DF] <= q.Received &&
			m.Own(int(q.To)) {
			late = append(late, uint32(i))
			suspect[q.DF] = true
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
		if c := m.Copies[i]; suspect[c.DF] && c.What != model.CopyDropped && c.What != model.CopyEnd {
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

// answersElsewhere tells of answers that the asking process does not know: sent and never received or, in
// damaged traces, received elsewhere.
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
			why = "the answer was sent but never arrived"
		case q.Received == model.None && m.Count[trace.KindDFRequestReceived] > 0:
			why = "the request never arrived"
		case !f.madeAnywhere(q.DF) && m.Count[trace.KindDFCreate] > 0:
			why = "the DF was never produced"
		}
		same := sameGroup{Name: m.DFName[q.DF], Why: why, Site: m.SiteOf[q.CF]}
		g.add(same, f.orderOf(q, q.Sent), 0, func() candidate { return f.asked(q, q.Sent) })
	}
	f.res.Unanswered, err = g.finding()
	return err
}
