package slou

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/whyslow/whyslow/internal/model"
	procs "github.com/whyslow/whyslow/internal/procs"
)

// A run has several pieces for each CF, and, where many workers waited for a chain of CFs to end, as many as there are workers
// times CFs. So they are handed over some at a time, and whoever wants to keep them keeps as little of each as will do.

// visitChunk is how many pieces are handed over at once.
const visitChunk = 1024

// Walk hands over the pieces of all workers' time, as Visit does.
type Walk func(ctx context.Context, visit func(w model.WorkerID, pieces iter.Seq[[]Piece])) error

// Visit divides the time of all workers and hands over every piece of it: what Compute adds up. visit is called once for each
// worker, by up to Options.Parallel goroutines at once, with the pieces of that worker in order of time, some at a time; they are
// valid until the next ones. Neighbouring pieces that differ in nothing are one. Visit fails when ctx ends; pieces may then be
// missing.
func Visit(ctx context.Context, m *model.Model, opt Options, visit func(w model.WorkerID, pieces iter.Seq[[]Piece])) error {
	return newRun(m, opt).visit(ctx, visitChunk, visit)
}

// visit is Visit with so many pieces at once, 2 or more.
func (r *run) visit(ctx context.Context, most int, visit func(w model.WorkerID, pieces iter.Seq[[]Piece])) error {
	chunks := make([][]Piece, r.lanes())
	return r.each(ctx, func(i, lane int, d *divider) error {
		var err error
		if chunks[lane] == nil {
			chunks[lane] = make([]Piece, 0, most)
		}
		visit(r.workers[i], func(yield func([]Piece) bool) {
			list, more := chunks[lane][:0], true
			d.visit = func(p *Piece) {
				if n := len(list); n > 0 && list[n-1].extend(p) {
					return
				}
				// The last one stays: the next may continue it.
				if n := len(list); n == most {
					more = more && ctx.Err() == nil && yield(list[:n-1])
					list[0] = list[n-1]
					list = list[:1]
				}
				list = append(list, *p)
			}
			err = d.run()
			if len(list) > 0 && more {
				yield(list)
			}
		})
		if err == nil {
			err = ctx.Err()
		}
		return err
	})
}

// extend makes a piece longer by the one that follows it, if they differ in nothing.
func (p *Piece) extend(next *Piece) bool {
	if p.To != next.From || p.Factor != next.Factor || p.Consumer != next.Consumer || p.Producer != next.Producer ||
		p.Part != next.Part || p.DF != next.DF || p.Link != next.Link || p.Name != next.Name || p.Call != next.Call {
		return false
	}
	p.To = next.To
	return true
}

// WorkerPieces are the pieces of one worker in order of time.
type WorkerPieces struct {
	Node, Worker int
	Pieces       []Piece
}

// Pieces gives every piece of every worker's time, as Visit does: 64 bytes each.
func Pieces(ctx context.Context, m *model.Model, opt Options) ([]WorkerPieces, error) {
	return PiecesShare(ctx, m, opt, nil)
}

// PiecesShare is Pieces by several processes at once, each with its model from model.BuildShare: each gets those of the workers of its own
// nodes. All members of g call it with the same options. It fails at all members when it fails at one.
func PiecesShare(ctx context.Context, m *model.Model, opt Options, g procs.Group) ([]WorkerPieces, error) {
	if g == nil || g.Size() == 1 {
		return newRun(m, opt).pieces(ctx)
	}
	r, err := newShareRun(ctx, m, opt, g)
	if err != nil {
		return nil, err
	}
	out, err := r.pieces(ctx)
	return out, procs.Agree(g, err)
}

func (r *run) pieces(ctx context.Context) ([]WorkerPieces, error) {
	first := make([]int, len(r.m.Nodes))
	out := []WorkerPieces{}
	for _, id := range r.workers {
		if id.Worker == 0 {
			first[id.Node] = len(out)
		}
		out = append(out, WorkerPieces{Node: id.Node, Worker: id.Worker})
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var n atomic.Int64
	err := r.visit(ctx, visitChunk, func(id model.WorkerID, pieces iter.Seq[[]Piece]) {
		w := &out[first[id.Node]+id.Worker]
		for list := range pieces {
			if r.opt.MaxPieces > 0 && n.Add(int64(len(list))) > int64(r.opt.MaxPieces) {
				cancel(fmt.Errorf("the workers' time has more than %d pieces, which is too much to keep: idle workers have one for every CF that the others wait for", r.opt.MaxPieces))
				return
			}
			w.Pieces = append(w.Pieces, list...)
		}
	})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return out, err
}
