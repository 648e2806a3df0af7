package advise

import (
	"cmp"
	"context"
	"math"
	"sort"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/memory"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
)

// What a replay is made of: the executions of a process's nodes, what each waited for, and the ways of DFs to
// them. Executions are numbered through all processes, in the order of processes.

// transfer is the way of a DF from where it was made to the node of a CF that takes it.
type transfer struct {
	DF        uint64 // see model.DFGlobal
	Name      uint32
	Made      uint32 // 1 + the statement of the CF that made it; 0 not known
	Maker     int32  // node; -1 not known
	Store     int32  // that sent it to the user; maker if it came directly
	User      int32
	Reader    uint32 // the execution that takes it
	Post      int64  // time on the links from the maker to the store
	Ask       int64  // time of the request on the link
	Answer    int64  // time on the link from the store to the user
	Bytes     int64
	Message   uint32 // of those to the user
	Requested bool
}

type edgeKind uint8

const (
	edgeFixed   edgeKind = iota // a time of day
	edgeEnd                     // after the end of from
	edgeStart                   // after the start of from
	edgeRequest                 // after the CF was here
	edgeAsked                   // after the end of from, when a worker could ask for the DF
)

// noWorker is the number of the worker of an execution that was on none.
const noWorker = ^uint32(0)

// execution is one of those of a replay.
type execution struct {
	Start, End  int64
	Until       int64  // when its worker was free again
	Moves       int64  // time its CF was on links
	Ready       int64  // when its CF was ready there last; None where not known
	Queued      uint32 // ns that its thread waited for a core while it ran; 0 if it had given the core up
	Before      uint32 // ns that it did between the execution before and this one
	Worker      uint32 // of all nodes
	Site        uint32
	Parent      uint32 // 1 + the execution that created its CF; 0 none
	First, Last uint32 // its edges: from the first up to but not including the last; the first is its control
	Given       bool   // it was given DFs
	Unknown     bool   // Before is not known: the thread was not measured, or its worker was parked meanwhile
}

// edge is something that an execution waits for.
type edge struct {
	From uint32 // execution; none: the time itself
	Way  uint32 // 1 + index into Transfers; 0 none
	// from the end (of structured CFs: start) of From; of edgeRequest: from the control; none: time of day
	Lag int64
	// ns of Lag, at most, that the system took for one more CF: to create or send it, to ask for or send a DF
	Cost uint32
	Kind edgeKind
}

// cost is a time as it is kept in an edge.
func cost(ns int64) uint32 { return uint32(min(max(ns, 0), math.MaxUint32)) }

// executions are those of some nodes.
type executions struct {
	List      []execution
	Edges     []edge
	Transfers []transfer
}

// joined puts all parts behind one another, and gives them up.
func joined(parts []*executions) *executions {
	all := parts[0]
	for _, p := range parts[1:] {
		for i := range p.List {
			if e := &p.List[i]; e.Worker != noWorker { // others have no edges
				e.First, e.Last = e.First+uint32(len(all.Edges)), e.Last+uint32(len(all.Edges))
			}
		}
		for i := range p.Edges {
			if way := &p.Edges[i].Way; *way != 0 {
				*way += uint32(len(all.Transfers))
			}
		}
		all.List, all.Edges = append(all.List, p.List...), append(all.Edges, p.Edges...)
		all.Transfers = append(all.Transfers, p.Transfers...)
		*p = executions{}
	}
	return all
}

// parter makes a part. While it does, From, Parent and Reader are numbers of its model.
type parter struct {
	executions
	m       *model.Model
	first   int           // of the own executions
	scratch *memory.Spill // of transfers
}

// newPart makes the part of the own nodes of a model. All members of g call it, each of which has all
// executions behind those of the one before it.
func newPart(m *model.Model, g procs.Group) (*executions, error) {
	first, end := m.OwnExecutions()
	p := &parter{m: m, first: first}
	p.List = model.Make[execution](m, end-first)
	until := m.BusyUntil()
	for i := range p.List {
		e := first + i
		p.List[i] = execution{Start: m.ExecStart[e], End: m.EndOf(e), Until: until[e], Ready: model.None,
			Worker: noWorker, Site: m.SiteOf[m.ExecCF[e]], Given: len(m.Inputs(e)) > 0}
	}
	var own []ownWorker
	edges := 0
	number := uint32(0)
	for id, w := range m.AllWorkers() {
		if m.Own(id.Node) {
			own = append(own, ownWorker{w, int32(id.Node), number, edges})
			for e := w.First; e < w.End; e++ {
				edges += 1 + 2*len(m.Inputs(e)) // find appends no more
			}
		}
		number++
	}
	p.Edges = model.Make[edge](m, edges)
	scratch := m.Scratch()
	defer scratch.Close()
	parts := make([]*parter, procs.Lanes(0, len(own)))
	err := procs.Each(context.Background(), 0, len(parts), func(_, k int) error { // none fails
		q := &parter{m: m, first: first, executions: executions{List: p.List}, scratch: scratch}
		for _, w := range own[k*len(own)/len(parts) : (k+1)*len(own)/len(parts)] {
			q.worker(&w, p.Edges[w.edges:w.edges])
		}
		parts[k] = q
		return nil
	})
	if err != nil {
		return nil, err
	}
	p.take(own, parts)
	return &p.executions, p.renumber(g)
}

// ownWorker is one whose executions the process has.
type ownWorker struct {
	*model.Worker
	node   int32
	number uint32 // of all nodes
	edges  int    // where there is room for its edges
}

// worker finds what the executions of a worker waited for. edges has room for all.
func (p *parter) worker(w *ownWorker, edges []edge) {
	m := p.m
	silent := m.Info.Settings["core_waits"] == slou.UnknownCoreWaits
	off := offCore{w: w.Worker, unknown: silent || w.Measured == 0}
	p.Edges = edges
	for e := w.First; e < w.End; e++ {
		x := &p.List[e-p.first]
		off.tell(m, e, x)
		x.Worker = w.number
		if t, ok := m.LastReady(m.ExecCF[e], w.node, m.ExecStart[e]); ok {
			x.Ready = t
		}
		x.First = uint32(w.edges + len(p.Edges))
		p.find(uint32(e), w.node)
		x.Last = uint32(w.edges + len(p.Edges))
	}
}

// take takes over the transfers of parts that found those of neighbouring workers.
func (p *parter) take(own []ownWorker, parts []*parter) {
	n := 0
	for _, q := range parts {
		n += len(q.Transfers)
	}
	p.Transfers = model.Make[transfer](p.m, n)[:0]
	for k, q := range parts {
		before := uint32(len(p.Transfers))
		p.Transfers = append(p.Transfers, q.Transfers...)
		for _, w := range own[k*len(own)/len(parts) : (k+1)*len(own)/len(parts)] {
			for e := w.First; e < w.End && before > 0; e++ {
				x := &p.List[e-p.first]
				for i := x.First; i < x.Last; i++ {
					if way := &p.Edges[i].Way; *way != 0 {
						*way += before
					}
				}
			}
		}
	}
}

// offCore tells why the thread of a worker was off its core, execution by execution.
type offCore struct {
	w               *model.Worker
	off, idle, wait int   // the first entries of w.Off, w.Idle and w.Waits that may matter
	free            int64 // when the worker was free
	unknown         bool  // the kernel was not asked, or does not tell
}

func (o *offCore) tell(m *model.Model, e int, x *execution) {
	w := o.w
	for o.idle < len(w.Idle) && w.Idle[o.idle].To <= o.free {
		o.idle++
	}
	x.Unknown = o.unknown || e == w.First || o.idle < len(w.Idle) && w.Idle[o.idle].From < x.Start
	for o.off < len(w.Off) && w.Off[o.off].Execution < e {
		o.off++
	}
	if o.off < len(w.Off) && w.Off[o.off].Execution == e {
		x.Queued, x.Before = cost(w.Off[o.off].Queued), cost(w.Off[o.off].Before)
	}
	for o.wait < len(w.Waits) && w.Waits[o.wait].From < x.Start {
		o.wait++
	}
	for ; o.wait < len(w.Waits) && w.Waits[o.wait].From < x.End; o.wait++ {
		if w.Waits[o.wait].Blocked {
			x.Queued = 0 // who wakes up waits for a core however much the system has to do
		}
	}
	o.free = max(o.free, x.Until)
}

// renumber gives executions the numbers that they have for all processes.
func (p *parter) renumber(g procs.Group) error {
	if g.Size() == 1 {
		return nil
	}
	numbers, _, err := p.m.Numbers(g)
	if err != nil {
		return err
	}
	for i := range p.Edges {
		if e := &p.Edges[i]; e.Kind == edgeEnd || e.Kind == edgeStart || e.Kind == edgeAsked {
			e.From = numbers[e.From]
		}
	}
	for i := range p.Transfers {
		p.Transfers[i].Reader = numbers[p.Transfers[i].Reader]
	}
	for i := range p.List {
		if parent := &p.List[i].Parent; *parent != 0 {
			*parent = numbers[*parent-1] + 1
		}
	}
	return nil
}

// before tells whether an execution, of any node, can have been waited for by an own one.
func (p *parter) before(x int, e uint32) bool {
	if _, ok := p.m.WorkerIDOf(x); !ok {
		return false
	}
	return cmp.Or(cmp.Compare(p.m.ExecStart[x], p.m.ExecStart[e]),
		cmp.Compare(p.m.EndOf(x), p.m.EndOf(int(e))), cmp.Compare(x, int(e))) < 0
}

// find appends the edges of an execution: the control first.
func (p *parter) find(e uint32, node int32) {
	m := p.m
	cf, start := m.ExecCF[e], m.ExecStart[e]
	created, hasParent := 0, false
	if parent := m.Parent[cf]; parent != 0 {
		if created, hasParent = m.Execution(parent, m.ParentExec[cf]); hasParent {
			hasParent = p.before(created, e)
		}
	}
	if hasParent {
		p.List[int(e)-p.first].Parent = uint32(created) + 1
	}
	control := model.None
	if n := m.ExecNumber[e]; n > 1 {
		if x, ok := m.Execution(cf, n-1); ok && p.before(x, e) {
			control = min(m.EndOf(x), start)
			p.Edges = append(p.Edges, edge{From: uint32(x), Kind: edgeEnd, Lag: control - m.EndOf(x)})
		}
	} else if control = m.Created[cf]; control != model.None {
		control = min(control, start)
		made := control
		if g, ok := m.LastMove(cf, node, start); ok && g.Received > control {
			control = min(g.Received, start)
			if g.Sent != model.None && g.Sent >= made {
				p.List[int(e)-p.first].Moves = max(control-g.Sent, 0)
				made = g.Sent
			}
		}
		x := edge{Kind: edgeFixed, Lag: control}
		if hasParent {
			x = edge{From: uint32(created), Kind: edgeStart, Lag: control - m.ExecStart[created],
				Cost: cost(made - m.ExecStart[created])}
		}
		if before := int(e) - 1; !hasParent && m.OpenMP() && before >= p.first && m.EndOf(before) <= control {
			x = edge{From: uint32(before), Kind: edgeEnd, Lag: control - m.EndOf(before)} // the thread goes on
		}
		p.Edges = append(p.Edges, x)
	}
	if control == model.None {
		p.Edges = append(p.Edges, edge{Kind: edgeFixed, Lag: m.Start})
		control = m.Start
	}
	for _, df := range m.Inputs(int(e)) {
		p.input(e, df, node, control)
	}
}

// input appends the edges of an input: one after its maker and, if the CF asked for it, one after the
// control.
func (p *parter) input(e uint32, df model.DF, node int32, control int64) {
	m := p.m
	start := m.ExecStart[e]
	i, ok := m.Creation(df, start)
	if !ok {
		return
	}
	left := min(m.MadeTime[i], start)
	x := edge{Kind: edgeFixed, Lag: left}
	by := m.MadeBy[i]
	if by != 0 {
		if q, ok := m.ExecutionAt(by, m.MadeTime[i]); ok && p.before(q, e) {
			x = edge{From: uint32(q), Kind: edgeStart, Lag: left - m.ExecStart[q], Cost: cost(left - m.ExecStart[q])}
			if m.Atomic(by) && m.ExecEnd[q] != model.None {
				x.Kind, x.Lag, x.Cost = edgeEnd, left-m.EndOf(q), 0
			}
		}
	}
	g, received := p.receipt(df, node, e)
	if !received || m.DFMessages[g].Received < left {
		p.Edges = append(p.Edges, x)
		return
	}
	w := transfer{DF: m.DFGlobal(df), Name: m.DFName[df], Maker: int32(m.MadeNode[i]), User: node,
		Reader: e, Message: g}
	if by != 0 {
		w.Made = m.SiteOf[by] + 1
	}
	msg := &m.DFMessages[g]
	w.Store, w.Bytes = msg.From, msg.Bytes
	if msg.Sent == model.None || msg.From < 0 {
		x.Lag += msg.Received - left
		p.Edges = append(p.Edges, x)
		return
	}
	w.Answer = max(msg.Received-msg.Sent, 0)
	there := left
	if before, ok := m.LastReceipt(df, msg.From, msg.Sent); ok && msg.From != w.Maker {
		if b := &m.DFMessages[before]; b.Received >= left {
			there = b.Received
			if b.Sent != model.None {
				w.Post = max(b.Received-max(b.Sent, left), 0)
			}
		}
	}
	both := there
	q := &m.Requests[msg.Request]
	w.Requested = msg.Request != 0 && q.Received != model.None && q.Received <= msg.Sent
	if w.Requested {
		both = max(both, q.Received)
		if q.Sent != model.None {
			w.Ask = max(q.Received-q.Sent, 0)
		}
	}
	p.Transfers = memory.Append(p.scratch, p.Transfers, w)
	x.Way = uint32(len(p.Transfers))
	x.Lag += (there - left) + (msg.Sent - both) + (msg.Received - msg.Sent)
	sending := max(msg.Sent-both, 0)
	x.Cost = cost(int64(x.Cost) + max(there-left-w.Post, 0) + sending)
	p.Edges = append(p.Edges, x)
	if w.Requested && q.CF == m.ExecCF[e] {
		asked := q.Received - w.Ask
		x := edge{Kind: edgeRequest, Way: x.Way}
		since := control
		if asked-control > longStart { // the CF was queued, or waited for another DF first
			if before, ok := p.lastRun(node, asked); ok && m.EndOf(before) > control && p.before(before, e) {
				since, x.Kind, x.From = m.EndOf(before), edgeAsked, uint32(before)
			}
		}
		x.Lag = q.Received - since + (msg.Sent - both) + (msg.Received - msg.Sent)
		if asked-since <= longStart {
			sending += asked - since
		}
		x.Cost = cost(sending)
		p.Edges = append(p.Edges, x)
	}
}

// lastRun is the execution at a node that ended last before a time.
func (p *parter) lastRun(node int32, at int64) (last int, ok bool) {
	m := p.m
	for _, w := range m.Nodes[node].Workers {
		n := sort.Search(w.End-w.First, func(i int) bool { return m.ExecStart[w.First+i] >= at })
		for e := w.First + n - 1; e >= max(w.First, w.First+n-2); e-- { // one may be running
			if m.ExecEnd[e] != model.None && m.EndOf(e) <= at {
				if !ok || m.EndOf(e) > m.EndOf(last) {
					last, ok = e, true
				}
				break
			}
		}
	}
	return last, ok
}

// receipt gives the message that brought an input: the answer to the CF's own request, else the last that had
// come.
func (p *parter) receipt(df model.DF, node int32, e uint32) (uint32, bool) {
	m := p.m
	last, ok := m.LastReceipt(df, node, m.ExecStart[e])
	if !ok || m.Requests[m.DFMessages[last].Request].CF == m.ExecCF[e] {
		return last, ok
	}
	all := m.Receipts(df, int(node))
	for i, seen := len(all)-1, 0; i >= 0 && seen < maxReceipts; i, seen = i-1, seen+1 {
		g := &m.DFMessages[all[i]]
		if g.Received <= m.ExecStart[e] && g.Request != 0 && m.Requests[g.Request].CF == m.ExecCF[e] {
			return all[i], true
		}
	}
	return last, true
}

// maxReceipts bounds how many receipts of one DF are looked through for one CF.
const maxReceipts = 256
