// Package timeline answers the questions of a picture of a run: what each worker did in an interval, as a
// tile of pixels, as single CFs and gaps, or as sums by factor; the arrows between them; and the critical
// path.
//
// A lane is a worker; lanes are numbered from 0 in the order of model.AllWorkers. Times are nanoseconds since
// the start of the run. After Build, any number of goroutines may ask at once.
//
// The problem: a tile of 2000 columns over ten million events must appear before the user notices, and be
// exact. The colour of a column is what took most of it, not a sample.
//
// The plan: slou.Visit divides every worker's time without remainder; lane.go stores the pieces as columns of
// 26 bytes each, with running sums of all classes after every stride pieces. An interval is then the
// difference of two sums plus a few pieces at either end. So a column costs the logarithm of the pieces to
// find its ends and at most two strides to add up, however long it is. Sums by factor of any window work the
// same way, so they are exact, too.
//
// The budget for ten million events on one core: a hundred megabytes, and a few milliseconds for a tile of
// four lanes.
package timeline

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/whyslow/whyslow/internal/analysis/critical"
	"github.com/whyslow/whyslow/internal/analysis/lifecycle"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// Options of Build; the zero value means the defaults.
type Options struct {
	Parallel int // as slou.Options.Parallel
	// Known is the part of the run whose events the model has, since its start; nil: all. Time beyond it is
	// unknown: 0 in tiles, in no gap and no factor.
	Known *trace.Span
}

// Timeline is the time of all workers of a run.
type Timeline struct {
	m     *model.Model
	lanes []lane
	first []int     // by node: its first lane
	parts []partKey // the parts that pieces belong to
	rows  []uint8   // by part: its row
	names []string
	extra int64

	classes []uint16 // of columns by code; lane.class has indices into it

	spans  func() [len(kindNames)]model.Spans // spansOf, computed on first use
	depths func() depths                      // depthsOf, likewise
	// transfersOf, likewise
	transfers func() [aMessage - aPut + 1]transfers

	look func() slou.Lookup // answers questions about inputs, as for the division
	// Makers says which waiting CFs would produce what others wait for. It is computed on first use.
	Makers func() *lifecycle.Makers

	shadeLock sync.Mutex
	shades    map[string]*Shades

	pathLock sync.Mutex
	path     *critical.Result
}

// Rows of sums by factor.
const (
	rowLoss      = int(slou.FactorLoss)
	rowUndivided = rowLoss + 1
	rowUnread    = rowUndivided + 1 // beyond Options.Known; never returned
	rowCount     = rowUnread + 1
)

// Build cuts the time of all workers. It fails when ctx ends.
func Build(ctx context.Context, m *model.Model, opt Options) (*Timeline, error) {
	t := &Timeline{m: m, extra: slou.ExtraCores(m),
		look:   sync.OnceValue(func() slou.Lookup { return slou.NewLookup(m, slou.RuleAll) }),
		Makers: sync.OnceValue(func() *lifecycle.Makers { return lifecycle.FindMakers(m) })}
	t.spans, t.depths = sync.OnceValue(t.spansOf), sync.OnceValue(t.depthsOf)
	t.transfers = sync.OnceValue(t.transfersOf)
	null := t.nameRows()
	for n := range m.Nodes {
		t.first = append(t.first, len(t.lanes))
		for w := range m.Nodes[n].Workers {
			t.lanes = append(t.lanes, lane{id: model.WorkerID{Node: n, Worker: w}, worker: &m.Nodes[n].Workers[w]})
		}
	}
	c := &classes{t: t, null: null, index: map[partKey]uint32{}, known: trace.Always}
	if opt.Known != nil {
		c.known = *opt.Known
	}
	// The length of a lane is known only once all its pieces have arrived, so they are collected first.
	spare := sync.Pool{New: func() any { return new(columns) }}
	so := slou.Options{Parallel: opt.Parallel}
	err := slou.Visit(ctx, m, so, procs.Alone(), func(id model.WorkerID, pieces iter.Seq[[]slou.Piece]) {
		f := newFiller(c, &t.lanes[t.first[id.Node]+id.Worker], spare.Get().(*columns))
		for list := range pieces {
			f.fill(list)
		}
		f.l.columns = f.columns.clone(m)
		spare.Put(f.columns)
	})
	if err != nil {
		return nil, err
	}
	t.parts, t.rows, t.classes = c.parts, c.rows, c.list
	for i := range t.lanes {
		t.lanes[i].index(t, stride(len(t.classes)))
	}
	return t, ctx.Err()
}

// Rows is the number of rows that FactorWindows has at most.
const Rows = rowUndivided + 1

// rowNames are those of rows of sums by factor, as answers have them.
var rowNames = func() (names [Rows]string) {
	for row := range names {
		names[row] = slou.Factor(row).String()
	}
	return names
}()

// nameRows says which factors cannot be computed. Their time has a row of its own.
func (t *Timeline) nameRows() (null [rowCount]bool) {
	factors := slou.Null(t.m)
	copy(null[:], factors[:])
	t.names = rowNames[:rowUndivided]
	if slices.Contains(factors[:], true) {
		t.names = rowNames[:]
	}
	return null
}

// Model is the run.
func (t *Timeline) Model() *model.Model { return t.m }

// Lanes is the number of workers of all nodes.
func (t *Timeline) Lanes() int { return len(t.lanes) }

// LaneOn is the lane of a stream of a node, -1 for one that is not a worker.
func (t *Timeline) LaneOn(node, stream int) int {
	if node < 0 || node >= len(t.first) || stream < 0 || stream >= len(t.m.Nodes[node].Workers) {
		return -1
	}
	return t.first[node] + stream
}

// NodeOf is the node of a lane.
func (t *Timeline) NodeOf(lane int) int { return t.lanes[lane].id.Node }

// Wall is the length of the run in nanoseconds.
func (t *Timeline) Wall() int64 { return t.m.Wall() }

// LaneOf returns the lane of an execution, -1 for one on a stream that is not a worker.
func (t *Timeline) LaneOf(execution int) int {
	id, ok := t.m.WorkerIDOf(execution)
	if !ok {
		return -1
	}
	return t.first[id.Node] + id.Worker
}

// Since converts a time to one since the start of the run, nil where it was not recorded.
func (t *Timeline) Since(ns int64) *int64 {
	if ns == model.None {
		return nil
	}
	ns -= t.m.Start
	return &ns
}

// at converts a time to one since the start of the run.
func (t *Timeline) at(ns int64) int64 { return ns - t.m.Start }
