package graph

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/model/query"
)

// AroundQuery asks for what is around a CF or a DF.
type AroundQuery struct {
	CF    string // "0.17"; or
	DF    string // its key
	Depth int    // steps from it, 1 to MaxDepth; 0: 1
	T     *int64 // time of the states; nil: the end of the run
	Limit int    // nodes at most, up to MaxLimit; 0: 300
}

// Bounds of AroundQuery.
const (
	MaxDepth = 4
	MaxLimit = 5000
)

// States of DFs, beside those of CFs (model.CFState).
const (
	Absent = "absent" // not there yet, as of CFs
	Made   = "made"   // created; nobody is known to hold it
	Held   = "held"   // some node holds a copy
	Gone   = "gone"   // no node holds a copy any more
)

// thing is a CF or a DF.
type thing struct {
	cf model.CF
	df model.DF
}

// key names a thing, the same while a trace grows.
func (g *Graph) key(v thing) string {
	if v.df != 0 {
		return g.m.DFKey(v.df)
	}
	return g.t.CFKey(v.cf)
}

func (g *Graph) id(v thing) string {
	if v.df != 0 {
		return kindDF + g.key(v)
	}
	return kindCF + g.key(v)
}

// Around gives the CFs and DFs around one, those nearest first, each with its state and node at a time. Where
// there are too many, each of those shown has some of its neighbours shown, of every sort, and More are those
// next to what is shown, within Depth, that are not. It fails with fs.ErrNotExist where there is no such CF
// or DF, with fs.ErrInvalid where the query makes no sense.
func (g *Graph) Around(q AroundQuery) (*CodeGraph, error) {
	if q.Depth == 0 {
		q.Depth = 1
	}
	if q.Limit == 0 {
		q.Limit = 300
	}
	switch {
	case (q.CF == "") == (q.DF == ""):
		return nil, query.Bad("give cf=, a CF such as 0.17, or df=, the key of a DF: one of them")
	case q.Depth < 1 || q.Depth > MaxDepth:
		return nil, query.Bad("depth=%d: it must be 1 to %d", q.Depth, MaxDepth)
	case q.Limit < 1 || q.Limit > MaxLimit:
		return nil, query.Bad("limit=%d: it must be 1 to %d", q.Limit, MaxLimit)
	}
	t := int64(math.MaxInt64)
	if q.T != nil {
		t = query.Shift(*q.T, g.m.Start)
	}
	var start thing
	var err error
	if q.CF != "" {
		start.cf, err = g.t.FindCF(q.CF)
	} else {
		start.df, err = g.t.FindDF(q.DF)
	}
	if err != nil {
		return nil, err
	}
	list, more := g.walk(start, q.Depth, q.Limit)
	out := &CodeGraph{Nodes: []GraphNode{}, Edges: []GraphEdge{}, More: more}
	for _, v := range list {
		if v.df != 0 {
			out.Nodes = append(out.Nodes, g.dfNode(v.df, t))
		} else {
			out.Nodes = append(out.Nodes, g.cfNode(v.cf, t))
		}
	}
	out.Edges = append(out.Edges, g.edges(list)...)
	return out, nil
}

// edges lists those between what is shown, by their ends in the order of the nodes.
func (g *Graph) edges(list []thing) []GraphEdge {
	m := g.m
	number := make(map[thing]int, len(list))
	for i, v := range list {
		number[v] = i
	}
	type key struct {
		from, to int
		kind     string
	}
	sums := map[key]*amount{}
	add := func(a, b thing, kind string, bytes int64) {
		from, ok1 := number[a]
		to, ok2 := number[b]
		if ok1 && ok2 {
			at(sums, key{from, to, kind}).add(bytes)
		}
	}
	for _, v := range list {
		if v.cf == 0 {
			continue // every edge has a CF at one end, and both ends of "child" are; it is told by the child
		}
		add(thing{cf: m.Parent[v.cf]}, v, edgeChild, 0)
		for e := range m.ExecutionsOf(v.cf) {
			for _, df := range m.Inputs(e) {
				add(thing{df: df}, v, edgeIn, g.size(df, m.ExecStart[e]))
			}
		}
		for _, i := range g.m.OutputsOf(v.cf) {
			add(v, thing{df: g.m.DFMade(i)}, edgeOut, m.SizeMade(int(i)))
		}
	}
	var out []GraphEdge
	for _, k := range slices.SortedFunc(maps.Keys(sums), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.kind, b.kind))
	}) {
		out = append(out, GraphEdge{g.id(list[k.from]), g.id(list[k.to]), sums[k].count, sums[k].bytes, k.kind})
	}
	return out
}

func (g *Graph) cfNode(cf model.CF, t int64) GraphNode {
	m := g.m
	n := GraphNode{ID: g.id(thing{cf: cf}), Kind: kindCF, Title: g.m.CFTitle(cf), Key: g.key(thing{cf: cf}),
		NS: g.x.Time(cf), Code: m.CodeOf(cf)}
	for range m.ExecutionsOf(cf) {
		n.Count++
	}
	_, waited := m.LastAwait(cf, t)
	at := m.LifeAt(cf, t, waited)
	n.State, n.Node = at.State.String(), int(at.Node)
	switch at.State {
	case model.CFAbsent:
		n.State, n.Node = Absent, -1
	case model.CFMoving:
		n.Node = -1
	}
	return n
}

// holders counts the copies of a DF that nodes hold at a time, by node; gone: some node held one, or it was
// destroyed since it was last created.
func (g *Graph) holders(df model.DF, t int64) (now map[int]int, gone bool) {
	now = map[int]int{}
	last := int64(math.MinInt64) // destroyed
	for _, i := range g.m.CopiesOf(df) {
		p := &g.m.Copies[i]
		if p.Time > t {
			continue
		}
		switch p.What {
		case model.CopyStored:
			now[int(p.Node)]++
			gone = true
		case model.CopyDropped:
			now[int(p.Node)]--
		default:
			last = max(last, p.Time)
		}
	}
	maps.DeleteFunc(now, func(_, count int) bool { return count <= 0 })
	made, ok := g.m.Creation(df, t)
	return now, gone || ok && last >= g.m.MadeTime[made]
}

func (g *Graph) dfNode(df model.DF, t int64) GraphNode {
	m := g.m
	n := GraphNode{ID: g.id(thing{df: df}), Kind: kindDF, Title: m.DFString(df), Key: g.key(thing{df: df}),
		Node: -1, State: Absent, Bytes: g.size(df, t)}
	first, end := m.Creations(df)
	n.Count = int64(end - first)
	if first < end && m.MadeTime[first] <= t {
		n.State = Made
		if made, ok := m.Creation(df, t); ok {
			n.Node = int(m.MadeNode[made])
		}
	} else if at, ok := m.FirstSeen(df); ok && at <= t {
		n.State = Made
	}
	switch now, gone := g.holders(df, t); {
	case len(now) > 0:
		n.State, n.Node = Held, -1
		if len(now) == 1 {
			for where := range now {
				n.Node = where
			}
		}
	case gone:
		n.State, n.Node = Gone, -1
	}
	return n
}
