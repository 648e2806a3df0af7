package critical

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// unbounded is the slack of what did not end and nothing waited for.
const unbounded = int64(math.MaxInt64)

// slack gives, for every execution, by how much it could have ended later, and all that it let go of with it,
// without end, the end of the last CF, moving.
func (g *graph) slack(list []int64, end int64) {
	for e := range list {
		list[e] = g.room(uint32(e), end)
	}
	for _, e := range slices.Backward(g.order) {
		own := list[e]
		if own == unbounded {
			continue
		}
		s, i, k := g.of(e)
		for ; i < k; i++ {
			from := s.From[i] &^ workerBit
			list[from] = min(list[from], own+s.Play[i])
		}
	}
}

// room is how much later an execution could end if nothing waited for it.
func (g *graph) room(e uint32, end int64) int64 {
	if g.end[e] != model.None && g.useful[e] >= 0 {
		return max(end-g.end[e], 0)
	}
	return unbounded
}

// fragments sums up the slack by code fragment. list is overwritten.
func (g *graph) fragments(ctx context.Context, list []int64, end int64, onPath []int64) ([]Fragment, error) {
	m := g.m
	g.slack(list, end)
	codes, high := make([]Fragment, len(m.Codes)), make([]uint64, len(m.Codes))
	for _, e := range g.order {
		if g.end[e] == model.None {
			continue
		}
		code, s := g.code[e], list[e]
		f := &codes[code]
		if f.Count == 0 || s < f.MinNS {
			f.MinNS = s
		}
		f.Count++
		f.UsefulNS += g.useful[e]
		f.MaxNS = max(f.MaxNS, s)
		if s == 0 {
			f.Critical++
		}
		sum, carry := bits.Add64(uint64(f.SumNS), uint64(s), 0)
		f.SumNS = int64(sum)
		high[code] += carry
	}
	out, index := []Fragment{}, []int(nil)
	for i := range codes {
		f := &codes[i]
		if f.Count == 0 {
			continue
		}
		c := &m.Codes[i]
		f.Code, f.Kind, f.File, f.Line, f.OnPath = c.Name, c.Kind.String(), c.File, c.Line, onPath[i]
		mean, _ := bits.Div64(high[i], uint64(f.SumNS), uint64(f.Count))
		f.MeanNS = int64(mean)
		if high[i] > 0 || f.SumNS < 0 {
			f.SumNS = math.MaxInt64
		}
		out = append(out, *f)
		index = append(index, i)
	}
	search, budget := together{graph: g}, g.budget
	for i := range out {
		all := out[i].MinNS
		if all > 0 && out[i].Count > 1 {
			var ok bool
			if all, ok = search.all(ctx, index[i], all, end, &budget); !ok {
				continue
			}
		}
		out[i].AllNS = &all
	}
	slices.SortStableFunc(out, func(a, b Fragment) int {
		return cmp.Or(cmp.Compare(a.MinNS, b.MinNS), cmp.Compare(b.UsefulNS, a.UsefulNS),
			cmp.Compare(b.Count, a.Count))
	})
	return out, ctx.Err()
}
