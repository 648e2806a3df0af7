// Package slou divides all processor time of a run among Useful work, Starvation, Latency, Overhead and
// Waiting, and names the fragments and links responsible.
//
// The rule itself, for one gap between two atomic CFs of a worker, is Divide in rule.go; it knows facts about
// one CF through the Lookup interface only. Around it: divide.go cuts one worker's time, queue.go
// finds what could have run meanwhile, sums.go adds up, and here it is put together for a whole model.
//
// Every worker's pieces tile the run exactly, in integer nanoseconds; that is checked for each worker of each
// trace, and Compute fails rather than report numbers that do not add up.
package slou

import (
	"cmp"
	"context"
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/model"
	procs "github.com/whyslow/whyslow/internal/procs"
)

// Options choose between readings of the rule.
type Options struct {
	// DataInputsOnly leaves control inputs (those of a CF's ancestors) out, as the source does.
	DataInputsOnly bool
	// Patterns is what pattern.Compute found in the run, or pattern.ComputeShare here; nil, at all processes: it is asked, where the run has
	// regions.
	Patterns *pattern.Result
	// Parallel is the number of workers divided at once; 0 means as many as there are cores.
	Parallel int
	// Splits asks Compute for Result.Splits: by "node", "worker", "code" (the code fragment that ran, or that the
	// worker ran next) or "index:K" (the value of the K-th index, from 0, in the label of that CF).
	Splits []string
	// MaxGroups is how many groups a split lists, the largest; what is beyond is one group. 0 means all: a listed group
	// takes about a kilobyte, one that is not a sixth of that.
	MaxGroups int
	// MaxPieces lets Pieces fail where there are more, of 64 bytes each; 0: it takes what it takes.
	MaxPieces int
	// Windows asks Compute for Result.Windows: into so many equal windows, or fewer where a window would be shorter
	// than a nanosecond. WindowNS gives their length instead. 0 and 0: no windows.
	Windows  int
	WindowNS int64
}

// run is a computation in progress.
type run struct {
	m       *model.Model
	opt     Options
	facts   *facts
	queue   *queue
	awaited []awaited
	workers []model.WorkerID
	by      []by  // opt.Splits
	window  int64 // length of the windows, 0 for none
	regions *regions
}

func newRun(m *model.Model, opt Options) *run {
	r := &run{m: m, opt: opt, workers: slices.Collect(ownWorkers(m))}
	var wg sync.WaitGroup
	wg.Go(func() { r.facts = newFacts(m, opt.DataInputsOnly) })
	r.queue = newQueue(readyTimes(m))
	wg.Wait()
	r.awaited = findAwaited(m, r.facts, opt.DataInputsOnly)
	return r
}

// ownWorkers gives the workers whose time is divided here: all, but in the model of one of several processes.
func ownWorkers(m *model.Model) iter.Seq[model.WorkerID] {
	return func(yield func(model.WorkerID) bool) {
		for id := range m.AllWorkers() {
			if m.Own(id.Node) && !yield(id) {
				return
			}
		}
	}
}

// readyTimes collects, by node, when atomic CFs were ready and not started.
func readyTimes(m *model.Model) [][]interval {
	nodes := make([][]interval, len(m.Nodes))
	odd := oddReady(m)
	for n := range m.Nodes {
		if !m.Own(n) {
			continue
		}
		var lists [][]interval
		for _, w := range m.Nodes[n].Workers {
			var list []interval
			for e := w.First; e < w.End; e++ {
				cf, to := m.ExecCF[e], m.ExecStart[e]
				if !m.Atomic(cf) {
					continue
				}
				if from, ok := m.LastReady(cf, int32(n), to); ok && from < to {
					list = append(list, interval{from, to})
				}
			}
			lists = append(lists, list)
		}
		slices.SortFunc(odd[n], func(a, b interval) int { return cmp.Compare(a.to, b.to) })
		nodes[n] = unite(append(lists, odd[n]))
	}
	return nodes
}

// oddReady collects, by node, when CFs were ready that did not start there then: they left, or never ran.
func oddReady(m *model.Model) [][]interval {
	odd := make([][]interval, len(m.Nodes))
	for i := range m.Ready {
		cf := model.CF(i)
		if m.Ready[cf] == model.None || m.ExecOf[cf] != 0 && !m.WasReadyTwice(cf) && len(m.MovesOf(cf)) == 0 || !m.Atomic(cf) {
			continue
		}
		m.AllReady(cf, func(t int64, node int) {
			if e, ok := m.ExecutionAt(cf, m.End); ok && m.ExecStart[e] >= t {
				if _, left := leaves(m, cf, node, t); !left {
					return // it started here: the worker's list has it
				}
			}
			to, left := leaves(m, cf, node, t)
			if !left {
				to = m.End
			}
			if node < len(odd) && t < to {
				odd[node] = append(odd[node], interval{t, to})
			}
		})
	}
	return odd
}

// leaves finds when a CF next left a node.
func leaves(m *model.Model, cf model.CF, node int, t int64) (int64, bool) {
	for _, g := range m.MovesOf(cf) {
		if int(g.From) == node && g.Sent != model.None && g.Sent >= t {
			return g.Sent, true
		}
	}
	return 0, false
}

// each calls do with a divider for every worker, several at once. Workers of one lane come one after another.
func (r *run) each(ctx context.Context, do func(i, lane int, d *divider) error) error {
	if err := r.search(ctx, procs.Alone()); err != nil {
		return err
	}
	errs := make([]error, len(r.workers))
	var next atomic.Int64
	var wg sync.WaitGroup
	for lane := range r.lanes() {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(r.workers) {
					return
				}
				if errs[i] = ctx.Err(); errs[i] != nil {
					return
				}
				ref := r.workers[i]
				d := &divider{m: r.m, facts: r.facts, dataOnly: r.opt.DataInputsOnly, node: ref.Node,
					worker: &r.m.Nodes[ref.Node].Workers[ref.Worker], starved: r.queue.at(ref.Node), awaited: r.awaited,
					regions: r.regions.of(r.m, ref), sole: r.regions.sole()}
				errs[i] = do(i, lane, d)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// lanes is the number of workers divided at once.
func (r *run) lanes() int {
	n := r.opt.Parallel
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	return min(n, len(r.workers))
}

// Compute divides all processor time of a run. It fails when ctx ends, when the options cannot be met, or when the parts
// of a worker, of a split or of the windows do not add up to the whole, which is an error of this program.
func Compute(ctx context.Context, m *model.Model, opt Options) (*Result, error) {
	splits, window, err := opt.check(m)
	if err != nil {
		return nil, err
	}
	r := newRun(m, opt)
	r.by, r.window = splits, window
	workers, t, err := r.sum(ctx)
	if err != nil {
		return nil, err
	}
	return r.result(workers, t, othersOf(m))
}

// check gives what Splits and Windows ask for.
func (opt *Options) check(m *model.Model) (splits []by, window int64, err error) {
	for _, what := range opt.Splits {
		b, err := parseBy(what)
		if err != nil {
			return nil, 0, err
		}
		splits = append(splits, b)
	}
	window, err = windowLength(m, *opt)
	return splits, window, err
}

// sum divides the time of all workers and adds it up.
func (r *run) sum(ctx context.Context) ([]*sums, *tally, error) {
	if err := r.search(ctx, procs.Alone()); err != nil {
		return nil, nil, err
	}
	workers := make([]*sums, len(r.workers))
	tallies := make([]*tally, max(r.lanes(), 1))
	for i := range tallies {
		tallies[i] = newTally(r.m, r.by, r.regions)
	}
	err := r.each(ctx, func(i, lane int, d *divider) error {
		s := newSums(tallies[lane])
		if r.window > 0 {
			s.windows = newWindowSums(r.m, r.window)
		}
		workers[i] = s
		d.visit, d.structured, d.executed = s.add, s.ran, s.executed
		return d.run()
	})
	t := tallies[0]
	for _, o := range tallies[1:] {
		t.join(o)
	}
	return workers, t, err
}

// others is what a result tells beside the division of time.
type others struct {
	Uses       uses
	Awake      awake
	Messages   Messages
	Unfinished int
	Collisions []string
}

func othersOf(m *model.Model) *others {
	return &others{usesIn(m), awakeIn(m), messages(m), unfinished(m), m.Collisions}
}

// result puts together what the workers' sums and the joined tally say.
func (r *run) result(workers []*sums, t *tally, o *others) (*Result, error) {
	m := r.m
	null, missing := missingEvents(m, o.Uses)
	res := &Result{Program: m.Info.Program, Ended: m.Info.Ended, WallNS: m.Wall(), Missing: missing, Killed: m.Killed,
		DataInputs: r.opt.DataInputsOnly, Problems: append(append([]string{}, m.Problems...), o.Collisions...), Nodes: []Node{}}
	all := newSums(t)
	for n := range m.Nodes {
		node := Node{Node: n, Host: m.Nodes[n].Host, Workers: []Worker{}}
		sum := newSums(t)
		for i, ref := range r.workers {
			if ref.Node != n {
				continue
			}
			s := workers[i]
			node.Workers = append(node.Workers, Worker{Worker: ref.Worker, TotalNS: s.cells.total(), LossNS: s.cells[FactorLoss],
				CFs: s.useful.count, Factors: s.factors(null)})
			sum.join(s)
		}
		node.TotalNS, node.LossNS, node.CFs, node.Factors = sum.cells.total(), sum.cells[FactorLoss], sum.useful.count, sum.factors(null)
		if len(node.Workers) > 0 {
			res.Nodes = append(res.Nodes, node)
		}
		all.join(sum)
	}
	res.ExtraCoresNS = o.Awake.extra(m)
	if res.ExtraCoresNS > 0 {
		extra := cell(FactorO, PartExtra)
		all.cells[extra] += res.ExtraCoresNS
		t.codes[0].before[extra] += res.ExtraCoresNS
		t.causes[causeKey{factor: FactorO, part: PartExtra}] = &causeSum{ns: res.ExtraCoresNS, count: 1}
	}
	res.TotalNS, res.UndividedNS = all.cells.total(), all.cells.undivided(null)
	res.Loss = Loss{NS: all.cells[FactorLoss], Events: m.LostCount}
	res.Factors = all.factors(null)
	res.Fragments, res.Structured, res.Causes = t.fragments(), t.structuredList(), t.causeList(null)
	res.Hosts, res.Messages, res.Unfinished = hosts(m), o.Messages, o.Unfinished
	var err error
	if res.Splits, err = r.splits(res, workers, t, null); err != nil {
		return nil, err
	}
	if r.window > 0 {
		res.Windows, err = r.windows(res, workers, null)
	}
	return res, err
}
