// Package perfetto writes a run for ui.perfetto.dev, and for what reads the Trace Event Format: one file of
// all its nodes, with the times of the model, whose clocks are corrected. The module perfetto_module writes a
// file while a program runs; of a run of many processes each of them has its own, with its own clock.
//
// A node is a process there, a worker one of its threads; what a node sends and receives is on a further
// thread. Calls of user code, executions of structured CFs, waits and regions are slices; DFs that are sent
// are joined by arrows; bytes held, lengths of queues, and what processes use are counters.
//
// This file finds what there is to show; proto.go and chrome.go write it.
package perfetto

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"slices"
	"strconv"

	"github.com/whyslow/whyslow/internal/model"
)

// Write writes a run as Perfetto's own protocol buffers. It ends with the context's error, or that of w.
func Write(ctx context.Context, w io.Writer, m *model.Model) error {
	return write(ctx, w, m, func(out *bufio.Writer) encoder { return newProto(out) })
}

// WriteChrome writes it in the Trace Event Format.
func WriteChrome(ctx context.Context, w io.Writer, m *model.Model) error {
	return write(ctx, w, m, func(out *bufio.Writer) encoder { return newChrome(out, m.Info.Program) })
}

// encoder writes what is shown. Times are nanoseconds from 0 on.
type encoder interface {
	process(node int, name string)
	thread(node, tid int, name string) // before its slices; numbers of threads differ in all nodes
	// slice writes one. Those that a thread has nested come in the order of their beginnings, inner ones after
	// those around them, and none ends after the one that it is in.
	slice(s *slice)
	counter(node int, name string, at, value int64)
	end()
}

// slice is one to be written.
type slice struct {
	node, tid      int
	from, to       int64
	name, category string
	flow           int // the arrow that it begins or ends; 0: none
	out            bool
	args           []arg
}

// arg is what is known of a slice beside its name: a text, or a number.
type arg struct {
	name, text string
	number     int64
	isNumber   bool
}

func text(name, text string) arg         { return arg{name: name, text: text} }
func number(name string, n int64) arg    { return arg{name: name, number: n, isNumber: true} }
func (s *slice) with(args ...arg) *slice { s.args = append(s.args[:0], args...); return s }

func write(ctx context.Context, w io.Writer, m *model.Model, make func(*bufio.Writer) encoder) error {
	out := bufio.NewWriterSize(w, 1<<16)
	p := &writer{m: m, out: make(out), threads: map[[2]int]int{}}
	for n := range m.Nodes {
		name := "node " + strconv.Itoa(n)
		if host := m.Nodes[n].Host; host != "" {
			name += " (" + host + ")"
		}
		p.out.process(n, name)
	}
	for _, f := range []func(){p.lanes, p.messages, p.held, p.queues} {
		if f(); ctx.Err() != nil {
			return ctx.Err()
		}
	}
	p.out.end()
	return out.Flush() // it keeps the first error
}

// messagesOf is the stream of the thread on which a node's messages are shown.
const messagesOf = -1

type writer struct {
	m       *model.Model
	out     encoder
	threads map[[2]int]int // by node and stream: all different, as Perfetto demands
	s       slice
	spans   []span
}

// thread is the number of a thread; one that is new gets its name.
func (p *writer) thread(node, stream int, name string) int {
	key := [2]int{node, stream}
	tid, ok := p.threads[key]
	if !ok {
		tid = len(p.m.Nodes) + len(p.threads) + 1
		p.threads[key] = tid
		p.out.thread(node, tid, name)
	}
	return tid
}

// span is a slice of a worker, before it is known what is in what.
type span struct {
	from, to       int64
	name, category string
	execution      int // -1: none
}

// lanes writes what workers did: executions, waits and regions.
func (p *writer) lanes() {
	m := p.m
	regions := map[model.WorkerID]*model.Thread{}
	if m.Regions != nil {
		for i := range m.Regions.Threads {
			t := &m.Regions.Threads[i]
			regions[model.WorkerID{Node: t.Node, Worker: t.Stream}] = t
		}
	}
	for id, w := range m.AllWorkers() {
		p.spans = p.spans[:0]
		for e := w.First; e < w.End; e++ {
			category := "CF"
			if m.Atomic(m.ExecCF[e]) {
				category = "ForeignBlock"
			}
			p.spans = append(p.spans, span{m.ExecStart[e], m.EndOf(e), m.Codes[m.CodeOf(m.ExecCF[e])].Name,
				category, e})
		}
		for i := range w.Waits {
			x := &w.Waits[i]
			p.spans = append(p.spans, span{x.From, x.To, cmp.Or(x.Name, "wait"), "Sync", -1})
		}
		p.visits(regions[id])
		delete(regions, id)
		p.lane(id, "worker "+strconv.Itoa(id.Worker))
	}
	if m.Regions == nil {
		return
	}
	for i := range m.Regions.Threads { // threads that are no workers
		t := &m.Regions.Threads[i]
		id := model.WorkerID{Node: t.Node, Worker: t.Stream}
		if regions[id] == t {
			p.spans = p.spans[:0]
			p.visits(t)
			p.lane(id, "thread "+strconv.Itoa(t.Stream))
		}
	}
}

func (p *writer) visits(t *model.Thread) {
	if t == nil {
		return
	}
	for v := range t.Enter {
		p.spans = append(p.spans, span{t.Enter[v], t.Exit[v], p.m.Codes[p.m.Sites[t.Site[v]].Code].Name, "Region",
			-1})
	}
}

// lane writes the spans of a thread, nested.
func (p *writer) lane(id model.WorkerID, name string) {
	tid := p.thread(id.Node, id.Worker, name)
	slices.SortStableFunc(p.spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to))
	})
	var open []int64 // ends of what is around
	for i := range p.spans {
		x := &p.spans[i]
		for len(open) > 0 && open[len(open)-1] <= x.from {
			open = open[:len(open)-1]
		}
		if x.to = max(x.to, x.from); len(open) > 0 {
			x.to = min(x.to, open[len(open)-1])
		}
		open = append(open, x.to)
		p.s = slice{node: id.Node, tid: tid, from: x.from - p.m.Start, to: x.to - p.m.Start, name: x.name,
			category: x.category, args: p.s.args[:0]}
		if e := x.execution; e >= 0 {
			p.s.args = append(p.s.args, text("cf", p.m.CFString(p.m.ExecCF[e])))
			if p.m.ExecEnd[e] == model.None {
				p.s.args = append(p.s.args, text("unfinished", "true"))
			}
		}
		p.out.slice(&p.s)
	}
}

// messages shows the DFs and CFs that were sent, as slices without length that an arrow joins.
func (p *writer) messages() {
	flow := 0
	for i, list := range [2][]model.Message{p.m.DFMessages, p.m.Moves} {
		for k := range list {
			g := &list[k]
			if !g.Recorded() || g.From < 0 || g.To < 0 {
				continue
			}
			what := ""
			if i == 0 {
				what = p.m.DFString(g.DF)
			} else {
				what = p.m.CFTitle(g.CF)
			}
			flow++
			p.message(g, true, int(g.From), int(g.To), g.Sent, flow, what)
			p.message(g, false, int(g.To), int(g.From), g.Received, flow, what)
		}
	}
}

func (p *writer) message(g *model.Message, out bool, node, peer int, at int64, flow int, what string) {
	if at == model.None || node >= len(p.m.Nodes) {
		return
	}
	name := "receive"
	if out {
		name = "send"
	}
	if g.Sent == model.None || g.Received == model.None {
		flow = 0
	}
	p.s = slice{node: node, tid: p.thread(node, messagesOf, "messages"), from: at - p.m.Start,
		to: at - p.m.Start, name: name, category: "DF", flow: flow, out: out, args: p.s.args}
	p.out.slice(p.s.with(number("peer", int64(peer)), number("bytes", g.Bytes), text("what", what)))
}

// held shows the bytes of the copies of DFs that each node holds.
func (p *writer) held() {
	type change struct{ t, bytes int64 }
	flush := func(node int, list []change) {
		slices.SortFunc(list, func(a, b change) int { return cmp.Compare(a.t, b.t) })
		var sum int64
		for i, c := range list {
			if sum += c.bytes; i+1 == len(list) || list[i+1].t > c.t {
				p.counter(node, "DFHeld", c.t, sum)
			}
		}
	}
	var list []change
	at := -1
	for h := range p.m.Holdings() { // node by node
		if h.Node != at {
			flush(at, list)
			at, list = h.Node, list[:0]
		}
		if h.From == model.None || h.Bytes == 0 {
			continue
		}
		if list = model.Append(p.m, list, change{h.From, h.Bytes}); h.To != model.None {
			list = model.Append(p.m, list, change{h.To, -h.Bytes})
		}
	}
	flush(at, list)
}

// queueNames names what is no queue of messages to a node.
var queueNames = map[int32]string{model.OfReady: "ReadyQueue", model.OfLoad: "CPU, percent of a core",
	model.OfResident: "Resident bytes", model.OfArenas: "Bytes of arenas", model.OfThreads: "Threads"}

// queues shows the lengths of queues, and what processes used, as they were recorded.
func (p *writer) queues() {
	for i := range p.m.Queues {
		q := &p.m.Queues[i]
		name := queueNames[q.Peer]
		if q.Peer >= 0 {
			name = "SendQueue to " + strconv.Itoa(int(q.Peer))
		}
		p.counter(int(q.Node), name, q.Time, q.Length)
	}
}

// counter shows a value of a node from a time on.
func (p *writer) counter(node int, name string, at, value int64) {
	p.out.counter(node, name, at-p.m.Start, value)
}
