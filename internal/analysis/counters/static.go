package counters

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// Properties are the Set of a model. A quantity is worked out when somebody first asks. Any number of
// goroutines may ask.
type Properties struct {
	*history
	of      source
	records [families]func() *record
	once    [quantities]sync.Once
	built   [quantities]built
	asked   [quantities]atomic.Bool
	moments atomic.Bool // values at a time were asked for
}

// built are the step functions of one quantity.
type built struct {
	whole  *steps
	places []*steps
}

// at gives the step function of a place, or of the whole run; nil where there is none.
func (b *built) at(place int32) *steps {
	switch {
	case place == whole:
		return b.whole
	case int(place) < len(b.places):
		return b.places[place]
	}
	return nil
}

// build follows a quantity through a record.
func (b *built) build(q quantity, list *record) {
	var rows [kinds][]effect
	for k := range rows {
		rows[k] = slices.DeleteFunc(slices.Clone(effects[k]), func(e effect) bool { return e.q != q })
	}
	b.places = nil
	each := func(f func(at int32, i int, e *effect)) {
		for i, k := range list.Kind {
			for r := range rows[k] {
				if e := &rows[k][r]; e.whole {
					f(0, i, e)
				} else if at := list.Place[i]; at != whole {
					f(at+1, i, e)
				}
			}
		}
	}
	var count []int // of the whole run, then by place
	each(func(at int32, _ int, _ *effect) {
		for int(at) >= len(count) {
			count = append(count, 0)
		}
		count[at]++
	})
	all := make([]*steps, len(count))
	each(func(at int32, i int, e *effect) {
		d := int64(e.n)
		if e.sized {
			d *= list.size(i)
		}
		if d == 0 {
			return
		}
		if all[at] == nil {
			all[at] = newSteps(count[at])
		}
		all[at].add(list.T[i], d)
	})
	for _, s := range all {
		if s != nil {
			s.settle()
		}
	}
	if len(all) > 0 {
		b.whole, b.places = all[0], all[1:]
	}
}

// FromModel gives the properties of a model. A model does not have relations: they are read from r, the trace
// that the model was built from; nil means that they are not known. It fails when ctx ends.
func FromModel(ctx context.Context, m *model.Model, r *trace.Reader) (*Properties, error) {
	s := &Properties{of: source{m: m, links: newLinkTable(), flights: true}}
	s.history = newHistory(m, s.of.links)
	x := s.history
	x.stored, x.moment, x.unknown = s.stored, s.values, recordedIn(m).unknown()
	for cf := 1; cf < len(m.Created) && !x.weighted; cf++ {
		x.weighted = m.Weight(model.CF(cf)) != 1
	}
	s.of.weighted = x.weighted
	s.of.number() // so that nothing changes later
	s.of.extra, _ = tooOften(m, procs.Alone())
	if m.Count[trace.KindRelations] > 0 && r != nil {
		if err := s.readRelations(ctx, r); err != nil {
			return nil, err
		}
	}
	for g := range s.records {
		s.records[g] = sync.OnceValue(func() *record { return s.of.record(family(g)) })
	}
	x.unknown[inner] = x.unknown[inner] || s.of.relation == nil
	x.unknown[outer] = x.unknown[inner]
	return s, nil
}

// stored gives a step function. The first question about a quantity works it out.
func (s *Properties) stored(q quantity, at int32) *steps {
	s.asked[q].Store(true)
	return s.prepare(q).at(at)
}

func (s *Properties) prepare(q quantity) *built {
	b := &s.built[q]
	s.once[q].Do(func() {
		if q == objects {
			x, y := s.prepare(cfs), s.prepare(copies)
			b.whole = sumOf(x.whole, y.whole)
			for place := range int32(max(len(x.places), len(y.places))) {
				b.places = append(b.places, sumOf(x.at(place), y.at(place)))
			}
		} else {
			b.build(q, s.records[q.family()]())
		}
	})
	return b
}

// PrepareLike works out what the other Properties were asked for.
func (s *Properties) PrepareLike(other *Properties) {
	for q := range other.asked {
		if other.asked[q].Load() {
			s.stored(quantity(q), whole)
		}
	}
	if other.moments.Load() {
		s.values(math.MinInt64)
	}
}

// values gives those at a time.
func (s *Properties) values(t int64) values {
	s.moments.Store(true)
	var sums [quantities][]int64 // of the whole run, then by place
	for q := range sums {
		sums[q] = make([]int64, 1+max(len(s.workers), len(s.links.list)))
	}
	for _, get := range s.records {
		list := get()
		for i := range list.upTo(t) {
			for _, e := range effects[list.Kind[i]] {
				at, d := int32(0), int64(e.n)
				if !e.whole {
					at = 1 + list.Place[i]
				}
				if e.sized {
					d *= list.size(i)
				}
				sums[e.q][at] += d
			}
		}
	}
	return func(q quantity, place int32) int64 {
		if q == objects {
			return sums[cfs][place+1] + sums[copies][place+1]
		}
		return sums[q][place+1]
	}
}

// readRelations reads the events onRelations, which a model does not have. They are events of the run-time
// system's own streams, so the workers' streams are read only if some are missing.
func (s *Properties) readRelations(ctx context.Context, r *trace.Reader) error {
	m := s.of.m
	s.of.relation = make([][]relation, len(m.Nodes))
	wanted := m.Count[trace.KindRelations]
	found := uint64(0)
	var mu sync.Mutex
	for _, workers := range []bool{false, true} {
		err := r.EachStream(2, func(c *trace.Cursor) error {
			if c.Node >= len(m.Nodes) || c.Stream < len(m.Nodes[c.Node].Workers) != workers {
				return nil
			}
			var relations []relation
			var b trace.Batch
			for c.Next(&b) {
				if err := ctx.Err(); err != nil {
					return err
				}
				for i, k := range b.Kind {
					if k == trace.KindRelations {
						a := b.Args(i)
						relations = append(relations, relation{b.Time[i], int64(a[0]), int64(a[1])})
					}
				}
			}
			mu.Lock()
			defer mu.Unlock()
			s.of.relation[c.Node] = append(s.of.relation[c.Node], relations...)
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
