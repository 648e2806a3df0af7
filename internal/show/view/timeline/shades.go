package timeline

import (
	"context"
	"math"
	"sort"
	"strings"
	"time"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/model/query"
)

// CFs can be coloured by more than their code fragment: by the node that created them, by how late they
// started, and by a number of the program's own. Such a colour is a class of each execution. These classes
// have no running sums, so a tile looks at every piece in it once; that is 20 ns each.

// Shades is a class for each execution.
type Shades struct {
	By string `json:"by"`
	// Edges bound the classes: class i, from 1 on, is of numbers from Edges[i-1] up to Edges[i], which the last
	// class includes. They are empty by node: class i is node i-1.
	Edges []float64 `json:"edges"`
	class []uint16  // by execution; 0: unknown
	count int       // of classes, with 0
}

// Own tells numbers of the program's own, in any order: which lane told each, when since the start of the
// run, and what.
type Own func(ctx context.Context, tell func(lane int, at int64, v float64)) error

// valueOf is what precedes the name of a number, "value.weight".
const valueOf = "value."

// Weight is the name of the weights of CFs among numbers.
const Weight = "weight"

// shadeSteps is how many classes numbers are divided into.
const shadeSteps = 8

// ShadedBy reports whether a colour needs Shades.
func ShadedBy(by string) bool {
	return by == "origin" || by == "late" || strings.HasPrefix(by, valueOf)
}

// Value is the name of the number that a colour is by, "" for another colour.
func Value(by string) string {
	name, _ := strings.CutPrefix(by, valueOf)
	if name == by {
		return ""
	}
	return name
}

// Shades gives classes by "origin": the node that created the CF, none if the trace lacks that node; by
// "late": the time from when it was ready to when it first started; or by "value.NAME". That is its weight,
// or what own tells: the last number that the worker told during the execution. own may be nil otherwise.
// Classes are kept with the timeline.
func (t *Timeline) Shades(ctx context.Context, by string, own Own) (*Shades, error) {
	if !ShadedBy(by) {
		return nil, query.Bad("by=%q: use code, factor, origin, late or value.NAME", by)
	}
	t.shadeLock.Lock()
	defer t.shadeLock.Unlock()
	if s := t.shades[by]; s != nil {
		return s, nil
	}
	s := &Shades{By: by, Edges: []float64{}, class: make([]uint16, t.m.Executions())}
	switch name := Value(by); {
	case by == "origin":
		s.count = len(t.m.Nodes) + 1
		for e, cf := range t.m.ExecCF {
			if n := t.m.CFID(cf).Node(); n < len(t.m.Nodes) { // else its creator's file is missing
				s.class[e] = uint16(min(n, Factor-2)) + 1
			}
		}
	case by == "late":
		for v := time.Microsecond; v <= time.Second; v *= 10 {
			s.Edges = append(s.Edges, float64(v))
		}
		s.Edges = append(append([]float64{0}, s.Edges...), math.Inf(1))
		s.divide(t.lateness())
		s.Edges[len(s.Edges)-1] = max(float64(t.Wall()), 1e10)
	default:
		list := make([]float64, t.m.Executions())
		if name == Weight {
			for e, cf := range t.m.ExecCF {
				list[e] = t.m.Weight(cf)
			}
		} else if err := t.told(ctx, own, list); err != nil {
			return nil, err
		}
		s.Edges = edges(list)
		s.divide(list)
	}
	if t.shades == nil {
		t.shades = map[string]*Shades{}
	}
	t.shades[by] = s
	return s, nil
}

// lateness is how long each execution's CF was ready before it first started; NaN where that is unknown.
func (t *Timeline) lateness() []float64 {
	m := t.m
	list := make([]float64, m.Executions())
	first := map[model.CF]int64{}
	for e, cf := range m.ExecCF {
		list[e] = math.NaN()
		if at, ok := first[cf]; !ok || m.ExecStart[e] < at {
			first[cf] = m.ExecStart[e]
		}
	}
	for e, cf := range m.ExecCF {
		if ready := m.Ready[cf]; ready != model.None && first[cf] != model.None && ready <= first[cf] {
			list[e] = float64(first[cf] - ready)
		}
	}
	return list
}

// told fills in what own tells during each execution.
func (t *Timeline) told(ctx context.Context, own Own, list []float64) error {
	at := make([]int64, len(list))
	for e := range list {
		list[e] = math.NaN()
	}
	if own == nil {
		return query.Bad("no such number is known")
	}
	return own(ctx, func(lane int, when int64, v float64) {
		if lane < 0 || lane >= len(t.lanes) {
			return
		}
		w := t.lanes[lane].worker
		// The last execution of an atomic CF that began by then.
		for e := w.First + sort.Search(w.End-w.First, func(i int) bool {
			return t.m.ExecStart[w.First+i] > when+t.m.Start
		}) - 1; e >= w.First; e-- {
			if !t.m.Atomic(t.m.ExecCF[e]) {
				continue
			}
			if _, to := t.bounds(w, e); when <= to && (math.IsNaN(list[e]) || when >= at[e]) {
				list[e], at[e] = v, when
			}
			break
		}
	})
}

// edges divides the range of numbers into equal parts.
func edges(list []float64) []float64 {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range list {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			low, high = min(low, v), max(high, v)
		}
	}
	switch {
	case low > high:
		return []float64{}
	case low == high:
		return []float64{low, high}
	}
	out := make([]float64, shadeSteps+1)
	for i := range out {
		out[i] = low + (high-low)/shadeSteps*float64(i)
	}
	out[shadeSteps] = high
	return out
}

// divide sets the class of each execution.
func (s *Shades) divide(list []float64) {
	s.count = max(len(s.Edges), 1)
	for e, v := range list {
		if math.IsNaN(v) || len(s.Edges) < 2 {
			continue
		}
		i := sort.Search(len(s.Edges), func(i int) bool { return s.Edges[i] > v }) // the first edge beyond it
		s.class[e] = uint16(min(max(i, 1), len(s.Edges)-1))
	}
}

// shadeCursor goes along a lane's executions of atomic CFs.
type shadeCursor struct {
	t  *Timeline
	l  *lane
	e  int
	to int64 // when execution e ends
}

func (t *Timeline) shadeCursor(l *lane, from int64) *shadeCursor {
	w := l.worker
	e := w.First + sort.Search(w.End-w.First, func(i int) bool {
		return t.m.ExecStart[w.First+i] > from+t.m.Start
	})
	for e--; e > w.First && !t.m.Atomic(t.m.ExecCF[e]); e-- {
	}
	c := &shadeCursor{t: t, l: l}
	c.next(max(e, w.First))
	return c
}

func (c *shadeCursor) next(e int) {
	if c.e = c.t.m.NextAtomic(c.l.worker, e); c.e < c.l.worker.End {
		_, c.to = c.t.bounds(c.l.worker, c.e)
	}
}

// at is the execution of an atomic CF that runs at a time, which must not be before those asked earlier.
func (c *shadeCursor) at(t int64) (execution int, ok bool) {
	for c.e < c.l.worker.End && c.to <= t {
		c.next(c.e + 1)
	}
	return c.e, c.e < c.l.worker.End
}

// shaded adds up the time from a, in piece i, to b: of executions by class, of the rest by row after those.
func (p *painter) shaded(l *lane, at *shadeCursor, a int64, i int, b int64) {
	for ; i < len(l.end) && a < b; i++ {
		to := min(l.end[i], b)
		key := p.q.Shades.count + int(p.t.rows[l.part[i]&^inside])
		if l.part[i]&inside != 0 && p.t.classes[l.class[i]] < Factor {
			if e, ok := at.at(a); ok {
				key = int(p.q.Shades.class[e])
			}
		}
		p.sums[key] += to - a
		a = to
	}
}
