package model

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/whyslow/whyslow/trace"
)

// joinRegions joins what the streams have seen of regions.
func (b *builder) joinRegions() {
	m := b.m
	r := &Regions{}
	for _, s := range b.streams {
		if s.log == nil || (s.log.visits.len() == 0 && s.log.collectives.len() == 0) {
			continue
		}
		t := s.thread(m)
		if n := m.Nodes[s.Node].Workers; s.ID < len(n) {
			lost := n[s.ID].Lost
			if k := len(lost); k > 0 && lost[k-1].From >= t.Last {
				lost = lost[:k-1] // it was killed: regions that were open then stay open
			}
			t.Lossy = len(lost) > 0
			t.cutAtLosses(m, lost)
		}
		r.Threads = append(r.Threads, t)
	}
	if len(r.Threads) == 0 {
		return
	}
	m.Regions = r
	if m.share == nil { // else those of other processes are still to come
		m.pairRegions()
	}
}

// pairRegions finds out what belongs together of what all threads did.
func (m *Model) pairRegions() {
	m.Regions.pair(len(m.Nodes))
	m.nameLocks()
}

// pair finds the collectives, and who had which lock when, in a run of so many nodes.
func (r *Regions) pair(nodes int) {
	r.pairCollectives(nodes)
	r.pairLocks()
	r.pairMessages()
}

// nodes gives the threads of each node: indices into r.Threads from first up to but not including end.
func (r *Regions) nodes(f func(node, first, end int)) {
	for i := 0; i < len(r.Threads); {
		j := i
		for j < len(r.Threads) && r.Threads[j].Node == r.Threads[i].Node {
			j++
		}
		f(r.Threads[i].Node, i, j)
		i = j
	}
}

// enterOf is when a thread entered the collective.
func (t *Thread) enterOf(c *Collective) int64 {
	if c.Visit < 0 {
		return None
	}
	return t.Enter[c.Visit]
}

// A group is nodes that call collectives together. Each member has a queue of those it called; the first one
// of all queues is one instance, then the second one, and so on, however far a member is ahead.
type collectiveGroup struct {
	start, stride, size int32
	list                string // of nodes, if these do not describe it
}

// groupOf is the group of a collective.
func groupOf(c *Collective) collectiveGroup {
	g := collectiveGroup{start: c.Start, stride: c.Stride, size: c.Size}
	if c.Nodes != nil {
		g.list = fmt.Sprint(*c.Nodes)
	}
	return g
}

// SameGroup tells whether two collectives are of the same nodes in the same order.
func (c *Collective) SameGroup(d *Collective) bool {
	if c.Nodes == nil || d.Nodes == nil {
		return c.Nodes == d.Nodes && c.Start == d.Start && c.Stride == d.Stride && c.Size == d.Size
	}
	return slices.Equal(*c.Nodes, *d.Nodes)
}

// place is that of a node in the group of a collective; false where it has none, or there is no such group in
// a run of so many nodes.
func (g *collectiveGroup) place(c *Collective, node, nodes int) (int, bool) {
	if c.Nodes != nil {
		at := slices.Index(*c.Nodes, int32(node))
		return at, at >= 0 && len(*c.Nodes) == int(g.size)
	}
	if g.size < 1 || int(g.size) > nodes || node < int(g.start) || g.stride < 1 && g.size > 1 {
		return 0, false
	}
	if g.size == 1 {
		return 0, true
	}
	away, stride := node-int(g.start), int(g.stride)
	return away / stride, away%stride == 0 && away/stride < int(g.size)
}

func (r *Regions) pairCollectives(nodes int) {
	groups := map[collectiveGroup][][]Member{}
	var order []collectiveGroup
	r.nodes(func(node, first, end int) {
		var list []Member
		for t := first; t < end; t++ {
			for c := range r.Threads[t].Collectives {
				list = append(list, Member{int32(t), int32(c)})
			}
		}
		if end-first > 1 {
			slices.SortStableFunc(list, func(x, y Member) int { return cmp.Compare(r.entered(x), r.entered(y)) })
		}
		for _, e := range list {
			c := r.Record(e)
			if c.Kind == CollectiveNotify {
				continue // it comes with its wait
			}
			g := groupOf(c)
			place, ok := g.place(c, node, nodes)
			if c.Visit < 0 || !ok {
				r.Unmatched++
				continue
			}
			queues := groups[g]
			if queues == nil {
				queues = make([][]Member, g.size)
				groups[g] = queues
				order = append(order, g)
			}
			queues[place] = append(queues[place], e)
		}
	})
	for _, g := range order {
		r.pairGroup(g, groups[g])
		delete(groups, g)
	}
	r.orderInstances()
}

// Record gives what a member did.
func (r *Regions) Record(e Member) *Collective { return &r.Threads[e.Thread].Collectives[e.Record] }

func (r *Regions) entered(e Member) int64 { return r.Threads[e.Thread].enterOf(r.Record(e)) }

// Left is when a member left the operation.
func (r *Regions) Left(e Member) int64 { return r.Threads[e.Thread].Exit[r.Record(e).End()] }

// phase is the kind of an operation for pairing: a barrier may be called in one or in two phases.
func phase(k CollectiveKind) CollectiveKind {
	if k == CollectiveWait {
		return CollectiveBarrier
	}
	return k
}

func (r *Regions) pairGroup(g collectiveGroup, queues [][]Member) {
	lossy := false
	for _, q := range queues {
		lossy = lossy || len(q) > 0 && r.Threads[q[0].Thread].Lossy
	}
	for {
		first, same := CollectiveOther, true
		for i, q := range queues {
			if len(q) == 0 {
				r.unfinished(g, queues)
				return
			}
			if k := phase(r.Record(q[0]).Kind); i == 0 {
				first = k
			} else {
				same = same && k == first
			}
		}
		if lossy {
			if i, found := r.lonely(queues, same && first == CollectiveBarrier, same); found {
				queues[i] = queues[i][1:]
				r.Unmatched++
				continue
			}
		}
		if same {
			r.addInstance(g, queues)
		} else {
			r.Mixed++
			r.Unmatched += len(queues)
		}
		for i := range queues {
			queues[i] = queues[i][1:]
		}
	}
}

// unfinished notes what remains when a member of a group calls no more collectives.
func (r *Regions) unfinished(g collectiveGroup, queues [][]Member) {
	var u Unfinished
	var absent []int // places
	for k, q := range queues {
		r.Unmatched += len(q)
		if len(q) > 0 {
			u.Came = append(u.Came, q[0])
		} else {
			absent = append(absent, k)
		}
	}
	for _, k := range absent {
		node := g.start + int32(k)*g.stride
		if len(u.Came) > 0 && g.list != "" {
			node = (*r.Record(u.Came[0]).Nodes)[k]
		}
		u.Absent = append(u.Absent, node)
	}
	if len(u.Came) > 0 {
		r.Unfinished = append(r.Unfinished, u)
	}
}

// lonely finds, where events were lost, the member whose next collective has lost its partners: a barrier
// that one left before another entered it cannot be the same; and of different operations the earliest is the
// one that has none.
func (r *Regions) lonely(queues [][]Member, barrier, same bool) (int, bool) {
	if same && !barrier {
		return 0, false
	}
	least, latest := 0, None
	for i, q := range queues {
		if r.Left(q[0]) < r.Left(queues[least][0]) {
			least = i
		}
		latest = max(latest, r.Arrived(q[0]))
	}
	return least, !same || r.Left(queues[least][0]) < latest
}

// Arrived is when a member was ready for the others: when it entered the operation, or, of a barrier of two
// phases, the first one.
func (r *Regions) Arrived(e Member) int64 {
	t, c := &r.Threads[e.Thread], r.Record(e)
	if c.Notify >= 0 {
		if v := t.Collectives[c.Notify].Visit; v >= 0 {
			return t.Enter[v]
		}
	}
	return t.enterOf(c)
}

func (r *Regions) addInstance(g collectiveGroup, queues [][]Member) {
	number := int32(len(r.Instances))
	c := r.Record(queues[0][0])
	in := Instance{First: int32(len(r.Members)), Size: g.size, Kind: phase(c.Kind), Sync: c.Sync, Root: -1}
	if c.Nodes != nil {
		in.Root = int32(slices.Index(*c.Nodes, c.Root))
	} else if c.Root >= g.start && g.stride > 0 && (c.Root-g.start)%g.stride == 0 &&
		(c.Root-g.start)/g.stride < g.size {
		in.Root = (c.Root - g.start) / g.stride
	} else if g.size == 1 && c.Root == g.start {
		in.Root = 0
	}
	for _, q := range queues {
		c := r.Record(q[0])
		c.Instance = number
		if c.Notify >= 0 {
			r.Threads[q[0].Thread].Collectives[c.Notify].Instance = number
		}
		r.Members = append(r.Members, q[0])
	}
	r.Instances = append(r.Instances, in)
}

// orderInstances puts instances in the order in which the last member left.
func (r *Regions) orderInstances() {
	end := filled(len(r.Instances), None)
	for i := range r.Instances {
		for _, e := range r.MembersOf(i) {
			end[i] = max(end[i], r.Left(e))
		}
	}
	instances, place := make([]Instance, len(end)), make([]int32, len(end))
	for i, old := range ordered(len(end), func(x, y int) int { return cmp.Compare(end[x], end[y]) }) {
		instances[i], place[old] = r.Instances[old], int32(i)
	}
	r.Instances = instances
	for t := range r.Threads {
		list := r.Threads[t].Collectives
		for i := range list {
			if c := &list[i]; c.Instance >= 0 {
				c.Instance = place[c.Instance]
			}
		}
	}
}

// MembersOf gives the members of an instance, by their place in the group.
func (r *Regions) MembersOf(instance int) []Member {
	in := &r.Instances[instance]
	return r.Members[in.First : in.First+in.Size]
}

// pairLocks finds out who had which lock when.
func (r *Regions) pairLocks() {
	type held struct {
		lock     uint64
		shared   bool
		from, to int64
		hold     Hold
	}
	var all []held
	none := LockRef{-1, -1}
	r.nodes(func(node, first, end int) {
		var list []LockRef
		for t := first; t < end; t++ {
			for i := range r.Threads[t].Locks {
				list = append(list, LockRef{int32(t), int32(i)})
			}
		}
		if end-first > 1 {
			slices.SortStableFunc(list, func(x, y LockRef) int {
				return cmp.Compare(r.LockEvent(x).Time, r.LockEvent(y).Time)
			})
		}
		open := map[uint64]int{}
		for _, ref := range list {
			e := r.LockEvent(ref)
			i, isOpen := open[e.Lock]
			h := held{e.Lock, e.Shared, e.Time, e.Time, Hold{none, ref}}
			switch {
			case e.Acquire:
				open[e.Lock] = len(all)
				h.hold = Hold{ref, none}
			case isOpen:
				all[i].hold.Released, all[i].to = ref, e.Time
				e.Link = all[i].hold.Acquired
				delete(open, e.Lock)
				continue
			}
			all = append(all, h)
		}
	})
	slices.SortStableFunc(all, func(x, y held) int {
		return cmp.Or(cmp.Compare(x.lock, y.lock), cmp.Compare(x.from, y.from), cmp.Compare(x.to, y.to))
	})
	var alone, shared *held // of the lock at hand: the last one that was alone, and the shared one released last
	for i := range all {
		h := &all[i]
		if i == 0 || all[i-1].lock != h.lock {
			r.Locks = append(r.Locks, Lock{ID: h.lock})
			alone, shared = nil, nil
		}
		before := alone
		if !h.shared && shared != nil && (before == nil || shared.to > before.to) {
			before = shared
		}
		if before != nil && h.hold.Acquired != none && before.hold.Released != none {
			r.LockEvent(h.hold.Acquired).Link = before.hold.Released
			if before.to > h.from {
				r.Overlapping++
			}
		}
		if !h.shared {
			alone = h
		} else if shared == nil || h.to > shared.to {
			shared = h
		}
		l := &r.Locks[len(r.Locks)-1]
		l.Holds = append(l.Holds, h.hold)
	}
}

// LockEvent gives what a reference names.
func (r *Regions) LockEvent(ref LockRef) *LockEvent { return &r.Threads[ref.Thread].Locks[ref.Event] }

// isRegionKind tells the kinds that Regions are made of.
func isRegionKind(k trace.Kind) bool {
	return k >= trace.KindCollective && k <= trace.KindReceived && k != trace.KindBlocked
}
