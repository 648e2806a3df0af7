package counters

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/model/query"
)

// MemoryQuery asks what is held over an interval.
type MemoryQuery struct {
	From, To int64
	// T is the moment for the holders; nil means the moment of the interval at which most is held.
	T      *int64
	Points int // windows; 0 means 200
}

// MemoryAnswer tells the bytes held per node over time, and by whom at a moment.
type MemoryAnswer struct {
	From     int64        `json:"from"`
	To       int64        `json:"to"`
	WindowNS int64        `json:"window_ns"`
	Nodes    []NodeMemory `json:"nodes"`
	Total    Held         `json:"total"`
	T        int64        `json:"t"`
	Bytes    int64        `json:"bytes"` // at T
	// Holders are what the bytes at T belong to, largest first.
	Holders     []NodeHolder `json:"holders"`
	HoldersMore int          `json:"holders_more"` // not listed
}

// Held is the mean and greatest number of bytes held in each window.
type Held struct {
	Mean []float64 `json:"mean"`
	Max  []float64 `json:"max"`
}

// NodeMemory is what one node holds.
type NodeMemory struct {
	Node int `json:"node"`
	Held
}

// NodeHolder sums up the copies that a node holds at a moment of DFs with one name, made by one code
// fragment.
type NodeHolder struct {
	Name    string `json:"name"` // of the DFs, without indices
	Node    int    `json:"node"`
	Copies  int64  `json:"copies"`
	Bytes   int64  `json:"bytes"`
	Code    string `json:"code"`      // "?" where the producer is not known
	Oldest  int64  `json:"oldest_ns"` // when the oldest of them was stored
	Example string `json:"example"`   // the one with the oldest copy
	DF      string `json:"df"`        // its key
}

// Memory tells what is held, and by whom. It fails when ctx ends.
func (r *Properties) Memory(ctx context.Context, q MemoryQuery) (MemoryAnswer, error) {
	m := MemoryAnswer{From: q.From, To: q.To, Nodes: []NodeMemory{}, Holders: []NodeHolder{}}
	n, err := points(q.Points)
	if err == nil {
		err = interval(q.From, q.To)
	}
	if err != nil {
		return m, err
	}
	if n*len(r.workers) > maxAnswer {
		return m, query.Bad("%d points of %d nodes are too many; ask for fewer", n, len(r.workers))
	}
	m.WindowNS, n = windowWidth(q.From, q.To, n)
	held := func(at int32) Held {
		h := Held{make([]float64, n), make([]float64, n)}
		f := r.stored(bytes, at)
		if f == nil || r.unknown[bytes] {
			return h
		}
		final := f.end()
		for i := range n {
			a := q.From + int64(i)*m.WindowNS
			w := r.window(f, a, min(a+m.WindowNS, q.To), final)
			h.Mean[i], h.Max[i] = w.mean, float64(w.max)
		}
		return h
	}
	m.Total = held(whole)
	for i := range r.workers {
		m.Nodes = append(m.Nodes, NodeMemory{i, held(int32(i))})
	}
	m.T = min(max(q.From, 0), r.wall)
	if f := r.stored(bytes, whole); q.T != nil {
		m.T = *q.T
	} else if f != nil {
		high := min(max(q.To, 0), r.wall)
		m.T, _ = f.peak(m.T, high)
	}
	at := r.inRun(m.T)
	if f := r.stored(bytes, whole); f != nil {
		m.Bytes = f.at(at)
	}
	if at < r.wall {
		at += r.of.m.Start
	}
	m.Holders, m.HoldersMore, err = r.holdings().holders(ctx, r.of.m, at)
	return m, err
}

// maxHolders is how many holders are listed.
const maxHolders = 200

// holdings is what nodes hold, by the time from which it counts.
type holdings struct {
	list []model.Holding
	ends model.Ends
}

// span gives the time from which a copy counts, and the one up to which it does. Where clocks moved the drop
// before the store it counts -1 between them.
func span(h *model.Holding) (from, to int64) {
	if h.To == model.None {
		return h.From, math.MaxInt64
	}
	return min(h.From, h.To), max(h.From, h.To)
}

func findHoldings(m *model.Model) *holdings {
	n := 0
	for h := range m.Holdings() {
		if h.From != model.None {
			n++
		}
	}
	x := &holdings{list: model.Make[model.Holding](m, n)[:0]}
	for h := range m.Holdings() {
		if h.From != model.None {
			x.list = append(x.list, h)
		}
	}
	slices.SortStableFunc(x.list, func(a, b model.Holding) int {
		t, _ := span(&a)
		u, _ := span(&b)
		return cmp.Compare(t, u)
	})
	for i := range x.list {
		_, to := span(&x.list[i])
		x.ends.Add(i, to)
	}
	return x
}

// holders finds who holds what at a time on the common clock. It fails when ctx ends.
func (x *holdings) holders(ctx context.Context, m *model.Model, t int64) (list []NodeHolder, more int,
	err error) {
	type owner struct {
		name       uint32
		node, code int
	}
	type holder struct {
		NodeHolder
		df model.DF
	}
	groups := map[owner]*holder{}
	t = min(t, math.MaxInt64-1) // after all events, but before the end of what is never dropped
	n := sort.Search(len(x.list), func(i int) bool { from, _ := span(&x.list[i]); return from > t })
	x.ends.Before(n, t, func(i int) bool {
		if i%1000 == 0 && ctx.Err() != nil {
			return false
		}
		h := &x.list[i]
		held := h.At(t)
		if held == 0 {
			return true
		}
		k := owner{m.DFName[h.DF], h.Node, 0}
		if first, end := m.Creations(h.DF); end > first {
			k.code = m.CodeOf(m.MadeBy[first])
		}
		g := groups[k]
		if g == nil {
			g = &holder{NodeHolder{Name: m.Names[k.name], Node: k.node, Code: m.Codes[k.code].Name, Oldest: t}, h.DF}
			groups[k] = g
		}
		g.Copies += held
		g.Bytes += held * h.Bytes
		if held > 0 && h.From <= g.Oldest {
			g.Oldest, g.df = h.From, h.DF
		}
		return true
	})
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	list = make([]NodeHolder, 0, len(groups))
	for _, g := range groups {
		if g.Copies > 0 || g.Bytes != 0 {
			g.Oldest, g.Example, g.DF = g.Oldest-m.Start, m.DFString(g.df), m.DFKey(g.df)
			list = append(list, g.NodeHolder)
		}
	}
	slices.SortFunc(list, func(a, b NodeHolder) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Copies, a.Copies),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Code, b.Code))
	})
	if len(list) > maxHolders {
		more = len(list) - maxHolders
		list = list[:maxHolders]
	}
	return list, more, nil
}
