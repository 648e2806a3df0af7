package counters

import (
	"context"
	"sync"

	"github.com/whyslow/whyslow/trace"
)

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
