package graph

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/model/query"
	"github.com/whyslow/whyslow/internal/show/view/fragments"
)

// The task graph: all CFs of a run, in groups that open.
//
// Problem. A run has millions of CFs; a picture has room for some hundred boxes.
//
// Plan. All CFs stand in one order: by code fragment, name, indices of the label one after another, and
// id. Those without indices have the ones of the first DF that they made: most programs label nothing. A
// group is a stretch of that order. Opening it cuts the stretch into at most so many: at its names; at the
// values, or round ranges of values, of the first index in which its CFs differ; where they have the same
// indices, by number; and where few CFs are left, into these. What is cut follows from the stretch alone,
// so groups need not be kept. An answer numbers the boxes, notes the box of every CF, and counts what goes
// from box to box in one pass over the executions.

// TaskQuery asks for the task graph of an interval.
type TaskQuery struct {
	From, To int64
	Open     []string // ids of groups to open; those that there are not are passed over
	Limit    int      // boxes at most, up to MaxBoxes, which is also what 0 means

	parts int // into which a group opens at most, but for names; 0: 20
}

// MaxBoxes is how many boxes the task graph has at most.
const MaxBoxes = 400

// maxTaskEdges is how many edges it has at most.
const maxTaskEdges = 1000

// TaskGraph is all CFs of a run in groups, some of them open.
type TaskGraph struct {
	Groups []TaskGroup `json:"groups"` // each before those in it
	// Edges are those between and within groups that are not open. They lead from the CFs that made a DF to
	// those it was an input of ("data"), and from the CFs that created others to these ("child").
	Edges     []GraphEdge `json:"edges"`
	MoreEdges int         `json:"more_edges"` // those left out have the least counts
	More      int         `json:"more"`       // code fragments left out, with the fewest CFs
	Full      bool        `json:"full"`       // there was no room to open some group
}

// TaskGroup is a group of CFs, or a single one.
type TaskGroup struct {
	ID     string `json:"id"`     // it stays while a trace grows, as long as the ranges do
	Parent string `json:"parent"` // the open group it is in, "" none
	Title  string `json:"title"`  // "mult", "mult[10..19]", "mult[10][3]", "update → m[10][3]"
	CF     string `json:"cf"`     // of a single one, "" of a group
	Code   int    `json:"code"`   // number of the code fragment
	Open   bool   `json:"open"`
	CFs    int64  `json:"cfs"`   // of the whole run
	Count  int64  `json:"count"` // executions that started in the interval
	NS     int64  `json:"ns"`    // their time, as in package fragments

	stretch
}

// stretch is CFs that follow each other in the order.
type stretch struct {
	first, end int
	base       int // in a group cut by number: where its numbers begin; else -1
}

// Tasks gives the task graph: groups whose CFs ran or were created in the interval, those that made what they
// took or created them, and what went from one to another.
func (g *Graph) Tasks(q TaskQuery) (*TaskGraph, error) {
	s, err := g.x.Interval(q.From, q.To)
	if err != nil {
		return nil, err
	}
	if q.Limit < 0 || q.Limit > MaxBoxes {
		return nil, query.Bad("limit=%d: it must be 1 to %d", q.Limit, MaxBoxes)
	}
	c := cutter{taskOrder: g.tasks(), parts: cmp.Or(q.parts, 20)}
	out := &TaskGraph{Groups: []TaskGroup{}, Edges: []GraphEdge{}}
	groups, boxes := c.groups(&q, out)
	shown := make([]bool, len(groups))
	whole := q.From <= 0 && q.To >= g.m.Wall()
	for _, k := range boxes {
		shown[k] = whole
	}
	g.count(s, c.list, groups, boxes, func(k int) { shown[k] = true }, func(e GraphEdge) {
		out.Edges = append(out.Edges, e)
	})
	if out.MoreEdges = max(0, len(out.Edges)-maxTaskEdges); out.MoreEdges > 0 {
		slices.SortStableFunc(out.Edges, func(a, b GraphEdge) int { return cmp.Compare(b.Count, a.Count) })
		out.Edges = out.Edges[:maxTaskEdges]
	}
	at := map[string]int{}
	for i := range groups {
		at[groups[i].ID] = i
	}
	for i := len(groups) - 1; i >= 0; i-- { // those in a group come after it
		if v := &groups[i]; shown[i] && v.Parent != "" {
			p := at[v.Parent]
			groups[p].Count += v.Count
			groups[p].NS += v.NS
			shown[p] = true
		}
	}
	for i := range groups {
		if shown[i] {
			out.Groups = append(out.Groups, groups[i])
		}
	}
	return out, nil
}

// count counts what happened in an interval in the groups that are boxes, tells of each group that had a part
// in it, and gives the edges, by their ends.
func (g *Graph) count(s fragments.Interval, order []model.CF, groups []TaskGroup, boxes []int,
	seen func(k int), edge func(e GraphEdge)) {
	m, n := g.m, len(boxes)+1
	box := make([]uint16, len(m.Created)) // by CF: 1 + its box, 0 for none
	for i, k := range boxes {
		for _, cf := range order[groups[k].first:groups[k].end] {
			box[cf] = uint16(i + 1)
		}
	}
	data, children := make([]amount, n*n), make([]amount, n*n) // by box and box
	for e, cf := range m.ExecCF {
		b, t := int(box[cf]), m.ExecStart[e]
		if b == 0 || !s.Has(t) {
			continue
		}
		v := &groups[boxes[b-1]]
		v.Count++
		v.NS += g.x.TimeOf(e)
		seen(boxes[b-1])
		for _, df := range m.Inputs(e) {
			if i, ok := m.Creation(df, t); ok {
				data[int(box[m.MadeBy[i]])*n+b].add(m.MadeSize[i])
			}
		}
	}
	for cf, t := range m.Created {
		if b := int(box[cf]); b != 0 && s.Has(t) {
			seen(boxes[b-1])
			children[int(box[m.Parent[cf]])*n+b].add(0)
		}
	}
	for a := 1; a < n; a++ {
		for b := 1; b < n; b++ {
			for _, list := range []struct {
				kind string
				amount
			}{{edgeData, data[a*n+b]}, {edgeChild, children[a*n+b]}} {
				if list.count > 0 {
					seen(boxes[a-1])
					edge(GraphEdge{groups[boxes[a-1]].ID, groups[boxes[b-1]].ID, list.count, list.bytes, list.kind})
				}
			}
		}
	}
}

// cutter cuts the order of all CFs into groups.
type cutter struct {
	*taskOrder
	parts int
}

// groups opens what is to be open, outer groups first, as long as there is room, and gives all groups and
// which of them are boxes: not open.
func (c *cutter) groups(q *TaskQuery, out *TaskGraph) (groups []TaskGroup, boxes []int) {
	limit := cmp.Or(q.Limit, MaxBoxes)
	groups = c.codes()
	if out.More = max(0, len(groups)-limit); out.More > 0 {
		slices.SortStableFunc(groups, func(a, b TaskGroup) int { return cmp.Compare(b.CFs, a.CFs) })
		groups = groups[:limit]
		slices.SortFunc(groups, func(a, b TaskGroup) int { return cmp.Compare(a.Code, b.Code) })
	}
	room := limit - len(groups)
	for i := 0; i < len(groups); i++ {
		if groups[i].CF == "" && slices.Contains(q.Open, groups[i].ID) {
			if in := c.cut(&groups[i]); len(in)-1 <= room {
				room -= len(in) - 1
				groups[i].Open = true
				groups = append(groups, in...)
				continue
			}
			out.Full = true
		}
		boxes = append(boxes, i)
	}
	return groups, boxes
}

// codes gives a group for each code fragment.
func (c *cutter) codes() (list []TaskGroup) {
	all := stretch{0, len(c.list), -1}
	for all.first < all.end {
		code := c.m.CodeOf(c.list[all.first])
		s := c.until(&all, func(cf model.CF) bool { return c.m.CodeOf(cf) > code })
		list = append(list, c.group(nil, s, strconv.Itoa(code), c.m.Codes[code].Name))
	}
	return list
}

// until cuts off the front of a stretch: all before the first CF that is beyond.
func (c *cutter) until(s *stretch, beyond func(cf model.CF) bool) (front stretch) {
	n := sort.Search(s.end-s.first, func(i int) bool { return beyond(c.list[s.first+i]) })
	front = stretch{s.first, s.first + n, -1}
	s.first += n
	return front
}

// group makes a group within another one; key tells it from its neighbours there. One of a single CF is that.
func (c *cutter) group(in *TaskGroup, s stretch, key, title string) TaskGroup {
	cf := c.list[s.first]
	v := TaskGroup{Title: title, Code: c.m.CodeOf(cf), CFs: int64(s.end - s.first), stretch: s}
	if s.end-s.first == 1 {
		v.CF, v.Title = c.m.CFID(cf).String(), c.name(cf)+brackets(c.indices(cf, nil))
		key = "cf" + v.CF
	}
	if v.ID = key; in != nil {
		v.ID, v.Parent = in.ID+"/"+key, in.ID
	}
	return v
}

// cut gives what a group opens into.
func (c *cutter) cut(g *TaskGroup) (list []TaskGroup) {
	s, n := g.stretch, g.end-g.first
	name, last := c.name(c.list[s.first]), c.list[s.end-1]
	low, high := c.indices(c.list[s.first], nil), c.indices(last, nil)
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
	case name != c.name(last):
		for s.first < s.end {
			name := c.name(c.list[s.first])
			list = append(list, c.group(g, c.until(&s, func(cf model.CF) bool { return c.name(cf) > name }),
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
			list = append(list, c.group(g, c.until(&s, func(cf model.CF) bool { return len(c.indices(cf, nil)) > d }), "-",
				title))
		}
		at := func(i int) int64 { return c.indices(c.list[i], nil)[d] }
		width := roundWidth(at(s.first), at(s.end-1), c.parts)
		for s.first < s.end {
			from := floor(at(s.first), width) * width
			f := c.until(&s, func(cf model.CF) bool { return c.indices(cf, nil)[d] >= from+width })
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

// taskOrder is all CFs in the order of the task graph.
type taskOrder struct {
	m    *model.Model
	list []model.CF
	// made has, by CF without indices of its own, the first of the DFs it made, by name and indices; else 0.
	made []model.DF
}

// name is what a CF is called, without its indices: "mult", or "update → m" of one named by what it made.
func (o *taskOrder) name(cf model.CF) string {
	site := &o.m.Sites[o.m.SiteOf[cf]]
	name := cmp.Or(site.Label, o.m.Codes[site.Code].Name)
	if df := o.made[cf]; df != 0 {
		name += " → " + o.m.DFNameOf(df)
	}
	return name
}

// indices are those of a CF's label, or of what it made; in dst, if there is room.
func (o *taskOrder) indices(cf model.CF, dst []int64) []int64 {
	dst = dst[:0]
	for _, i := range o.m.Label(cf) {
		dst = append(dst, int64(i))
	}
	if df := o.made[cf]; df != 0 {
		dst = o.m.Indices(df, dst)
	}
	return dst
}

// findOrder puts all CFs in order. It takes 16 bytes a CF while it works, then 8.
func (g *Graph) findOrder() *taskOrder {
	m := g.m
	o := &taskOrder{m: m, made: model.Make[model.DF](m, len(m.Created))}
	o.findMade()
	// First by code fragment and name, which follow from the site and the name of what was made.
	type kind struct{ site, df uint32 }
	kindOf := func(cf model.CF) (k kind) {
		if k.site = m.SiteOf[cf]; o.made[cf] != 0 {
			k.df = m.DFName[o.made[cf]] + 1
		}
		return k
	}
	type called struct {
		code int
		name string
	}
	calls, counts := map[kind]called{}, map[called]int{}
	for cf := range m.CFs() {
		k := kindOf(cf)
		c, ok := calls[k]
		if !ok {
			c = called{m.CodeOf(cf), o.name(cf)}
			calls[k] = c
		}
		counts[c]++
	}
	first, n := map[called]int{}, 0
	names := slices.SortedFunc(maps.Keys(counts), func(a, b called) int {
		return cmp.Or(cmp.Compare(a.code, b.code), cmp.Compare(a.name, b.name))
	})
	for _, c := range names {
		first[c], n = n, n+counts[c]
	}
	o.list = model.Make[model.CF](m, n)
	next := maps.Clone(first)
	for cf := range m.CFs() {
		c := calls[kindOf(cf)]
		o.list[next[c]] = cf
		next[c]++
	}
	for _, c := range names {
		o.sort(o.list[first[c]:next[c]])
	}
	return o
}

// findMade finds what CFs without indices are named by.
func (o *taskOrder) findMade() {
	m := o.m
	var here, there []int64
	for df := model.DF(1); int(df) < m.DFs(); df++ {
		for i, end := m.Creations(df); i < end; i++ {
			cf := m.MadeBy[i]
			if cf == 0 || len(m.Label(cf)) > 0 {
				continue
			}
			old := o.made[cf]
			if old != 0 && old != df {
				here, there = m.Indices(df, here[:0]), m.Indices(old, there[:0])
				if cmp.Or(cmp.Compare(m.DFNameOf(df), m.DFNameOf(old)), slices.Compare(here, there)) > 0 {
					continue
				}
			}
			o.made[cf] = df
		}
	}
}

// sort sorts CFs of a name by their indices, then ids. Most are told apart by a number that up to three of the
// indices share, or by one made of the id.
func (o *taskOrder) sort(list []model.CF) {
	type entry struct {
		key uint64
		cf  model.CF
	}
	var here, there []int64
	most := 1
	for _, cf := range list {
		here = o.indices(cf, here)
		most = max(most, len(here))
	}
	bits := 63 / min(most, 3)
	half := int64(1) << (bits - 1)
	entries := make([]entry, len(list))
	for i, cf := range list {
		here = o.indices(cf, here)
		key := uint64(o.m.CFID(cf)) >> 1 // without indices: before the others
		if len(here) > 0 {
			key = 1
			for k := range min(most, 3) {
				if key <<= bits; k < len(here) {
					key |= uint64(min(max(here[k], -half), half-1) + half)
				}
			}
			key |= 1 << 63
		}
		entries[i] = entry{key, cf}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		if c := cmp.Compare(a.key, b.key); c != 0 {
			return c
		}
		here, there = o.indices(a.cf, here), o.indices(b.cf, there)
		return cmp.Or(slices.Compare(here, there), cmp.Compare(o.m.CFID(a.cf), o.m.CFID(b.cf)))
	})
	for i, e := range entries {
		list[i] = e.cf
	}
}
