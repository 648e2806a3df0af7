package tables

import (
	"context"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/model"
)

// aVisit is a row of regions.
type aVisit struct {
	*model.Model
	*model.Thread
	number int // among all, from 0
	i      int // of the thread
}

var regions = define("regions", "A visit of a thread to a region: a call of a function, or an operation of a"+
	" run-time system.",
	func(_ context.Context, s *Source) (func(i int) aVisit, int, error) {
		var all groups
		if s.Model.Regions != nil {
			for i := range s.Model.Regions.Threads {
				all.add(len(s.Model.Regions.Threads[i].Enter))
			}
		}
		return func(number int) aVisit {
			t, i := all.find(number)
			return aVisit{s.Model, &s.Model.Regions.Threads[t], number, i}
		}, all.len(), nil
	},
	integer("visit", "its number in these tables, from 1", func(r aVisit) Value {
		return Int(int64(r.number) + 1)
	}).key(),
	integer("node", "the node", func(r aVisit) Value { return Int(int64(r.Node)) }).to("nodes.node"),
	integer("stream", "the thread there: a worker, or a stream that is none", func(r aVisit) Value {
		return Int(int64(r.Stream))
	}),
	integer("site", "the place of the call", func(r aVisit) Value {
		return Int(int64(r.Site[r.i]))
	}).to("sites.site"),
	integer("code", "the region", func(r aVisit) Value {
		return Int(int64(r.Sites[r.Site[r.i]].Code))
	}).to("codes.code"),
	integer("parent", "the visit that it is inside of; null: none", func(r aVisit) Value {
		if r.Thread.Parent[r.i] < 0 {
			return Value{}
		}
		return Int(int64(r.number-r.i+int(r.Thread.Parent[r.i])) + 1)
	}).to("regions.visit"),
	ns("enter_ns", "when the thread entered it", func(r aVisit) Value { return since(r.Model, r.Enter[r.i]) }),
	ns("exit_ns", "when it left it, or the thread ended", func(r aVisit) Value {
		return since(r.Model, r.Exit[r.i])
	}),
	ns("duration_ns", "time between them", func(r aVisit) Value { return between(r.Enter[r.i], r.Exit[r.i]) }),
)

// aCall is a row of calls.
type aCall struct {
	pattern.Call
	number int
	of     *pattern.Result
}

var calls = define("calls", "A call path: a region called at a place, from another call path.",
	list(func(ctx context.Context, s *Source) (rows []aCall, _ error) {
		r, err := s.findPatterns(ctx)
		if err != nil {
			return nil, err
		}
		for i, c := range r.Calls {
			rows = append(rows, aCall{c, i, r})
		}
		return rows, nil
	}),
	integer("call", "its number; 0 stands for the time outside of all regions", func(r aCall) Value {
		return Int(int64(r.number))
	}).key(),
	integer("parent", "the call path that it is called from; null: none", func(r aCall) Value {
		return natural(r.Parent)
	}).to("calls.call"),
	text("region", "what is called", func(r aCall) Value { return String(r.of.Regions[r.Region].Name) }),
	text("kind", "its kind, as in codes", func(r aCall) Value { return String(r.of.Regions[r.Region].Kind) }),
	text("path", "names from the outermost function: main > solve > upc_barrier", func(r aCall) Value {
		return String(r.of.Path(r.number))
	}),
	text("file", "where it is called; null: not known", func(r aCall) Value { return String(r.File) }),
	integer("line", "line in it; null: not known", func(r aCall) Value { return positive(r.Line) }),
)

// severity is a row of patterns.
type severity struct {
	of     *pattern.Result
	metric *pattern.Metric
	call   int
	thread *pattern.Thread
	value  int64
}

var patterns = define("patterns", "An amount of a metric at a call path and a thread, without what is called"+
	" from there. Amounts of 0 are left out.",
	list(func(ctx context.Context, s *Source) (rows []severity, _ error) {
		r, err := s.findPatterns(ctx)
		if err != nil {
			return nil, err
		}
		for i := range r.Metrics {
			for _, row := range r.Metrics[i].Rows {
				for t, v := range row.Values {
					if v != 0 {
						rows = append(rows, severity{r, &r.Metrics[i], row.Call, &r.Threads[t], v})
					}
				}
			}
		}
		return rows, nil
	}),
	text("metric", "its id: wait-at-barrier; docs/pgas-patterns.md has all", func(r severity) Value {
		return String(r.metric.ID)
	}).key(),
	integer("call", "the call path", func(r severity) Value {
		return Int(int64(r.call))
	}).key().to("calls.call"),
	integer("node", "the node", func(r severity) Value {
		return Int(int64(r.thread.Node))
	}).key().to("nodes.node"),
	integer("stream", "the thread there, as in regions", func(r severity) Value {
		return Int(int64(r.thread.Stream))
	}).key(),
	text("parent", "the metric that it is a part of; null: none", func(r severity) Value {
		if r.metric.Parent < 0 {
			return Value{}
		}
		return String(r.of.Metrics[r.metric.Parent].ID)
	}),
	text("unit", "ns, occ (how often) or bytes", func(r severity) Value {
		return String(string(r.metric.Unit))
	}),
	integer("value", "the amount; it includes the metrics that are parts of it", func(r severity) Value {
		return Int(r.value)
	}),
)
