package counters

import (
	"context"
	"sync"

	"github.com/whyslow/whyslow/internal/analysis/counters/steps"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// static is a Set of a whole model. A family of quantities is worked out when somebody first asks. Any number
// of goroutines may ask.
type static struct {
	source
	history
	once  [families]sync.Once
	built [quantities]built
}

// built are the step functions of one quantity.
type built struct {
	whole  *steps.Steps
	places []*steps.Steps
}

// at gives the step function of a place, or of the whole run; nil where there is none.
func (b *built) at(place int32) *steps.Steps {
	switch {
	case place == whole:
		return b.whole
	case int(place) < len(b.places):
		return b.places[place]
	}
	return nil
}

// add makes a change in a step function.
func (b *built) add(place int32, t, d int64) {
	s := &b.whole
	if place >= 0 {
		for int(place) >= len(b.places) {
			b.places = append(b.places, nil)
		}
		s = &b.places[place]
	}
	if *s == nil {
		*s = &steps.Steps{}
	}
	(*s).Add(t, d)
}

// FromModel makes a Set of a model. A model does not have relations: they are read from r, the trace that the
// model was built from; nil means that they are not known. It fails when ctx ends.
func FromModel(ctx context.Context, m *model.Model, r *trace.Reader) (Set, error) {
	s := &static{source: source{m: m, links: newLinkTable(), flights: true}}
	x := &s.history
	x.start, x.end, x.killed, x.links = m.Start, m.End, m.Killed, s.source.links
	for i := range m.Nodes {
		x.workers = append(x.workers, len(m.Nodes[i].Workers))
	}
	x.unknown = recordedIn(m).unknown()
	for cf := 1; cf < len(m.Created) && !x.weighted; cf++ {
		x.weighted = m.Weight(model.CF(cf)) != 1
	}
	s.source.weighted = x.weighted
	x.stored, x.refresh = s.stored, func() {}
	s.number() // so that nothing changes later
	s.extra, _ = tooOften(m, procs.Alone())
	if m.Count[trace.KindRelations] > 0 && r != nil {
		if err := s.readRelations(ctx, r); err != nil {
			return nil, err
		}
	}
	x.unknown[inner] = x.unknown[inner] || s.relation == nil
	x.unknown[outer] = x.unknown[inner]
	return s, nil
}

// stored gives a step function. The first question about a family works it out.
func (s *static) stored(q quantity, at int32) *steps.Steps {
	s.prepare(q.family())
	return s.built[q].at(at)
}

func (s *static) prepare(g family) {
	s.once[g].Do(func() {
		if g == together {
			s.merge(objects, cfs, copies)
			return
		}
		grow := func(q quantity, place int32, t, d int64) {
			if q.family() == g && (q != weight || s.source.weighted) {
				s.built[q].add(place, t, d)
			}
		}
		list, _ := s.changes(g, nil, nil)
		for i := range list {
			list[i].each(1, grow)
		}
		s.tidy(g)
	})
}

// tidy sees to it that later questions change nothing.
func (s *static) tidy(g family) {
	for q := range quantities {
		if q.family() == g {
			for _, f := range append(s.built[q].places, s.built[q].whole) {
				if f != nil {
					f.End()
				}
			}
		}
	}
}

// prepareAll works out all families at once.
func (s *static) prepareAll() {
	var wg procs.Goroutines
	for g := range families {
		wg.Go(func() { s.prepare(g) })
	}
	wg.Wait()
}

// merge adds the step functions of some quantities.
func (s *static) merge(sum quantity, of ...quantity) {
	for _, q := range of {
		s.prepare(q.family())
		for i, f := range append([]*steps.Steps{s.built[q].whole}, s.built[q].places...) {
			if f != nil {
				for c := range f.All() {
					s.built[sum].add(int32(i)-1, c.T, c.D)
				}
			}
		}
	}
	s.tidy(sum.family())
}

// At is part of Set.
func (s *static) At(t int64) At {
	s.prepareAll()
	return s.history.At(t)
}

// Memory is part of Set.
func (s *static) Memory(ctx context.Context, q MemoryQuery) (MemoryAnswer, error) {
	out, err := s.history.Memory(ctx, q)
	if err == nil {
		out.Holders, out.HoldersMore, err = holders(ctx, s.m, s.when(out.T))
	}
	return out, err
}

// readRelations reads the events onRelations, which a model does not have. They are events of the run-time
// system's own streams, so the workers' streams are read only if some are missing.
func (s *static) readRelations(ctx context.Context, r *trace.Reader) error {
	m := s.m
	s.relation = make([][]sample, len(m.Nodes))
	wanted := m.Count[trace.KindRelations]
	found := uint64(0)
	var mu sync.Mutex
	for _, workers := range []bool{false, true} {
		err := r.EachStream(2, func(c *trace.Cursor) error {
			if c.Node >= len(m.Nodes) || c.Stream < len(m.Nodes[c.Node].Workers) != workers {
				return nil
			}
			var relations []sample
			var b trace.Batch
			for c.Next(&b) {
				if err := ctx.Err(); err != nil {
					return err
				}
				for i, k := range b.Kind {
					if k == trace.KindRelations {
						a := b.Args(i)
						relations = append(relations, sample{b.Time[i], int64(a[0]), int64(a[1])})
					}
				}
			}
			mu.Lock()
			defer mu.Unlock()
			s.relation[c.Node] = append(s.relation[c.Node], relations...)
			found += uint64(len(relations))
			return nil
		})
		if err != nil {
			return err
		}
		if found >= wanted {
			break
		}
	}
	return nil
}
