package eventlist

import (
	"context"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// Event is an event of the list, as it was recorded.
type Event struct {
	T            int64 // nanoseconds since the start of the run, corrected
	Node, Stream int
	Kind         trace.Kind
	Spec         *trace.KindSpec // nil: the kind is not defined
	Args         []uint64        // as trace.Batch.Args
	Defs         *trace.Defs     // of the node
	CF           trace.CF        // the first that it names, 0 for none
	DF           model.DF        // the first that it names; 0 for none, and for one that only rare events name
}

// Total counts the events of the whole list. The first call reads the trace.
func (l *List) Total(ctx context.Context) (int, error) {
	ctx, leave, err := l.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	if err := l.ready(ctx); err != nil {
		return 0, err
	}
	return l.all.total, nil
}

// Events gives up to n events of the whole list, from one on, 0 <= offset < Total. They stay valid.
func (l *List) Events(ctx context.Context, offset, n int) (list []Event, err error) {
	ctx, leave, err := l.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := l.ready(ctx); err != nil {
		return nil, err
	}
	n = min(n, l.all.total-offset)
	t, skip, err := l.all.find(ctx, offset)
	if err != nil {
		return nil, err
	}
	list = make([]Event, 0, n)
	err = l.all.walk(ctx, t, skip+n, func(d *decoded, i int) (bool, error) {
		if skip > 0 {
			skip--
			return true, nil
		}
		list = append(list, l.event(d, i))
		return len(list) < n, nil
	})
	return list, err
}

func (l *List) event(d *decoded, i int) Event {
	e := Event{T: d.time[i] - l.m.Start, Node: d.number, Stream: d.stream, Kind: d.kind[i], Args: d.args(i),
		Defs: d.defs}
	s := d.shape(e.Kind)
	if s == nil {
		return e
	}
	e.Spec = s.spec
	for _, f := range s.cfs {
		if e.CF = trace.CF(e.Args[f]); e.CF != 0 {
			break
		}
	}
	for _, f := range s.dfs {
		if e.Args[f] != 0 {
			e.DF = l.m.DFNumbered(d.number, e.Args[f])
			break
		}
	}
	return e
}
