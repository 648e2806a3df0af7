// Package graph shows a run as graphs: nodes and the traffic between them; code fragments and the DFs they
// pass on; and single CFs and DFs around one of them, each with its state and place at a moment.
//
// Times are nanoseconds since the start of the run. An interval has what happened at from or later and before
// to; one that begins at 0 or ends at the end of the run has what was recorded before or after it, too.
package graph

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/model/query"
	"github.com/whyslow/whyslow/internal/show/view/fragments"
	"github.com/whyslow/whyslow/internal/show/view/timeline"
)

// Graph answers for one model. Its methods may be used by many goroutines at once.
type Graph struct {
	m *model.Model
	t *timeline.Timeline
	x *fragments.Index

	heldOnce sync.Once
	held     []heldChange // changes in what nodes hold
}

// New makes the graphs of a run from its timeline and fragments, which are of the same model.
func New(t *timeline.Timeline, x *fragments.Index) *Graph {
	return &Graph{m: t.Model(), t: t, x: x}
}

// interval is an interval on the common clock, to not included.
type interval struct{ from, to int64 }

func (s interval) has(t int64) bool { return t != model.None && t >= s.from && t < s.to }

func (g *Graph) span(from, to int64) (s interval, err error) {
	if from != 0 || to < g.m.Wall() {
		if err := query.Interval(from, to); err != nil {
			return s, err
		}
	}
	s = interval{math.MinInt64, math.MaxInt64}
	if from > 0 {
		s.from = query.Shift(from, g.m.Start)
	}
	if to < g.m.Wall() {
		s.to = query.Shift(to, g.m.Start)
	}
	return s, nil
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
	Messages int64 `json:"messages"` // DFs and CFs sent
	Bytes    int64 `json:"bytes"`    // theirs
	WaitNS   int64 `json:"wait_ns"`  // time of workers that is L of this link
}

// Nodes gives the nodes with the traffic between them in an interval.
func (g *Graph) Nodes(from, to int64) (*NodeGraph, error) {
	m := g.m
	s, err := g.span(from, to)
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
	useful := make([]int64, len(m.Nodes))
	for _, t := range g.x.Times(from, to) {
		switch t.Factor {
		case slou.FactorU:
			useful[t.Node] += t.NS
		case slou.FactorL:
			link(t.Link.From, t.Link.To).WaitNS += t.NS
		}
	}
	for _, list := range [][]model.Message{m.DFMessages, m.Moves} {
		for i := range list {
			msg := &list[i]
			at := msg.Sent
			if at == model.None {
				at = msg.Received
			}
			if s.has(at) && msg.From >= 0 && msg.To >= 0 {
				l := link(msg.From, msg.To)
				l.Messages++
				l.Bytes += msg.Bytes
			}
		}
	}
	for _, l := range links {
		out.Links = append(out.Links, *l)
	}
	slices.SortFunc(out.Links, func(a, b LinkEdge) int {
		return cmp.Or(cmp.Compare(a.From, b.From),
			cmp.Compare(a.To, b.To))
	})
	within := interval{max(s.from, m.Start), min(s.to, m.End)}
	length := float64(max(within.to-within.from, 1))
	bytes := g.bytes(within)
	for i := range out.Nodes {
		n := &m.Nodes[i]
		v := &out.Nodes[i]
		v.Node, v.Host, v.Bytes = i, n.Host, bytes[i]
		v.Running = float64(g.busy(n, within)) / length
		if len(n.Workers) > 0 {
			v.Useful = float64(useful[i]) / (length * float64(len(n.Workers)))
		}
	}
	return out, nil
}

// busy is the time that a node's workers were within atomic CFs.
func (g *Graph) busy(n *model.Node, s interval) (ns int64) {
	m := g.m
	for i := range n.Workers {
		w := &n.Workers[i]
		for e := w.First; e < w.End && m.ExecStart[e] < s.to; e++ {
			end := m.ExecEnd[e]
			if end == model.None {
				end = m.End
			}
			if end > s.from && m.Atomic(m.ExecCF[e]) {
				ns += max(min(end, s.to)-max(m.ExecStart[e], s.from), 0)
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
// was an input of ("in").
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
)

type edgeKind uint8

const (
	edgeChild edgeKind = iota
	edgeIn
	edgeOut
)

func (k edgeKind) String() string { return [...]string{"child", "in", "out"}[k] }

// maxCodes is how many nodes the collapsed graph has at most.
const maxCodes = 500

// vertex is a node of the collapsed graph: a code fragment, or with dfs a DF name, by number.
type vertex struct {
	dfs bool
	n   uint32
}

type arc struct {
	from, to vertex
	kind     edgeKind
}

type amount struct{ count, bytes, ns int64 }

// Codes gives the graph of an interval, collapsed by code fragment and DF name: executions that started, DFs
// that were created and CFs that were created in it.
func (g *Graph) Codes(from, to int64) (*CodeGraph, error) {
	m := g.m
	s, err := g.span(from, to)
	if err != nil {
		return nil, err
	}
	c := &counts{vertices: map[vertex]*amount{}, arcs: map[arc]*amount{}}
	for e, cf := range m.ExecCF {
		if !s.has(m.ExecStart[e]) {
			continue
		}
		code := vertex{n: uint32(m.CodeOf(cf))}
		v := c.vertex(code)
		v.count++
		v.ns += g.x.TimeOf(e)
		for _, df := range m.Inputs(e) {
			name := vertex{true, m.DFName[df]}
			c.vertex(name)
			c.arc(arc{name, code, edgeIn}, g.size(df, m.ExecStart[e]))
		}
	}
	for df := 1; df < m.DFs(); df++ {
		first, end := m.Creations(model.DF(df))
		for i := first; i < end; i++ {
			if !s.has(m.MadeTime[i]) {
				continue
			}
			name := vertex{true, m.DFName[df]}
			v := c.vertex(name)
			v.count++
			v.bytes += m.MadeSize[i]
			if by := m.MadeBy[i]; by != 0 {
				code := vertex{n: uint32(m.CodeOf(by))}
				c.vertex(code)
				c.arc(arc{code, name, edgeOut}, m.MadeSize[i])
			}
		}
	}
	for cf, t := range m.Created {
		if parent := m.Parent[cf]; s.has(t) && parent != 0 {
			a, b := vertex{n: uint32(m.CodeOf(parent))}, vertex{n: uint32(m.CodeOf(model.CF(cf)))}
			c.vertex(a)
			c.vertex(b)
			c.arc(arc{a, b, edgeChild}, 0)
		}
	}
	return g.collapsed(c.vertices, c.arcs), nil
}

// counts are the amounts of the collapsed graph. A few arcs have nearly everything, so a small table comes
// before the map.
type counts struct {
	vertices map[vertex]*amount
	arcs     map[arc]*amount
	lastV    [64]struct {
		vertex
		sum *amount
	}
	lastA [256]struct {
		arc
		sum *amount
	}
}

func (v vertex) hash() uint32 {
	h := v.n * 0x9e3779b1
	if v.dfs {
		h ^= 0x85ebca6b
	}
	return h
}

func (c *counts) vertex(v vertex) *amount {
	slot := &c.lastV[v.hash()>>26]
	if slot.sum == nil || slot.vertex != v {
		slot.vertex, slot.sum = v, at(c.vertices, v)
	}
	return slot.sum
}

func (c *counts) arc(a arc, bytes int64) {
	slot := &c.lastA[(a.from.hash()*31+a.to.hash())>>24]
	if slot.sum == nil || slot.arc != a {
		slot.arc, slot.sum = a, at(c.arcs, a)
	}
	slot.sum.count++
	slot.sum.bytes += bytes
}

func at[K comparable](m map[K]*amount, k K) *amount {
	if m[k] == nil {
		m[k] = new(amount)
	}
	return m[k]
}

// size gives the bytes of the value that a DF had at a time, 0 where not known.
func (g *Graph) size(df model.DF, t int64) int64 {
	if i, ok := g.m.Creation(df, t); ok {
		return g.m.MadeSize[i]
	}
	return 0
}

// keyOf names a node of the collapsed graph: the number of a code fragment, the name of DFs.
func (g *Graph) keyOf(v vertex) string {
	if v.dfs {
		return g.m.Names[v.n]
	}
	return strconv.Itoa(int(v.n))
}

func (g *Graph) idOf(v vertex) string {
	if v.dfs {
		return kindDFs + g.keyOf(v)
	}
	return kindCode + g.keyOf(v)
}

// collapsed orders the graph: code fragments, then DFs, by number; edges by their ends.
func (g *Graph) collapsed(vertices map[vertex]*amount, arcs map[arc]*amount) *CodeGraph {
	m := g.m
	out := &CodeGraph{Nodes: []GraphNode{}, Edges: []GraphEdge{}}
	list := make([]vertex, 0, len(vertices))
	for v := range vertices {
		list = append(list, v)
	}
	if len(list) > maxCodes {
		slices.SortFunc(list, func(a, b vertex) int {
			return cmp.Or(cmp.Compare(vertices[b].count, vertices[a].count), compareVertices(a, b))
		})
		out.More = len(list) - maxCodes
		for _, v := range list[maxCodes:] {
			delete(vertices, v)
		}
		list = list[:maxCodes]
	}
	slices.SortFunc(list, compareVertices)
	for _, v := range list {
		a := vertices[v]
		n := GraphNode{ID: g.idOf(v), Key: g.keyOf(v), Count: a.count, NS: a.ns, Bytes: a.bytes, Node: -1}
		if v.dfs {
			n.Kind, n.Title = kindDFs, m.Names[v.n]
		} else {
			n.Kind, n.Title, n.Code = kindCode, m.Codes[v.n].Name, int(v.n)
		}
		out.Nodes = append(out.Nodes, n)
	}
	keys := make([]arc, 0, len(arcs))
	for a := range arcs {
		if vertices[a.from] != nil && vertices[a.to] != nil {
			keys = append(keys, a)
		}
	}
	slices.SortFunc(keys, func(a, b arc) int {
		return cmp.Or(compareVertices(a.from, b.from), compareVertices(a.to, b.to),
			cmp.Compare(a.kind, b.kind))
	})
	for _, k := range keys {
		out.Edges = append(out.Edges, GraphEdge{From: g.idOf(k.from), To: g.idOf(k.to), Count: arcs[k].count,
			Bytes: arcs[k].bytes, Kind: k.kind.String()})
	}
	return out
}

func compareVertices(a, b vertex) int {
	if a.dfs != b.dfs {
		if b.dfs {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.n, b.n)
}
