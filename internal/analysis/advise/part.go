package advise

import (
	"cmp"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
)

// What a replay is made of: the executions of a process's nodes, what each waited for, and the ways of DFs to
// them. In a part that one of several processes has made executions have the numbers that all together have
// in the order of processes.

// transfer is the way of a DF from where it was made to the node of a CF that takes it.
type transfer struct {
	DF        uint64 // see dfKey
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
)

// noWorker is the number of the worker of an execution that was on none.
const noWorker = ^uint32(0)

// executions is the executions of some nodes.
type executions struct {
	// By execution.
	Start, End []int64
	Until      []int64  // when its worker was free again
	Moves      []int64  // time its CF was on links
	Ready      []int64  // when its CF was ready there last; None where not known
	Worker     []uint32 // of all nodes
	Site       []uint32
	Parent     []uint32 // 1 + the execution that created its CF; 0 none
	Given      []bool   // it was given DFs
	At         []uint32 // where its edges begin; one more at the end

	// By edge, which is something that an execution waits for; the first is its control.
	From []uint32 // execution; none: the time itself
	Kind []byte   // an edgeKind
	// from the end (of structured CFs: start) of From; of edgeRequest: from the control; none: time of day
	Lag []int64
	Way []uint32 // 1 + index into Transfers; 0 none

	Transfers []transfer
}

// joined puts parts behind one another.
func joined(parts []*executions) *executions {
	if len(parts) == 1 {
		return parts[0]
	}
	all := &executions{}
	edges, ways := uint32(0), uint32(0)
	for _, p := range parts {
		for i := range p.At[1:] {
			p.At[1+i] += edges
		}
		for i := range p.Way {
			if p.Way[i] != 0 {
				p.Way[i] += ways
			}
		}
		edges, ways = edges+uint32(len(p.From)), ways+uint32(len(p.Transfers))
	}
	for _, p := range parts[1:] {
		p.At = p.At[1:]
	}
	all.Start = column(parts, func(p *executions) *[]int64 { return &p.Start })
	all.End = column(parts, func(p *executions) *[]int64 { return &p.End })
	all.Until = column(parts, func(p *executions) *[]int64 { return &p.Until })
	all.Moves = column(parts, func(p *executions) *[]int64 { return &p.Moves })
	all.Ready = column(parts, func(p *executions) *[]int64 { return &p.Ready })
	all.Worker = column(parts, func(p *executions) *[]uint32 { return &p.Worker })
	all.Site = column(parts, func(p *executions) *[]uint32 { return &p.Site })
	all.Parent = column(parts, func(p *executions) *[]uint32 { return &p.Parent })
	all.Given = column(parts, func(p *executions) *[]bool { return &p.Given })
	all.At = column(parts, func(p *executions) *[]uint32 { return &p.At })
	all.From = column(parts, func(p *executions) *[]uint32 { return &p.From })
	all.Kind = column(parts, func(p *executions) *[]byte { return &p.Kind })
	all.Lag = column(parts, func(p *executions) *[]int64 { return &p.Lag })
	all.Way = column(parts, func(p *executions) *[]uint32 { return &p.Way })
	all.Transfers = column(parts, func(p *executions) *[]transfer { return &p.Transfers })
	return all
}

// column puts a column of all parts together and gives it up in them.
func column[T any](parts []*executions, of func(*executions) *[]T) []T {
	n := 0
	for _, p := range parts {
		n += len(*of(p))
	}
	all := make([]T, 0, n)
	for _, p := range parts {
		all = append(all, *of(p)...)
		*of(p) = nil
	}
	return all
}

// whole tells whether a part that another process told, from an execution on, makes sense in a run of so many
// executions.
func (p *executions) whole(m *model.Model, first, executions uint32, workers int) bool {
	n, edges := len(p.Start), uint32(len(p.From))
	for _, l := range []int{len(p.End), len(p.Until), len(p.Moves), len(p.Ready), len(p.Worker), len(p.Site),
		len(p.Parent), len(p.Given), len(p.At) - 1} {
		if l != n {
			return false
		}
	}
	if int(edges) != len(p.Kind) || int(edges) != len(p.Lag) || int(edges) != len(p.Way) || p.At[0] != 0 ||
		p.At[n] != edges {
		return false
	}
	for e := range n {
		if p.At[e] > p.At[e+1] || int(p.Site[e]) >= len(m.Sites) || p.Parent[e] > executions ||
			p.Worker[e] != noWorker && int(p.Worker[e]) >= workers {
			return false
		}
	}
	for i := range p.From {
		if p.From[i] >= executions && edgeKind(p.Kind[i]) != edgeFixed && edgeKind(p.Kind[i]) != edgeRequest ||
			int(p.Way[i]) > len(p.Transfers) {
			return false
		}
	}
	for i := range p.Transfers {
		if w := &p.Transfers[i]; w.Reader < first || int(w.Reader-first) >= n || int(w.Made) > len(m.Sites) ||
			int(w.Name) >= len(m.Names) {
			return false
		}
	}
	return true
}

// parter makes a part. While it does, From, Parent and Reader are numbers of its model.
type parter struct {
	executions
	m          *model.Model
	first, end int // own executions
}

// newPart makes the part of the own nodes of a model. All members of g call it, each of which has all
// executions behind those of the one before it.
func newPart(m *model.Model, g procs.Group) (*executions, error) {
	p := &parter{m: m}
	p.first, p.end = m.OwnExecutions()
	n := p.end - p.first
	p.Start, p.End, p.Until, p.Moves, p.Ready = make([]int64, n), make([]int64, n), make([]int64, n),
		make([]int64, n), make([]int64, n)
	p.Worker, p.Site, p.Parent, p.Given, p.At = make([]uint32, n), make([]uint32, n), make([]uint32, n),
		make([]bool, n), make([]uint32, n+1)
	edges := n
	for i := range n {
		e := p.first + i
		p.Start[i], p.End[i], p.Worker[i], p.Ready[i] = m.ExecStart[e], p.over(e), noWorker, model.None
		p.Site[i], p.Given[i] = m.SiteOf[m.ExecCF[e]], len(m.Inputs(e)) > 0
		edges += len(m.Inputs(e))
	}
	number := uint32(0)
	for id, w := range m.AllWorkers() {
		for e := w.First; e < w.End && m.Own(id.Node); e++ {
			i := e - p.first
			p.Worker[i] = number
			if t, ok := m.LastReady(m.ExecCF[e], int32(id.Node), m.ExecStart[e]); ok {
				p.Ready[i] = t
			}
		}
		number++
	}
	p.findUntil()
	p.From, p.Kind, p.Lag, p.Way = make([]uint32, 0, edges), make([]byte, 0, edges), make([]int64, 0, edges),
		make([]uint32, 0, edges)
	for i := range n {
		p.At[i] = uint32(len(p.From))
		if p.Worker[i] != noWorker { // else it has no edges
			id, _ := m.WorkerIDOf(p.first + i)
			p.find(uint32(p.first+i), int32(id.Node))
		}
	}
	p.At[n] = uint32(len(p.From))
	return &p.executions, p.renumber(g)
}

// renumber gives executions the numbers that they have for all processes.
func (p *parter) renumber(g procs.Group) error {
	if g.Size() == 1 {
		return nil
	}
	counts := make([]int64, g.Size())
	counts[g.Rank()] = int64(p.end - p.first)
	counts, err := procs.Sum(g, counts)
	if err != nil {
		return err
	}
	base := make([]uint32, len(counts)+1)
	for k, n := range counts {
		base[k+1] = base[k] + uint32(n)
	}
	var list []*uint32
	for i := range p.From {
		if k := edgeKind(p.Kind[i]); k == edgeEnd || k == edgeStart {
			list = append(list, &p.From[i])
		}
	}
	for i := range p.Transfers {
		list = append(list, &p.Transfers[i].Reader)
	}
	var parents []*uint32
	for i := range p.Parent {
		if p.Parent[i] != 0 {
			p.Parent[i]-- // until it is renumbered
			parents = append(parents, &p.Parent[i])
		}
	}
	list = append(list, parents...)
	executions := make([]uint32, len(list))
	for i, e := range list {
		executions[i] = *e
	}
	places, err := p.m.Places(g, executions)
	if err != nil {
		return err
	}
	for i, e := range list {
		*e = base[p.m.ExecutedBy(int(*e))] + places[i]
	}
	for _, e := range parents {
		*e++
	}
	return nil
}

func (p *parter) over(e int) int64 {
	if p.m.ExecEnd[e] == model.None {
		return p.m.End
	}
	return max(p.m.ExecEnd[e], p.m.ExecStart[e])
}

// findUntil: a structured CF still creates CFs after the event that says it has finished.
func (p *parter) findUntil() {
	m := p.m
	copy(p.Until, p.End)
	for cf := range m.CFs() {
		if t := m.Created[cf]; t != model.None && m.Parent[cf] != 0 {
			e, ok := m.Execution(m.Parent[cf], m.ParentExec[cf])
			if !ok || e < p.first || e >= p.end {
				continue
			}
			i, next := e-p.first, m.End
			if i+1 < len(p.Worker) && p.Worker[i+1] != noWorker && p.Worker[i+1] == p.Worker[i] {
				next = p.Start[i+1]
			}
			p.Until[i] = max(p.Until[i], min(t, next))
		}
	}
}

// before tells whether an execution, of any node, can have been waited for by an own one.
func (p *parter) before(x int, e uint32) bool {
	if _, ok := p.m.WorkerIDOf(x); !ok {
		return false
	}
	return cmp.Or(cmp.Compare(p.m.ExecStart[x], p.m.ExecStart[e]), cmp.Compare(p.over(x), p.over(int(e))),
		cmp.Compare(x, int(e))) < 0
}

// edge is something an execution waits for, as in part.
type edge struct {
	from uint32
	kind edgeKind
	lag  int64
	way  uint32
}

func (p *parter) add(x edge) {
	p.From, p.Kind, p.Lag, p.Way = append(p.From, x.from), append(p.Kind, byte(x.kind)), append(p.Lag, x.lag),
		append(p.Way, x.way)
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
		p.Parent[int(e)-p.first] = uint32(created) + 1
	}
	control := model.None
	if n := m.ExecNumber[e]; n > 1 {
		if x, ok := m.Execution(cf, n-1); ok && p.before(x, e) {
			control = min(p.over(x), start)
			p.add(edge{from: uint32(x), kind: edgeEnd, lag: control - p.over(x)})
		}
	} else if control = m.Created[cf]; control != model.None {
		control = min(control, start)
		made := control
		if g, ok := m.LastMove(cf, node, start); ok && g.Received > control {
			control = min(g.Received, start)
			if g.Sent != model.None && g.Sent >= made {
				p.Moves[int(e)-p.first] = max(control-g.Sent, 0)
			}
		}
		x := edge{kind: edgeFixed, lag: control}
		if hasParent {
			x = edge{from: uint32(created), kind: edgeStart, lag: control - m.ExecStart[created]}
		}
		p.add(x)
	}
	if control == model.None {
		p.add(edge{kind: edgeFixed, lag: m.Start})
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
	x := edge{kind: edgeFixed, lag: left}
	by := m.MadeBy[i]
	if by != 0 {
		if q, ok := m.ExecutionAt(by, m.MadeTime[i]); ok && p.before(q, e) {
			x = edge{from: uint32(q), kind: edgeStart, lag: left - m.ExecStart[q]}
			if m.Atomic(by) && m.ExecEnd[q] != model.None {
				x.kind, x.lag = edgeEnd, left-p.over(q)
			}
		}
	}
	g, received := p.receipt(df, node, e)
	if !received || m.DFMessages[g].Received < left {
		p.add(x)
		return
	}
	w := transfer{DF: dfKey(m, df), Name: m.DFName[df], Maker: int32(m.MadeNode[i]), User: node,
		Reader: e, Message: g}
	if by != 0 {
		w.Made = m.SiteOf[by] + 1
	}
	msg := &m.DFMessages[g]
	w.Store, w.Bytes = msg.From, msg.Bytes
	if msg.Sent == model.None || msg.From < 0 {
		x.lag += msg.Received - left
		p.add(x)
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
	p.Transfers = append(p.Transfers, w)
	x.way = uint32(len(p.Transfers))
	x.lag += (there - left) + (msg.Sent - both) + (msg.Received - msg.Sent)
	p.add(x)
	if w.Requested && q.CF == m.ExecCF[e] {
		p.add(edge{kind: edgeRequest, way: x.way,
			lag: q.Received - control + (msg.Sent - both) + (msg.Received - msg.Sent)})
	}
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
