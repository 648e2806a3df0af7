package timeline

import (
	"context"
	"encoding/binary"

	"github.com/whyslow/whyslow/internal/model/query"
	"github.com/whyslow/whyslow/internal/procs"
)

// Factor plus the number of a factor (U 1, S 2, L 3, O 4, W 5, loss 6) is the class of a column that is not a
// CF.
const Factor = 0xff00

// The largest tile.
const (
	maxWidth = 20000
	maxCells = 1 << 23 // columns of all lanes
)

// TileQuery asks for a tile.
type TileQuery struct {
	From, To int64   // nanoseconds since the start of the run; it may reach beyond it
	Width    int     // columns, 1 to 20000
	By       string  // "code" or "factor"
	Shades   *Shades // colours CFs instead of By
	Lanes    []int   // nil: all
}

// Tile returns, for each of Width equal columns of each lane, what took most of it. The result is binary,
// little-endian: the number of lanes and the width as uint32, then for each lane the classes of its columns
// as uint16 and their shares as uint8, 255 if the whole column is of that class.
//
// The class by code is the number of the code fragment whose CFs, including their waits, took most of the
// column, or Factor plus the number of a factor if most was not a CF. The class by factor is always the
// latter. 0 is unknown time: beyond the run, of CFs whose code fragment was not recorded, or of factors that
// the recorded events do not separate. With Shades, CFs have those classes instead of code fragments. If two
// classes take the same time, the lower one wins. A column shorter than a nanosecond shows its beginning.
func (t *Timeline) Tile(q TileQuery) ([]byte, error) {
	if err := (stretch{q.From, q.To}).check(); err != nil {
		return nil, err
	}
	if q.Shades == nil && q.By != "code" && q.By != "factor" {
		return nil, query.Bad("by=%q: a tile is by \"code\" or by \"factor\"", q.By)
	}
	if q.Width < 1 || q.Width > maxWidth {
		return nil, query.Bad("width=%d: must be 1 to %d", q.Width, maxWidth)
	}
	lanes, err := t.chosen(q.Lanes)
	if err != nil {
		return nil, err
	}
	if len(lanes)*q.Width > maxCells {
		return nil, query.Bad("%d lanes of %d columns are more than %d: ask for fewer lanes or columns at once",
			len(lanes), q.Width, maxCells)
	}
	out := make([]byte, 8+3*q.Width*len(lanes))
	binary.LittleEndian.PutUint32(out, uint32(len(lanes)))
	binary.LittleEndian.PutUint32(out[4:], uint32(q.Width))
	painters := make([]*painter, procs.Lanes(0, len(lanes)))
	_ = procs.Each(context.Background(), 0, len(lanes), func(worker, i int) error {
		if painters[worker] == nil {
			painters[worker] = newPainter(t, &q)
		}
		row := out[8+3*q.Width*i : 8+3*q.Width*(i+1)]
		painters[worker].lane(&t.lanes[lanes[i]], row[:2*q.Width], row[2*q.Width:])
		return nil
	})
	return out, nil
}

// painter computes the columns of one lane after another.
type painter struct {
	t     *Timeline
	q     *TileQuery
	class []uint16 // the classes to sum up
	sums  []int64
}

func newPainter(t *Timeline, q *TileQuery) *painter {
	p := &painter{t: t, q: q, class: t.classes}
	if q.By == "factor" || q.Shades != nil {
		p.class = nil
		if q.Shades != nil {
			for c := range q.Shades.count {
				p.class = append(p.class, uint16(c))
			}
		}
		for row := range rowCount {
			p.class = append(p.class, ofRow(uint8(row)))
		}
	}
	p.sums = make([]int64, len(p.class))
	return p
}

func (p *painter) lane(l *lane, classes, shares []byte) {
	wall := p.t.Wall()
	next, piece := p.q.From, 0
	var at *shadeCursor
	if p.q.Shades != nil {
		at = p.t.shadeCursor(l, max(p.q.From, 0))
	}
	for i := range shares {
		from, to := next, (stretch{p.q.From, p.q.To}).split(i+1, p.q.Width)
		next = to
		length := max(to-from, 1)
		a, b := max(from, 0), min(from+length, wall)
		if a >= b {
			continue
		}
		clear(p.sums)
		piece = l.find(a, piece)
		if at != nil {
			p.shaded(l, at, a, piece, b)
		} else {
			l.sum(p.t, p.q.By == "code", a, piece, b, l.find(b, piece), p.sums)
		}
		if at == nil && p.q.By == "factor" {
			p.sums[rowUndivided], p.sums[rowUnread] = p.sums[rowUndivided]+p.sums[rowUnread], 0 // both are unknown
		}
		class, most := uint16(0), int64(0)
		for k, ns := range p.sums {
			if ns > most || ns == most && ns > 0 && p.class[k] < class {
				class, most = p.class[k], ns
			}
		}
		binary.LittleEndian.PutUint16(classes[2*i:], class)
		shares[i] = byte(max(most*255/length, 1))
	}
}
