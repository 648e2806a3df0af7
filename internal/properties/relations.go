package properties

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// readRelations reads what a model does not have: onRelations, and the measurements of clocks that their times need. They are
// events of the run-time system's own streams, so those are read first and the workers' only if something is missing.
func (s *static) readRelations(ctx context.Context, r *trace.Reader) error {
	m := s.m
	s.relation, s.clocks = make([][]sample, len(m.Nodes)), make([]clock, len(m.Nodes))
	wanted := m.Count[trace.KindRelations] + m.Count[trace.KindClockSync]
	found := uint64(0)
	var mu sync.Mutex
	for _, workers := range []bool{false, true} {
		err := r.EachStream(2, func(c *trace.Cursor) error {
			if c.Node >= len(m.Nodes) || c.Stream < len(m.Nodes[c.Node].Workers) != workers {
				return nil
			}
			var relations []sample
			var syncs []model.ClockSync
			var b trace.Batch
			for c.Next(&b) {
				if err := ctx.Err(); err != nil {
					return err
				}
				for i, k := range b.Kind {
					switch k {
					case trace.KindRelations:
						a := b.Args(i)
						relations = append(relations, sample{b.Time[i], int64(a[0]), int64(a[1])})
					case trace.KindClockSync:
						syncs = append(syncs, model.ClockSync{Time: b.Time[i], Offset: int64(b.Args(i)[0])})
					}
				}
			}
			mu.Lock()
			defer mu.Unlock()
			s.relation[c.Node] = append(s.relation[c.Node], relations...)
			s.clocks[c.Node].syncs = append(s.clocks[c.Node].syncs, syncs...)
			found += uint64(len(relations) + len(syncs))
			return nil
		})
		if err != nil {
			return err
		}
		if found >= wanted {
			break
		}
	}
	for i := range s.clocks {
		slices.SortStableFunc(s.clocks[i].syncs, func(a, b model.ClockSync) int { return cmp.Compare(a.Time, b.Time) })
	}
	return nil
}
