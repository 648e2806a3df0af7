package timeline

import (
	"iter"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
)

// Piece is a part of a worker's time. Times are nanoseconds since the start of the run.
type Piece struct {
	From, To           int64
	Factor             slou.Factor
	Link               slou.Link // of L
	Consumer, Producer model.CF
	Inside             bool // within the execution of an atomic CF
}

// Pieces gives the pieces of a lane in an interval, in order and cut at its ends. Time beyond Options.Known
// has no pieces.
func (t *Timeline) Pieces(lane int, from, to int64) iter.Seq[Piece] {
	return func(yield func(Piece) bool) {
		l, from := &t.lanes[lane], max(from, 0)
		for i := l.find(from, 0); i < len(l.end) && from < to; i++ {
			k := l.part[i] &^ inside
			p, end := &t.parts[k], min(l.end[i], to)
			if int(t.rows[k]) != rowUnread && !yield(Piece{from, end, p.factor, p.link, l.consumer[i],
				l.producer[i], l.part[i]&inside != 0}) {
				return
			}
			from = end
		}
	}
}
