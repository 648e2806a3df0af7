package tables

import (
	"context"
	"fmt"
	"sync"

	"github.com/whyslow/whyslow/internal/show/view/eventlist"
	"github.com/whyslow/whyslow/internal/show/view/recent"
	"github.com/whyslow/whyslow/internal/tracefile/eventjson"
)

// Unreadable is the error when a trace can no longer be read: somebody changed it or took it away. The events
// are not in the model, so it may come at any row.
type Unreadable struct{ error }

// Unwrap gives the cause.
func (u Unreadable) Unwrap() error { return u.error }

// Catch makes an error of the panic with which Rows.Value says that the trace can no longer be read. Defer it
// where rows are read.
func Catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case Unreadable:
		*err = r
	default:
		panic(r)
	}
}

// An event is read together with its neighbours, which are kept for a while.
const (
	together = 1024
	kept     = 64 // times together, some 10 MB
)

// anEvent is a row of events.
type anEvent struct {
	s   *Source
	row int
	of  *sync.Map
	*eventlist.Event
}

// kind is the name of the kind.
func (r anEvent) kind() string {
	if name, ok := r.of.Load(r.Spec); ok {
		return name.(string)
	}
	name := r.Spec.String()
	r.of.Store(r.Spec, name)
	return name
}

var events = define("events", "An event as it was recorded, in order of time.",
	func(ctx context.Context, s *Source) (func(i int) anEvent, int, error) {
		if s.Events == nil {
			return nil, 0, nil
		}
		list, err := s.Events()
		if err != nil {
			return nil, 0, err
		}
		n, err := list.Total(ctx)
		if err != nil {
			return nil, 0, err
		}
		parts := recent.New[int, []eventlist.Event](kept, nil)
		var kinds sync.Map // of texts, by *trace.KindSpec
		return func(i int) anEvent {
			part, ok := parts.Get(i / together)
			if !ok {
				var err error
				part, err = list.Events(context.WithoutCancel(ctx), i/together*together, together)
				if err == nil && len(part) <= i%together {
					err = fmt.Errorf("event %d is gone", i)
				}
				if err != nil {
					panic(Unreadable{err})
				}
				parts.Put(i/together, part)
			}
			return anEvent{s, i, &kinds, &part[i%together]}
		}, n, nil
	},
	integer("event", "its number in these tables, from 1", func(r anEvent) Value {
		return Int(int64(r.row) + 1)
	}).key(),
	ns("time_ns", "when", func(r anEvent) Value { return Int(r.T) }),
	integer("node", "where", func(r anEvent) Value { return Int(int64(r.Node)) }),
	integer("stream", "the thread there: a worker, or a stream that is none", func(r anEvent) Value {
		return Int(int64(r.Stream))
	}),
	text("kind", "its kind: CFEvents.onStarted; null: not defined in the trace", func(r anEvent) Value {
		if r.Spec == nil {
			return Value{}
		}
		return String(r.kind())
	}),
	integer("cf", "the first CF that it names; null: none, or no other table "+
		"speaks of it", func(r anEvent) Value {
		if r.CF == 0 {
			return Value{}
		}
		return r.s.cf(r.s.Model.FindCF(r.CF))
	}).to("cfs.cf"),
	integer("df", "the first DF that it names; null: none", func(r anEvent) Value {
		return positive(r.DF)
	}).to("dfs.df"),
	text("fields", "what it tells, in JSON, as dump --json has it: fields ->> 'bytes'", func(r anEvent) Value {
		if r.Spec == nil {
			return Value{}
		}
		var most [256]byte // longer ones are rare
		return String(string(eventjson.AppendArgs(most[:0], r.Spec, r.Args, r.Defs)))
	}),
)
