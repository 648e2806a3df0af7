package lunalog

import (
	"bufio"
	"container/heap"
	"io"

	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

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

// Print prints a whole trace, all nodes merged by time. The run starts with its first event.
func Print(w io.Writer, r *trace.Reader) error {
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
	var d Describer = recorded{r}
	log := New(queue[0].time(), nodes, func() Describer { return d })
	out := bufio.NewWriterSize(w, 1<<16)
	for len(queue) > 0 {
		h := queue[0]
		line := log.Append(out.AvailableBuffer(), h.cursor.Node, h.time(), h.batch.Kind[h.i],
			h.batch.Args(h.i))
		if _, err := out.Write(line); err != nil {
			return err
		}
		if h.next() {
			heap.Fix(&queue, 0)
		} else {
			heap.Pop(&queue)
		}
	}
	return out.Flush()
}

// recorded describes by what a trace defines.
type recorded struct{ r *trace.Reader }

func (d recorded) Site(node int, s trace.Site) prof.Site {
	defs := d.r.Defs(node)
	def, ok := defs.Site(s)
	if !ok || def.File == 0 {
		return prof.Site{}
	}
	return prof.Site{File: defs.Name(def.File), Line: def.Line}
}

func (d recorded) DF(node int, df trace.DF) (string, []int64) {
	_, identity, _ := d.r.Defs(node).DF(df, nil)
	return "", identity
}
