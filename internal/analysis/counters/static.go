package counters

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/whyslow/whyslow/internal/analysis/counters/steps"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// static is a Set of a whole model. A family of quantities is worked out when somebody first asks. Any number
// of goroutines may ask.
type static struct {
	m        *model.Model
	history  history
	relation [][]sample // by node, on its own clock
	families [families]struct {
		once  sync.Once
		built [quantities]built
	}
}

// built are the step functions of one quantity.
type built struct {
	whole  *steps.Steps
	places []*steps.Steps
}

// family is a number of quantities that are worked out together.
type family uint8

const (
	lives family = iota
	weights
	held
	together // what lives and held make together
	existing
	sent
	queued
	related
	families
)

func (q quantity) family() family {
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

// FromModel makes a Set of a model. A model does not have relations: they are read from r, the trace that the
// model was built from; nil means that they are not known. It fails when ctx ends.
func FromModel(ctx context.Context, m *model.Model, r *trace.Reader) (Set, error) {
	s := &static{m: m}
	x := &s.history
	x.start, x.end, x.killed, x.links = m.Start, m.End, m.Killed, newLinkTable()
	for i := range m.Nodes {
		x.workers = append(x.workers, len(m.Nodes[i].Workers))
	}
	x.unknown = (&recorded{&m.Count, m.Info, m.Info.Ended == trace.EndedDone && !m.Killed,
		len(m.Nodes)}).unknown()
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

// number gives all links their numbers, so that nothing changes later.
func (s *static) number() {
	eachMessage(s.m, func(g *message) { s.history.links.number(g.from, g.to) })
	for i := range s.m.Queues {
		if q := &s.m.Queues[i]; q.Peer >= 0 {
			s.history.links.number(q.Node, q.Peer)
		}
	}
}

// stored gives a step function. The first question about a family works it out.
func (s *static) stored(q quantity, at int32) *steps.Steps {
	s.prepare(q.family())
	b := &s.families[q.family()].built[q]
	switch {
	case at == whole:
		return b.whole
	case int(at) < len(b.places):
		return b.places[at]
	}
	return nil
}

func (s *static) prepare(g family) {
	x := &s.families[g]
	x.once.Do(func() {
		if g == together {
			x.built[objects] = s.merged(cfs, copies)
			return
		}
		c := &columns{family: g}
		s.emit(g, c)
		x.built = c.build()
	})
}

// prepareAll works out all families at once.
func (s *static) prepareAll() {
	var wg procs.Goroutines
	for g := range families {
		wg.Go(func() { s.prepare(g) })
	}
	wg.Wait()
}

// merged adds the step functions of two quantities.
func (s *static) merged(a, b quantity) (out built) {
	s.prepare(a.family())
	s.prepare(b.family())
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
	for i := range s.history.workers {
		out.places = append(out.places, merge(int32(i)))
	}
	return out
}

// emit tells all changes of a family.
func (s *static) emit(g family, out sink) {
	m := s.m
	switch g {
	case lives, weights:
		if g == lives || s.history.weighted {
			s.emitLives(out)
		}
	case held:
		for h := range m.Holdings() {
			emitHeld(out, int32(h.Node), &h.HeldCopy, 1)
		}
	case existing:
		s.emitDFs(out)
	case sent:
		links := s.history.links
		eachMessage(m, func(g *message) {
			g.emit(out, links.find(g.from, g.to), m.Killed, 1)
		})
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
	m, weighs := s.m, int64(0)
	lives := m.Lives(func(t int64, node int32, from, to model.CFState) {
		spreadState(out, t, node, from, to, 1, weighs)
	})
	for cf := model.CF(1); int(cf) < len(m.Created); cf++ {
		weighs = fixed(m.Weight(cf))
		lives.Follow(cf)
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
	for _, q := range []quantity{readyQueue, sendQueue} {
		eachLength(queuesOf(s.m, q == sendQueue), func(sample *model.Queue, d int64) {
			at := sample.Node
			if q == sendQueue {
				at = s.history.links.find(sample.Node, sample.Peer)
			}
			out.add(q, at, sample.Time, d)
			out.add(q, whole, sample.Time, d)
		})
	}
}

// At is part of Set.
func (s *static) At(t int64) At {
	s.prepareAll()
	return s.history.at(t)
}

// Series is part of Set.
func (s *static) Series(q SeriesQuery) (SeriesAnswer, error) { return s.history.series(q) }

// Matrix is part of Set.
func (s *static) Matrix(value string, from, to int64) (Matrix, error) {
	return s.history.matrix(value, from, to)
}

// Memory is part of Set.
func (s *static) Memory(ctx context.Context, q MemoryQuery) (MemoryAnswer, error) {
	out, err := s.history.memory(q)
	if err == nil {
		out.Holders, out.HoldersMore, err = holders(ctx, s.m, s.history.when(out.T))
	}
	return out, err
}
