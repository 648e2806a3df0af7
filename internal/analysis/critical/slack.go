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

// How much longer all CFs of a code fragment could take at once.
//
// If each of them takes d longer, an execution starts late by what the latest of its holds is late beyond its
// play; a chain with k of them that passes p of play on the way and ends with r of room moves the end if k d
// > p + r. The greatest d that no chain forbids is found from above: a pass with a d that is too great meets
// chains that forbid it, and the least of the d they allow, (p + r) / k rounded down, is tried next. Each try
// allows what the one before did not, so the first that moves nothing is the answer (Dinkelbach's method for
// least ratios). Two or three tries are usual.

// together is a search for one code fragment after the other.
type together struct {
	*graph
	late  []int64  // by execution: how late it ends
	count []uint32 // how many of the code fragment's executions made it so late
}

// triesOf bounds the work: this many edges are looked at in all. It is enough for any number of code
// fragments of small runs and some dozens of runs with ten million events.
const triesOf = 100_000_000

// all gives the greatest d for a code fragment, starting from one that is not too small; false if budget ran
// out.
func (t *together) all(ctx context.Context, code int, d, end int64, budget *int) (int64, bool) {
	if t.late == nil {
		t.late, t.count = make([]int64, len(t.useful)), make([]uint32, len(t.useful))
	}
	for d > 0 {
		if *budget <= 0 || ctx.Err() != nil {
			return 0, false
		}
		allowed := t.try(code, d, end, budget)
		if allowed >= d {
			break
		}
		d = allowed
	}
	return d, true
}

// try finds out what d the chains allow that d moves the end along; d if there are none.
func (t *together) try(code int, d, end int64, budget *int) int64 {
	allowed := d
	for _, e := range t.order {
		late, count := int64(0), uint32(0)
		s, i, k := t.of(e)
		*budget -= int(k-i) + 1
		for ; i < k; i++ {
			from := s.From[i] &^ workerBit
			if l := t.late[from] - s.Play[i]; l > late {
				late, count = l, t.count[from]
			}
		}
		if int(t.code[e]) == code && t.end[e] != model.None {
			late += d
			count++
		}
		t.late[e], t.count[e] = late, count
		if room := t.room(e, end); late > room {
			// late = count d - play passed
			allowed = min(allowed, (int64(count)*d-late+room)/int64(count))
		}
	}
	return allowed
}
