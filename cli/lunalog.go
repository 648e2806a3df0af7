package cli

import (
	"bufio"
	"container/heap"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/whyslow/whyslow/trace"
)

// A lunaLog prints events as LuNA's run-time system logs them: rank | seconds | message | file:line.
//
// LuNA names a CF by an address and the block it is at; here the number is the CF's id and the block its statement's
// number. The position is that of the statement, not of LuNA's own source.
type lunaLog struct {
	w     *bufio.Writer
	start int64 // time of the first event, ns
	cfs   map[trace.CF]lunaCF
	works []int // by node: CFs that exist there
}

type lunaCF struct {
	name  string // "_main 0" or number and block
	place string // file:line
}

func newLunaLog(w *bufio.Writer, start int64, nodes int) *lunaLog {
	return &lunaLog{w: w, start: start, cfs: map[trace.CF]lunaCF{}, works: make([]int, nodes)}
}

// event prints one event; events come in order of time.
func (l *lunaLog) event(node int, t int64, kind trace.Kind, args []uint64, defs *trace.Defs) {
	line := func(cf trace.CF, format string, a ...any) {
		place := l.cfs[cf].place
		if place == "" {
			place = "-"
		}
		since := t - l.start
		fmt.Fprintf(l.w, "%d | %d.%06d | ", node, since/1e9, since%1e9/1000)
		fmt.Fprintf(l.w, format, a...)
		fmt.Fprintf(l.w, " | %s\n", place)
	}
	work := func(cf trace.CF, change int, what string) {
		l.works[node] += change
		line(cf, "WORKLOAD + %d => %d", change, l.works[node])
		line(cf, "WORKLOAD: CF %s", what)
	}
	switch kind {
	case trace.KindCFCreated: // cf, site, parent, execution, weight, indices
		cf, site := trace.CF(args[0]), trace.Site(args[1])
		l.cfs[cf] = l.describe(cf, site, trace.CF(args[2]), defs)
		work(cf, 1, "created")
		line(cf, "Create CF %s", l.name(cf))
	case trace.KindCFStarted:
		line(trace.CF(args[0]), "Invoke CF %s", l.name(trace.CF(args[0])))
	case trace.KindCFFinished:
		line(trace.CF(args[0]), "Finish CF %s", l.name(trace.CF(args[0])))
	case trace.KindCFWaiting: // cf, awaited
		for _, df := range args[2:] {
			line(trace.CF(args[0]), "Wait %s by CF %s", identity(defs, df), l.name(trace.CF(args[0])))
		}
	case trace.KindCFMigrated: // cf, to, bytes, weight
		line(trace.CF(args[0]), "Migrate CF %s to %d", l.name(trace.CF(args[0])), args[1])
		work(trace.CF(args[0]), -1, "destroyed")
	case trace.KindCFStolen: // cf, by, bytes, weight
		line(trace.CF(args[0]), "Stealing job CF %s to %d", l.name(trace.CF(args[0])), args[1])
		work(trace.CF(args[0]), -1, "destroyed")
	case trace.KindCFReceived:
		work(trace.CF(args[0]), 1, "created")
		line(trace.CF(args[0]), "Receive CF %s", l.name(trace.CF(args[0])))
	case trace.KindCFDestroyed:
		work(trace.CF(args[0]), -1, "destroyed")
		delete(l.cfs, trace.CF(args[0]))
	case trace.KindDFCreate: // df, size, cf
		line(trace.CF(args[2]), "Store %s := DF<size=%d>(...)", identity(defs, args[0]), args[1])
	case trace.KindDFRequested: // df, cf, node, request
		line(trace.CF(args[1]), "requested\t%s by CF %s", identity(defs, args[0]), l.name(trace.CF(args[1])))
	case trace.KindDFReceived: // df, from, bytes, message, request, cf
		if cf := trace.CF(args[5]); cf != 0 {
			line(cf, "responded %s=DF<size=%d>(...) for CF %s", identity(defs, args[0]), args[2], l.name(cf))
		}
	case trace.KindDFStored: // df, size
		line(0, "POST %s := DF<size=%d>(...) &-1", identity(defs, args[0]), args[1])
	case trace.KindDFDestroy:
		line(0, "Destroyed %s", identity(defs, args[0]))
	}
}

func (l *lunaLog) name(cf trace.CF) string {
	if c, ok := l.cfs[cf]; ok {
		return c.name
	}
	return strconv.FormatUint(uint64(cf), 10) + " : 0"
}

func (l *lunaLog) describe(cf trace.CF, site trace.Site, parent trace.CF, defs *trace.Defs) lunaCF {
	if parent == 0 {
		c := lunaCF{name: "_main : 0"}
		c.place = place(defs, site)
		return c
	}
	return lunaCF{name: fmt.Sprintf("%d : %d", uint64(cf), site), place: place(defs, site)}
}

func place(defs *trace.Defs, site trace.Site) string {
	s, ok := defs.Site(site)
	if !ok || s.File == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d", filepath.Base(defs.Name(s.File)), s.Line)
}

// identity prints a DF as LuNA does: ID<rank, number, indices>.
func identity(defs *trace.Defs, df uint64) string {
	_, ids, ok := defs.DF(trace.DF(df), nil)
	if !ok {
		return fmt.Sprintf("ID<#%d>", df)
	}
	text := []byte("ID<")
	for i, v := range ids {
		if i > 0 {
			text = append(text, ", "...)
		}
		text = strconv.AppendInt(text, v, 10)
	}
	return string(append(text, '>'))
}

// streamHead is a stream of events on its way through the merge.
type streamHead struct {
	cursor *trace.Cursor
	batch  trace.Batch
	i      int
}

func (h *streamHead) time() int64 { return h.batch.Time[h.i] }

// next goes to the next event and reports whether there is one.
func (h *streamHead) next() bool {
	h.i++
	for h.i >= h.batch.N {
		if !h.cursor.Next(&h.batch) {
			return false
		}
		h.i = 0
	}
	return true
}

// heads is a heap of streams, the earliest event first; equal times keep the order of nodes and streams.
type heads []*streamHead

func (h heads) Len() int { return len(h) }
func (h heads) Less(i, j int) bool {
	a, b := h[i], h[j]
	if a.time() != b.time() {
		return a.time() < b.time()
	}
	if a.cursor.Node != b.cursor.Node {
		return a.cursor.Node < b.cursor.Node
	}
	return a.cursor.Stream < b.cursor.Stream
}
func (h heads) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *heads) Push(x any)   { *h = append(*h, x.(*streamHead)) }
func (h *heads) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// printLunaLog prints a whole trace, all nodes merged by time.
func printLunaLog(w *bufio.Writer, r *trace.Reader) error {
	var queue heads
	nodes := 1
	for _, s := range r.Streams() {
		h := &streamHead{cursor: r.Stream(s.Node, s.Stream), i: -1}
		if h.next() {
			queue = append(queue, h)
		}
		nodes = max(nodes, s.Node+1)
	}
	if len(queue) == 0 {
		return nil
	}
	heap.Init(&queue)
	log := newLunaLog(w, queue[0].time(), nodes)
	for len(queue) > 0 {
		h := queue[0]
		log.event(h.cursor.Node, h.time(), h.batch.Kind[h.i], h.batch.Args(h.i), r.Defs(h.cursor.Node))
		if h.next() {
			heap.Fix(&queue, 0)
		} else {
			heap.Pop(&queue)
		}
	}
	return w.Flush()
}
