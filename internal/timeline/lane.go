package timeline

import (
	"sort"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/slou"
	"github.com/whyslow/whyslow/trace"
)

// part is what a piece is given to.
type part struct {
	factor slou.Factor
	part   slou.Part
	link   slou.Link
	name   string
}

// String is the name of the part without the factor: "dispatch", "0->1".
func (p *part) String() string {
	switch p.factor {
	case slou.FactorL:
		return p.link.String()
	case slou.FactorW:
		return p.name
	}
	return p.part.String()
}

// lane is the time of one worker: its pieces in order. Where a piece begins is where the one before it ends. A piece that
// reaches over the start or the end of an execution of an atomic CF is two.
type lane struct {
	id     model.WorkerID
	worker *model.Worker

	end                []int64  // since the start of the run
	part               []uint32 // index into Timeline.parts, and inside
	class              []uint16 // index into Timeline.classes
	consumer, producer []model.CF
	df                 []model.DF

	// Of every stride pieces, the sums of those before them, by class and by row, and how many of them are boxes.
	shift   uint
	byClass []int64
	byRow   []int64
	boxes   []uint32
	ends    []int64 // of every endStride executions, the latest end
}

// inside marks, in lane.part, a piece within the execution of an atomic CF.
const inside = 1 << 31

const (
	minShift  = 6
	endStride = 64
)

// classes numbers the classes of columns, and the parts, while lanes are filled.
type classes struct {
	t     *Timeline
	null  [rowCount]bool
	known trace.Span
	list  []uint16
	of    [1 << 16]uint16 // 1 + the number of a class
	parts []part
	index map[part]uint32
	plain [rowCount][slou.PartExtra + 1]uint32 // 1 + the number of a part without a name
	rows  []uint8
}

func newClasses(t *Timeline, null [rowCount]bool) *classes {
	return &classes{t: t, null: null, index: map[part]uint32{}, known: trace.Always}
}

func (c *classes) class(v uint16) uint16 {
	if c.of[v] == 0 {
		c.list = append(c.list, v)
		c.of[v] = uint16(len(c.list))
	}
	return c.of[v] - 1
}

func (c *classes) part(p *slou.Piece) uint32 {
	named := p.Factor == slou.FactorL || p.Factor == slou.FactorW
	if i := c.plain[p.Factor][p.Part]; i > 0 && !named {
		return i - 1
	}
	key := part{p.Factor, p.Part, p.Link, p.Name}
	i, ok := c.index[key]
	if !ok {
		i = uint32(len(c.parts))
		c.parts = append(c.parts, key)
		c.index[key] = i
		row := uint8(p.Factor)
		if c.null[row] {
			row = uint8(rowUndivided)
		}
		c.rows = append(c.rows, row)
		c.plain[p.Factor][p.Part] = i + 1
	}
	return i
}

// unread is the part of time beyond what is known.
func (c *classes) unread() uint32 {
	key := part{factor: slou.Factor(rowUnread)}
	i, ok := c.index[key]
	if !ok {
		i = uint32(len(c.parts))
		c.parts, c.rows = append(c.parts, key), append(c.rows, uint8(rowUnread))
		c.index[key] = i
	}
	return i
}

// ofRow is the class of a column by factor, and of a gap.
func ofRow(row uint8) uint16 {
	if int(row) >= rowUndivided {
		return 0
	}
	return Factor + 1 + uint16(row)
}

// ofCode is the class of the CFs of a code fragment.
func ofCode(code int) uint16 {
	if code >= Factor {
		return 0
	}
	return uint16(code)
}

// fill takes the pieces of a worker.
func (l *lane) fill(c *classes, pieces []slou.Piece) {
	n := len(pieces)
	l.end, l.part, l.class = make([]int64, 0, n), make([]uint32, 0, n), make([]uint16, 0, n)
	l.consumer, l.producer, l.df = make([]model.CF, 0, n), make([]model.CF, 0, n), make([]model.DF, 0, n)
	m := c.t.m
	e := nextAtomic(m, l.worker, l.worker.First)
	var from, to int64
	if e < l.worker.End {
		from, to = bounds(m, l.worker, e)
	}
	for i := range pieces {
		p := &pieces[i]
		k := c.part(p)
		gap := c.class(ofRow(c.rows[k]))
		for at, end := c.t.at(p.From), c.t.at(p.To); at < end; {
			for e < l.worker.End && to <= at {
				if e = nextAtomic(m, l.worker, e+1); e < l.worker.End {
					from, to = bounds(m, l.worker, e)
				}
			}
			flag, class, stop := uint32(0), gap, end
			switch {
			case e == l.worker.End:
			case at < from:
				stop = min(end, from)
			default:
				flag, stop = inside, min(end, to)
				if p.Factor != slou.FactorLoss {
					class = c.class(ofCode(m.CodeOf(m.ExecCF[e])))
				}
			}
			if at < c.known.From || at >= c.known.To {
				if at < c.known.From {
					stop = min(stop, c.known.From)
				}
				l.add(stop, c.unread(), c.class(0), &slou.Piece{})
			} else {
				stop = min(stop, c.known.To)
				l.add(stop, k|flag, class, p)
			}
			at = stop
		}
	}
}

func (l *lane) add(end int64, part uint32, class uint16, p *slou.Piece) {
	l.end, l.part, l.class = append(l.end, end), append(l.part, part), append(l.class, class)
	l.consumer, l.producer, l.df = append(l.consumer, p.Consumer), append(l.producer, p.Producer), append(l.df, p.DF)
}

// nextAtomic gives the first execution of an atomic CF from e on, worker.End if there is none.
func nextAtomic(m *model.Model, w *model.Worker, e int) int {
	for e < w.End && !m.Atomic(m.ExecCF[e]) {
		e++
	}
	return e
}

// bounds gives when an execution took place as far as its worker's time goes: within the run, and over when its worker
// starts the next. (An atomic CF ends at the latest where the next atomic one starts, as in the division.)
func bounds(m *model.Model, w *model.Worker, e int) (from, to int64) {
	from, to = min(max(m.ExecStart[e], m.Start), m.End), m.ExecEnd[e]
	if m.Atomic(m.ExecCF[e]) {
		if to == model.None {
			to = m.End
		}
		if next := nextAtomic(m, w, e+1); next < w.End {
			to = min(to, m.ExecStart[next])
		}
	} else if to == model.None {
		to = m.End
		if e+1 < w.End {
			to = m.ExecStart[e+1]
		}
	}
	to = min(max(to, from), m.End)
	return from - m.Start, to - m.Start
}

// stride gives the power of two pieces between sums, which take eight bytes a class: eight bytes a piece at most.
func stride(classes int) (shift uint) {
	for shift = minShift; 1<<shift < classes; shift++ {
	}
	return shift
}

// index makes the sums.
func (l *lane) index(t *Timeline, shift uint) {
	classes := len(t.classes)
	l.shift = shift
	l.ends = nil
	n := len(l.end)>>l.shift + 1
	l.byClass, l.byRow, l.boxes = make([]int64, 0, n*classes), make([]int64, 0, n*rowCount), make([]uint32, 0, n)
	byClass, byRow := make([]int64, classes), make([]int64, rowCount)
	boxes, from := uint32(0), int64(0)
	for i, end := range l.end {
		if i&(1<<l.shift-1) == 0 {
			l.byClass, l.byRow, l.boxes = append(l.byClass, byClass...), append(l.byRow, byRow...), append(l.boxes, boxes)
		}
		byClass[l.class[i]] += end - from
		byRow[t.rows[l.part[i]&^inside]] += end - from
		if t.isBox(l.part[i]) {
			boxes++
		}
		from = end
	}
	if len(l.end)&(1<<l.shift-1) == 0 {
		l.byClass, l.byRow, l.boxes = append(l.byClass, byClass...), append(l.byRow, byRow...), append(l.boxes, boxes)
	}
	for e := l.worker.First; e < l.worker.End; e += endStride {
		latest := int64(0)
		for i := e; i < min(e+endStride, l.worker.End); i++ {
			_, to := bounds(t.m, l.worker, i)
			latest = max(latest, to)
		}
		l.ends = append(l.ends, latest)
	}
}

// isBox tells whether a piece is shown beside the CFs: all gaps, and what is known of a worker that stood still in a CF.
func (t *Timeline) isBox(p uint32) bool {
	if p&inside == 0 {
		return int(t.rows[p]) != rowUnread
	}
	f := t.parts[p&^inside].factor
	return f == slou.FactorW || f == slou.FactorLoss
}

// from is where a piece begins.
func (l *lane) from(i int) int64 {
	if i == 0 {
		return 0
	}
	return l.end[i-1]
}

// find gives the piece at a time, from piece i on, which must not be behind it; len(l.end) after the end.
func (l *lane) find(at int64, i int) int {
	step := 1
	for i+step < len(l.end) && l.end[i+step-1] <= at {
		i += step
		step *= 2
	}
	n := min(step, len(l.end)-i)
	return i + sort.Search(n, func(k int) bool { return l.end[i+k] > at })
}

// sum adds what the time from a, in piece i, to b, in piece j, is made of: by class or, unless byCode, by row. a < b.
func (l *lane) sum(t *Timeline, byCode bool, a int64, i int, b int64, j int, out []int64) {
	if i == j {
		out[l.key(t, byCode, i)] += b - a
		return
	}
	out[l.key(t, byCode, i)] += l.end[i] - a
	if j < len(l.end) {
		out[l.key(t, byCode, j)] += b - l.end[j-1]
	}
	i++
	from, to := (i+1<<l.shift-1)>>l.shift, j>>l.shift
	if from >= to {
		l.scan(t, byCode, l.end[i-1], i, j, out)
		return
	}
	l.scan(t, byCode, l.end[i-1], i, from<<l.shift, out)
	marks, n := l.byRow, len(out)
	if byCode {
		marks = l.byClass
	}
	before := marks[from*n : from*n+n]
	for c, v := range marks[to*n : to*n+n] {
		out[c] += v - before[c]
	}
	l.scan(t, byCode, l.from(to<<l.shift), to<<l.shift, j, out)
}

func (l *lane) key(t *Timeline, byCode bool, i int) int {
	if byCode {
		return int(l.class[i])
	}
	return int(t.rows[l.part[i]&^inside])
}

// scan adds up the pieces from i up to but not including j; the first begins at a time.
func (l *lane) scan(t *Timeline, byCode bool, at int64, i, j int, out []int64) {
	if byCode {
		for ; i < j; i++ {
			out[l.class[i]] += l.end[i] - at
			at = l.end[i]
		}
		return
	}
	for ; i < j; i++ {
		out[t.rows[l.part[i]&^inside]] += l.end[i] - at
		at = l.end[i]
	}
}
