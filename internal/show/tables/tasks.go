package tables

import (
	"context"
	"sort"

	"github.com/whyslow/whyslow/internal/model"
)

// cf is the CF of a row.
func (r at) cf() model.CF { return model.CF(r.i) }

var cfs = define("cfs", "A computational fragment (CF): a task.",
	func(_ context.Context, s *Source) (func(i int) at, int, error) {
		list := s.numbers().cfs
		return func(i int) at { return at{s.Model, int(list[i]), s} }, len(list), nil
	},
	integer("cf", "its number in these tables, from 1, in the order of ids", func(r at) Value {
		return r.s.cf(r.cf())
	}).key(),
	text("id", "its id in the trace: node and number", func(r at) Value {
		return String(r.CFID(r.cf()).String())
	}),
	text("name", "its label or code fragment, with indices: mult[1][2]", func(r at) Value {
		return String(r.CFTitle(r.cf()))
	}),
	integer("code", "what it executes", func(r at) Value {
		return Int(int64(r.CodeOf(r.cf())))
	}).to("codes.code"),
	integer("site", "the statement that made it", func(r at) Value {
		return Int(int64(r.SiteOf[r.i]))
	}).to("sites.site"),
	integer("atomic", "1: it runs user code, 0: it is structured", func(r at) Value {
		return truth(r.Atomic(r.cf()))
	}),
	integer("parent", "the structured CF that created it; null: none, or not recorded", func(r at) Value {
		return r.s.cf(r.Parent[r.i])
	}).to("cfs.cf"),
	decimal("weight", "its weight, 1 unless the program says otherwise", func(r at) Value {
		return Float(r.Weight(r.cf()))
	}),
	ns("created_ns", "when it was created; null: not recorded", func(r at) Value {
		return since(r.Model, r.Created[r.i])
	}),
	ns("ready_ns", "when it was last ready to run; null: never, or not recorded", func(r at) Value {
		return since(r.Model, r.Ready[r.i])
	}),
	integer("ready_node", "where that was", func(r at) Value {
		if r.Ready[r.i] == model.None {
			return Value{}
		}
		return Int(int64(r.ReadyNode[r.i]))
	}).to("nodes.node"),
	integer("execution", "its last execution; null: it never ran", func(r at) Value {
		return positive(r.ExecOf[r.i])
	}).to("executions.execution"),
)

// worker is where the execution of a row ran.
func (r at) worker() (model.WorkerID, bool) { return r.WorkerIDOf(r.i) }

var executions = define("executions", "An execution of a CF. Most CFs have one.",
	columns(func(m *model.Model) int { return m.Executions() }),
	integer("execution", "its number in these tables, from 1, by worker and start", func(r at) Value {
		return Int(int64(r.i) + 1)
	}).key(),
	integer("cf", "the CF", func(r at) Value { return r.s.cf(r.ExecCF[r.i]) }).to("cfs.cf"),
	integer("code", "what it executed", func(r at) Value {
		return Int(int64(r.CodeOf(r.ExecCF[r.i])))
	}).to("codes.code"),
	integer("atomic", "1: it ran user code, 0: it is structured", func(r at) Value {
		return truth(r.Atomic(r.ExecCF[r.i]))
	}),
	integer("number", "which execution of the CF it is, from 1", func(r at) Value {
		return Int(int64(r.ExecNumber[r.i]))
	}),
	integer("node", "where it ran; null: on a stream that is no worker", func(r at) Value {
		id, ok := r.worker()
		if !ok {
			return Value{}
		}
		return Int(int64(id.Node))
	}).to("nodes.node"),
	integer("worker", "the worker there; null: as node", func(r at) Value {
		id, ok := r.worker()
		if !ok {
			return Value{}
		}
		return Int(int64(id.Worker))
	}).to("workers.worker"),
	ns("start_ns", "when it started", func(r at) Value { return since(r.Model, r.ExecStart[r.i]) }),
	ns("end_ns", "when it ended; null: not recorded", func(r at) Value {
		return since(r.Model, r.ExecEnd[r.i])
	}),
	ns("duration_ns", "how long it took; null: its end was not recorded", func(r at) Value {
		return between(r.ExecStart[r.i], r.ExecEnd[r.i])
	}),
	ns("cpu_ns", "CPU time of its thread; null: not measured", func(r at) Value {
		return natural(r.CPU(r.i))
	}),
)

// given is a row of inputs.
type given struct {
	execution int
	df        model.DF
}

var inputs = define("inputs", "A DF that an execution was given. It may be given the same one several times.",
	func(_ context.Context, s *Source) (func(i int) given, int, error) {
		m, n := s.Model, 0
		upTo := model.Make[uint32](m, m.Executions()) // how many inputs there are up to the last of each
		for e := range upTo {
			n += len(m.Inputs(e))
			upTo[e] = uint32(n)
		}
		return func(i int) given {
			e := sort.Search(len(upTo), func(e int) bool { return int(upTo[e]) > i })
			list := m.Inputs(e)
			return given{e, list[i-int(upTo[e])+len(list)]}
		}, n, nil
	},
	integer("execution", "the execution", func(r given) Value {
		return Int(int64(r.execution) + 1)
	}).to("executions.execution"),
	integer("df", "the DF", func(r given) Value { return Int(int64(r.df)) }).to("dfs.df"),
)
