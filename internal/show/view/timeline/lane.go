package timeline

import (
	"slices"
	"sort"
	"sync"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// partKey is the part of a factor that a piece belongs to.
type partKey struct {
	factor slou.Factor
	part   slou.Part
	link   slou.Link
	name   string
}

// String is the name of the part without the factor: "dispatch", "0->1".
func (p *partKey) String() string {
	switch {
	case p.name != "":
		return p.name
	case p.factor == slou.FactorL:
		return p.link.String()
	}
	return p.part.String()
}

// lane is the time of one worker: its pieces in order, without gaps. A piece that crosses the start or the
// end of an execution of an atomic CF is split.
type lane struct {
	id     model.WorkerID
	worker *model.Worker
	columns

	// After every stride pieces, the sums so far, by class and by row, and how many pieces are boxes.
	shift   uint
	byClass []int64
	byRow   []int64
	boxes   []uint32
	ends    []int64 // the latest end of every endStride executions
}

// columns are pieces.
type columns struct {
	end                []int64  // since the start of the run
	part               []uint32 // index into Timeline.parts, and inside
	class              []uint16 // index into Timeline.classes
	consumer, producer []model.CF
	df                 []model.DF
}

// reset makes room for about n pieces.
func (c *columns) reset(n int) {
	c.end, c.part, c.class = slices.Grow(c.end[:0], n), slices.Grow(c.part[:0], n), slices.Grow(c.class[:0], n)
	c.consumer, c.producer, c.df = slices.Grow(c.consumer[:0], n), slices.Grow(c.producer[:0], n),
		slices.Grow(c.df[:0], n)
}

// clone makes a copy without spare capacity that stays as long as the model.
func (c *columns) clone(m *model.Model) columns {
	return columns{exact(m, c.end), exact(m, c.part), exact(m, c.class), exact(m, c.consumer),
		exact(m, c.producer), exact(m, c.df)}
}

func exact[T any](m *model.Model, list []T) []T {
	return append(model.Make[T](m, len(list))[:0], list...)
}

// inside marks, in lane.part, a piece within the execution of an atomic CF.
const inside = 1 << 31

const (
	minShift  = 6
	endStride = 64
)

// classes numbers the classes of columns, and the parts, while lanes are filled.
type classes struct {
	mu    sync.Mutex
	t     *Timeline
	null  [rowCount]bool
	known trace.Span
	list  []uint16
	of    [1 << 16]uint16 // 1 + the number of a class
	parts []partKey
	index map[partKey]uint32
	plain [rowCount][slou.PartCount]uint32 // 1 + the number of a part without a name
	rows  []uint8
}

func (c *classes) class(v uint16) uint16 {
	if c.of[v] == 0 {
		c.list = append(c.list, v)
		c.of[v] = uint16(len(c.list))
	}
	return c.of[v] - 1
}

func (c *classes) part(p *slou.Piece) uint32 {
	named := int(p.Factor) < rowUndivided && p.Factor.Info().Named || p.Name != ""
	if i := c.plain[p.Factor][p.Part]; i > 0 && !named {
		return i - 1
	}
	key := partKey{p.Factor, p.Part, p.Link, p.Waiting()}
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

// unread is time beyond the known part of the run.
var unread = slou.Piece{Factor: slou.Factor(rowUnread)}

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

// filler collects the pieces of a worker.
type filler struct {
	*columns
	c        *classes
	l        *lane
	e        int   // the first execution of an atomic CF that ends after the pieces so far
	from, to int64 // its bounds
}

// newFiller begins to fill a lane and takes ownership of into.
func newFiller(c *classes, l *lane, into *columns) *filler {
	f := &filler{columns: into, c: c, l: l}
	into.reset(2 * (l.worker.End - l.worker.First))
	f.next(l.worker.First)
	return f
}

// next goes on to the first execution from e on.
func (f *filler) next(e int) {
	t, w := f.c.t, f.l.worker
	if f.e = t.m.NextAtomic(w, e); f.e < w.End {
		f.from, f.to = t.bounds(w, f.e)
	}
}

// fill adds pieces, in order.
func (f *filler) fill(pieces []slou.Piece) {
	c, end := f.c, f.l.worker.End
	m := c.t.m
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range pieces {
		p := &pieces[i]
		k := c.part(p)
		gap := c.class(ofRow(c.rows[k]))
		for at, to := c.t.at(p.From), c.t.at(p.To); at < to; {
			for f.e < end && f.to <= at {
				f.next(f.e + 1)
			}
			flag, class, stop := uint32(0), gap, to
			switch {
			case f.e == end:
			case at < f.from:
				stop = min(to, f.from)
			default:
				flag, stop = inside, min(to, f.to)
				if p.Factor != slou.FactorLoss {
					class = c.class(ofCode(m.CodeOf(m.ExecCF[f.e])))
				}
			}
			if at < c.known.From || at >= c.known.To {
				if at < c.known.From {
					stop = min(stop, c.known.From)
				}
				f.add(stop, c.part(&unread), c.class(0), &unread)
			} else {
				stop = min(stop, c.known.To)
				f.add(stop, k|flag, class, p)
			}
			at = stop
		}
	}
}

func (c *columns) add(end int64, part uint32, class uint16, p *slou.Piece) {
	c.end, c.part, c.class = append(c.end, end), append(c.part, part), append(c.class, class)
	c.consumer, c.producer, c.df = append(c.consumer, p.Consumer), append(c.producer, p.Producer),
		append(c.df, p.DF)
}

// bounds returns when an execution occupied its worker, since the start of the run.
func (t *Timeline) bounds(w *model.Worker, e int) (from, to int64) {
	v := t.m.Occupied(w, e)
	return v.From - t.m.Start, v.To - t.m.Start
}

// stride returns the number of pieces between sums, a power of two, so that sums take at most eight bytes per
// piece.
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
	l.byClass, l.byRow = model.Make[int64](t.m, n*classes)[:0], model.Make[int64](t.m, n*rowCount)[:0]
	l.boxes = model.Make[uint32](t.m, n)[:0]
	byClass, byRow := make([]int64, classes), make([]int64, rowCount)
	boxes, from := uint32(0), int64(0)
	mark := func(i int) {
		if i&(1<<l.shift-1) == 0 {
			l.byClass, l.byRow, l.boxes = append(l.byClass, byClass...), append(l.byRow, byRow...),
				append(l.boxes, boxes)
		}
	}
	for i, end := range l.end {
		mark(i)
		byClass[l.class[i]] += end - from
		byRow[t.rows[l.part[i]&^inside]] += end - from
		if t.isBox(l.part[i]) {
			boxes++
		}
		from = end
	}
	mark(len(l.end))
	for e := l.worker.First; e < l.worker.End; e += endStride {
		latest := int64(0)
		for i := e; i < min(e+endStride, l.worker.End); i++ {
			_, to := t.bounds(l.worker, i)
			latest = max(latest, to)
		}
		l.ends = append(l.ends, latest)
	}
}

// isBox reports whether a piece is shown beside the CFs: all gaps, and waits inside a CF.
func (t *Timeline) isBox(p uint32) bool {
	if p&inside == 0 {
		return int(t.rows[p]) != rowUnread
	}
	return t.parts[p&^inside].factor.Info().CutOut
}

// from is the start of a piece.
func (l *lane) from(i int) int64 {
	if i == 0 {
		return 0
	}
	return l.end[i-1]
}

// find returns the piece at a time, searching from piece i, which must not be behind it; len(l.end) after the
// end.
func (l *lane) find(at int64, i int) int {
	step := 1 // it is mostly near
	for i+step < len(l.end) && l.end[i+step-1] <= at {
		i += step
		step *= 2
	}
	return i + sort.Search(min(step, len(l.end)-i), func(k int) bool { return l.end[i+k] > at })
}

// sum adds up the time from a, in piece i, to b, in piece j, by class if byCode, otherwise by row. a < b.
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
