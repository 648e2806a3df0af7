package graph

import (
	"cmp"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// stretch is things that follow each other in the order.
type stretch struct {
	first, end int
	base       int // in a group cut by number: where its numbers begin; else -1
}

// sequence is things in the order in which they are cut into groups; i counts them.
type sequence interface {
	len() int
	top(i int) int                           // which of the outermost groups it is in; ascending
	head(top int) (key, title string)        // of that group
	nameAt(i int) string                     // its name, without indices: they are in order within a top
	indicesAt(i int, dst []int64) []int64    // in dst, if there is room; in order within a name
	mark(v *TaskGroup, i int)                // says of a group with i what is true of all of its top
	single(v *TaskGroup, i int) (key string) // says which one it is
}

// cutter cuts a sequence into groups.
type cutter struct {
	sequence
	parts int
}

// room tells what there was no room for.
type room struct {
	more int  // outermost groups left out, those with the fewest things
	full bool // some group could not be opened
}

// groups opens what is to be open, outer groups first, as long as there is room, and gives all groups and
// which of them are boxes: not open.
func (c *cutter) groups(open []string, limit int) (groups []TaskGroup, boxes []int, left room) {
	groups = c.tops()
	if left.more = max(0, len(groups)-limit); left.more > 0 {
		slices.SortStableFunc(groups, func(a, b TaskGroup) int { return cmp.Compare(b.CFs, a.CFs) })
		groups = groups[:limit]
		slices.SortFunc(groups, func(a, b TaskGroup) int { return cmp.Compare(a.first, b.first) })
	}
	space := limit - len(groups)
	for i := 0; i < len(groups); i++ {
		if groups[i].end-groups[i].first > 1 && slices.Contains(open, groups[i].ID) {
			if in := c.cut(&groups[i]); len(in)-1 <= space {
				space -= len(in) - 1
				groups[i].Open = true
				groups = append(groups, in...)
				continue
			}
			left.full = true
		}
		boxes = append(boxes, i)
	}
	return groups, boxes, left
}

// tops gives the outermost groups.
func (c *cutter) tops() (list []TaskGroup) {
	all := stretch{0, c.len(), -1}
	for all.first < all.end {
		top := c.top(all.first)
		s := c.until(&all, func(i int) bool { return c.top(i) > top })
		key, title := c.head(top)
		list = append(list, c.group(nil, s, key, title))
	}
	return list
}

// until cuts off the front of a stretch: all before the first thing that is beyond.
func (c *cutter) until(s *stretch, beyond func(i int) bool) (front stretch) {
	n := sort.Search(s.end-s.first, func(i int) bool { return beyond(s.first + i) })
	front = stretch{s.first, s.first + n, -1}
	s.first += n
	return front
}

// group makes a group within another one; key tells it from its neighbours there. One of a single thing is
// that.
func (c *cutter) group(in *TaskGroup, s stretch, key, title string) TaskGroup {
	v := TaskGroup{Title: title, CFs: int64(s.end - s.first), stretch: s}
	c.mark(&v, s.first)
	if s.end-s.first == 1 {
		key = c.single(&v, s.first)
		v.Title = c.nameAt(s.first) + brackets(c.indicesAt(s.first, nil))
	}
	if v.ID = key; in != nil {
		v.ID, v.Parent = in.ID+"/"+key, in.ID
	}
	return v
}

// cut gives what a group opens into.
func (c *cutter) cut(g *TaskGroup) (list []TaskGroup) {
	s, n := g.stretch, g.end-g.first
	name := c.nameAt(s.first)
	low, high := c.indicesAt(s.first, nil), c.indicesAt(s.end-1, nil)
	d := 0 // so many indices are the same for all, because they are for the first and the last
	for d < min(len(low), len(high)) && low[d] == high[d] {
		d++
	}
	title := name + brackets(low[:d])
	switch {
	case n <= c.parts:
		for i := s.first; i < s.end; i++ {
			list = append(list, c.group(g, stretch{i, i + 1, -1}, "", ""))
		}
	case name != c.nameAt(s.end-1):
		for s.first < s.end {
			name := c.nameAt(s.first)
			list = append(list, c.group(g, c.until(&s, func(i int) bool { return c.nameAt(i) > name }),
				"="+url.PathEscape(name), name))
		}
	case d == len(high): // all have the same indices
		base := s.base
		if base < 0 {
			base = s.first
		}
		width := int(roundWidth(int64(s.first-base), int64(s.end-1-base), c.parts))
		for i := s.first; i < s.end; {
			end := min(base+((i-base)/width+1)*width, s.end)
			list = append(list, c.group(g, stretch{i, end, base}, "n"+strconv.Itoa(i-base),
				title+" "+strconv.Itoa(i-base+1)+".."+strconv.Itoa(end-base)))
			i = end
		}
	default:
		if len(low) == d {
			list = append(list, c.group(g, c.until(&s, func(i int) bool { return len(c.indicesAt(i, nil)) > d }), "-",
				title))
		}
		at := func(i int) int64 { return c.indicesAt(i, nil)[d] }
		width := roundWidth(at(s.first), at(s.end-1), c.parts)
		for s.first < s.end {
			from := floor(at(s.first), width) * width
			f := c.until(&s, func(i int) bool { return at(i) >= from+width })
			key := strconv.FormatInt(from, 10)
			if width > 1 {
				key += ".." + strconv.FormatInt(from+width-1, 10)
			}
			list = append(list, c.group(g, f, key, title+"["+key+"]"))
		}
	}
	return list
}

// roundWidth is the least of 1, 10, 100 and so on that cuts the numbers from low to high into at most so many
// ranges, which are two at least. For fewer than ten ranges, tests, it is a power of that number.
func roundWidth(low, high int64, parts int) int64 {
	width := int64(1)
	for floor(high, width)-floor(low, width) >= int64(parts) {
		width *= int64(min(parts, 10))
	}
	return width
}

// floor is the quotient, rounded down.
func floor(v, by int64) int64 {
	q := v / by
	if v%by < 0 {
		q--
	}
	return q
}

// brackets writes indices as in a label.
func brackets(indices []int64) string {
	var b strings.Builder
	for _, i := range indices {
		b.WriteString("[" + strconv.FormatInt(i, 10) + "]")
	}
	return b.String()
}

// sortByIndices sorts things of a name by their indices, then ids. Most are told apart by a number that up to
// three of the indices share, or by one made of the id.
func sortByIndices[T ~uint32](list []T, indices func(v T, dst []int64) []int64, id func(v T) uint64) {
	type entry struct {
		key uint64
		v   T
	}
	var here, there []int64
	most := 1
	for _, v := range list {
		here = indices(v, here)
		most = max(most, len(here))
	}
	bits := 63 / min(most, 3)
	half := int64(1) << (bits - 1)
	entries := make([]entry, len(list))
	for i, v := range list {
		here = indices(v, here)
		key := id(v) >> 1 // without indices: before the others
		if len(here) > 0 {
			key = 1
			for k := range min(most, 3) {
				if key <<= bits; k < len(here) {
					key |= uint64(min(max(here[k], -half), half-1) + half)
				}
			}
			key |= 1 << 63
		}
		entries[i] = entry{key, v}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		if c := cmp.Compare(a.key, b.key); c != 0 {
			return c
		}
		here, there = indices(a.v, here), indices(b.v, there)
		return cmp.Or(slices.Compare(here, there), cmp.Compare(id(a.v), id(b.v)))
	})
	for i, e := range entries {
		list[i] = e.v
	}
}
