// Package perfetto writes a run for ui.perfetto.dev: one file of all its nodes, in the Trace Event Format,
// with the times of the model, whose clocks are corrected. The module perfetto_module writes a file while a
// program runs; of a run of many processes each of them has its own, with its own clock.
//
// A node is a process there, a worker one of its threads; what a node sends and receives is on a further
// thread. Calls of user code, executions of structured CFs, waits and regions are slices; DFs that are sent
// are joined by arrows; bytes held, lengths of queues, and what processes use are counters.
package perfetto

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"slices"
	"strconv"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/tracefile/eventjson"
)

// Write writes a run. It ends with the context's error, or that of w.
func Write(ctx context.Context, w io.Writer, m *model.Model) error {
	p := &writer{m: m, out: bufio.NewWriterSize(w, 1<<16), threads: map[[2]int]int{}}
	p.text(`{"displayTimeUnit":"ns","otherData":{"program":`)
	p.quote(m.Info.Program)
	p.text("},\"traceEvents\":[\n")
	p.names()
	for _, f := range []func(){p.executions, p.regions, p.messages, p.held, p.queues} {
		if f(); ctx.Err() != nil {
			return ctx.Err()
		}
	}
	p.text("\n]}\n")
	return p.out.Flush() // it keeps the first error
}

// messagesOf is the stream of the thread on which a node's messages are shown.
const messagesOf = -1

type writer struct {
	m       *model.Model
	out     *bufio.Writer
	begun   bool
	threads map[[2]int]int // by node and stream: all different, as Perfetto demands
	b       []byte
}

func (p *writer) text(s string)   { _, _ = p.out.WriteString(s) } // Flush tells
func (p *writer) quote(s string)  { _, _ = p.out.Write(eventjson.AppendString(nil, s)) }
func (p *writer) pid(n int) int64 { return int64(n) + 1 }

// thread is the number of a thread; one that is new gets its name.
func (p *writer) thread(node, stream int, name func() string) int64 {
	key := [2]int{node, stream}
	tid, ok := p.threads[key]
	if !ok {
		tid = len(p.m.Nodes) + len(p.threads) + 1
		p.threads[key] = tid
		p.begin(`{"name":"thread_name","ph":"M","pid":`, p.pid(node))
		p.number(`,"tid":`, int64(tid))
		p.b = append(eventjson.AppendString(append(p.b, `,"args":{"name":`...), name()), "}}"...)
		p.end()
	}
	return int64(tid)
}

// begin begins a record with a text and a number.
func (p *writer) begin(text string, n int64) {
	p.b = p.b[:0]
	if p.begun {
		p.b = append(p.b, ",\n"...)
	}
	p.begun = true
	p.number(text, n)
}

func (p *writer) number(text string, n int64) { p.b = strconv.AppendInt(append(p.b, text...), n, 10) }

// time appends microseconds with three digits after the point.
func (p *writer) time(text string, ns int64) {
	p.b = append(p.b, text...)
	if ns < 0 {
		p.b, ns = append(p.b, '-'), -ns
	}
	p.b = strconv.AppendInt(p.b, ns/1000, 10)
	if rest := ns % 1000; rest > 0 {
		p.b = append(p.b, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
	}
}

func (p *writer) end() { _, _ = p.out.Write(p.b) } // Flush tells

// names names the nodes.
func (p *writer) names() {
	for n := range p.m.Nodes {
		p.begin(`{"name":"process_name","ph":"M","pid":`, p.pid(n))
		name := "node " + strconv.Itoa(n)
		if host := p.m.Nodes[n].Host; host != "" {
			name += " (" + host + ")"
		}
		p.b = append(eventjson.AppendString(append(p.b, `,"args":{"name":`...), name), "}}"...)
		p.end()
		p.begin(`{"name":"process_sort_index","ph":"M","pid":`, p.pid(n))
		p.number(`,"args":{"sort_index":`, int64(n))
		p.b = append(p.b, "}}"...)
		p.end()
	}
}

// slice begins a slice of a thread: name, category, from, to. The caller ends it.
func (p *writer) slice(node int, tid int64, name, category string, from, to int64) {
	p.begin(`{"ph":"X","pid":`, p.pid(node))
	p.number(`,"tid":`, tid)
	p.b = eventjson.AppendString(append(p.b, `,"name":`...), name)
	p.b = append(append(append(p.b, `,"cat":"`...), category...), '"')
	p.time(`,"ts":`, from-p.m.Start)
	p.time(`,"dur":`, max(to-from, 0))
}

func (p *writer) executions() {
	m := p.m
	for id, w := range m.AllWorkers() {
		tid := p.thread(id.Node, id.Worker, func() string { return "worker " + strconv.Itoa(id.Worker) })
		for e := w.First; e < w.End; e++ {
			cf := m.ExecCF[e]
			category := "CF"
			if m.Atomic(cf) {
				category = "ForeignBlock"
			}
			p.slice(id.Node, tid, m.Codes[m.CodeOf(cf)].Name, category, m.ExecStart[e], m.EndOf(e))
			p.b = eventjson.AppendString(append(p.b, `,"args":{"cf":`...), m.CFString(cf))
			if m.ExecEnd[e] == model.None {
				p.b = append(p.b, `,"unfinished":true`...)
			}
			p.b = append(p.b, "}}"...)
			p.end()
		}
		for i := range w.Waits {
			x := &w.Waits[i]
			p.slice(id.Node, tid, cmp.Or(x.Name, "wait"), "Sync", x.From, x.To)
			p.b = append(p.b, '}')
			p.end()
		}
	}
}

func (p *writer) regions() {
	m := p.m
	if m.Regions == nil {
		return
	}
	for i := range m.Regions.Threads {
		t := &m.Regions.Threads[i]
		tid := p.thread(t.Node, t.Stream, func() string { return "thread " + strconv.Itoa(t.Stream) })
		for v := range t.Enter {
			p.slice(t.Node, tid, m.Codes[m.Sites[t.Site[v]].Code].Name, "Region", t.Enter[v], t.Exit[v])
			p.b = append(p.b, '}')
			p.end()
		}
	}
}

// messages shows the DFs and CFs that were sent, as slices without length that an arrow joins.
func (p *writer) messages() {
	number := 0
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
			number++
			p.message(g, "send", `,"flow_out":true`, int(g.From), int(g.To), g.Sent, number, what)
			p.message(g, "receive", `,"flow_in":true`, int(g.To), int(g.From), g.Received, number, what)
		}
	}
}

func (p *writer) message(g *model.Message, name, flow string, node, peer int, at int64, number int,
	what string) {
	if at == model.None || node >= len(p.m.Nodes) {
		return
	}
	tid := p.thread(node, messagesOf, func() string { return "messages" })
	p.slice(node, tid, name, "DF", at, at)
	if g.Sent != model.None && g.Received != model.None {
		p.b = append(p.b, flow...)
		p.number(`,"bind_id":"`, int64(number))
		p.b = append(p.b, '"')
	}
	p.number(`,"args":{"peer":`, int64(peer))
	p.number(`,"bytes":`, g.Bytes)
	p.b = append(eventjson.AppendString(append(p.b, `,"what":`...), what), "}}"...)
	p.end()
}

// counter shows a value of a node from a time on.
func (p *writer) counter(node int, name string, at, value int64) {
	p.begin(`{"ph":"C","pid":`, p.pid(node))
	p.b = eventjson.AppendString(append(p.b, `,"name":`...), name)
	p.time(`,"ts":`, at-p.m.Start)
	p.number(`,"args":{"value":`, value)
	p.b = append(p.b, "}}"...)
	p.end()
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
