package model

import (
	"cmp"
	"slices"
)

// latestSenders is how many of those that entered a collective last ask of the clocks of all others that
// these leave it later. When clocks are repaired, another one may turn out to be the last; then that one
// asks, too, in another round.
const (
	latestSenders = 3
	clockRounds   = 3
)

// repairRegions corrects clocks so that no call has received a message before it was sent, nobody leaves a
// collective before those have entered it that it needs, and nobody has a lock before it was released, as well
// as what other messages ask for.
func (b *builder) repairRegions(process []int, crossings []Crossing, raw []Thread) {
	m := b.m
	syncs := m.clocks
	found := map[Crossing]bool{}
	crossings = append(crossings, messageCrossings(process, raw)...)
	m.clocks, m.Clocks = repairShared(process, syncs, crossings)
	for range clockRounds {
		before := len(crossings)
		for _, e := range b.regionLetters(process, m.clocks, raw) {
			if !found[e] {
				found[e] = true
				crossings = append(crossings, e)
			}
		}
		if len(crossings) > before {
			m.clocks, m.Clocks = repairShared(process, syncs, crossings)
		}
	}
}

// severalHosts tells whether threads that entered regions read clocks that may differ. What counts is what
// they say themselves: collectors look whether they read the same clock as node 0, by the id of the running
// system. Otherwise it is the names of the hosts.
func (b *builder) severalHosts() bool {
	compared, first := b.compared(), -1
	sameAs0 := func(n int) bool {
		return n == 0 || len(compared[n]) > 0 && compared[n][0].Offset == 0 && compared[n][0].Error == 0
	}
	for _, s := range b.streams {
		if s.log == nil && !s.Entered {
			continue
		}
		if first < 0 {
			first = s.Node
		}
		if len(b.m.clocks[s.Node]) > 0 ||
			b.m.Nodes[s.Node].Host != b.m.Nodes[first].Host && !(sameAs0(s.Node) && sameAs0(first)) {
			return true
		}
	}
	return false
}

// rawThreads are the threads of the streams read here with what collectives, messages and locks ask of clocks,
// no more: the visits are those of collectives and messages. Times are those of the nodes' own clocks.
func (b *builder) rawThreads() (out []Thread) {
	for _, s := range b.streams {
		if s.log == nil {
			continue
		}
		n := s.log.collectives.len()
		t := Thread{Node: s.Node, Stream: s.ID, Last: s.Last, Enter: make([]int64, 0, n), Exit: make([]int64, 0, n),
			Collectives: make([]Collective, 0, n)}
		visit := func(number int32) int32 { // as the thread numbers it; -1 stays -1
			if number < 0 {
				return number
			}
			v := s.log.visits.at(int(number))
			t.Enter, t.Exit = append(t.Enter, v.enter), append(t.Exit, v.exit)
			return int32(len(t.Enter) - 1)
		}
		each(&s.log.collectives, func(c *Collective) {
			own := *c
			own.Visit, own.Done = visit(c.Visit), visit(c.Done)
			t.Collectives = append(t.Collectives, own)
		})
		each(&s.log.sends, func(x *Send) {
			t.Sends = append(t.Sends, Send{Visit: visit(x.Visit), Peer: x.Peer, Tag: x.Tag, Comm: x.Comm})
		})
		each(&s.log.receives, func(x *Receive) {
			t.Receives = append(t.Receives, Receive{Visit: visit(x.Visit), Peer: x.Peer, Tag: x.Tag, Comm: x.Comm,
				Number: x.Number})
		})
		each(&s.log.locks, func(l *LockEvent) { t.Locks = append(t.Locks, *l) })
		out = append(out, t)
	}
	return out
}

// messageCrossings are what messages between raw threads ask of clocks. Who received what does not depend on
// clocks, unless ends are missing: then nothing is asked.
func messageCrossings(process []int, raw []Thread) (out []Crossing) {
	r := &Regions{Threads: raw}
	sent, received := r.letterEnds()
	for c, from := range sent {
		to := received[c]
		if len(from) != len(to) || process[c.from] == process[c.to] {
			continue
		}
		for i, x := range from {
			t := &raw[to[i].thread]
			if exit := t.Exit[t.Receives[to[i].index].Visit]; exit != None {
				out = append(out, Crossing{c.from, c.to, x.at, exit})
			}
		}
	}
	return out
}

// on gives a raw thread by a clock.
func (t *Thread) on(clock clockMap) Thread {
	out := *t
	out.Enter, out.Exit = slices.Clone(t.Enter), slices.Clone(t.Exit)
	out.Collectives, out.Locks = slices.Clone(t.Collectives), slices.Clone(t.Locks)
	out.Sends, out.Receives = nil, nil // messageCrossings has seen them
	for v, exit := range t.Exit {
		if exit == None {
			exit = t.Last
		}
		out.Enter[v], out.Exit[v] = clock.common(t.Enter[v]), clock.common(exit)
	}
	for i := range out.Locks {
		out.Locks[i].Time = clock.common(out.Locks[i].Time)
	}
	return out
}

// regionLetters are what collectives and locks of raw threads ask of clocks. clocks say which came last and
// who had a lock before; the times of the crossings are those of the nodes' own clocks.
func (b *builder) regionLetters(process []int, clocks [][]ClockSync, raw []Thread) (out []Crossing) {
	r := &Regions{}
	for i := range raw {
		r.Threads = append(r.Threads, raw[i].on(clockMap{syncs: clocks[raw[i].Node]}))
	}
	r.pairCollectives(len(b.m.Nodes))
	r.pairLocks()
	add := func(from, to int32, sent, received int64) {
		if x, y := r.Threads[from].Node, r.Threads[to].Node; process[x] != process[y] && received != None {
			out = append(out, Crossing{int32(x), int32(y), sent, received})
		}
	}
	arrived := func(e Member) int64 { // on its own clock
		t, c := &r.Threads[e.Thread], r.Record(e)
		if c.Notify >= 0 && t.Collectives[c.Notify].Visit >= 0 {
			c = &t.Collectives[c.Notify]
		}
		return raw[e.Thread].Enter[c.Visit]
	}
	left := func(e Member) int64 { // None: that is not known
		if c := r.Record(e); !c.NonBlocking || c.Done >= 0 {
			return raw[e.Thread].Exit[c.End()]
		}
		return None
	}
	for i := range r.Instances {
		in, members := &r.Instances[i], r.MembersOf(i)
		if in.Kind == CollectivePrefixReduce && in.Sync.In != SyncNo && in.Root >= 0 {
			last := int(in.Root)
			for p := 1; p < len(members); p++ {
				k := (int(in.Root) + p) % len(members)
				add(members[last].Thread, members[k].Thread, arrived(members[last]), left(members[k]))
				if r.Arrived(members[k]) > r.Arrived(members[last]) {
					last = k
				}
			}
			continue
		}
		for _, e := range r.senders(in, members) {
			for k, to := range members {
				if in.needs(k, e) {
					add(members[e].Thread, to.Thread, arrived(members[e]), left(to))
				}
			}
		}
	}
	for i := range r.Locks {
		for _, h := range r.Locks[i].Holds {
			if h.Acquired.Thread < 0 {
				continue
			}
			if from := r.LockEvent(h.Acquired).Link; from.Thread >= 0 {
				add(from.Thread, h.Acquired.Thread, raw[from.Thread].Locks[from.Event].Time,
					raw[h.Acquired.Thread].Locks[h.Acquired.Event].Time)
			}
		}
	}
	return out
}

// senders are the members that others must wait for: the root, or those that entered last.
func (r *Regions) senders(in *Instance, members []Member) []int {
	switch in.Kind {
	case CollectiveBroadcast, CollectiveScatter:
		if in.Root < 0 {
			return nil
		}
		return []int{int(in.Root)}
	case CollectiveAlloc:
		return []int{0}
	}
	all := ordered(len(members), func(x, y int) int {
		return cmp.Compare(r.Arrived(members[y]), r.Arrived(members[x]))
	})
	return all[:min(len(all), latestSenders)]
}

// needs tells whether a member cannot leave before another one has entered.
func (in *Instance) needs(k, other int) bool {
	if k == other {
		return false
	}
	switch in.Kind {
	case CollectiveBarrier:
		return true
	case CollectiveAlloc:
		return other == 0
	case CollectiveBroadcast, CollectiveScatter:
		return in.Sync.In != SyncNo && other == int(in.Root)
	case CollectiveGatherAll, CollectiveExchange, CollectiveAllReduce, CollectiveCollect:
		return in.Sync.In != SyncNo
	case CollectiveGather, CollectiveReduce:
		return in.Sync.In != SyncNo && k == int(in.Root)
	}
	return false
}
