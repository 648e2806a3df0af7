package advise

import (
	"cmp"
	"reflect"

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

// joined puts the columns of all parts behind one another, and gives them up in the parts.
func joined(parts []*executions) *executions {
	if len(parts) == 1 {
		return parts[0]
	}
	edges, ways := uint32(0), uint32(0)
	for k, p := range parts {
		for i := range p.At {
			p.At[i] += edges
		}
		for i := range p.Way {
			if p.Way[i] != 0 {
				p.Way[i] += ways
			}
		}
		edges, ways = edges+uint32(len(p.From)), ways+uint32(len(p.Transfers))
		if k > 0 {
			p.At = p.At[1:]
		}
	}
	all := &executions{}
	to := reflect.ValueOf(all).Elem()
	for i := range to.NumField() {
		n := 0
		for _, p := range parts {
			n += reflect.ValueOf(p).Elem().Field(i).Len()
		}
		column := reflect.MakeSlice(to.Field(i).Type(), 0, n)
		for _, p := range parts {
			part := reflect.ValueOf(p).Elem().Field(i)
			column = reflect.AppendSlice(column, part)
			part.SetZero()
		}
		to.Field(i).Set(column)
	}
	return all
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
	for _, column := range []*[]int64{&p.Start, &p.End, &p.Until, &p.Moves, &p.Ready} {
		*column = make([]int64, n)
	}
	for _, column := range []*[]uint32{&p.Worker, &p.Site, &p.Parent} {
		*column = make([]uint32, n)
	}
	p.Given, p.At = make([]bool, n), make([]uint32, n+1)
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
	p.From, p.Kind = append(p.From, x.from), append(p.Kind, byte(x.kind))
	p.Lag, p.Way = append(p.Lag, x.lag), append(p.Way, x.way)
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
	w := transfer{DF: m.DFGlobal(df), Name: m.DFName[df], Maker: int32(m.MadeNode[i]), User: node,
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
