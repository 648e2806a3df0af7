// Package timeline answers what a picture of a run asks: what each worker did in a stretch of time, as a tile of pixels, as
// single CFs and gaps, as sums by factor; the arrows between them; and the critical path.
//
// A lane is a worker; lanes are numbered from 0 in the order of model.AllWorkers. Times are nanoseconds since the start of the
// run. Everything may be asked by any number of goroutines after Build.
//
// Problem. A tile of 2000 columns over ten million events has to be there before the user notices, and to be exact: the
// colour of a column is what took most of it, not what was sampled there.
//
// Plan. slou.Pieces cuts every worker's time without remainder; lane.go keeps the pieces as columns of 26 bytes each, with the
// sums of all classes up to every so many pieces. What a stretch is made of is then the difference of two such sums and a few
// pieces at either end: a column costs the logarithm of the pieces to find its ends, and at most two strides of them to add up,
// however long it is. Sums by factor of any window are got in the same way, so they are exact, too.
//
// Budgets for ten million events on one core: a hundred megabytes, a tile of four lanes in some milliseconds.
package timeline

import (
	"context"
	"sync"

	"github.com/whyslow/whyslow/internal/critical"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/slou"
	"github.com/whyslow/whyslow/trace"
)

// Options of Build; the zero value means the defaults.
type Options struct {
	// DataInputsOnly and Parallel are those of slou.Options.
	DataInputsOnly bool
	Parallel       int
	// SLOU and Pieces are the results of slou.Compute and slou.Pieces with the same options where the caller has them; nil:
	// they are computed. Pieces are not kept.
	SLOU   *slou.Result
	Pieces []slou.WorkerPieces
	// Known is the part of the run, since its start, whose events the model has; nil: all. What lies beyond it is time of which
	// nothing is known: 0 in tiles, no gap, in no factor.
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

	classes []uint16 // of columns by code: what the numbers in lane.class stand for

	lookOnce sync.Once
	look     slou.Lookup
	dataOnly bool

	groups   indexes
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
	t := &Timeline{m: m, dataOnly: opt.DataInputsOnly}
	so := slou.Options{DataInputsOnly: opt.DataInputsOnly, Parallel: opt.Parallel}
	var wg sync.WaitGroup
	var whole *slou.Result
	var err error
	wg.Go(func() {
		if whole = opt.SLOU; whole == nil {
			whole, err = slou.Compute(ctx, m, so)
		}
	})
	pieces := opt.Pieces
	var piecesErr error
	if pieces == nil {
		pieces, piecesErr = slou.Pieces(ctx, m, so)
	}
	wg.Wait()
	if err != nil {
		return nil, err
	}
	if piecesErr != nil {
		return nil, piecesErr
	}
	t.extra = whole.ExtraCoresNS
	null := t.nameRows(&whole.Factors)
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
	for i := range pieces {
		w := &pieces[i]
		t.lanes[t.first[w.Node]+w.Worker].fill(c, w.Pieces)
		if opt.Pieces == nil {
			w.Pieces = nil // most of the memory, and there may be many workers
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	t.parts, t.rows, t.classes = c.parts, c.rows, c.list
	for i := range t.lanes {
		t.lanes[i].index(t, stride(len(t.classes)))
	}
	return t, nil
}

// nameRows names the rows of sums by factor and tells which factors cannot be computed.
func (t *Timeline) nameRows(f *slou.Factors) (null [rowCount]bool) {
	null[slou.FactorU], null[slou.FactorS], null[slou.FactorL] = f.U == nil, f.S == nil, f.L == nil
	null[slou.FactorO], null[slou.FactorW] = f.O == nil, f.W == nil
	any := false
	for row := range rowUndivided {
		t.names = append(t.names, slou.Factor(row).String())
		any = any || null[row]
	}
	if any {
		t.names = append(t.names, "undivided")
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

// facts answers questions about inputs as the division does.
func (t *Timeline) facts() slou.Lookup {
	t.lookOnce.Do(func() { t.look = slou.NewLookup(t.m, t.dataOnly) })
	return t.look
}

// at gives a time since the start of the run.
func (t *Timeline) at(ns int64) int64 { return ns - t.m.Start }
