package timeline

import (
	"sort"

	"github.com/whyslow/whyslow/internal/model"
)

// BoxQuery asks for single CFs and gaps.
type BoxQuery struct {
	From, To int64 // nanoseconds since the start of the run
	Lanes    []int // nil: all
	Limit    int   // 1 to 1000000; 0 means 10000
	Shades   *Shades
}

// Boxes are the CFs and gaps of some lanes in an interval, lane by lane, in order of start. A CF ends at the
// latest where its worker starts the next atomic one. Atomic CFs and gaps tile each lane; gaps inside CFs are
// waits (W) and loss. Structured CFs overlap gaps and neither end them nor shorten them.
type Boxes struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
	More int   `json:"more"` // if more than 0, there are this many, too many to return any
	CFs  CFs   `json:"cfs"`
	Gaps Gaps  `json:"gaps"`
}

// CFs are executions by column.
type CFs struct {
	Lane       []int    `json:"lane"`
	Start      []int64  `json:"start"`
	End        []int64  `json:"end"`
	CF         []string `json:"cf"`
	Code       []int    `json:"code"`
	Label      []string `json:"label"`      // including indices
	Structured []int    `json:"structured"` // 1: executed by the run-time system
	Running    []int    `json:"running"`    // 1: has not ended
	Class      []uint16 `json:"class"`      // by BoxQuery.Shades; empty without
}

// Gaps are stretches of a worker's time by column.
type Gaps struct {
	Lane     []int    `json:"lane"`
	Start    []int64  `json:"start"`
	End      []int64  `json:"end"`
	Factor   []string `json:"factor"` // a row of FactorWindows
	Part     []string `json:"part"`   // "dispatch", "0->1", what was waited for; "" for none
	Consumer []string `json:"consumer"`
	Producer []string `json:"producer"`
	DF       []string `json:"df"`
	// Readable names: "mult[1][2]", "x[3]"; "" for none.
	ConsumerTitle []string `json:"consumer_title"`
	ProducerTitle []string `json:"producer_title"`
	DFTitle       []string `json:"df_title"`
}

// Boxes returns the CFs and gaps that overlap an interval, with their full extent.
func (t *Timeline) Boxes(q BoxQuery) (*Boxes, error) {
	if err := (stretch{q.From, q.To}).check(); err != nil {
		return nil, err
	}
	lanes, err := t.chosen(q.Lanes)
	if err != nil {
		return nil, err
	}
	most, err := limit(q.Limit, 10000)
	if err != nil {
		return nil, err
	}
	out := &Boxes{From: q.From, To: q.To, CFs: emptyCFs(), Gaps: emptyGaps()}
	within := make([]inRange, len(lanes))
	count := 0
	for i, n := range lanes {
		within[i] = t.within(&t.lanes[n], stretch{q.From, q.To})
		count += within[i].count
	}
	if count > most {
		out.More = count
		return out, nil
	}
	for i, n := range lanes {
		t.addBoxes(out, n, &within[i], q.Shades)
	}
	return out, nil
}

func emptyCFs() CFs {
	return CFs{[]int{}, []int64{}, []int64{}, []string{}, []int{}, []string{}, []int{}, []int{}, []uint16{}}
}

func emptyGaps() Gaps {
	return Gaps{[]int{}, []int64{}, []int64{}, []string{}, []string{}, []string{}, []string{}, []string{},
		[]string{}, []string{}, []string{}}
}

// inRange is the part of a lane within an interval.
type inRange struct {
	early       []int // executions that started before it
	first, end  int   // those that start within it
	piece, stop int   // pieces
	count       int
}

func (t *Timeline) within(l *lane, r stretch) (out inRange) {
	m, w := t.m, l.worker
	start := func(at int64) int {
		return w.First + sort.Search(w.End-w.First, func(i int) bool {
			return min(max(m.ExecStart[w.First+i], m.Start), m.End)-m.Start >= at
		})
	}
	out.first, out.end = start(r.from), start(r.to)
	for i, latest := range l.ends {
		e := w.First + i*endStride
		if e >= out.first {
			break
		}
		if latest <= r.from {
			continue
		}
		for last := min(e+endStride, out.first); e < last; e++ {
			if _, to := t.bounds(w, e); to > r.from {
				out.early = append(out.early, e)
			}
		}
	}
	a, b := max(r.from, 0), min(r.to, t.Wall())
	if a < b {
		out.piece = l.find(a, 0)
		out.stop = l.find(b-1, out.piece) + 1
	}
	out.count = len(out.early) + out.end - out.first + t.boxesBefore(l, out.stop) - t.boxesBefore(l, out.piece)
	return out
}

// boxesBefore counts the pieces before i that are boxes.
func (t *Timeline) boxesBefore(l *lane, i int) int {
	mark := i >> l.shift
	n := int(l.boxes[mark])
	for k := mark << l.shift; k < i; k++ {
		if t.isBox(l.part[k]) {
			n++
		}
	}
	return n
}

func (t *Timeline) addBoxes(out *Boxes, n int, r *inRange, shades *Shades) {
	m, l := t.m, &t.lanes[n]
	add := func(e int) {
		c, cf := &out.CFs, m.ExecCF[e]
		from, to := t.bounds(l.worker, e)
		c.Lane, c.Start, c.End = append(c.Lane, n), append(c.Start, from), append(c.End, to)
		c.CF, c.Code, c.Label = append(c.CF, t.CFKey(cf)), append(c.Code, m.CodeOf(cf)),
			append(c.Label, t.m.CFTitle(cf))
		c.Structured = append(c.Structured, one(!m.Atomic(cf)))
		if shades != nil {
			c.Class = append(c.Class, shades.class[e])
		}
		c.Running = append(c.Running, one(m.ExecEnd[e] == model.None && e+1 == l.worker.End))
	}
	for _, e := range r.early {
		add(e)
	}
	for e := r.first; e < r.end; e++ {
		add(e)
	}
	g := &out.Gaps
	for i := r.piece; i < r.stop; i++ {
		p := l.part[i]
		if !t.isBox(p) {
			continue
		}
		p &^= inside
		g.Lane, g.Start, g.End = append(g.Lane, n), append(g.Start, l.from(i)), append(g.End, l.end[i])
		g.Factor, g.Part = append(g.Factor, t.names[t.rows[p]]), append(g.Part, t.parts[p].String())
		g.Consumer, g.Producer = append(g.Consumer, t.CFKey(l.consumer[i])),
			append(g.Producer, t.CFKey(l.producer[i]))
		g.DF = append(g.DF, t.m.DFKey(l.df[i]))
		g.ConsumerTitle, g.ProducerTitle = append(g.ConsumerTitle, t.m.CFTitle(l.consumer[i])),
			append(g.ProducerTitle, t.m.CFTitle(l.producer[i]))
		g.DFTitle = append(g.DFTitle, m.DFString(l.df[i]))
	}
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}
