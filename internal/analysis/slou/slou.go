// Package slou divides all processor time of a run among Useful work, Starvation, Latency, Overhead and
// Waiting, and names the fragments and links responsible.
//
// The rule itself, for one gap between two atomic CFs of a worker, is Divide in rule.go; it knows facts about
// one CF through the Lookup interface only. Around it: divide.go cuts one worker's time, queue.go
// finds what could have run meanwhile, sums.go adds up, and here it is put together for a whole model.
//
// Several processes can share a run. Each divides the time of the workers of its own nodes, with the facts
// that model.BuildShare brought it. They tell each other when they had a CF ready (queue.go), which CFs the
// end of the run waited for (awaited.go), what package pattern found, and the sums. One process is a group of
// one.
//
// Every worker's pieces tile the run exactly, in integer nanoseconds; that is checked for each worker of each
// trace, and Compute fails rather than report numbers that do not add up.
package slou

import (
	"context"
	"fmt"
	"sync"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// UnknownCoreWaits is the setting core_waits of runs on a kernel that does not tell how long threads wait for
// cores.
const UnknownCoreWaits = "unknown"

// Options choose between readings of the rule.
type Options struct {
	Rule Rule // the zero value is the rule of package slou
	// Patterns is what pattern.Compute found in the run, in each process. nil in all processes: slou calls
	// pattern.Compute itself where the run has regions.
	Patterns *pattern.Result
	// Parallel is the number of workers divided at once; 0 means as many as there are cores.
	Parallel int
	// Splits asks Compute for Result.Splits: by "node", "worker", "code" (the code fragment that ran, or that
	// the worker ran next) or "index:K" (the value of the K-th index, from 0, in the label of that CF).
	Splits []string
	// MaxGroups is how many groups a split lists, the largest; the rest becomes one group. 0 means all. A
	// listed group takes about a kilobyte, one that is not listed a sixth of that.
	MaxGroups int
	// MaxPieces makes Pieces fail if there are more of them, 64 bytes each; 0 sets no limit.
	MaxPieces int
	// Windows asks Compute for Result.Windows: into so many equal windows, or fewer where a window would be
	// shorter than a nanosecond. WindowNS gives their length instead. 0 and 0: no windows.
	Windows  int
	WindowNS int64
	// Within, unless nil, is the only part of the run that counts. What is there is as in the division of the
	// whole run, cut at its ends.
	Within *Interval
	// Prepared is what Prepare has made of the same model, with the same Rule and Patterns; nil: it is made.
	Prepared *Prepared
}

// Prepared is what all divisions of a run have in common, whatever part of it counts.
type Prepared struct {
	facts   *facts
	queue   *queue
	awaited []awaited
	regions *regions
	whole   *whole
	// structured finds, by own worker, structured CFs that last at a time. Divisions of a part ask for it.
	structured func() []model.Ends
}

// Prepare makes what several divisions of a run take, see Options.Prepared: one of a short interval then
// takes little more than going through the executions. All members of g call it. It fails when ctx ends.
func Prepare(ctx context.Context, m *model.Model, opt Options, g procs.Group) (*Prepared, error) {
	p := &Prepared{}
	var err error
	if p.regions, err = search(ctx, m, opt.Patterns, g); err != nil {
		return nil, err
	}
	var wg procs.Goroutines
	wg.Go(func() { p.facts, p.whole = newFacts(m, opt.Rule.dataOnly()), wholeOf(m) })
	p.structured = sync.OnceValue(func() []model.Ends { return structuredOf(m) })
	p.queue, err = findQueue(m, g)
	wg.Wait()
	if err != nil {
		return nil, err
	}
	p.awaited, err = findAwaited(m, p.facts, opt.Rule.dataOnly(), g)
	return p, err
}

// Awaited are the CFs that the end of the run waited for, latest first.
func (p *Prepared) Awaited() (list []model.CF) {
	for _, a := range p.awaited {
		if a.cf != 0 {
			list = append(list, a.cf)
		}
	}
	return list
}

// computation is a division in progress, in one of the processes that share the run.
type computation struct {
	m       *model.Model
	opt     Options
	group   procs.Group
	workers []model.WorkerID // of own nodes
	within  model.Interval   // what counts: opt.Within
	splits  []splitKey       // opt.Splits
	window  int64            // length of the windows, 0 for none
	*Prepared
}

func newComputation(ctx context.Context, m *model.Model, opt Options, g procs.Group) (*computation, error) {
	c := &computation{m: m, opt: opt, group: g, within: opt.Within.Of(m), Prepared: opt.Prepared}
	for id := range m.OwnWorkers() {
		c.workers = append(c.workers, id)
	}
	if c.Prepared != nil {
		return c, nil
	}
	var err error
	c.Prepared, err = Prepare(ctx, m, opt, g)
	return c, err
}

// each calls do with a divider for every worker, several at once. Workers of one lane come one after another.
func (c *computation) each(ctx context.Context, do func(i, lane int, d *divider) error) error {
	structured := make([]model.Ends, len(c.workers))
	if c.opt.Within != nil {
		structured = c.structured()
	}
	return procs.Each(ctx, c.opt.Parallel, len(c.workers), func(lane, i int) error {
		id := c.workers[i]
		return do(i, lane, &divider{m: c.m, facts: c.facts, rule: c.opt.Rule, node: id.Node,
			worker: &c.m.Nodes[id.Node].Workers[id.Worker], starved: c.queue.at(id.Node), awaited: c.awaited,
			regions: c.regions.of(c.m, id), sole: c.regions.sole(), within: c.within, structures: structured[i]})
	})
}

// bounds is the part of the run that counts.
func (c *computation) bounds() model.Interval { return bounds(c.m, c.within) }

// lanes is the number of workers divided at once.
func (c *computation) lanes() int { return procs.Lanes(c.opt.Parallel, len(c.workers)) }

// Compute divides all processor time of a run, which the members of g share: each has its model from
// model.BuildShare and calls Compute with the same options. procs.Alone has the whole model from model.Build.
// Member 0 gets the result, the others nil.
//
// It fails when ctx ends, when the options cannot be met, or when the parts of a worker, of a split or of the
// windows do not add up to the whole, which is an error of this program. It fails at all members when it
// fails at one, except for what goes wrong last, where member 0 puts the result together.
func Compute(ctx context.Context, m *model.Model, opt Options, g procs.Group) (*Result, error) {
	var splits []splitKey
	for _, what := range opt.Splits {
		k, err := parseSplit(what)
		if err != nil {
			return nil, err
		}
		splits = append(splits, k)
	}
	window, err := windowLength(m, opt)
	if err != nil {
		return nil, err // in all processes
	}
	c, err := newComputation(ctx, m, opt, g)
	if err != nil {
		return nil, err
	}
	c.splits, c.window = splits, window
	all, err := c.sum(ctx)
	if err := procs.Agree(g, err); err != nil {
		return nil, err
	}
	if err := procs.Collect(g, func() processSums { return *all }, all.join); err != nil || g.Rank() != 0 {
		return nil, err
	}
	return c.result(all)
}

// processSums is what the workers of a process add up to.
type processSums struct {
	Workers []*sums
	Tally   *tally
	Facts   runFacts
}

// sum divides the time of all own workers and adds it up.
func (c *computation) sum(ctx context.Context) (*processSums, error) {
	workers := make([]*sums, len(c.workers))
	tallies := make([]*tally, max(c.lanes(), 1))
	for i := range tallies {
		tallies[i] = newTally(c.m, c.splits, c.regions)
		tallies[i].part = c.opt.Within != nil
	}
	err := c.each(ctx, func(i, lane int, d *divider) error {
		s := newSums(tallies[lane])
		s.ID = c.workers[i]
		if c.window > 0 {
			s.Windows = newWindowSums(c.bounds(), c.window)
		}
		workers[i] = s
		d.visit, d.structured, d.executed = s.add, s.ran, s.executed
		return d.run()
	})
	if err != nil {
		return nil, err
	}
	for _, t := range tallies[1:] {
		tallies[0].join(t)
	}
	return &processSums{workers, tallies[0], c.whole.factsOf(c.m, c.within)}, nil
}

// join adds the sums of another process. Its workers are those of other nodes.
func (p *processSums) join(_ int, theirs *processSums) error {
	p.Workers = append(p.Workers, theirs.Workers...)
	p.Tally.join(theirs.Tally)
	p.Facts.join(&theirs.Facts)
	return nil
}

// result puts together what the sums of all processes say.
func (c *computation) result(p *processSums) (*Result, error) {
	m, t := c.m, p.Tally
	null, missing := missingEvents(m, p.Facts.Uses)
	res := &Result{Program: m.Info.Program, Ended: m.Info.Ended, WallNS: length(c.bounds()),
		Interval: c.opt.Within, Missing: missing,
		Killed:     m.Killed && c.within.To >= m.End,
		DataInputs: c.opt.Rule.dataOnly(), Source: c.opt.Rule == RuleSource,
		OneOff:   m.Info.Settings["core_waits"] == UnknownCoreWaits && m.Count[trace.KindThreadTime] > 0,
		Problems: append(m.Unread(), p.Facts.Collisions...),
		Nodes:    []Node{}}
	by := map[model.WorkerID]*sums{}
	for _, s := range p.Workers {
		by[s.ID] = s
	}
	p.Workers = p.Workers[:0]
	all := newSums(t)
	var nodes []*sums
	for n := range m.Nodes {
		node, sum := Node{Node: n, Host: m.Nodes[n].Host}, newSums(t)
		for w := range m.Nodes[n].Workers {
			s := by[model.WorkerID{Node: n, Worker: w}]
			if s == nil {
				return nil, fmt.Errorf("internal error: no process divided the time of worker %d of node %d",
					w, n)
			}
			p.Workers = append(p.Workers, s)
			node.Workers = append(node.Workers, Worker{Worker: w, TotalNS: s.Cells.total(),
				LossNS: s.Cells[FactorLoss],
				CFs:    s.CFs, Factors: s.factors(null)})
			sum.join(s)
		}
		if len(node.Workers) == 0 {
			continue
		}
		node.TotalNS, node.LossNS, node.CFs = sum.Cells.total(), sum.Cells[FactorLoss], sum.CFs
		node.Factors = sum.factors(null)
		res.Nodes, nodes = append(res.Nodes, node), append(nodes, sum)
		all.join(sum)
	}
	if c.opt.Within == nil { // nobody knows when it was used
		res.ExtraCoresNS = p.Facts.Awake.extra(m)
	}
	if res.ExtraCoresNS > 0 {
		extra := cell(FactorO, PartExtra)
		all.Cells[extra] += res.ExtraCoresNS
		t.Codes[0].Before[extra] += res.ExtraCoresNS
		t.Causes[causeKey{Factor: FactorO, Part: PartExtra}] = &causeSum{NS: res.ExtraCoresNS, Count: 1}
	}
	res.TotalNS, res.UndividedNS = all.Cells.total(), all.Cells.undivided(null)
	res.Loss = Loss{NS: all.Cells[FactorLoss], Events: m.LostCount}
	res.Factors = all.factors(null)
	res.Fragments, res.Structured, res.Causes = t.fragments(), t.structuredList(), t.causeList(null)
	res.Hosts, res.Messages, res.Unfinished = m.Hosts(), p.Facts.Messages, p.Facts.Unfinished
	var err error
	if res.Splits, err = c.split(res, nodes, p.Workers, all, null); err != nil {
		return nil, err
	}
	if c.window > 0 {
		res.Windows, err = c.windows(res, p.Workers, null)
	}
	return res, err
}
