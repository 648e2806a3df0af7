package live

import (
	"sort"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// What a snapshot knows. The events of some workers arrive later than those of others, so the model of half a
// run ends at a different time for each. slou counts time after a worker's last event as loss, and a thread
// in a barrier waits for nobody while the others' events are on their way: such time is not known yet. All
// other time is divided as in any model. If events of other workers that belong there are still missing, the
// next snapshot corrects it.

// whole says that the snapshot has the run from its start to what had arrived.
func (s *Snapshot) whole() bool { return s.Span.From <= 0 && s.Span.To >= s.Model.Wall() }

// divides says that the snapshot can tell factors. A part of a run with regions cannot: which threads were in
// a collective, or had a lock, follows from their order since the start.
func (s *Snapshot) divides() bool {
	return s.whole() || !s.regions && s.Model.Count[trace.KindEntered] == 0
}

// until tells of each lane up to when, since the start of the run, its division is known.
func (s *Snapshot) until() []int64 {
	until, _ := s.known.get(func() ([]int64, error) {
		m := s.Model
		var list []int64
		for id := range m.AllWorkers() {
			switch w := &m.Nodes[id.Node].Workers[id.Worker]; {
			case !s.divides():
				list = append(list, 0)
			case s.happening && w.Finished == model.None:
				list = append(list, min(max(w.Last, m.Start), m.End)-m.Start)
			default:
				list = append(list, m.Wall())
			}
		}
		if s.happening && s.divides() && m.Regions != nil && slou.OnlyRegions(m) {
			settled(m, list)
		}
		return list, nil
	})
	return until
}

// settled reduces what is known of a run of regions alone to what no later event changes: the time up to
// which the events of all threads have arrived. An operation that lasts longer may turn out to have waited
// for somebody, so a worker's time is settled up to the beginning of that operation. The same holds for a
// collective that others have not reached.
func settled(m *model.Model, lanes []int64) {
	common := m.Wall()
	for _, t := range lanes {
		common = min(common, t)
	}
	r := m.Regions
	until := make([]int64, len(m.Nodes))
	for n := range until {
		until[n] = m.Start + common
	}
	pending := func(t *model.Thread, c *model.Collective) {
		if c.Visit >= 0 {
			until[t.Node] = min(until[t.Node], t.Enter[c.Visit])
		}
	}
	for _, u := range r.Unfinished {
		for _, e := range u.Came {
			pending(&r.Threads[e.Thread], r.Record(e))
		}
	}
	for i := range r.Threads {
		t := &r.Threads[i]
		for k := range t.Collectives {
			if c := &t.Collectives[k]; int(c.Size) > len(m.Nodes) { // not even the names of some members have arrived
				pending(t, c)
				break
			}
		}
	}
	for i := range r.Threads {
		if t := &r.Threads[i]; t.Stream < len(m.Nodes[t.Node].Workers) {
			until[t.Node] = min(until[t.Node], outside(m, t, until[t.Node]))
		}
	}
	lane := 0
	for id := range m.AllWorkers() {
		lanes[lane] = max(until[id.Node]-m.Start, 0)
		lane++
	}
}

// outside gives the beginning of the operation in which a thread is at a time; that time itself if it is in
// none.
func outside(m *model.Model, t *model.Thread, at int64) int64 {
	v := int32(sort.Search(len(t.Enter), func(i int) bool { return t.Enter[i] >= at })) - 1
	for ; v >= 0; v = t.Parent[v] {
		if t.Exit[v] >= at && m.Operation(t.Site[v]) {
			at = t.Enter[v]
		}
	}
	return at
}
