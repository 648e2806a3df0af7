package tables

import (
	"context"
	"time"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
)

// aRun is the row of runs.
type aRun struct {
	*model.Model
	*slou.Result
}

var runs = define("runs", "The run. There is one row.",
	list(func(ctx context.Context, s *Source) ([]aRun, error) {
		r, err := s.divide(ctx)
		return []aRun{{s.Model, r}}, err
	}),
	text("program", "name of the program", func(r aRun) Value { return String(r.Info.Program) }),
	text("started", "when it started, as 2006-01-02T15:04:05Z; null: not known", func(r aRun) Value {
		if r.Info.Started.IsZero() {
			return Value{}
		}
		return String(r.Info.Started.UTC().Format(time.RFC3339Nano))
	}),
	text("ended", "how it ended: done, failed, stuck or interrupted; null: it was killed", func(r aRun) Value {
		return String(r.Info.Ended)
	}),
	ns("wall_ns", "how long it took", func(r aRun) Value { return Int(r.WallNS) }),
	ns("total_ns", "processor time: workers x wall + extra cores - lost; the factors add up to it",
		func(r aRun) Value { return Int(r.TotalNS) }),
	ns("extra_cores_ns", "processor time beyond the workers'; part of O", func(r aRun) Value {
		return Int(r.ExtraCoresNS)
	}),
	ns("lost_ns", "time of workers of which nothing was recorded; in no factor", func(r aRun) Value {
		return Int(r.Loss.NS)
	}),
	integer("lost_events", "events known to be lost", func(r aRun) Value { return Int(int64(r.Loss.Events)) }),
	integer("events", "events read", func(r aRun) Value { return Int(int64(r.Events)) }),
	integer("nodes", "number of nodes", func(r aRun) Value { return Int(int64(len(r.Model.Nodes))) }),
	integer("workers", "number of workers of all nodes", func(r aRun) Value { return Int(int64(r.Workers())) }),
	integer("tables_version", "version of these tables", func(aRun) Value { return Int(Version) }),
)

var processes = define("processes", "An operating system process of the run.",
	columns(func(m *model.Model) int { return len(m.Processes) }),
	integer("process", "its number, from 0", func(r at) Value { return Int(int64(r.i)) }).key(),
	text("host", "name of its computer", func(r at) Value { return String(r.Processes[r.i].Host) }),
	integer("cores", "cores that it may use; null: not known", func(r at) Value {
		return positive(r.Processes[r.i].Cores)
	}),
	ns("cpu_ns", "CPU time that it took during the run; null: not known", func(r at) Value {
		return natural(r.Processes[r.i].CPU)
	}),
)

var nodes = define("nodes", "A run-time system with its workers.",
	columns(func(m *model.Model) int { return len(m.Nodes) }),
	integer("node", "its number, from 0", func(r at) Value { return Int(int64(r.i)) }).key(),
	text("host", "name of its computer", func(r at) Value { return String(r.Nodes[r.i].Host) }),
	integer("process", "its process; null: not known", func(r at) Value {
		if r.Nodes[r.i].Process >= len(r.Processes) {
			return Value{}
		}
		return natural(r.Nodes[r.i].Process)
	}).to("processes.process"),
	integer("workers", "number of its workers", func(r at) Value {
		return Int(int64(len(r.Nodes[r.i].Workers)))
	}),
)

// aWorker is a row of workers.
type aWorker struct {
	*model.Model
	id model.WorkerID
	w  *model.Worker
}

var workers = define("workers", "A worker of a node.",
	list(func(_ context.Context, s *Source) (rows []aWorker, _ error) {
		for id, w := range s.Model.AllWorkers() {
			rows = append(rows, aWorker{s.Model, id, w})
		}
		return rows, nil
	}),
	integer("node", "its node", func(r aWorker) Value { return Int(int64(r.id.Node)) }).key().to("nodes.node"),
	integer("worker", "its number on the node, from 0", func(r aWorker) Value {
		return Int(int64(r.id.Worker))
	}).key(),
	ns("started_ns", "when the program started there; null: not recorded", func(r aWorker) Value {
		return since(r.Model, r.w.Started)
	}),
	ns("finished_ns", "when it ended there; null: not recorded", func(r aWorker) Value {
		return since(r.Model, r.w.Finished)
	}),
	ns("measured_ns", "time for which its thread's clock was read", func(r aWorker) Value {
		return Int(r.w.Measured)
	}),
	ns("cpu_ns", "CPU time in that", func(r aWorker) Value { return Int(r.w.CPU) }),
	integer("executions", "how many CFs it executed, atomic and structured", func(r aWorker) Value {
		return Int(int64(r.w.End - r.w.First))
	}),
)

var codes = define("codes", "A code fragment, a function of the program, or an operation of a run-time"+
	" system.",
	columns(func(m *model.Model) int { return len(m.Codes) }),
	integer("code", "its number; 0 stands for code that is not known", func(r at) Value {
		return Int(int64(r.i))
	}).key(),
	text("name", "its name", func(r at) Value { return String(r.Codes[r.i].Name) }),
	text("kind", "atomic for user code; sub, for, while, if or call for structured code; function, barrier,"+
		" lock and so on for regions", func(r at) Value { return String(r.Codes[r.i].Kind.String()) }),
	text("file", "source file; null: not known", func(r at) Value { return String(r.Codes[r.i].File) }),
	integer("line", "line in it; null: not known", func(r at) Value { return positive(r.Codes[r.i].Line) }),
)

var sites = define("sites", "A statement of the program that makes CFs, or a place that calls a region.",
	columns(func(m *model.Model) int { return len(m.Sites) }),
	integer("site", "its number; 0 stands for one that is not known", func(r at) Value {
		return Int(int64(r.i))
	}).key(),
	integer("code", "what it executes", func(r at) Value {
		return Int(int64(r.Sites[r.i].Code))
	}).to("codes.code"),
	text("label", "label of its CFs", func(r at) Value { return String(r.Sites[r.i].Label) }),
	text("file", "source file; null: not known", func(r at) Value { return String(r.Sites[r.i].File) }),
	integer("line", "line in it; null: not known", func(r at) Value { return positive(r.Sites[r.i].Line) }),
	text("text", "the statement; null: not known", func(r at) Value { return String(r.Sites[r.i].Text) }),
)
