package counters

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/counters/steps"
)

// columns collects the changes of a family.
type columns struct {
	family family
	whole  [quantities][]steps.Change
	places [quantities][][]steps.Change
}

func (c *columns) add(q quantity, at int32, t, d int64) {
	if q.family() != c.family {
		return
	}
	list := &c.whole[q]
	if at >= 0 {
		for int(at) >= len(c.places[q]) {
			c.places[q] = append(c.places[q], nil)
		}
		list = &c.places[q][at]
	}
	*list = append(*list, steps.Change{T: t, D: d})
}

// build makes step functions.
func (c *columns) build() (out [quantities]built) {
	for q := range out {
		if len(c.whole[q]) > 0 {
			out[q].whole = steps.Of(sorted(c.whole[q]))
			c.whole[q] = nil
		}
		for _, list := range c.places[q] {
			var s *steps.Steps
			if len(list) > 0 {
				s = steps.Of(sorted(list))
			}
			out[q].places = append(out[q].places, s)
		}
		c.places[q] = nil
	}
	return out
}

// sorted puts changes in order of time. They are many, spread over the run and nearly in order. So each goes
// into its bucket, a small piece of the time, and the few of a bucket are sorted.
func sorted(list []steps.Change) []steps.Change {
	order := func(a, b steps.Change) int { return cmp.Compare(a.T, b.T) }
	const few = 64
	if len(list) < few {
		slices.SortFunc(list, order)
		return list
	}
	low, high, ordered := list[0].T, list[0].T, true
	for i := 1; i < len(list); i++ {
		ordered = ordered && list[i].T >= list[i-1].T
		low, high = min(low, list[i].T), max(high, list[i].T)
	}
	if ordered {
		return list
	}
	parts := uint64(len(list) / 8)
	width := (uint64(high)-uint64(low))/parts + 1
	part := func(t int64) uint64 { return (uint64(t) - uint64(low)) / width }
	at := make([]uint32, parts+1)
	for i := range list {
		at[part(list[i].T)+1]++
	}
	for i := range parts {
		at[i+1] += at[i]
	}
	out := make([]steps.Change, len(list))
	for _, c := range list {
		p := part(c.T)
		out[at[p]] = c
		at[p]++
	}
	from := uint32(0) // now at[p] is where part p ends
	for _, to := range at[:parts] {
		slices.SortFunc(out[from:to], order)
		from = to
	}
	return out
}
