package counters

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/model/query"
)

// SeriesQuery asks for properties over an interval.
type SeriesQuery struct {
	// Names are those of properties, with commas between them: "bytes,running".
	Names string
	// Nodes is "0,2-3", "all" or "sum"; Links is "0->1,1->0", "all" or "sum"; "" is "sum". For a name that nodes
	// and links both have, Links alone means the links, Nodes alone or neither means the nodes, and both mean
	// both.
	Nodes, Links string
	From, To     int64
	Points       int // windows; 0 means 200
}

// SeriesAnswer has the properties in windows of the interval. Window i holds the times from From+i*WindowNS
// up to but not including the next window; the last one, which may be shorter, also holds To if the run ends
// there.
type SeriesAnswer struct {
	From     int64   `json:"from"`
	To       int64   `json:"to"`
	WindowNS int64   `json:"window_ns"`
	Series   []Curve `json:"series"`
}

// Curve is one property of a node, a link or the whole run. A level has its mean, least, greatest and last
// value in each window; an amount has its sum and, as the mean, its rate per second. Mean is nil in windows
// after the end of the run. If the property was not recorded, every Mean is nil and there are no other
// values.
type Curve struct {
	Name string     `json:"name"`
	Node int        `json:"node"` // -1: not of one node
	Link string     `json:"link"` // "": not of one link
	Mean []*float64 `json:"mean"`
	Min  []float64  `json:"min,omitempty"`
	Max  []float64  `json:"max,omitempty"`
	Last []float64  `json:"last,omitempty"`
	Sum  []float64  `json:"sum,omitempty"`
	Unit string     `json:"-"` // of the property
}

const (
	defaultPoints = 200
	maxPoints     = 1 << 16
	maxAnswer     = 1 << 21
)

// points checks a number of windows.
func points(n int) (int, error) {
	switch {
	case n == 0:
		return defaultPoints, nil
	case n < 0 || n > maxPoints:
		return 0, query.Bad("points=%d: give 1 to %d", n, maxPoints)
	}
	return n, nil
}

// interval checks an interval. Intervals far beyond any run are refused.
func interval(from, to int64) error {
	const most = math.MaxInt64 / 4
	if from < -most || to > most {
		return query.Bad("from=%d to=%d is not an interval of a run", from, to)
	}
	return query.Interval(from, to)
}

// Series is part of Set.
func (r *history) Series(q SeriesQuery) (SeriesAnswer, error) {
	out := SeriesAnswer{From: q.From, To: q.To, Series: []Curve{}}
	n, err := points(q.Points)
	if err != nil {
		return out, err
	}
	if err := interval(q.From, q.To); err != nil {
		return out, err
	}
	type place struct {
		of *Property
		at int32
	}
	var wanted []place // by curve
	for name := range strings.SplitSeq(q.Names, ",") {
		name = strings.TrimSpace(name)
		list, err := named(name)
		if err != nil {
			return out, err
		}
		for _, p := range list {
			if len(list) > 1 && (p.Of == "link" && q.Links == "" ||
				p.Of == "node" && q.Nodes == "" && q.Links != "") {
				continue
			}
			at, err := r.places(p, q)
			if err != nil {
				return out, err
			}
			if total := len(wanted) + len(at); total*n > maxAnswer {
				return out, query.Bad("%d series of %d points are too many; ask for fewer", total, n)
			}
			for _, at := range at {
				s := Curve{Name: name, Node: -1, Unit: p.Unit}
				if at >= 0 && p.Of == "node" {
					s.Node = int(at)
				} else if at >= 0 {
					s.Link = linkName(r.links.list[at])
				}
				out.Series, wanted = append(out.Series, s), append(wanted, place{p, at})
			}
		}
	}
	out.WindowNS, n = windowWidth(q.From, q.To, n)
	for i, w := range wanted {
		s := &out.Series[i]
		if s.Mean = make([]*float64, n); !r.unknown[w.of.q] {
			r.fill(s, w.of, w.at, q.From, q.To, out.WindowNS)
		}
	}
	return out, nil
}

// places gives the nodes or links asked for.
func (r *history) places(p *Property, q SeriesQuery) (list []int32, err error) {
	if p.q == dfs || p.q == moving {
		return []int32{whole}, nil
	}
	if p.Of == "node" {
		switch q.Nodes {
		case "", "sum":
			return []int32{whole}, nil
		}
		numbers, err := query.Numbers(q.Nodes, "node", len(r.workers))
		if err != nil {
			return nil, err
		}
		if numbers == nil {
			for n := range r.workers {
				list = append(list, int32(n))
			}
		}
		for _, n := range numbers {
			list = append(list, int32(n))
		}
		return list, nil
	}
	switch q.Links {
	case "", "sum":
		return []int32{whole}, nil
	case "all":
		for _, l := range r.sortedLinks(r.moment(math.MaxInt64)) {
			list = append(list, r.links.index[l])
		}
		return list, nil
	}
	for s := range strings.SplitSeq(q.Links, ",") {
		l, err := query.ParseLink(strings.TrimSpace(s), len(r.workers))
		if err != nil {
			return nil, err
		}
		if i, ok := r.links.index[l]; ok {
			list = append(list, i)
		}
	}
	return list, nil
}

// sortedLinks gives the links with traffic, by from, then to. end are the values at the end of the run.
func (r *history) sortedLinks(end values) []query.Link {
	list := slices.DeleteFunc(slices.Clone(r.links.list), func(l query.Link) bool {
		i, queue := r.links.index[l], int64(0)
		if f := r.stored(sendQueue, i); f != nil {
			_, queue = f.extremes(math.MinInt64, math.MaxInt64-1)
		}
		return l.From >= len(r.workers) || l.To >= len(r.workers) ||
			queue == 0 && end(messages, i) == 0
	})
	slices.SortFunc(list, compareLinks)
	return list
}

// fill works out the windows of a series.
func (r *history) fill(s *Curve, p *Property, place int32, from, to, width int64) {
	n := len(s.Mean)
	q, unit, end := p.q, 1.0, r.wall
	switch {
	case q == weight && r.weighted:
		unit = weightUnit
	case q == weight:
		q = cfs
	}
	f := cmp.Or(r.stored(q, place), &steps{})
	values := make([]float64, n)
	if p.Kind == "amount" {
		s.Sum = make([]float64, n)
		before := r.before(f, from)
		for i := range n {
			a := from + int64(i)*width
			b := min(a+width, to)
			sum := r.before(f, b)
			s.Sum[i] = float64(sum - before)
			before = sum
			if a < end || a == 0 {
				values[i] = s.Sum[i] / float64(max(min(b, end)-max(a, 0), 1)) * 1e9
				s.Mean[i] = &values[i]
			}
		}
		return
	}
	s.Min, s.Max, s.Last = make([]float64, n), make([]float64, n), make([]float64, n)
	final := f.end()
	for i := range n {
		a := from + int64(i)*width
		b := min(a+width, to)
		w := r.window(f, a, b, final)
		s.Min[i], s.Max[i], s.Last[i] = float64(w.min)/unit, float64(w.max)/unit, float64(w.last)/unit
		if a < end || a == 0 {
			values[i] = w.mean / unit
			s.Mean[i] = &values[i]
		}
	}
}

// before is the amount up to but not including t; at the end of the run, all of it.
func (r *history) before(f *steps, t int64) int64 {
	switch {
	case t >= r.wall:
		return f.end()
	case t <= 0:
		return 0
	}
	return f.at(t - 1)
}

// window tells what a level does in [a, b). Before the run it is 0, from its end on it is final.
func (r *history) window(f *steps, a, b int64, final int64) window {
	end := r.wall
	if b <= 0 && end > 0 {
		return window{}
	}
	if a >= end {
		return window{float64(final), final, final, final}
	}
	low, high := max(a, 0), min(b, end)
	w := f.window(low, high)
	if a < 0 {
		w.min, w.max = min(w.min, 0), max(w.max, 0)
	}
	if b >= end {
		w.min, w.max, w.last = min(w.min, final), max(w.max, final), final
	}
	// The mean is over the time within the run.
	return w
}
