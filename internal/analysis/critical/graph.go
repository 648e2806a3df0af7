package critical

import (
	"context"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// The graph of who waited for whom: its points are executions, its edges their holds.
//
// Budgets. A trace of 10 million events has about a million executions and four times as many edges. An edge
// is an execution and a time, 12 bytes; times on links and useful time after an execution let go are kept
// only for stretches of executions in which there are any. Holds are found for stretches of neighbouring
// executions, several at once; each keeps its edges to itself, so that nothing is copied or counted before.
// What follows from the graph are single passes over the executions in the order of before.
//
// When several processes share a run, each finds the holds of its own executions, and one joins them
// (whole.go).

// graph is the executions of a run with what held them up.
type graph struct {
	m      *model.Model
	useful []int64  // by execution: useful time; 0 of structured CFs, -1 if it is on no worker
	end    []int64  // by execution: its end; None where it has not ended
	code   []uint32 // by execution: its code fragment
	order  []uint32 // the executions on workers: whoever is waited for comes first
	edges  []edges  // by own execution >> stretchBits
	budget int      // of together

	// What only finding the edges takes.
	until []int64   // by execution: how long it kept its worker busy
	hops  []pathHop // by execution: where the path goes on from it; nil where one process has all
}

// pathHop is where the path goes on.
type pathHop struct {
	Edge uint32 // 1 + the number of the edge among those of the execution; 0: it ends
	At   int64  // and when, unless it is earlier already
}

const (
	stretchBits = 14
	stretchLen  = 1 << stretchBits
)

// edges are the holds of neighbouring executions that are other executions.
type edges struct {
	At     []uint32 // by execution: where its edges start; and one more
	From   []uint32 // the execution waited for; with workerBit if only for the worker
	Play   []int64
	Early  []int64 // nil where all are 0
	Flight []int64 // nil where all are 0
}

const workerBit = 1 << 31

// of gives the edges of an execution: i to k in the list.
func (g *graph) of(e uint32) (s *edges, i, k uint32) {
	s = &g.edges[e>>stretchBits]
	e &= stretchLen - 1
	return s, s.At[e], s.At[e+1]
}

// orZero gives one of Early or Flight.
func orZero(list []int64, i uint32) int64 {
	if list == nil {
		return 0
	}
	return list[i]
}

func (g *graph) holder() *holder {
	return &holder{m: g.m, useful: g.useful, until: g.until}
}

func newGraph(ctx context.Context, m *model.Model, p *peers) (*graph, error) {
	n := m.Executions()
	g := &graph{m: m, useful: model.Make[int64](m, n), end: model.Make[int64](m, n),
		code: model.Make[uint32](m, n), until: m.BusyUntil(),
		edges: make([]edges, (p.end-p.first+stretchLen-1)>>stretchBits)}
	for e := range g.useful {
		g.useful[e] = -1
		g.code[e] = uint32(m.CodeOf(m.ExecCF[e]))
		if m.ExecEnd[e] != model.None {
			g.end[e] = m.EndOf(e)
		} else {
			g.end[e] = model.None
		}
	}
	var workers []*model.Worker
	for _, w := range m.OwnWorkers() {
		if w.First < w.End {
			workers = append(workers, w)
		}
	}
	lists := make([][]uint32, len(workers))
	err := procs.Each(ctx, 0, len(workers), func(_, i int) error {
		w := workers[i]
		clear(g.useful[w.First:w.End])
		slou.EachUseful(m, w, nil, func(e int, ns int64) { g.useful[e] = ns })
		lists[i] = inOrder(m, w)
		return nil
	})
	if err := procs.Agree(p, err); err != nil {
		return nil, err
	}
	if err := p.introduce(g.useful, g.until); err != nil {
		return nil, err
	}
	g.order = procs.Merge(lists, func(a, b uint32) bool { return before(m, int(a), int(b)) })
	if p.Size() > 1 {
		g.hops = make([]pathHop, n)
	}
	holders := make([]*holder, procs.Lanes(0, len(g.edges)))
	err = procs.Each(ctx, 0, len(g.edges), func(lane, i int) error {
		if holders[lane] == nil {
			holders[lane] = g.holder()
		}
		first := p.first + i<<stretchBits
		g.edges[i] = holders[lane].stretch(g, first, min(first+stretchLen, p.end))
		return nil
	})
	return g, procs.Agree(p, err)
}

// inOrder gives the executions of a worker in the order of before. That is nearly always their own.
func inOrder(m *model.Model, w *model.Worker) []uint32 {
	list := make([]uint32, w.End-w.First)
	for i := range list {
		list[i] = uint32(w.First + i)
	}
	slices.SortFunc(list, func(a, b uint32) int { return order(m, int(a), int(b)) })
	return list
}

// stretch finds the edges of the executions from first to end. They are collected in lists that are used
// again and again, then copied, so that no room is wasted.
func (h *holder) stretch(g *graph, first, end int) edges {
	s := &h.edges
	s.From, s.Play, s.Early, s.Flight = s.From[:0], s.Play[:0], s.Early[:0], s.Flight[:0]
	at := make([]uint32, 0, end-first+1)
	early, flight := false, false
	for e := first; e < end; e++ {
		at = append(at, uint32(len(s.From)))
		list := h.find(e)
		path := -1
		if g.hops != nil {
			path = h.through(list)
		}
		for i := range list {
			l := &list[i]
			if l.from < 0 {
				continue
			}
			from := uint32(l.from)
			if l.reason == ReasonWorker || l.reason == ReasonUnknown {
				from |= workerBit
			}
			early, flight = early || l.early > 0, flight || l.flight > 0
			s.From, s.Play = append(s.From, from), append(s.Play, l.play)
			if i == path {
				g.hops[e] = pathHop{uint32(len(s.From)) - at[len(at)-1], h.backTo(e, l)}
			}
			s.Early, s.Flight = append(s.Early, l.early), append(s.Flight, l.flight)
		}
	}
	at = append(at, uint32(len(s.From)))
	out := edges{At: at, From: kept(g.m, s.From), Play: kept(g.m, s.Play)}
	if early {
		out.Early = kept(g.m, s.Early)
	}
	if flight {
		out.Flight = kept(g.m, s.Flight)
	}
	return out
}

// kept is a copy that stays as long as the model.
func kept[T any](m *model.Model, list []T) []T {
	return append(model.Make[T](m, len(list))[:0], list...)
}

// chain is the longest chain of useful times.
type chain struct {
	ns    int64
	count int64         // atomic CFs on it
	codes map[int]int64 // useful time by code fragment; what is missing to ns was on links
}

// longest finds the longest chain along edges that are no worker's order, without or with the time on links.
// depth is overwritten: what the chain that ends in an execution lasts.
func (g *graph) longest(depth []int64, transfers bool) chain {
	last := -1
	for _, e := range g.order {
		_, above, _ := g.above(depth, e, transfers)
		depth[e] = above + g.useful[e]
		if last < 0 || depth[e] > depth[last] {
			last = int(e)
		}
	}
	c := chain{codes: map[int]int64{}}
	if last >= 0 {
		c.ns = depth[last]
	}
	for early := int64(0); last >= 0; {
		if code := int(g.code[last]); g.m.Codes[code].Kind == trace.Atomic {
			c.count++
			c.codes[code] += g.useful[last] - early
		}
		last, _, early = g.above(depth, uint32(last), transfers)
	}
	return c
}

// above gives the execution through which the longest chain comes to e, -1 for none, how long that chain is,
// and how much of the useful time of that execution is no part of it, because it came after it had let e go.
func (g *graph) above(depth []int64, e uint32, transfers bool) (best int, longest, early int64) {
	best = -1
	s, i, k := g.of(e)
	for ; i < k; i++ {
		from, after := s.From[i], orZero(s.Early, i)
		if from&workerBit != 0 {
			continue
		}
		d := depth[from] - after
		if transfers {
			d += orZero(s.Flight, i)
		}
		if d > longest || best < 0 {
			best, longest, early = int(from), d, after
		}
	}
	return best, longest, early
}
