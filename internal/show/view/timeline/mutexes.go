package timeline

import (
	"cmp"
	"slices"
)

// mutexes are the locks that the code of CFs waited for. Who has one is known while others wait for it: who
// had it when they asked, then each that got it.
func (p *regionPicture) mutexes() (list []lockTimes) {
	m := p.t.m
	type event struct {
		t      int64
		lane   int // who asks, or gets it
		holder int // lane, when it is asked for; -1: not known
		gets   bool
	}
	events := map[string][]event{}
	for lane := range p.t.lanes {
		for _, w := range p.t.lanes[lane].worker.Waits {
			from, to := p.t.at(w.From), p.t.at(w.To)
			if !w.Blocked || w.Name != "lock" || from >= p.q.to || to <= p.q.from {
				continue
			}
			holder := -1
			if w.Holder != 0 {
				if e, ok := m.ExecutionAt(w.Holder, w.From); ok {
					holder = p.t.LaneOf(e)
				}
			}
			name := w.What
			switch name {
			case "", "critical", "atomic", "ordered": // without a name of its own: each place is another one
				name = w.Text()
			}
			events[name] = append(events[name], event{from, lane, holder, false}, event{to, lane, -1, true})
		}
	}
	for name, of := range events {
		slices.SortFunc(of, func(a, b event) int {
			return cmp.Or(cmp.Compare(a.t, b.t), cmp.Compare(a.lane, b.lane))
		})
		x := lockTimes{LockTrack: LockTrack{Name: name, Holds: noStays(), Waits: noStays()}}
		waits, byLane := make([]open, len(p.t.lanes)), make([]Stays, len(p.t.lanes))
		asked := make([]int64, len(p.t.lanes))
		var hold open
		owner, waiting, since := -1, 0, int64(0) // since when it has been known who the owner is
		end := func(at int64) {
			if waiting > 0 && owner >= 0 && at > since {
				x.held += min(at, p.q.to) - max(since, p.q.from)
				hold.take(since, at, owner, p.pixel, x.Holds.add)
			}
			since = at
		}
		for _, e := range of {
			switch {
			case e.gets:
				end(e.t)
				waiting--
				owner = e.lane
				x.waited += min(e.t, p.q.to) - max(asked[e.lane], p.q.from)
				waits[e.lane].take(asked[e.lane], e.t, e.lane, p.pixel, byLane[e.lane].add)
				continue
			case waiting == 0 || e.holder >= 0 && e.holder != owner:
				end(e.t)
				owner = e.holder
			}
			waiting++
			asked[e.lane] = e.t
		}
		if hold.count > 0 {
			x.Holds.add(&hold)
		}
		for lane := range waits {
			if waits[lane].count > 0 {
				byLane[lane].add(&waits[lane])
			}
			x.Waits.append(byLane[lane])
		}
		list = append(list, x)
	}
	slices.SortFunc(list, func(a, b lockTimes) int { return cmp.Compare(a.Name, b.Name) })
	return list
}
