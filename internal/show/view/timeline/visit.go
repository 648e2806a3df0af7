package timeline

import (
	"context"
	"iter"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
)

// visitChunk is how many pieces are passed at once.
const visitChunk = 1024

// Whole reports whether the whole run is known: Options.Known was nil.
func (t *Timeline) Whole() bool { return t.whole }

// Visit passes on the pieces of the workers like slou.Visit, without dividing their time again: one worker
// after another, and without Piece.Again. A piece that crosses the start or the end of an execution of an
// atomic CF is split. Time beyond Options.Known has no pieces.
func (t *Timeline) Visit(ctx context.Context,
	visit func(w model.WorkerID, pieces iter.Seq[[]slou.Piece])) error {
	list := make([]slou.Piece, 0, visitChunk)
	for i := range t.lanes {
		if err := ctx.Err(); err != nil {
			return err
		}
		l := &t.lanes[i]
		visit(l.id, func(yield func([]slou.Piece) bool) {
			for first := 0; first < len(l.end); first += visitChunk {
				list = list[:0]
				for k := first; k < min(first+visitChunk, len(l.end)); k++ {
					if int(t.rows[l.part[k]&^inside]) != rowUnread {
						list = append(list, t.piece(l, k))
					}
				}
				if len(list) > 0 && !yield(list) {
					return
				}
			}
		})
	}
	return nil
}

func (t *Timeline) piece(l *lane, k int) slou.Piece {
	p := &t.parts[l.part[k]&^inside]
	return slou.Piece{From: l.from(k) + t.m.Start, To: l.end[k] + t.m.Start, Factor: p.factor, Part: p.part,
		Link: p.link, Name: p.name,
		Producer: l.producer[k], DF: l.df[k], Consumer: l.consumer[k]}
}
