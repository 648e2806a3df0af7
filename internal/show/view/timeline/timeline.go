// Package timeline answers what a picture of a run asks: what each worker did in a stretch of time, as a tile
// of pixels, as single CFs and gaps, as sums by factor; the arrows between them; and the critical path.
//
// A lane is a worker; lanes are numbered from 0 in the order of model.AllWorkers. Times are nanoseconds since
// the start of the run. Everything may be asked by any number of goroutines after Build.
//
// Problem. A tile of 2000 columns over ten million events has to be there before the user notices, and to be
// exact: the colour of a column is what took most of it, not what was sampled there.
//
// Plan. slou.Visit cuts every worker's time without remainder; lane.go keeps the pieces as columns of 26
// bytes each, with the sums of all classes up to every so many pieces. What a stretch is made of is then the
// difference of two such sums and a few pieces at either end: a column costs the logarithm of the pieces to
// find its ends, and at most two strides of them to add up, however long it is. Sums by factor of any window
// are got in the same way, so they are exact, too.
//
// Budgets for ten million events on one core: a hundred megabytes, a tile of four lanes in some milliseconds.
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
	// DataInputsOnly and Parallel are those of slou.Options.
	DataInputsOnly bool
	Parallel       int
	// Known is the part of the run, since its start, whose events the model has; nil: all. What lies beyond
	// it is time of which nothing is known: 0 in tiles, no gap, in no factor.
	Known *trace.Span
}

// Timeline is the time of all workers of a run.
type Timeline struct {
	m     *model.Model
	lanes []lane
	first []int   // by node: its first lane
	parts []part  // what pieces are given to
	rows  []uint8 // by part: its row
	names []string
	extra int64
	whole bool // all of the run is known

	classes []uint16 // of columns by code: what the numbers in lane.class stand for

	lookOnce sync.Once
	look     slou.Lookup
	dataOnly bool

	makersOnce sync.Once
	makers     *lifecycle.Makers

	messages [3]spans

	pathLock sync.Mutex
	path     *critical.Result
}

// Rows of sums by factor.
const (
	rowLoss      = int(slou.FactorLoss)
	rowUndivided = rowLoss + 1
	rowUnread    = rowUndivided + 1 // beyond Options.Known; never told
	rowCount     = rowUnread + 1
)

// Build cuts the time of all workers. It fails when ctx ends.
func Build(ctx context.Context, m *model.Model, opt Options) (*Timeline, error) {
	t := &Timeline{m: m, dataOnly: opt.DataInputsOnly, extra: slou.ExtraCores(m), whole: opt.Known == nil}
	null := t.nameRows()
	for n := range m.Nodes {
		t.first = append(t.first, len(t.lanes))
		for w := range m.Nodes[n].Workers {
			t.lanes = append(t.lanes, lane{id: model.WorkerID{Node: n, Worker: w}, worker: &m.Nodes[n].Workers[w]})
		}
	}
	c := newClasses(t, null)
	if opt.Known != nil {
		c.known = *opt.Known
	}
	// Of a lane it is known how long it is when all its pieces have come, so they are collected first.
	spare := sync.Pool{New: func() any { return new(columns) }}
	so := slou.Options{DataInputsOnly: opt.DataInputsOnly, Parallel: opt.Parallel}
	err := slou.Visit(ctx, m, so, procs.Alone(), func(id model.WorkerID, pieces iter.Seq[[]slou.Piece]) {
		f := newFiller(c, &t.lanes[t.first[id.Node]+id.Worker], spare.Get().(*columns))
		for list := range pieces {
			f.fill(list)
		}
		f.l.columns = f.columns.clone()
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
	for row := range rowUndivided {
		names[row] = slou.Factor(row).String()
	}
	names[rowUndivided] = "undivided"
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

// Wall is the length of the run in nanoseconds.
func (t *Timeline) Wall() int64 { return t.m.Wall() }

// LaneOf gives the lane of an execution, -1 for one on a stream that is no worker.
func (t *Timeline) LaneOf(execution int) int {
	id, ok := t.m.WorkerIDOf(execution)
	if !ok {
		return -1
	}
	return t.first[id.Node] + id.Worker
}

// Makers tells which CFs that wait would make what others wait for. It is found out when first asked.
func (t *Timeline) Makers() *lifecycle.Makers {
	t.makersOnce.Do(func() { t.makers = lifecycle.FindMakers(t.m) })
	return t.makers
}

// facts answers questions about inputs as the division does.
func (t *Timeline) facts() slou.Lookup {
	t.lookOnce.Do(func() { t.look = slou.NewLookup(t.m, t.dataOnly) })
	return t.look
}

// at gives a time since the start of the run.
func (t *Timeline) at(ns int64) int64 { return ns - t.m.Start }
