package graph

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

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
	ID     string `json:"id"`           // it stays while a trace grows, as long as the ranges do
	Parent string `json:"parent"`       // the open group it is in, "" none
	Title  string `json:"title"`        // "mult", "mult[10..19]", "mult[10][3]", "update → m[10][3]"
	CF     string `json:"cf"`           // of a single one, "" of a group
	DF     string `json:"df,omitempty"` // key of a single DF; a Moment has groups of these, too
	Code   int    `json:"code"`         // number of the code fragment
	Open   bool   `json:"open"`
	CFs    int64  `json:"cfs"`   // of the whole run
	Count  int64  `json:"count"` // executions that started in the interval
	NS     int64  `json:"ns"`    // their time, as in package fragments

	stretch
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
	order := g.tasks()
	c := cutter{sequence: order, parts: cmp.Or(q.parts, 20)}
	out := &TaskGraph{Groups: []TaskGroup{}, Edges: []GraphEdge{}}
	groups, boxes, room := c.groups(q.Open, cmp.Or(q.Limit, MaxBoxes))
	out.More, out.Full = room.more, room.full
	shown := make([]bool, len(groups))
	whole := q.From <= 0 && q.To >= g.m.Wall()
	for _, k := range boxes {
		shown[k] = whole
	}
	g.count(s, order.list, groups, boxes, func(k int) { shown[k] = true }, func(e GraphEdge) {
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
				data[int(box[m.MadeBy[i]])*n+b].add(m.SizeMade(i))
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

func (o *taskOrder) len() int                             { return len(o.list) }
func (o *taskOrder) top(i int) int                        { return o.m.CodeOf(o.list[i]) }
func (o *taskOrder) nameAt(i int) string                  { return o.name(o.list[i]) }
func (o *taskOrder) indicesAt(i int, dst []int64) []int64 { return o.indices(o.list[i], dst) }

func (o *taskOrder) head(code int) (key, title string) {
	return strconv.Itoa(code), o.m.Codes[code].Name
}

func (o *taskOrder) mark(v *TaskGroup, i int) { v.Code = o.m.CodeOf(o.list[i]) }

func (o *taskOrder) single(v *TaskGroup, i int) (key string) {
	v.CF = o.m.CFID(o.list[i]).String()
	return kindCF + v.CF
}

// sort sorts CFs of a name by their indices, then ids.
func (o *taskOrder) sort(list []model.CF) {
	sortByIndices(list, o.indices, func(cf model.CF) uint64 { return uint64(o.m.CFID(cf)) })
}
