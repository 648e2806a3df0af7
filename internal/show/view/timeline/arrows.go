package timeline

import (
	"cmp"
	"math"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
)

// ArrowQuery asks for arrows: those within an interval or, where CF is given, those of one CF.
type ArrowQuery struct {
	From, To int64 // nanoseconds since the start of the run
	// nil: all; otherwise arrows that begin or end at one of them (or at its node if the lane is unknown)
	Lanes []int
	CF    string // "node.counter"; overrides the interval and Lanes
	Limit int    // 1 to 1000000; 0 means 2000
	// Inside: inputs that came from another lane of the same node, too.
	Inside bool
}

// Arrows are the arrows of a timeline, the longest first; those of one CF in order of time.
type Arrows struct {
	More   int     `json:"more"` // how many there are beyond those given
	Arrows []Arrow `json:"arrows"`
}

// Arrow goes from one time and lane to another. An end whose time was not recorded has the time of the
// other. t0 can be after t1 if the clocks of nodes disagree.
type Arrow struct {
	// Kind is "df", "cf" or "request" for messages between nodes, "wait" for the way of an input from its
	// production to the start of its consumer, on any nodes, and "put", "get" or "atomic" for one-sided
	// transfers: T0 to T1 is then the time in the operation. It is "message" from one call to another.
	Kind     string `json:"kind"`
	T0       int64  `json:"t0"`
	T1       int64  `json:"t1"`
	FromLane int    `json:"from_lane"` // -1 if unknown, as for work of the run-time system
	ToLane   int    `json:"to_lane"`
	FromNode int    `json:"from_node"` // -1 where not known
	ToNode   int    `json:"to_node"`
	What     string `json:"what"` // the DF or CF: "x[3]"
	DF       string `json:"df"`   // key of the DF; "" of a CF
	Bytes    int64  `json:"bytes"`
	Producer string `json:"producer"` // the CF that produced the DF, "node.counter"; "" if unknown
	Consumer string `json:"consumer"` // the CF it is for; for a CF the CF itself
	Link     string `json:"link"`     // "0->1"; "" within a node
	File     string `json:"file"`     // where a transfer was asked for; "" of others
	Line     int    `json:"line"`
}

// Kinds of messages.
const (
	aDF = iota
	aRequest
	aCF
	aPut
	aGet
	aAtomic
	aMessage
)

var kindNames = [...]string{aDF: "df", aRequest: "request", aCF: "cf", aPut: "put", aGet: "get",
	aAtomic: "atomic", aMessage: "message"}

func (t *Timeline) list(kind int) []model.Message {
	if kind >= aPut {
		return t.transfers()[kind-aPut].messages
	}
	return [...][]model.Message{aDF: t.m.DFMessages, aRequest: t.m.Requests, aCF: t.m.Moves}[kind]
}

// Arrows gives the messages that were on a link within an interval, or everything that a CF waited for.
func (t *Timeline) Arrows(q ArrowQuery) (*Arrows, error) {
	most, err := limit(q.Limit, 2000)
	if err != nil {
		return nil, err
	}
	if q.CF != "" {
		return t.waits(q.CF, most)
	}
	if err := (stretch{q.From, q.To}).check(); err != nil {
		return nil, err
	}
	lanes, err := t.chosen(q.Lanes)
	if err != nil {
		return nil, err
	}
	var wanted []bool // by lane; nil: all
	nodes := t.nodesOf(lanes)
	if len(lanes) < len(t.lanes) {
		wanted = make([]bool, len(t.lanes))
		for _, i := range lanes {
			wanted[i] = true
		}
	}
	out := &Arrows{Arrows: []Arrow{}}
	top := longest{t: t, n: most, least: math.MinInt64} // clocks that disagree make negative ones
	for kind := range kindNames {
		list := t.list(kind)
		in := model.Interval{From: t.m.Start + q.From, To: t.m.Start + q.To}
		t.spans()[kind].Each(in, len(list), func(i int) {
			g := &list[i]
			t0, t1 := t.way(g)
			if crossed(g) && min(t0, t1) < q.To && max(t0, t1) >= q.From &&
				(wanted == nil || t.touches(kind, g, wanted, nodes)) {
				top.add(candidate{t1 - t0, uint32(i), uint8(kind)})
			}
		})
	}
	top.cut()
	out.More = top.count - len(top.list)
	out.Arrows = make([]Arrow, 0, len(top.list))
	for _, c := range top.list {
		out.Arrows = append(out.Arrows, t.arrow(int(c.kind), top.message(c)))
	}
	if q.Inside {
		list, more := t.inside(q, lanes, most)
		out.Arrows, out.More = append(out.Arrows, list...), out.More+more
		slices.SortStableFunc(out.Arrows, func(a, b Arrow) int { return cmp.Compare(b.T1-b.T0, a.T1-a.T0) })
		if n := len(out.Arrows); n > most {
			out.Arrows, out.More = out.Arrows[:most], out.More+n-most
		}
	}
	return out, nil
}

// spansOf tells when messages were on their way, by kind.
func (t *Timeline) spansOf() (spans [len(kindNames)]model.Spans) {
	for kind := range spans {
		spans[kind] = model.NewSpans(t.list(kind))
	}
	return spans
}

// way returns when a message left and arrived, since the start of the run; an unrecorded time equals the
// other. t0 can be after t1 if the clocks disagree.
func (t *Timeline) way(g *model.Message) (t0, t1 int64) {
	v, _ := g.Way()
	return t.at(v.From), t.at(v.To)
}

// crossed reports whether a message went from one node to another.
func crossed(g *model.Message) bool { return g.From != g.To && g.Recorded() }

// touches reports whether a message begins or ends at one of the wanted lanes.
func (t *Timeline) touches(kind int, g *model.Message, wanted, nodes []bool) bool {
	on := func(node int32) bool { return node >= 0 && int(node) < len(nodes) && nodes[node] }
	from, to := on(g.From), on(g.To)
	if !from && !to {
		return false
	}
	e := t.ends(kind, g)
	return from && (e.from < 0 || wanted[e.from]) || to && (e.to < 0 || wanted[e.to])
}

// candidate is a message that may be among the longest.
type candidate struct {
	ns   int64
	i    uint32
	kind uint8
}

// longest keeps the n longest. Equally long ones are ordered by what was recorded of them: the numbers of
// messages differ from one reading of a trace to the next.
type longest struct {
	t        *Timeline
	n, count int
	list     []candidate
	least    int64 // shorter messages are not among them
}

func (l *longest) add(c candidate) {
	l.count++
	if len(l.list) >= l.n && l.least > c.ns {
		return
	}
	l.list = append(l.list, c)
	if len(l.list) >= 2*l.n+1024 {
		l.cut()
		l.least = l.list[len(l.list)-1].ns
	}
}

func (l *longest) message(c candidate) *model.Message { return &l.t.list(int(c.kind))[c.i] }

func (l *longest) cut() {
	slices.SortFunc(l.list, func(a, b candidate) int {
		if c := cmp.Or(cmp.Compare(b.ns, a.ns), cmp.Compare(a.kind, b.kind)); c != 0 {
			return c
		}
		x, y := l.message(a), l.message(b)
		return cmp.Or(cmp.Compare(x.Sent, y.Sent), cmp.Compare(x.Received, y.Received),
			cmp.Compare(x.From, y.From), cmp.Compare(x.To, y.To), cmp.Compare(x.DF, y.DF),
			cmp.Compare(l.t.m.CFID(x.CF), l.t.m.CFID(y.CF)), cmp.Compare(x.Bytes, y.Bytes))
	})
	l.list = l.list[:min(len(l.list), l.n)]
}

// ends holds a message's sender and receiver, and their lanes.
type ends struct {
	from, to           int // -1 where not known
	producer, consumer model.CF
}

func (t *Timeline) ends(kind int, g *model.Message) ends {
	m := t.m
	e := ends{from: -1, to: -1}
	if kind >= aPut {
		e.from, e.to = t.sole(g.From), t.sole(g.To)
		return e
	}
	if kind == aCF {
		e.consumer, e.to = g.CF, t.nextRun(g.CF, g.To, g.Received)
		return e
	}
	if i, ok := m.Creation(g.DF, max(g.Sent, g.Received)); ok {
		e.producer = m.MadeBy[i]
		if kind == aDF && int32(m.MadeNode[i]) == g.From {
			e.from = t.maker(i, g.From)
		}
	}
	e.consumer = t.Receiver(kind == aRequest, g)
	if kind == aRequest {
		e.from = t.nextRun(e.consumer, g.From, g.Sent)
	} else {
		e.to = t.nextRun(e.consumer, g.To, g.Received)
	}
	return e
}

// arrow describes a message.
func (t *Timeline) arrow(kind int, g *model.Message) Arrow {
	e := t.ends(kind, g)
	a := Arrow{Kind: kindNames[kind], FromLane: e.from, ToLane: e.to, FromNode: int(g.From), ToNode: int(g.To),
		What: t.m.CFTitle(g.CF), Bytes: g.Bytes,
		Producer: t.CFKey(e.producer), Consumer: t.CFKey(e.consumer),
		Link: slou.Link{From: g.From, To: g.To}.String()}
	a.T0, a.T1 = t.way(g)
	if kind >= aPut {
		s := &t.m.Sites[t.transfers()[kind-aPut].site[g.Request]]
		a.What, a.File, a.Line = t.m.Codes[s.Code].Name, s.File, s.Line
		return a
	}
	if kind != aCF {
		a.What, a.DF = t.m.DFString(g.DF), t.m.DFKey(g.DF)
	}
	return a
}

// maker returns the lane of a node that produced a DF (i is its creation), or -1 if unknown.
func (t *Timeline) maker(i int, node int32) int {
	m := t.m
	e, ok := m.ExecutionAt(m.MadeBy[i], m.MadeTime[i])
	if !ok {
		return -1
	}
	if lane := t.LaneOf(e); lane >= 0 && t.lanes[lane].id.Node == int(node) {
		return lane
	}
	return -1
}

// nextRun returns the lane of a node on which a CF was first executed after a time, or -1.
func (t *Timeline) nextRun(cf model.CF, node int32, at int64) int {
	for e := range t.m.ExecutionsOf(cf) {
		if t.m.ExecStart[e] < at {
			continue
		}
		if lane := t.LaneOf(e); lane >= 0 && t.lanes[lane].id.Node == int(node) {
			return lane
		}
	}
	return -1
}

// Receiver returns the CF for which a DF, or a request for it, was sent: the one that requested it or, for a
// pushed DF, the first to receive it afterwards at the receiver; 0 if there is none.
func (t *Timeline) Receiver(request bool, g *model.Message) model.CF {
	m := t.m
	if request {
		return g.CF
	}
	if g.Request != 0 && int(g.Request) < len(m.Requests) && m.Requests[g.Request].CF != 0 {
		return m.Requests[g.Request].CF
	}
	if g.Request != 0 {
		return g.CF
	}
	best, first := model.CF(0), int64(0)
	for _, e := range t.m.UsesOf(g.DF) {
		start := m.ExecStart[e]
		if start < g.Received || best != 0 && start >= first {
			continue
		}
		if _, node := m.WorkerOf(int(e)); node == g.To {
			best, first = m.ExecCF[e], start
		}
	}
	return best
}
