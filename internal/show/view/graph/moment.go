package graph

import (
	"cmp"
	"maps"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/model/query"
)

// MomentQuery asks for the graph of the whole program over the graph of nodes at a moment.
type MomentQuery struct {
	T    *int64   // nil: the end of the run
	Open []string // ids of groups to open; those that there are not are passed over
	// Limit is how many boxes there are at most, half of them for CFs, up to MaxMomentBoxes; 0: 60.
	Limit  int
	Window int64 // links count what was sent so many ns before T; flights are those of so long before and after

	parts int // into which a group opens at most, but for names; 0: 20
}

// Bounds of Moment.
const (
	MaxMomentBoxes = 200
	maxFlights     = 300    // told one by one
	maxAlive       = 20_000 // CFs up to which the relations of all are told, not only of those that run
	maxMomentEdges = 400
)

// Moment is CFs and DFs, in groups, on the nodes where they are at a moment, what goes between nodes, and who
// needs, makes, creates, and waits for what.
type Moment struct {
	T      int64         `json:"t"`
	Groups []MomentGroup `json:"groups"` // the same at each moment, each before those in it
	More   int           `json:"more"`   // code fragments and DF names left out
	Full   bool          `json:"full"`   // there was no room to open some group
	CFs    []CFPlace     `json:"cfs"`    // by group, then node
	DFs    []DFPlace     `json:"dfs"`
	// Flights are some of what is under way, or will be or was within the window.
	Flights []Flight     `json:"flights"`
	Links   []LinkMoment `json:"links"` // those over which anything goes, or went within the window
	// Edges lead from DFs to CFs that are not finished and take them ("in"), from CFs that run to DFs that they
	// have made ("out"), and between what is on nodes. Order leads from CFs to those they created ("child") and
	// to those that wait for what they have not made yet ("wait"). What is told of which CFs is in Of.
	Edges     []MomentEdge `json:"edges"`
	MoreEdges int          `json:"more_edges"` // those left out have the least counts
	Order     []GraphEdge  `json:"order"`
	Of        string       `json:"of"` // "alive": CFs that are not finished; "running": these are too many
}

// MomentGroup is a group of CFs or DFs.
type MomentGroup struct {
	ID     string `json:"id"`
	Kind   string `json:"kind"`   // "cf" or "df"
	Parent string `json:"parent"` // the open group it is in, "" none
	Title  string `json:"title"`
	Key    string `json:"key"`  // of a single CF or DF, "" of a group
	Code   int    `json:"code"` // number of the code fragment, 0 of DFs
	Open   bool   `json:"open"`
	Count  int64  `json:"count"` // CFs or DFs, of the whole run
}

// CFPlace is CFs of a group on a node, or with -1 those that are on none.
type CFPlace struct {
	Group    string `json:"group"`
	Node     int    `json:"node"`
	Waiting  int64  `json:"waiting"`
	Ready    int64  `json:"ready"`
	Running  int64  `json:"running"`
	Moving   int64  `json:"moving"`
	Finished int64  `json:"finished"`
	Absent   int64  `json:"absent"` // not created yet
}

// DFPlace is the copies of a group's DFs that a node holds.
type DFPlace struct {
	Group  string `json:"group"`
	Node   int    `json:"node"`
	Copies int64  `json:"copies"`
	Bytes  int64  `json:"bytes"`
}

// Flight is a DF, a CF or a one-sided transfer on its way.
type Flight struct {
	Kind     string `json:"kind"`  // "cf", "df", "put", "get", "atomic", "message"
	Group    string `json:"group"` // its box, "" none
	Title    string `json:"title"`
	From     int    `json:"from"`
	To       int    `json:"to"`
	Sent     int64  `json:"sent"`
	Received int64  `json:"received"`
	Bytes    int64  `json:"bytes"`
}

// LinkMoment is the traffic of a link.
type LinkMoment struct {
	From          int   `json:"from"`
	To            int   `json:"to"`
	InFlight      int64 `json:"in_flight"`
	BytesInFlight int64 `json:"bytes_in_flight"`
	Messages      int64 `json:"messages"` // sent within the window
	Bytes         int64 `json:"bytes"`
}

// MomentEdge is the relations between a box on a node and another one: how many, and the bytes of the DFs.
type MomentEdge struct {
	From     string `json:"from"`
	FromNode int    `json:"from_node"`
	To       string `json:"to"`
	ToNode   int    `json:"to_node"`
	Kind     string `json:"kind"`
	Count    int64  `json:"count"`
	Bytes    int64  `json:"bytes"`
}

const edgeWait = "wait"

// Moment gives the graph of the program over the nodes at a moment.
func (g *Graph) Moment(q MomentQuery) (*Moment, error) {
	switch {
	case q.Limit < 0 || q.Limit > MaxMomentBoxes:
		return nil, query.Bad("limit=%d: it must be 1 to %d", q.Limit, MaxMomentBoxes)
	case q.Window < 0:
		return nil, query.Bad("window=%d: it must not be negative", q.Window)
	}
	t := g.m.End
	if q.T != nil {
		t = query.Shift(*q.T, g.m.Start)
	}
	limit, parts := cmp.Or(q.Limit, 60), cmp.Or(q.parts, 20)
	f := g.form(slices.Compact(slices.Sorted(slices.Values(q.Open))), limit, parts)
	out := &Moment{T: t - g.m.Start, More: f.left.more, Full: f.left.full, Groups: make([]MomentGroup, 0,
		len(f.groups)), CFs: []CFPlace{}, DFs: []DFPlace{}, Flights: []Flight{}, Links: []LinkMoment{},
		Edges: []MomentEdge{}, Order: []GraphEdge{}}
	for i := range f.groups {
		v := &f.groups[i]
		n := MomentGroup{v.ID, kindCF, v.Parent, v.Title, v.CF + v.DF, v.Code, v.Open, v.CFs}
		if i >= f.dfs {
			n.Kind = kindDF
		}
		out.Groups = append(out.Groups, n)
	}
	alive := g.momentPlaces(f, t, out)
	g.momentFlights(f, t, q.Window, out)
	g.momentEdges(f, t, alive, out)
	return out, nil
}

// momentPlaces tells what is where, and how many CFs are not finished.
func (g *Graph) momentPlaces(f *form, t int64, out *Moment) (alive int64) {
	p := g.places()
	n := upTo(len(p.cfs), func(i int) int64 { return p.cfs[i].t }, t)
	sums := f.cfSums.at(n, func(sums []int64, i int) { f.addCF(&p.cfs[i], sums) })
	for b, k := range f.boxes {
		for node := range f.nodes + 1 {
			s := sums[f.cfRow(b, node):]
			v := CFPlace{f.groups[k].ID, node, s[model.CFWaiting], s[model.CFReady], s[model.CFRunning],
				s[model.CFMoving], s[model.CFFinished], s[model.CFAbsent]}
			if node == f.nodes {
				v.Node = -1
			}
			alive += v.Waiting + v.Ready + v.Running + v.Moving
			if v != (CFPlace{Group: v.Group, Node: v.Node}) {
				out.CFs = append(out.CFs, v)
			}
		}
	}
	n = upTo(len(p.dfs), func(i int) int64 { return p.dfs[i].t }, t)
	sums = f.dfSums.at(n, func(sums []int64, i int) { f.addDF(&p.dfs[i], sums) })
	for h, k := range f.heaps {
		for node := range f.nodes {
			if r := f.dfRow(h, node); sums[r] != 0 {
				out.DFs = append(out.DFs, DFPlace{f.groups[k].ID, node, sums[r], sums[r+1]})
			}
		}
	}
	return alive
}

// momentFlights tells what goes between nodes.
func (g *Graph) momentFlights(f *form, t, window int64, out *Moment) {
	p := g.places()
	type link struct{ from, to int }
	at := map[link]*LinkMoment{}
	n := upTo(len(p.flights), func(i int) int64 { return p.flights[i].sent }, t)
	p.landed.Before(n, t, func(i int) bool {
		v := &p.flights[i]
		if v.received <= t {
			return true
		}
		l := at[link{int(v.from), int(v.to)}]
		if l == nil {
			l = &LinkMoment{From: int(v.from), To: int(v.to)}
			at[link{l.From, l.To}] = l
		}
		l.InFlight++
		l.BytesInFlight += v.bytes
		if len(out.Flights) < maxFlights {
			out.Flights = append(out.Flights, g.flight(f, v))
		}
		return true
	})
	for i := range p.links {
		l := &p.links[i]
		messages, bytes := l.until(t)
		m0, b0 := l.until(query.Shift(t, -window))
		v := LinkMoment{From: l.from, To: l.to, Messages: messages - m0, Bytes: bytes - b0}
		if u := at[link{l.from, l.to}]; u != nil {
			v.InFlight, v.BytesInFlight = u.InFlight, u.BytesInFlight
		}
		if v.Messages+v.InFlight > 0 {
			out.Links = append(out.Links, v)
		}
	}
	// Then those of the window that are nearest, so that the page need not ask again for each of its frames.
	for a, b := n-1, n; len(out.Flights) < maxFlights; a, b = a-1, b+1 {
		before := a >= 0 && a > n-4*maxFlights && p.flights[a].sent > t-window
		after := b < len(p.flights) && b < n+4*maxFlights && p.flights[b].sent <= t+window
		if !before && !after {
			break
		}
		if before && p.flights[a].received <= t {
			out.Flights = append(out.Flights, g.flight(f, &p.flights[a]))
		}
		if after {
			out.Flights = append(out.Flights, g.flight(f, &p.flights[b]))
		}
	}
}

var transferNames = [...]string{"put", "get", "atomic", "message"}

func (g *Graph) flight(f *form, v *flight) Flight {
	out := Flight{From: int(v.from), To: int(v.to), Sent: v.sent - g.m.Start, Received: v.received - g.m.Start,
		Bytes: v.bytes}
	switch {
	case v.df != 0:
		out.Kind, out.Title, out.Group = kindDF, g.m.DFString(v.df), f.group(f.heaps, f.dfBox[v.df])
	case v.cf != 0:
		out.Kind, out.Title, out.Group = kindCF, g.m.CFString(v.cf), f.group(f.boxes, f.cfBox[v.cf])
	case v.kind > 0:
		out.Kind = transferNames[v.kind-1]
		out.Title = out.Kind
	}
	return out
}

// group is the id of a box, "" of none.
func (f *form) group(list []int, box uint16) string {
	if box == 0 {
		return ""
	}
	return f.groups[list[box-1]].ID
}

// momentEdges tells who needs, makes, creates, and waits for what.
func (g *Graph) momentEdges(f *form, t, alive int64, out *Moment) {
	e := edges{g: g, f: f, t: t, data: map[dataEdge]*amount{}, order: map[orderEdge]*amount{}}
	p := g.places()
	if out.Of = "alive"; alive <= maxAlive {
		n := upTo(len(p.born), func(i int) int64 { return p.born[i] }, t)
		p.ended.Before(n, t, func(i int) bool {
			e.of(p.lives[i])
			return true
		})
	} else {
		out.Of = "running"
		for _, w := range g.m.AllWorkers() {
			n := w.First + upTo(w.End-w.First, func(i int) int64 { return g.m.ExecStart[w.First+i] }, t)
			for k := n - 1; k >= w.First && k > n-8; k-- { // a structured CF may run around others
				if g.m.EndOf(k) > t {
					e.of(g.m.ExecCF[k])
				}
			}
		}
	}
	for k, v := range e.data {
		from, to := f.group(f.heaps, k.df), f.group(f.boxes, k.cf)
		if k.kind == edgeOut {
			from, to = to, from
		}
		out.Edges = append(out.Edges, MomentEdge{from, int(k.fromNode), to, int(k.toNode), k.kind, v.count,
			v.bytes})
	}
	slices.SortFunc(out.Edges, func(a, b MomentEdge) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To),
			cmp.Compare(a.FromNode, b.FromNode), cmp.Compare(a.ToNode, b.ToNode))
	})
	if out.MoreEdges = max(0, len(out.Edges)-maxMomentEdges); out.MoreEdges > 0 {
		out.Edges = out.Edges[:maxMomentEdges]
	}
	for _, k := range slices.SortedFunc(maps.Keys(e.order), func(a, b orderEdge) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.kind, b.kind))
	}) {
		out.Order = append(out.Order, GraphEdge{f.group(f.boxes, k.from), f.group(f.boxes, k.to),
			e.order[k].count, e.order[k].bytes, k.kind})
	}
}

// dataEdge is between a heap of DFs and a box of CFs, orderEdge between two boxes.
type dataEdge struct {
	df, cf           uint16
	fromNode, toNode int32
	kind             string
}

type orderEdge struct {
	from, to uint16
	kind     string
}

// edges adds up the relations of CFs at a moment.
type edges struct {
	g     *Graph
	f     *form
	t     int64
	data  map[dataEdge]*amount
	order map[orderEdge]*amount
	held  []int32 // copies, by node
}

// of adds those of a CF, if it is not finished.
func (e *edges) of(cf model.CF) {
	m, f := e.g.m, e.f
	life := m.LifeAt(cf, e.t, model.None)
	if life.State >= model.CFFinished || f.cfBox[cf] == 0 {
		return
	}
	if p := f.cfBox[m.Parent[cf]]; m.Parent[cf] != 0 && p != 0 {
		at(e.order, orderEdge{p, f.cfBox[cf], edgeChild}).add(0)
	}
	next := -1 // the execution that goes on or comes next
	for x := range m.ExecutionsOf(cf) {
		if m.EndOf(x) > e.t && (next < 0 || m.ExecStart[x] < m.ExecStart[next]) {
			next = x
		}
	}
	if next >= 0 {
		for _, df := range m.Inputs(next) {
			e.input(cf, df, life)
		}
	} else { // it never runs again; what it waited for is known
		if i, _ := m.LastAwait(cf, e.t); i >= 0 {
			for _, df := range m.Awaits.Of(i) {
				e.input(cf, df, life)
			}
		}
	}
	if life.State != model.CFRunning {
		return
	}
	for _, i := range m.OutputsOf(cf) {
		df := m.DFMade(i)
		if node := e.holder(df, life.Node); m.MadeTime[i] <= e.t && node >= 0 && f.dfBox[df] != 0 {
			at(e.data, dataEdge{f.dfBox[df], f.cfBox[cf], life.Node, node, edgeOut}).add(m.SizeMade(int(i)))
		}
	}
}

// input adds what a CF needs: from where it is held, or from whom it will come.
func (e *edges) input(cf model.CF, df model.DF, life model.Life) {
	m, f := e.g.m, e.f
	made, ok := m.Creation(df, e.t)
	if ok && m.MadeTime[made] > e.t {
		if by := m.MadeBy[made]; by != 0 && f.cfBox[by] != 0 && life.State != model.CFRunning {
			at(e.order, orderEdge{f.cfBox[by], f.cfBox[cf], edgeWait}).add(m.SizeMade(made))
		}
		return
	}
	if node := e.holder(df, life.Node); node >= 0 && life.State < model.CFMoving && f.dfBox[df] != 0 {
		at(e.data, dataEdge{f.dfBox[df], f.cfBox[cf], node, life.Node, edgeIn}).add(e.g.size(df, e.t))
	}
}

// holder is a node that holds a DF: the one that is wanted if it does, else the first; -1: none.
func (e *edges) holder(df model.DF, wanted int32) int32 {
	m := e.g.m
	if e.held == nil {
		e.held = make([]int32, len(m.Nodes))
	}
	list := m.CopiesOf(df)
	for _, i := range list {
		if c := &m.Copies[i]; c.Time <= e.t && c.What <= model.CopyDropped {
			if c.What == model.CopyStored {
				e.held[c.Node]++
			} else {
				e.held[c.Node]--
			}
		}
	}
	found := int32(-1)
	for _, i := range list {
		node := int32(m.Copies[i].Node)
		if e.held[node] > 0 && (found < 0 || node == wanted || node < found && found != wanted) {
			found = node
		}
	}
	for _, i := range list {
		e.held[m.Copies[i].Node] = 0
	}
	return found
}
