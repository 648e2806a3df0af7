// Package graph shows a run as graphs: nodes and the traffic between them; code fragments and the DFs they
// pass on; all CFs in groups that open; and single CFs and DFs around one of them, each with its state and
// place at a moment.
//
// Times are nanoseconds since the start of the run. An interval has what happened at from or later and before
// to; one that begins at 0 or ends at the end of the run has what was recorded before or after it, too.
package graph

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/show/view/fragments"
	"github.com/whyslow/whyslow/internal/show/view/timeline"
)

// Graph answers for one model. Its methods may be used by many goroutines at once.
type Graph struct {
	m *model.Model
	t *timeline.Timeline
	x *fragments.Index

	held   func() []heldChange // changes in what nodes hold
	tasks  func() *taskOrder
	dfs    func() *dfOrder
	places func() *places

	formsMu sync.Mutex
	forms   []*form // those that were asked for last
}

// New makes the graphs of a run from its fragments.
func New(x *fragments.Index) *Graph {
	g := &Graph{m: x.Timeline().Model(), t: x.Timeline(), x: x}
	g.held, g.tasks = sync.OnceValue(g.findHeld), sync.OnceValue(g.findOrder)
	g.dfs, g.places = sync.OnceValue(g.findDFOrder), sync.OnceValue(g.findPlaces)
	return g
}

// NodeGraph is the nodes and links of a run in an interval.
type NodeGraph struct {
	Nodes []NodeVertex `json:"nodes"`
	Links []LinkEdge   `json:"links"` // those with traffic, or that were waited for; by From, then To
}

// NodeVertex is a node.
type NodeVertex struct {
	Node    int     `json:"node"`
	Host    string  `json:"host"`
	Useful  float64 `json:"useful"`  // share of its workers' time
	Running float64 `json:"running"` // atomic CFs that run, mean
	Bytes   float64 `json:"bytes"`   // of the copies of DFs it holds, mean
}

// LinkEdge is the traffic over a link.
type LinkEdge struct {
	From     int   `json:"from"`
	To       int   `json:"to"`
	Messages int64 `json:"messages"` // DFs and CFs sent, one-sided transfers
	Bytes    int64 `json:"bytes"`    // theirs
	WaitNS   int64 `json:"wait_ns"`  // time of workers that is L of this link
}

// Nodes gives the nodes with the traffic between them in an interval.
func (g *Graph) Nodes(from, to int64) (*NodeGraph, error) {
	m := g.m
	s, err := g.x.Interval(from, to)
	if err != nil {
		return nil, err
	}
	out := &NodeGraph{Nodes: make([]NodeVertex, len(m.Nodes)), Links: []LinkEdge{}}
	links := map[slou.Link]*LinkEdge{}
	link := func(from, to int32) *LinkEdge {
		k := slou.Link{From: from, To: to}
		if links[k] == nil {
			links[k] = &LinkEdge{From: int(from), To: int(to)}
		}
		return links[k]
	}
	sums := g.x.Sums(from, to)
	for l, ns := range sums.Waited {
		link(l.From, l.To).WaitNS = ns
	}
	count := func(msg *model.Message) {
		at := msg.Sent
		if at == model.None {
			at = msg.Received
		}
		if s.Has(at) && msg.From >= 0 && msg.To >= 0 {
			l := link(msg.From, msg.To)
			l.Messages++
			l.Bytes += msg.Bytes
		}
	}
	for _, list := range [][]model.Message{m.DFMessages, m.Moves} {
		for i := range list {
			count(&list[i])
		}
	}
	m.EachTransfer(func(_ model.TransferKind, _ uint32, msg model.Message) { count(&msg) })
	for _, l := range links {
		out.Links = append(out.Links, *l)
	}
	slices.SortFunc(out.Links,
		func(a, b LinkEdge) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	within := fragments.Interval{From: max(s.From, m.Start), To: min(s.To, m.End)}
	length := float64(max(within.To-within.From, 1))
	bytes := g.bytes(within)
	for i := range out.Nodes {
		n := &m.Nodes[i]
		v := &out.Nodes[i]
		v.Node, v.Host, v.Bytes = i, n.Host, bytes[i]
		v.Running = float64(g.busy(n, within)) / length
		if len(n.Workers) > 0 {
			v.Useful = float64(sums.Useful[i]) / (length * float64(len(n.Workers)))
		}
	}
	return out, nil
}

// busy is the time that a node's workers were within atomic CFs.
func (g *Graph) busy(n *model.Node, s fragments.Interval) (ns int64) {
	m := g.m
	for _, w := range n.Workers {
		for e := w.First; e < w.End && m.ExecStart[e] < s.To; e++ {
			if end := m.EndOf(e); end > s.From && m.Atomic(m.ExecCF[e]) {
				ns += max(min(end, s.To)-max(m.ExecStart[e], s.From), 0)
			}
		}
	}
	return ns
}

// CodeGraph is a graph of CFs and DFs, single ones or collapsed.
type CodeGraph struct {
	Nodes []GraphNode `json:"nodes"`
	Edges []GraphEdge `json:"edges"` // between them
	More  int         `json:"more"`  // nodes that were left out
}

// GraphNode is a CF, a DF, a code fragment, or all DFs of a name.
type GraphNode struct {
	ID    string `json:"id"`   // the kind and the key; it stays while a trace grows
	Kind  string `json:"kind"` // "cf", "df", "code", "dfs"
	Title string `json:"title"`
	Key   string `json:"key"`   // of a CF, DF, code fragment (its number) or the DFs' name
	Count int64  `json:"count"` // executions, creations
	NS    int64  `json:"ns"`    // time of the executions, as in package fragments
	Bytes int64  `json:"bytes"` // of values
	Node  int    `json:"node"`  // where it is; -1: nowhere, or on many
	State string `json:"state"` // of a CF or DF
	Code  int    `json:"code"`  // number of the code fragment, 0 of DFs
}

// GraphEdge leads from a CF to a DF it made ("out") or to a CF it created ("child"), or from a DF to a CF it
// was an input of ("in"); in the task graph also from a CF to one that took what it made ("data").
type GraphEdge struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Count int64  `json:"count"`
	Bytes int64  `json:"bytes"` // of the DFs
	Kind  string `json:"kind"`
}

// Kinds of nodes and edges.
const (
	kindCF, kindDF, kindCode, kindDFs = "cf", "df", "code", "dfs"
	edgeChild, edgeIn, edgeOut        = "child", "in", "out"
	edgeData                          = "data"
)

// maxCodes is how many nodes the collapsed graph has at most.
const maxCodes = 500

// vertex is a node of the collapsed graph: a code fragment by number, or, beyond these, a DF name.
type vertex uint32

type arc struct{ from, to vertex }

type amount struct{ count, bytes, ns int64 }

// Codes gives the graph of an interval, collapsed by code fragment and DF name: executions that started, DFs
// that were created and CFs that were created in it.
func (g *Graph) Codes(from, to int64) (*CodeGraph, error) {
	m := g.m
	s, err := g.x.Interval(from, to)
	if err != nil {
		return nil, err
	}
	dfs := vertex(len(m.Codes))
	code := func(cf model.CF) vertex { return vertex(m.CodeOf(cf)) }
	c := &counts{vertices: make([]*amount, len(m.Codes)+len(m.Names)), arcs: map[arc]*amount{}}
	for e, cf := range m.ExecCF {
		if !s.Has(m.ExecStart[e]) {
			continue
		}
		v := c.vertex(code(cf))
		v.count++
		v.ns += g.x.TimeOf(e)
		for _, df := range m.Inputs(e) {
			c.arc(dfs+vertex(m.DFName[df]), code(cf), g.size(df, m.ExecStart[e]))
		}
	}
	for df := 1; df < m.DFs(); df++ {
		first, end := m.Creations(model.DF(df))
		for i := first; i < end; i++ {
			if !s.Has(m.MadeTime[i]) {
				continue
			}
			name := dfs + vertex(m.DFName[df])
			c.vertex(name).add(m.SizeMade(i))
			if by := m.MadeBy[i]; by != 0 {
				c.arc(code(by), name, m.SizeMade(i))
			}
		}
	}
	for cf, t := range m.Created {
		if parent := m.Parent[cf]; s.Has(t) && parent != 0 {
			c.arc(code(parent), code(model.CF(cf)), 0)
		}
	}
	return g.collapsed(c), nil
}

// counts are the amounts of the collapsed graph.
type counts struct {
	vertices []*amount // nil: not in the graph
	arcs     map[arc]*amount
	// A few arcs count nearly everything. They are found here, faster than in the map.
	recent [256]struct {
		arc
		sum *amount
	}
}

func (c *counts) vertex(v vertex) *amount {
	if c.vertices[v] == nil {
		c.vertices[v] = new(amount)
	}
	return c.vertices[v]
}

func (c *counts) arc(from, to vertex, bytes int64) {
	r := &c.recent[(from*31+to)%vertex(len(c.recent))]
	if a := (arc{from, to}); r.sum == nil || r.arc != a {
		c.vertex(from)
		c.vertex(to)
		r.arc, r.sum = a, at(c.arcs, a)
	}
	r.sum.add(bytes)
}

func (a *amount) add(bytes int64) {
	a.count++
	a.bytes += bytes
}

func at[K comparable](m map[K]*amount, k K) *amount {
	a := m[k]
	if a == nil {
		a = new(amount)
		m[k] = a
	}
	return a
}

// size gives the bytes of the value that a DF had at a time, 0 where not known.
func (g *Graph) size(df model.DF, t int64) int64 {
	if i, ok := g.m.Creation(df, t); ok {
		return g.m.SizeMade(i)
	}
	return 0
}

// collapsed orders the graph: code fragments, then DFs, by number; edges by their ends.
func (g *Graph) collapsed(c *counts) *CodeGraph {
	m := g.m
	out := &CodeGraph{Nodes: []GraphNode{}, Edges: []GraphEdge{}}
	var list []vertex
	for v, a := range c.vertices {
		if a != nil {
			list = append(list, vertex(v))
		}
	}
	if len(list) > maxCodes {
		slices.SortStableFunc(list, func(a, b vertex) int {
			return cmp.Compare(c.vertices[b].count, c.vertices[a].count)
		})
		out.More = len(list) - maxCodes
		for _, v := range list[maxCodes:] {
			c.vertices[v] = nil
		}
		list = list[:maxCodes]
		slices.Sort(list)
	}
	shown := map[vertex]*GraphNode{}
	for _, v := range list {
		a := c.vertices[v]
		n := GraphNode{Count: a.count, NS: a.ns, Bytes: a.bytes, Node: -1}
		if i := int(v) - len(m.Codes); i >= 0 {
			n.Kind, n.Key, n.Title = kindDFs, m.Names[i], m.Names[i]
		} else {
			n.Kind, n.Key, n.Title, n.Code = kindCode, strconv.Itoa(int(v)), m.Codes[v].Name, int(v)
		}
		n.ID = n.Kind + n.Key
		out.Nodes = append(out.Nodes, n)
		shown[v] = &n
	}
	for _, k := range slices.SortedFunc(maps.Keys(c.arcs), func(a, b arc) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	}) {
		from, to := shown[k.from], shown[k.to]
		if from == nil || to == nil {
			continue
		}
		kind := edgeChild
		switch {
		case from.Kind == kindDFs:
			kind = edgeIn
		case to.Kind == kindDFs:
			kind = edgeOut
		}
		out.Edges = append(out.Edges, GraphEdge{From: from.ID, To: to.ID, Count: c.arcs[k].count,
			Bytes: c.arcs[k].bytes, Kind: kind})
	}
	return out
}
