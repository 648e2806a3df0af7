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
	marks   [families]func() []sums
	levels  [quantities]func() levels
	asked   atomic.Uint64 // a bit for each quantity, and one for values at a time
	// holdings are found once somebody asks who holds what.
	holdings func() *holdings
}

// levels are the step functions of one quantity: of the whole run, then by place.
type levels []*steps

// at gives the step function of a place; nil where there is none.
func (l levels) at(place int32) *steps {
	if int(place+1) < len(l) {
		return l[place+1]
	}
	return nil
}

// level follows a quantity.
func (s *Properties) level(q quantity) (all levels) {
	if q == objects {
		x, y := s.levels[cfs](), s.levels[copies]()
		for i := range int32(max(len(x), len(y))) {
			all = append(all, sumOf(s.of.m, x.at(i-1), y.at(i-1)))
		}
		return all
	}
	list, node := s.records[q.family()](), func(place int32) int32 { return place }
	if x, ok := ofLinks[q]; ok {
		q, node = x.of, func(link int32) int32 { return s.links.end(link, x.from) }
	}
	each := func(f func(at int32, t, d int64)) {
		for i, k := range list.Kind {
			if slices.ContainsFunc(effects[k], func(e effect) bool { return e.q == q }) {
				list.at(i).each(func(of quantity, place int32, d int64) {
					if of == q {
						f(node(place)+1, list.T[i], d)
					}
				})
			}
		}
	}
	var count []int
	each(func(at int32, _, _ int64) {
		for int(at) >= len(count) {
			count = append(count, 0)
		}
		count[at]++
	})
	all = make(levels, len(count))
	for i, n := range count {
		if n > 0 {
			all[i] = newSteps(s.of.m, n)
		}
	}
	each(func(at int32, t, d int64) { all[at].add(t, d) })
	for _, x := range all {
		if x != nil {
			x.settle()
		}
	}
	return all
}

// FromModel gives the properties of a model. Where a program has counted its relations itself, that is read
// from r, the trace that the model was built from; nil means that they are to be worked out nevertheless. It
// fails when ctx ends.
func FromModel(ctx context.Context, m *model.Model, r *trace.Reader) (*Properties, error) {
	s := &Properties{of: source{m: m, links: newLinkTable(), flights: true, sided: true}}
	s.holdings = sync.OnceValue(func() *holdings { return findHoldings(m) })
	s.history = newHistory(m, s.of.links)
	x := s.history
	x.stored, x.moment, x.unknown = s.stored, s.values, unknown(m, &m.Count)
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
		s.marks[g] = sync.OnceValue(func() []sums { return s.mark(s.records[g]()) })
	}
	for q := range s.levels {
		s.levels[q] = sync.OnceValue(func() levels { return s.level(quantity(q)) })
	}
	return s, nil
}

// stored gives a step function. The first question about a quantity works it out.
func (s *Properties) stored(q quantity, at int32) *steps {
	s.asked.Or(1 << q)
	return s.levels[q]().at(at)
}

// PrepareLike works out what the other Properties were asked for.
func (s *Properties) PrepareLike(other *Properties) {
	asked := other.asked.Load()
	for q := range quantities {
		if asked>>q&1 > 0 {
			s.stored(q, whole)
		}
	}
	if asked>>quantities > 0 {
		s.values(math.MinInt64)
	}
}

// sums are those of all quantities of the whole run, then by place.
type sums [quantities][]int64

func (s *Properties) newSums() (x sums) {
	for q := range x {
		x[q] = make([]int64, s.places())
	}
	return x
}

func (s *Properties) places() int { return 1 + max(len(s.workers), len(s.links.list)) }

// add adds some changes.
func (x *sums) add(list *record, from, to int) {
	for i := from; i < to; i++ {
		x.change(list.at(i))
	}
}

// change adds one.
func (x *sums) change(c change) {
	c.each(func(q quantity, place int32, d int64) { x[q][place+1] += d })
}

// perMark is how many changes lie between two marks: so many that the marks take less room than the changes.
func (s *Properties) perMark() int { return max(1<<11, 4*int(quantities)*s.places()) }

// mark gives the sums before every perMark-th change, so that those at a time are soon found.
func (s *Properties) mark(list *record) (marks []sums) {
	now, each := s.newSums(), s.perMark()
	for i := 0; i <= len(list.T); i += each {
		var x sums
		all := model.Make[int64](s.of.m, len(x)*s.places())[:0]
		for q := range x {
			from := len(all)
			all = append(all, now[q]...)
			x[q] = all[from:]
		}
		marks = append(marks, x)
		now.add(list, i, min(i+each, len(list.T)))
	}
	return marks
}

// values gives those at a time.
func (s *Properties) values(t int64) values {
	s.asked.Or(1 << quantities)
	at := s.newSums()
	for g := range s.records {
		list, marks, each := s.records[g](), s.marks[g](), s.perMark()
		n := list.upTo(t)
		for q := range at {
			for place, v := range marks[n/each][q] {
				at[q][place] += v
			}
		}
		at.add(list, n-n%each, n)
	}
	return at.values()
}

// ends gives the values at the end of the run. They need no order of the changes, so it takes a fraction of
// the time and memory that other times do.
func (s *Properties) ends() values {
	at := s.newSums()
	_ = procs.Each(context.Background(), 0, int(families), func(_, g int) error { // nothing fails
		if family(g) == related && s.of.relation == nil {
			return nil // CFs tell the same
		}
		s.of.changes(family(g), at.change) // each family has quantities of its own
		return nil
	})
	return at.values()
}

// values are the sums as the values at a moment.
func (x *sums) values() values {
	return func(q quantity, place int32) int64 {
		if q == objects {
			return x[cfs][place+1] + x[copies][place+1]
		}
		return x[q][place+1]
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
