package counters

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// family is a number of quantities that are worked out together, because the same changes alter them.
type family uint8

const (
	lives family = iota
	held
	existing
	sent
	readyQueues
	sendQueues
	used
	related
	families
)

// family gives the family of a quantity.
func (q quantity) family() family {
	switch q {
	case copies, bytes:
		return held
	case dfs:
		return existing
	case readyQueue:
		return readyQueues
	case sendQueue:
		return sendQueues
	case load, resident, arenas, threads:
		return used
	case inner, outer:
		return related
	}
	if q >= messages {
		return sent
	}
	return lives
}

// source tells what happened to the CFs, DFs, messages and queues of a model, as far as this process has it.
// Times are on the common clock.
type source struct {
	m        *model.Model
	links    *linkTable
	weighted bool         // CFs have weights
	place    []int32      // by link: its place; nil: that is its number
	flights  bool         // how long messages flew is wanted too
	sided    bool         // one-sided transfers are messages too
	met      *meeting     // nil: no other process knows CFs of this one
	relation [][]relation // by node, on its own clock; nil: none were recorded
	// extra is how many destructions of a DF are to be left out; see tooOften.
	extra map[model.DF]int32
}

// relation is a recorded change of the relations of a node.
type relation struct{ t, inner, outer int64 }

// record gives the changes of a family.
func (s *source) record(g family) *record {
	list := s.sorted(g)
	defer list.close()
	return list.record(s.m)
}

// sorted has the changes of a family, to be closed.
func (s *source) sorted(g family) *sorter {
	m := s.m
	about := [families]int{lives: 4 * len(m.Created), held: len(m.Copies), existing: 2 * len(m.MadeTime),
		sent:        2 * (len(m.DFMessages) + len(m.Moves) + s.transfers()),
		readyQueues: len(m.Queues), sendQueues: len(m.Queues),
		used: len(m.Queues)}
	sized := g != existing && (g != lives || s.weighted)
	list := newSorter(m, m.Start, m.End, about[g], sized)
	s.changes(g, list.add)
	return list
}

// changes gives the changes of a family in any order.
func (s *source) changes(g family, emit func(c change)) {
	m := s.m
	switch g {
	case lives:
		s.lives(emit)
	case held:
		for h := range m.Holdings() {
			eachHeld(int32(h.Node), &h.HeldCopy, emit)
		}
	case existing:
		s.dfs(emit)
	case sent:
		s.messages(func(g *model.Message) {
			link := s.links.find(g.From, g.To)
			if s.place != nil {
				link = s.place[link]
			}
			messageChanges(g, link, m.Killed, emit)
			if s.flights {
				messageFlight(g, link, emit)
			}
		})
	case readyQueues:
		for q, d := range s.queues(func(of int32) bool { return of == model.OfReady }) {
			emit(change{q.Time, d, q.Node, readyLength})
		}
	case sendQueues:
		for q, d := range s.queues(func(of int32) bool { return of >= 0 }) {
			emit(change{q.Time, d, s.links.find(q.Node, q.Peer), sendLength})
		}
	case used:
		for q, d := range s.queues(func(of int32) bool { return of < model.OfReady }) {
			emit(change{q.Time, d, q.Node, usedLevel(q.Peer)})
		}
	case related:
		if s.relation == nil {
			s.relations(emit)
		}
		for n, list := range s.relation {
			for _, v := range list {
				t := model.Common(v.t, m.Clock(n))
				emit(change{t, v.inner, int32(n), innerChanged})
				emit(change{t, v.outer, int32(n), outerChanged})
			}
		}
	}
}

// messages gives what goes over links.
func (s *source) messages(f func(g *model.Message)) {
	eachMessage(s.m, f)
	if s.sided {
		s.m.EachTransfer(func(_ model.TransferKind, _ uint32, g model.Message) { f(&g) })
	}
}

// transfers is how many there are at most.
func (s *source) transfers() (n int) {
	if s.sided && s.m.Regions != nil {
		for i := range s.m.Regions.Threads {
			n += len(s.m.Regions.Threads[i].Transfers)
		}
		n += len(s.m.Regions.Letters)
	}
	return n
}

// lives tells what CFs went through.
func (s *source) lives(emit func(c change)) {
	m, weighs := s.m, int64(0)
	lives := m.Lives(func(t int64, node int32, from, to model.CFState) {
		emit(stateChange(t, node, from, to, weighs))
	})
	for cf := model.CF(1); int(cf) < len(m.Created); cf++ {
		if s.weighted {
			weighs = fixed(m.Weight(cf))
		}
		if s.met.alone(cf) {
			lives.Follow(cf)
		}
	}
	s.met.others(lives)
}

// fixed gives a weight in units of 1/weightUnit, bounded so that weights can be added.
func fixed(w float64) int64 {
	const most = 1e9
	if w != w {
		return 0
	}
	return int64(math.Round(min(max(w, -most), most) * weightUnit))
}

// eachHeld tells what happened to a copy at a node; see model.HoldCopies.
func eachHeld(node int32, h *model.HeldCopy, emit func(c change)) {
	if h.From == model.None {
		return
	}
	emit(change{h.From, h.Bytes, node, copyStored})
	if h.To != model.None {
		emit(change{h.To, h.Bytes, node, copyDropped})
	}
}

// dfs tells what DFs there were.
func (s *source) dfs(emit func(c change)) {
	m, left := s.m, map[model.DF]int32{}
	for i, t := range m.MadeTime {
		if m.Own(int(m.MadeNode[i])) {
			emit(change{t, 0, whole, dfMade})
		}
	}
	for x := range destructions(m) {
		if left[x.DF] < s.extra[x.DF] {
			left[x.DF]++
		} else {
			emit(change{x.Time, 0, whole, dfGone})
		}
	}
}

// destructions gives those of DFs at own nodes.
func destructions(m *model.Model) iter.Seq[*model.Copy] {
	return func(yield func(x *model.Copy) bool) {
		for i := range m.Copies {
			if x := &m.Copies[i]; x.What > model.CopyDropped && m.Own(int(x.Node)) && !yield(x) {
				return
			}
		}
	}
}

// usedLevel is the kind of a change of what a process uses.
func usedLevel(of int32) kind { return loadLevel + kind(model.OfLoad-of) }

// queues gives the samples of some queues, or of what processes use, and by how much each changes the
// length of its queue. A length holds until the next one is recorded: so the levels follow what was recorded,
// not what happened in between.
func (s *source) queues(wanted func(of int32) bool) iter.Seq2[*model.Queue, int64] {
	return func(yield func(q *model.Queue, d int64) bool) {
		list := slices.DeleteFunc(slices.Clone(s.m.Queues), func(q model.Queue) bool {
			return !wanted(q.Peer) || !s.m.Own(int(q.Node))
		})
		slices.SortStableFunc(list, func(a, b model.Queue) int { return cmp.Compare(a.Time, b.Time) })
		now := map[queueKey]int64{}
		for i := range list {
			q := &list[i]
			k := queueKey{q.Node, q.Peer}
			if !yield(q, q.Length-now[k]) {
				return
			}
			now[k] = q.Length
		}
	}
}

// queueKey names the queue of ready CFs of a node, or, with a peer, the queue of messages to it.
type queueKey struct{ node, peer int32 }

// number gives all links with traffic their numbers.
func (s *source) number() {
	s.messages(func(g *model.Message) { s.links.number(g.From, g.To) })
	for i := range s.m.Queues {
		if q := &s.m.Queues[i]; q.Peer >= 0 {
			s.links.number(q.Node, q.Peer)
		}
	}
}

// moves counts the events of CFs that went from node to node.
func moves(m *model.Model) uint64 {
	return m.Count[trace.KindCFMigrated] + m.Count[trace.KindCFStolen] + m.Count[trace.KindCFReceived]
}

// tooOften tells of which DFs how many destructions are to be left out: of one that is destroyed more often
// than it was created, the first ones, in the order of nodes and streams. Processes of a group leave out
// theirs.
func tooOften(m *model.Model, g procs.Group) (map[model.DF]int32, error) {
	balance := make([]int32, m.DFs()) // creations less destructions
	for df := range balance {
		for i, end := m.Creations(model.DF(df)); i < end; i++ {
			if m.Own(int(m.MadeNode[i])) {
				balance[df]++
			}
		}
	}
	destroyed := make([]int32, m.DFs())
	for x := range destructions(m) {
		balance[x.DF]--
		destroyed[x.DF]++
	}
	extra := map[model.DF]int32{}
	for df, n := range balance {
		if df := model.DF(df); n < 0 && (m.DFID(df) == 0 || !m.Shared(df)) { // nobody else knows it
			extra[df] = -n
		}
	}
	// Where a DF's balance over all processes is negative, it matters how often each saw it destroyed.
	left, seen, number := map[uint64]int32{}, map[uint64]int32{}, map[uint64]model.DF{}
	err := model.JoinDFs(m, g, func(df model.DF) (int32, bool) {
		return balance[df], balance[df] != 0 || destroyed[df] != 0
	}, func(x, y int32) int32 { return x + y }, func(df model.DF, n int32) {
		if id := m.DFID(df); n < 0 {
			left[id], seen[id], number[id] = n, destroyed[df], df
		}
	})
	if err != nil {
		return nil, err
	}
	all, err := procs.AllOf(g, seen)
	for rank, list := range all {
		for id, n := range list {
			n = min(n, -left[id])
			if left[id] += n; rank == g.Rank() && n > 0 {
				extra[number[id]] = n
			}
		}
	}
	return extra, err
}
