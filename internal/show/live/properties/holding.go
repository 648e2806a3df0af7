package properties

import (
	"cmp"
	"slices"
)

// Bytes held. A node may hold several copies of a DF: each CF that asked for it is sent one. So copies are counted: stored
// less dropped. Where more are dropped than were stored, because something was lost or has not arrived yet, the first drops,
// in the order of streams, are left out. A copy takes the size that the DF's creation tells.

// change is something that happened to a copy of a DF at a node, or the end of the DF, on the common clock.
type change struct {
	t   int64
	end bool // dropped, not stored; or destroyed
}

// value is what a DF was given by one of its creations.
type value struct{ t, size int64 }

// valueAt gives the size a DF had at t: that of the last creation by then, else of the first. They are in order of time.
func valueAt(made []value, t int64) int64 {
	end := len(made)
	for end > 1 && made[end-1].t > t {
		end--
	}
	if end == 0 {
		return 0
	}
	return made[end-1].size
}

// emitCopies tells what the copies of a DF at one node change. The list is in the order of streams, and in one of them as recorded.
// It gives the number of drops left out.
func emitCopies(out sink, node int32, list []change, made []value, sign int64) (unmatched int64) {
	balance := 0
	for i := range list {
		if list[i].end {
			balance--
		} else {
			balance++
		}
	}
	var odd []int64
	if len(made) > 1 {
		odd = oddSizes(list, made)
	}
	for i := range list {
		c := &list[i]
		if c.end && balance < 0 {
			balance++
			unmatched++
			continue
		}
		size := int64(0)
		switch {
		case odd != nil:
			size = odd[i]
		case len(made) == 1:
			size = made[0].size
		}
		emitCopy(out, node, c, size, sign)
	}
	return unmatched
}

func emitCopy(out sink, node int32, c *change, size, sign int64) {
	if c.end {
		sign = -sign
	}
	for _, place := range [...]int32{node, whole} {
		out.add(copies, place, c.t, sign)
		out.add(objects, place, c.t, sign)
		if size != 0 {
			out.add(bytes, place, c.t, sign*size)
		}
	}
}

// oddSizes sizes the copies of a DF that was created several times: that of the value there when a copy was stored; the
// oldest copy is dropped first, whatever the clocks say.
func oddSizes(list []change, made []value) []int64 {
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(list[a].t, list[b].t) })
	sizes := make([]int64, len(list))
	var stored []int64
	for _, i := range order {
		if !list[i].end {
			sizes[i] = valueAt(made, list[i].t)
			stored = append(stored, sizes[i])
		}
	}
	for _, i := range order {
		if list[i].end && len(stored) > 0 {
			sizes[i], stored = stored[0], stored[1:]
		}
	}
	return sizes
}

// emitDF tells how a DF changes the number of DFs there are. Of one destroyed more often than it was created the first
// destructions, in the order of nodes and streams, are left out.
func emitDF(out sink, made []value, gone []change, sign int64) {
	for _, v := range made {
		out.add(dfs, whole, v.t, sign)
	}
	for i := max(len(gone)-len(made), 0); i < len(gone); i++ {
		out.add(dfs, whole, gone[i].t, -sign)
	}
}
