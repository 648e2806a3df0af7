package imbalance

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/series"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
)

// workerTally is what one process tells rank 0 of one of its workers.
type workerTally struct {
	Node, Worker int
	NS           int64
	Windows      []int64
	Codes        []codeSent // those that it executed
}

type codeSent struct {
	Code               int
	Count, NS, Longest int64
	// The moments' numbers, in the order of their fields.
	Weights [9]float64
}

// ComputeShare is Compute by several processes at once, each with its model from model.BuildShare. All members of g call it with
// the same options, but that Options.SLOU and Options.Series are only needed at rank 0: where rank 0 lacks one it is computed
// by all. The process of rank 0 gets the result, which is that of Compute on the whole trace; the others get nil.
func ComputeShare(ctx context.Context, m *model.Model, opt Options, g procs.Group) (*Result, error) {
	if g == nil || g.Size() == 1 {
		return Compute(ctx, m, opt)
	}
	r, err := newRun(m, opt)
	if err != nil {
		return nil, err // the same everywhere
	}
	if err := r.gatherShare(ctx, g); err != nil || g.Rank() != 0 {
		return nil, err
	}
	return r.result(), nil
}

// told is what rank 0 tells the others before they begin.
type told struct {
	SLOU, Series bool // it has them
	Windows      int
	Width        int64
}

// gatherShare is gather by several processes; only rank 0 has everything then.
func (r *run) gatherShare(ctx context.Context, g procs.Group) error {
	b, err := json.Marshal(told{SLOU: r.slou != nil, Series: r.series != nil, Windows: r.windows, Width: r.width})
	if err != nil {
		return err
	}
	if b, err = procs.Broadcast(g, 0, b); err != nil {
		return err
	}
	var first told
	if err := json.Unmarshal(b, &first); err != nil {
		return errShare
	}
	if !first.Series {
		if r.series, err = series.ComputeShare(ctx, r.m, series.Options{Windows: r.opt.Windows, Only: []string{series.CFsReady, series.BytesHeld}, Parallel: r.opt.Parallel}, g); err != nil {
			return err
		}
		if b, err = json.Marshal(told{Windows: r.seriesWindows(), Width: r.seriesWidth()}); err != nil {
			return err
		}
		if b, err = procs.Broadcast(g, 0, b); err != nil {
			return err
		}
		if err := json.Unmarshal(b, &first); err != nil {
			return errShare
		}
	}
	r.windows, r.width = first.Windows, first.Width
	if err := r.tooMany(); err != nil {
		return err
	}
	if !first.SLOU {
		if r.slou, err = slou.ComputeShare(ctx, r.m, slou.Options{DataInputsOnly: r.opt.DataInputsOnly, Parallel: r.opt.Parallel}, g); err != nil {
			return err
		}
	}
	if err := r.tally(ctx); err != nil {
		return err
	}
	return r.gatherTallies(g)
}

var errShare = errors.New("internal error: what another process sent about balance cannot be read")

// gatherTallies brings the tallies of all workers to rank 0.
func (r *run) gatherTallies(g procs.Group) error {
	var sent []workerTally
	for _, t := range r.workers {
		w := workerTally{Node: t.node, Worker: t.worker, NS: t.ns, Windows: t.windows}
		for i, c := range t.codes {
			if c != (codeTally{}) {
				w.Codes = append(w.Codes, codeSent{i, c.count, c.ns, c.longest, c.weights.numbers()})
			}
		}
		sent = append(sent, w)
	}
	b, err := json.Marshal(sent)
	if err != nil {
		return fmt.Errorf("balance: %w", err)
	}
	in, err := procs.Gather(g, 0, b)
	if err != nil || g.Rank() != 0 {
		return err
	}
	r.workers = nil
	for _, b := range in {
		var list []workerTally
		if err := json.Unmarshal(b, &list); err != nil {
			return errShare
		}
		for _, w := range list {
			t := &tally{node: w.Node, worker: w.Worker, ns: w.NS, windows: w.Windows, width: r.width, codes: make([]codeTally, len(r.m.Codes))}
			for _, c := range w.Codes {
				if c.Code >= len(t.codes) {
					return errShare
				}
				t.codes[c.Code] = codeTally{c.Count, c.NS, c.Longest, momentsOf(c.Weights)}
			}
			r.workers = append(r.workers, t)
		}
	}
	slices.SortFunc(r.workers, func(a, b *tally) int { return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.worker, b.worker)) })
	return nil
}

func (m *moments) numbers() [9]float64 {
	return [...]float64{m.n, m.given, m.w, m.u, m.ww, m.uu, m.wu, m.weight, m.time}
}

func momentsOf(x [9]float64) moments {
	return moments{x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8]}
}

func (r *run) seriesWindows() int {
	if r.series == nil {
		return 0
	}
	return r.series.Windows
}

func (r *run) seriesWidth() int64 {
	if r.series == nil {
		return 0
	}
	return r.series.WindowNS
}
