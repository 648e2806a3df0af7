package slou

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/whyslow/whyslow/internal/memory"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
)

// A run has several pieces for each CF. Where many workers waited for a chain of CFs it has as many as
// workers times CFs. So pieces are handed over some at a time, and a caller that wants to keep them keeps
// what it needs of each.

// visitChunk is how many pieces are handed over at once.
const visitChunk = 1024

// Visit divides the time of all workers of own nodes and hands over every piece of it: what Compute adds up.
// visit is called once for each worker, by up to Options.Parallel goroutines at once, with the pieces of that
// worker in order of time, some at a time; they are valid until the next ones. Neighbouring pieces that
// differ in nothing are one. All members of g call it with the same options. Visit fails when ctx ends;
// pieces may then be missing.
func Visit(ctx context.Context, m *model.Model, opt Options, g procs.Group,
	visit func(w model.WorkerID, pieces iter.Seq[[]Piece])) error {
	c, err := newComputation(ctx, m, opt, g)
	if err == nil {
		err = c.visit(ctx, visitChunk, visit)
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return procs.Agree(g, err)
}

// visit hands over at most so many pieces at once, 2 or more.
func (c *computation) visit(ctx context.Context, most int,
	visit func(w model.WorkerID, pieces iter.Seq[[]Piece])) error {
	chunks := make([][]Piece, c.lanes())
	return c.each(ctx, func(i, lane int, d *divider) error {
		var err error
		if chunks[lane] == nil {
			chunks[lane] = make([]Piece, 0, most)
		}
		visit(c.workers[i], func(yield func([]Piece) bool) {
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
	if p.To != next.From || p.Factor != next.Factor || p.Consumer != next.Consumer ||
		p.Producer != next.Producer ||
		p.Part != next.Part || p.DF != next.DF || p.Link != next.Link || p.Name != next.Name ||
		p.Call != next.Call {
		return false
	}
	p.To = next.To
	return true
}

// Kept is what was kept of the pieces of one worker, in order of time.
type Kept[T any] struct {
	Node, Worker int
	Pieces       []T
}

// WorkerPieces are all of the pieces of one worker.
type WorkerPieces = Kept[Piece]

// Pieces gives every piece of the time of the workers of own nodes, as Visit does: 64 bytes each. All members
// of g call it with the same options. It fails at all members when it fails at one.
func Pieces(ctx context.Context, m *model.Model, opt Options, g procs.Group) ([]WorkerPieces, error) {
	return Keep(ctx, m, opt, g, nil, func(p *Piece) Piece { return *p })
}

// Keep gives what keep makes of each piece, in a Spill, if it is not nil. keep is called by several
// goroutines at once. Otherwise it is as Pieces.
func Keep[T any](ctx context.Context, m *model.Model, opt Options, g procs.Group, to *memory.Spill,
	keep func(*Piece) T) ([]Kept[T], error) {
	out, index := []Kept[T]{}, map[model.WorkerID]int{}
	for id := range m.OwnWorkers() {
		index[id] = len(out)
		out = append(out, Kept[T]{Node: id.Node, Worker: id.Worker})
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var n atomic.Int64
	return out, Visit(ctx, m, opt, g, func(id model.WorkerID, pieces iter.Seq[[]Piece]) {
		var parts [][]T // one list that grew would be copied again and again
		own := 0
		for list := range pieces {
			if opt.MaxPieces > 0 && n.Add(int64(len(list))) > int64(opt.MaxPieces) {
				cancel(fmt.Errorf("the workers' time has more than %d pieces, which is too much to keep: "+
					"idle workers have one for every CF that the others wait for", opt.MaxPieces))
				return
			}
			part := memory.Make[T](to, len(list))
			for i := range list {
				part[i] = keep(&list[i])
			}
			parts, own = append(parts, part), own+len(list)
		}
		if own == 0 {
			return
		}
		all := memory.Make[T](to, own)[:0]
		for _, part := range parts {
			all = append(all, part...)
		}
		out[index[id]].Pieces = all
	})
}
