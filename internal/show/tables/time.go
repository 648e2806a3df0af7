package tables

import (
	"context"
	"sync"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/analysis/critical"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
)

// piece is a slou.Piece without pointers, so that those of a large run may be on disk.
type piece struct {
	from, to           int64
	producer, consumer model.CF
	df                 model.DF
	name               uint32 // index into allPieces.names
	link               slou.Link
	call               int32
	factor             slou.Factor
	part               slou.Part
}

// BytesOfPieces is about how much memory a Source takes for the pieces of a run, if they are asked for.
func BytesOfPieces(m *model.Model) int64 {
	const of, perExecution = 72, 3
	return of * perExecution * int64(m.Executions())
}

// allPieces are the pieces of all workers, by worker and time.
type allPieces struct {
	groups
	workers []slou.Kept[piece]
	names   []string

	mu     sync.Mutex
	number map[string]uint32
}

// keep is called by several goroutines at once.
func (a *allPieces) keep(p *slou.Piece) piece {
	k := piece{from: p.From, to: p.To, producer: p.Producer, consumer: p.Consumer, df: p.DF, link: p.Link,
		call: p.Call, factor: p.Factor, part: p.Part}
	if p.Name == "" {
		return k
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	n, ok := a.number[p.Name]
	if !ok {
		n = uint32(len(a.names))
		a.names = append(a.names, p.Name)
		a.number[p.Name] = n
	}
	k.name = n
	return k
}

func (s *Source) cut(ctx context.Context) (*allPieces, error) {
	return s.kept.get(func() (*allPieces, error) {
		opt, err := s.division(ctx)
		if err != nil {
			return nil, err
		}
		a := &allPieces{names: []string{""}, number: map[string]uint32{}}
		a.workers, err = slou.Keep(ctx, s.Model, opt, procs.Alone(), s.Model.Scratch(), a.keep)
		for _, w := range a.workers {
			a.add(len(w.Pieces))
		}
		return a, err
	})
}

// aPiece is a row of pieces.
type aPiece struct {
	*piece
	s    *Source
	at   *slou.Kept[piece]
	name string
}

// linked tells whether a piece is latency of a link.
func (r aPiece) linked() bool {
	return r.factor == slou.FactorL && r.part == slou.PartNone && r.name == ""
}

var pieces = define("pieces", "A piece of a worker's time, with the factor it counts as and its cause. The"+
	" pieces of a worker fill the run without gaps.",
	func(ctx context.Context, s *Source) (func(i int) aPiece, int, error) {
		a, err := s.cut(ctx)
		if err != nil {
			return nil, 0, err
		}
		return func(i int) aPiece {
			w, i := a.find(i)
			p := &a.workers[w].Pieces[i]
			return aPiece{p, s, &a.workers[w], a.names[p.name]}
		}, a.len(), nil
	},
	integer("node", "the node", func(r aPiece) Value { return Int(int64(r.at.Node)) }).key().to("nodes.node"),
	integer("worker", "the worker there", func(r aPiece) Value {
		return Int(int64(r.at.Worker))
	}).key().to("workers.worker"),
	ns("from_ns", "when it begins", func(r aPiece) Value { return since(r.s.Model, r.from) }).key(),
	ns("to_ns", "when it ends", func(r aPiece) Value { return since(r.s.Model, r.to) }),
	ns("ns", "how long it is", func(r aPiece) Value { return Int(r.to - r.from) }),
	text("factor", "U useful work, S starvation, L latency, O overhead, W waiting; loss: not recorded",
		func(r aPiece) Value { return String(r.factor.String()) }),
	text("part", "part of the factor: nowhere, dispatch, lock, 0->1 and more; null: none", func(r aPiece) Value {
		switch {
		case r.part != slou.PartNone:
			return String(r.part.String())
		case r.linked():
			return String(r.link.String())
		}
		return String(r.name)
	}),
	text("what", "what user code waited for, and where: queue (step.cpp:12); null: nothing, or not known",
		func(r aPiece) Value {
			if r.part == slou.PartNone {
				return Value{}
			}
			return String(r.name)
		}),
	integer("consumer", "the CF that ran or could not start yet; null: none", func(r aPiece) Value {
		return r.s.cf(r.consumer)
	}).to("cfs.cf"),
	integer("producer", "the CF whose result or lock was waited for; null: none", func(r aPiece) Value {
		return r.s.cf(r.producer)
	}).to("cfs.cf"),
	integer("df", "the DF that was waited for; null: none", func(r aPiece) Value {
		return positive(r.df)
	}).to("dfs.df"),
	integer("from_node", "of latency: the sender; null: none", func(r aPiece) Value {
		if !r.linked() {
			return Value{}
		}
		return natural(r.link.From)
	}).to("nodes.node"),
	integer("to_node", "of latency: the receiver; null: none", func(r aPiece) Value {
		if !r.linked() {
			return Value{}
		}
		return natural(r.link.To)
	}).to("nodes.node"),
	integer("call", "of a run of regions: the call path; null: none", func(r aPiece) Value {
		return natural(r.call - 1)
	}).to("calls.call"),
)

// aWait is a row of waits.
type aWait struct {
	*model.Wait
	s  *Source
	at model.WorkerID
}

var waits = define("waits", "A worker waited for a lock, an exclusive resource or a collective, or user code"+
	" was blocked. Waits may be nested.",
	list(func(_ context.Context, s *Source) (rows []aWait, _ error) {
		for id, w := range s.Model.AllWorkers() {
			for i := range w.Waits {
				rows = append(rows, aWait{&w.Waits[i], s, id})
			}
		}
		return rows, nil
	}),
	integer("node", "the node", func(r aWait) Value { return Int(int64(r.at.Node)) }).to("nodes.node"),
	integer("worker", "the worker there", func(r aWait) Value {
		return Int(int64(r.at.Worker))
	}).to("workers.worker"),
	ns("from_ns", "when it began", func(r aWait) Value { return since(r.s.Model, r.From) }),
	ns("to_ns", "when it ended", func(r aWait) Value { return since(r.s.Model, r.To) }),
	ns("ns", "how long it took", func(r aWait) Value { return between(r.From, r.To) }),
	text("name", "what for; of user code that was blocked: lock, io, sleep and so on", func(r aWait) Value {
		return String(r.Name)
	}),
	integer("blocked", "1: user code was blocked", func(r aWait) Value { return truth(r.Blocked) }),
	text("what", "what user code waited for: counter_mutex; null: not known", func(r aWait) Value {
		return String(r.What)
	}),
	text("site", "where it waited: step.cpp:12; null: not known", func(r aWait) Value { return String(r.Site) }),
	integer("holder", "the CF that held the lock; null: none, or not known", func(r aWait) Value {
		return r.s.cf(r.Holder)
	}).to("cfs.cf"),
)

// share is a row of factors; a node or worker of -1 is none.
type share struct {
	node, worker int
	factor, part string
	ns           int64
}

// shares divides the time of a worker.
func shares(node, worker int, f *slou.Factors) (rows []share) {
	for k, of := range f.All() {
		if of == nil {
			continue
		}
		letter, rest := slou.Factor(k).String(), of.NS
		for _, p := range slou.Largest(of.Parts) {
			rows = append(rows, share{node, worker, letter, p.Name, p.NS})
			rest -= p.NS
		}
		if rest != 0 {
			rows = append(rows, share{node, worker, letter, "", rest})
		}
	}
	return rows
}

var factors = define("factors", "Time by worker, factor and part: the sums of pieces, and extra cores. They"+
	" add up to runs.total_ns.",
	list(func(ctx context.Context, s *Source) (rows []share, _ error) {
		r, err := s.divide(ctx)
		if err != nil {
			return nil, err
		}
		for _, n := range r.Nodes {
			for _, w := range n.Workers {
				rows = append(rows, shares(n.Node, w.Worker, &w.Factors)...)
			}
		}
		undivided := r.UndividedNS
		if r.ExtraCoresNS > 0 {
			if r.Factors.O == nil {
				undivided -= r.ExtraCoresNS
			}
			rows = append(rows, share{-1, -1, slou.FactorO.String(), slou.PartExtra.String(), r.ExtraCoresNS})
		}
		if undivided > 0 {
			rows = append(rows, share{-1, -1, slou.FactorUndivided.String(), "", undivided})
		}
		return rows, nil
	}),
	integer("node", "the node; null: of the whole run", func(r share) Value {
		return natural(r.node)
	}).key().to("nodes.node"),
	integer("worker", "the worker there; null: of the whole run", func(r share) Value {
		return natural(r.worker)
	}).key().to("workers.worker"),
	text("factor", "as in pieces; undivided: time of factors that cannot be computed", func(r share) Value {
		return String(r.factor)
	}).key(),
	text("part", "as in pieces; extra: processor time beyond the workers'", func(r share) Value {
		return String(r.part)
	}).key(),
	ns("ns", "time", func(r share) Value { return Int(r.ns) }),
)

var causes = define("causes", "Why time was lost: who waited for whom, and for what. The largest come first.",
	list(func(ctx context.Context, s *Source) ([]slou.Cause, error) {
		r, err := s.divide(ctx)
		if err != nil {
			return nil, err
		}
		return r.Causes, nil
	}),
	text("factor", "as in pieces", func(r slou.Cause) Value { return String(r.Factor) }),
	text("part", "as in pieces", func(r slou.Cause) Value { return String(r.Part) }),
	text("producer", "code fragment whose result or lock was waited for; null: none", func(r slou.Cause) Value {
		return String(r.Producer)
	}),
	text("variable", "name of the DFs that were waited for; null: none", func(r slou.Cause) Value {
		return String(r.DF)
	}),
	text("link", "of latency: 0->1; null: none", func(r slou.Cause) Value { return String(r.Link) }),
	text("consumer", "code fragment or call path that waited; null: none", func(r slou.Cause) Value {
		return String(r.Consumer)
	}),
	text("what", "as in pieces", func(r slou.Cause) Value { return String(r.What) }),
	ns("ns", "time lost", func(r slou.Cause) Value { return Int(r.NS) }),
	integer("count", "how often", func(r slou.Cause) Value { return Int(r.Count) }),
	ns("queued_ns", "how much of it at most the producer was ready behind others", func(r slou.Cause) Value {
		return Int(r.QueuedNS)
	}),
)

// aStep is a row of path.
type aStep struct {
	*critical.Step
	s      *Source
	number int
	of     *critical.Path
}

var path = define("path", "A step of the critical path: what held up the end of the run. The steps fill the"+
	" run without gaps. There are none where events that they take were not recorded.",
	func(ctx context.Context, s *Source) (func(i int) aStep, int, error) {
		r, err := s.findPath(ctx)
		if err != nil || r.Path == nil {
			return nil, 0, err
		}
		return func(i int) aStep { return aStep{&r.Path.Steps[i], s, i + 1, r.Path} }, len(r.Path.Steps), nil
	},
	integer("step", "its number, from 1, in order of time", func(r aStep) Value {
		return Int(int64(r.number))
	}).key(),
	ns("from_ns", "when it begins", func(r aStep) Value { return Int(r.From) }),
	ns("to_ns", "when it ends", func(r aStep) Value { return Int(r.To) }),
	ns("ns", "how long it is", func(r aStep) Value { return Int(r.To - r.From) }),
	text("kind", "execute, control, transfer, overhead, wait, start, tail, unknown, lost", func(r aStep) Value {
		return String(r.Kind.String())
	}),
	text("name", "factor and part: U, O.dispatch, L.0->1", func(r aStep) Value {
		return String(r.of.Name(r.Step))
	}),
	integer("cf", "the CF that ran or could not start yet; null: none", func(r aStep) Value {
		return r.s.cf(r.CF)
	}).to("cfs.cf"),
	integer("execution", "its execution; null: none", func(r aStep) Value {
		if r.CF == 0 {
			return Value{}
		}
		return Int(int64(r.Execution) + 1)
	}).to("executions.execution"),
	integer("running", "1: the CF ran, 0: it could not start yet", func(r aStep) Value {
		return truth(r.Running)
	}),
	integer("df", "the DF that was on its way to the CF; null: none", func(r aStep) Value {
		return positive(r.DF)
	}).to("dfs.df"),
	integer("node", "where the execution is", func(r aStep) Value {
		return Int(int64(r.Node))
	}).to("nodes.node"),
	integer("worker", "the worker there; null: the node has none", func(r aStep) Value {
		if int(r.Worker) >= len(r.s.Model.Nodes[r.Node].Workers) {
			return Value{}
		}
		return Int(int64(r.Worker))
	}).to("workers.worker"),
	integer("from_node", "of a transfer: the sender; null: none", func(r aStep) Value {
		if r.Kind != critical.KindTransfer {
			return Value{}
		}
		return Int(int64(r.Peer))
	}).to("nodes.node"),
	text("reason", "why the CF had to wait for the one before: start, input, link, created, again, worker or"+
		" unknown", func(r aStep) Value { return String(r.Reason.String()) }),
)

// aWindow is a row of series.
type aWindow struct {
	*counters.Series
	of *counters.Result
	i  int
}

// level is a list of the series that only a level has, or only an amount.
func level(list func(r aWindow) []int64) func(r aWindow) Value {
	return func(r aWindow) Value {
		if l := list(r); r.i < len(l) {
			return Int(l[r.i])
		}
		return Value{}
	}
}

var series = define("series", "A quantity in a window of time: bytes held, CFs by state, messages in flight"+
	" and so on, of the run, of a node or of a link.",
	func(ctx context.Context, s *Source) (func(i int) aWindow, int, error) {
		r, err := s.follow(ctx)
		if err != nil {
			return nil, 0, err
		}
		var all groups
		for i := range r.Series {
			all.add(len(r.Series[i].Mean))
		}
		return func(row int) aWindow {
			s, i := all.find(row)
			return aWindow{&r.Series[s], r, i}
		}, all.len(), nil
	},
	text("name", "the quantity: bytes_held, cfs_ready, messages_in_flight and so on", func(r aWindow) Value {
		return String(r.Name)
	}).key(),
	text("unit", "bytes or count", func(r aWindow) Value { return String(r.Unit) }),
	integer("node", "the node; null: of the run, or of a link", func(r aWindow) Value {
		return natural(r.Node)
	}).key().to("nodes.node"),
	text("link", "the link: 0->1; null: of the run, or of a node", func(r aWindow) Value {
		return String(r.Link)
	}).key(),
	integer("window", "number of the window, from 0", func(r aWindow) Value { return Int(int64(r.i)) }).key(),
	ns("from_ns", "when it begins", func(r aWindow) Value { return Int(int64(r.i) * r.of.WindowNS) }),
	ns("to_ns", "when it ends", func(r aWindow) Value {
		return Int(min(int64(r.i+1)*r.of.WindowNS, r.of.WallNS))
	}),
	decimal("mean", "mean level in the window; of an amount, its rate per second", func(r aWindow) Value {
		return Float(r.Mean[r.i])
	}),
	integer("least", "least level; null: it is an amount", level(func(r aWindow) []int64 { return r.Min })),
	integer("greatest", "greatest level; null: it is an amount", level(func(r aWindow) []int64 {
		return r.Max
	})),
	integer("last", "level at the end; null: it is an amount", level(func(r aWindow) []int64 { return r.Last })),
	integer("sum", "amount in the window; null: it is a level", level(func(r aWindow) []int64 { return r.Sum })),
)
