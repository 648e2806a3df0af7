package properties

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/model/query"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/show/live/steps"
	"github.com/whyslow/whyslow/trace"
)

// static is a Set of a whole model. What belongs together is worked out when first asked for. Any number of goroutines may ask.
type static struct {
	m        *model.Model
	run      run
	relation [][]sample // by node, on its own clock
	groups   [groups]struct {
		once  sync.Once
		built [quantities]built
	}
}

// built are the step functions of one quantity.
type built struct {
	whole  *steps.Steps
	places []*steps.Steps
}

// group is what is worked out together.
type group uint8

const (
	lives group = iota
	weights
	held
	together // what lives and held make together
	existing
	sent
	queued
	related
	groups
)

func (q quantity) group() group {
	switch q {
	case weight:
		return weights
	case copies, bytes:
		return held
	case objects:
		return together
	case dfs:
		return existing
	case readyQueue, sendQueue:
		return queued
	case inner, outer:
		return related
	}
	if q >= messages {
		return sent
	}
	return lives
}

// FromModel makes a Set of a model. Relations and what moves their times to the common clock, which a model does not have, are
// read from r, the trace the model was built from; nil means that they are not known. It fails when ctx ends.
func FromModel(ctx context.Context, m *model.Model, r *trace.Reader) (Set, error) {
	s := &static{m: m}
	x := &s.run
	x.start, x.end, x.killed, x.links = m.Start, m.End, m.Killed, newLinkTable()
	for i := range m.Nodes {
		x.workers = append(x.workers, len(m.Nodes[i].Workers))
	}
	x.unknown = unknown(&m.Count, m.Info, m.Info.Ended == trace.EndedDone && !m.Killed, len(m.Nodes))
	for cf := 1; cf < len(m.Created) && !x.weighted; cf++ {
		x.weighted = m.Weight(model.CF(cf)) != 1
	}
	x.stored = s.stored
	s.number()
	if m.Count[trace.KindRelations] > 0 && r != nil {
		if err := s.readRelations(ctx, r); err != nil {
			return nil, err
		}
	}
	x.unknown[inner] = x.unknown[inner] || s.relation == nil
	x.unknown[outer] = x.unknown[inner]
	return s, nil
}

// number gives links their numbers, so that nothing changes later.
func (s *static) number() {
	s.eachMessage(func(g *message) { s.run.links.number(int(g.from), int(g.to)) })
	for i := range s.m.Queues {
		if q := &s.m.Queues[i]; q.Peer >= 0 {
			s.run.links.number(int(q.Node), int(q.Peer))
		}
	}
}

// eachMessage gives the DFs and CFs sent.
func (s *static) eachMessage(f func(g *message)) {
	list := s.m.DFMessages
	for _, list := range [][]model.Message{list[min(1, len(list)):], s.m.Moves} { // number 0: a node had the DF itself
		for i := range list {
			o := &list[i]
			if (o.Sent != model.None || o.Received != model.None) && o.From >= 0 && o.To >= 0 {
				f(&message{o.Sent, o.Received, o.From, o.To, o.Bytes, o.DF == 0 && o.CF != 0})
			}
		}
	}
}

// stored gives a step function, which it works out when it is the first of its group to be asked for.
func (s *static) stored(q quantity, at int32) *steps.Steps {
	s.prepare(q.group())
	b := &s.groups[q.group()].built[q]
	switch {
	case at == whole:
		return b.whole
	case int(at) < len(b.places):
		return b.places[at]
	}
	return nil
}

func (s *static) prepare(g group) {
	x := &s.groups[g]
	x.once.Do(func() {
		if g == together {
			x.built[objects] = s.merged(cfs, copies)
			return
		}
		c := &columns{group: g}
		s.emit(g, c)
		x.built = c.build()
	})
}

// prepareAll works out all groups at once.
func (s *static) prepareAll() {
	var wg procs.Goroutines
	for g := range groups {
		wg.Go(func() { s.prepare(g) })
	}
	wg.Wait()
}

// merged adds the step functions of two quantities.
func (s *static) merged(a, b quantity) (out built) {
	s.prepare(a.group())
	s.prepare(b.group())
	merge := func(at int32) *steps.Steps {
		f, g := s.stored(a, at), s.stored(b, at)
		if f == nil || g == nil {
			return cmp.Or(f, g)
		}
		list := make([]steps.Change, 0, f.Len()+g.Len())
		list = slices.AppendSeq(slices.AppendSeq(list, f.All()), g.All())
		return steps.Of(sorted(list))
	}
	out.whole = merge(whole)
	for i := range s.run.workers {
		out.places = append(out.places, merge(int32(i)))
	}
	return out
}

// emit tells all changes of a group.
func (s *static) emit(g group, out sink) {
	m := s.m
	switch g {
	case lives, weights:
		if g == lives || s.run.weighted {
			s.emitLives(out)
		}
	case held:
		for h := range m.Holdings() {
			emitHeld(out, int32(h.Node), &h.HeldCopy, 1)
		}
	case existing:
		s.emitDFs(out)
	case sent:
		s.eachMessage(func(g *message) { g.emit(out, s.run.links.index[linkOf(g)], m.Killed, 1) })
	case queued:
		s.emitQueues(out)
	case related:
		for n, list := range s.relation {
			for _, v := range list {
				t := model.Common(v.t, m.Clock(n))
				for _, at := range [...]int32{int32(n), whole} {
					out.add(inner, at, t, v.a)
					out.add(outer, at, t, v.b)
				}
			}
		}
	}
}

func (s *static) emitLives(out sink) {
	m := s.m
	x := life{out: out, sign: 1}
	var list []moment
	for i := 1; i < len(m.Created); i++ {
		cf := model.CF(i)
		list = list[:0]
		add := func(t int64, node int32, what what) {
			if t != model.None {
				list = append(list, moment{t, node, what})
			}
		}
		home := int32(m.CFID(cf).Node())
		add(m.Created[cf], home, created)
		m.AllReady(cf, func(t int64, node int) { add(t, int32(node), becameReady) })
		moves := m.MovesOf(cf)
		for i := range moves {
			add(moves[i].Sent, moves[i].From, left)
			add(moves[i].Received, moves[i].To, arrived)
		}
		for e := range m.ExecutionsOf(cf) {
			_, node := m.WorkerOf(e)
			add(m.ExecStart[e], node, started)
			if end := m.ExecEnd[e]; end != model.None {
				add(max(end, m.ExecStart[e]), node, ended)
			}
		}
		if len(list) == 0 {
			continue
		}
		sortMoments(list)
		x.weight = fixed(m.Weight(cf))
		x.begin(home)
		x.walk(list)
	}
}

func (s *static) emitDFs(out sink) {
	m := s.m
	gone := make([][]model.CopyFact, m.DFs())
	for i := range m.Copies {
		if c := &m.Copies[i]; c.What > model.CopyDropped {
			gone[c.DF] = append(gone[c.DF], model.CopyFact{Time: c.Time, Dropped: true})
		}
	}
	var made []model.Value
	for df := 1; df < m.DFs(); df++ {
		made = m.Values(made[:0], model.DF(df))
		emitDF(out, made, gone[df], 1)
	}
}

func (s *static) emitQueues(out sink) {
	list := slices.Clone(s.m.Queues)
	slices.SortStableFunc(list, func(a, b model.Queue) int { return cmp.Compare(a.Time, b.Time) })
	now := map[queueKey]int64{}
	for i := range list {
		o := &list[i]
		k := queueKey{o.Node, o.Peer}
		q, at := readyQueue, o.Node
		if o.Peer >= 0 {
			q, at = sendQueue, s.run.links.index[query.Link{From: int(o.Node), To: int(o.Peer)}]
		}
		out.add(q, at, o.Time, o.Length-now[k])
		out.add(q, whole, o.Time, o.Length-now[k])
		now[k] = o.Length
	}
}

// At is part of Set.
func (s *static) At(t int64) At {
	s.prepareAll()
	return s.run.at(t)
}

// Series is part of Set.
func (s *static) Series(q SeriesQuery) (SeriesAnswer, error) { return s.run.series(q) }

// Matrix is part of Set.
func (s *static) Matrix(value string, from, to int64) (Matrix, error) {
	return s.run.matrix(value, from, to)
}

// Memory is part of Set.
func (s *static) Memory(ctx context.Context, q MemoryQuery) (Memory, error) {
	out, err := s.run.memory(q)
	if err == nil {
		out.Holders, out.HoldersMore, err = holders(ctx, s.m, s.run.when(out.T))
	}
	return out, err
}
