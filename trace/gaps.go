package trace

import (
	"cmp"
	"math"
	"slices"

	"github.com/whyslow/whyslow/internal/tracefile"
)

// A Gap is a stretch of time of which nothing, or not everything, is known about a stream.
type Gap struct {
	Node   int `json:"node"`
	Stream int `json:"stream"`
	Span
}

// NS is the length of the gap in nanoseconds.
func (g Gap) NS() int64 { return g.To - g.From }

// Span returns the least and the greatest time of all blocks, those included of which
// only the header is whole. Without any it is the zero Span.
func (r *Reader) Span() Span {
	s := Span{math.MaxInt64, math.MinInt64}
	for _, f := range r.files {
		for i := range f.Blocks {
			s.From, s.To = min(s.From, f.Blocks[i].First), max(s.To, f.Blocks[i].Last)
		}
	}
	for _, p := range r.Problems() {
		if p.Timed && p.From != math.MinInt64 && p.To != math.MaxInt64 {
			s.From, s.To = min(s.From, p.From), max(s.To, p.To)
		}
	}
	if s.From > s.To {
		return Span{}
	}
	return s
}

// Gaps returns what is missing according to Problems: stretches within Span, by node, stream and time, those
// that touch joined. A worker of a missing or foreign file lacks everything. What emitters dropped is not
// among them: onLost events tell that. What came after the last time recorded anywhere is unknown.
func (r *Reader) Gaps() []Gap {
	whole := r.Span()
	var list []Gap
	for _, p := range r.Problems() {
		switch {
		case p.Timed && p.Node >= 0 && p.Stream >= 0:
			list = append(list, Gap{p.Node, p.Stream, Span{p.From, p.To}})
		case (p.Kind == Missing || p.Kind == Foreign) && p.Node >= 0 && r.nodes[p.Node] == nil:
			if info := r.run.Node(p.Node); info != nil {
				for s := range min(info.Workers, tracefile.MaxProblems) {
					list = append(list, Gap{p.Node, s, Always})
				}
			}
		}
	}
	slices.SortFunc(list, func(a, b Gap) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.From, b.From))
	})
	out := list[:0]
	for _, g := range list {
		g.From, g.To = max(g.From, whole.From), min(g.To, whole.To)
		if g.From >= g.To {
			continue
		}
		if n := len(out); n > 0 && out[n-1].Node == g.Node && out[n-1].Stream == g.Stream && g.From <= out[n-1].To {
			out[n-1].To = max(out[n-1].To, g.To)
			continue
		}
		out = append(out, g)
	}
	return out
}
