// Package tracks makes runs of tasks of slices on threads and flows between them, which several formats have.
//
// A slice that is in no other is a task: a CF, whose code fragment has the name of the slice. A flow is a DF that
// leads from a task to one that starts later. A slice inside of another is a region. A task ends where a flow leaves it and goes on as another CF, so that
// the rest is no reason for the wait of others.
//
// Such formats do not say why a task without flows starts when it does. It has an input "not told", which nobody
// made: its worker starves until then. All threads are workers of node 0.
package tracks

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/whyslow/whyslow/internal/convert/foreign"
	"github.com/whyslow/whyslow/trace"
)

// File is what was read: slices by thread, and the ends of flows.
type File struct {
	threads map[string]*Thread
	order   []*Thread // as they were met
	names   map[string]int
	texts   []string
	slices  int
	flows   map[string]*flow
	listed  []*flow
}

// New gives one without slices.
func New() *File {
	return &File{threads: map[string]*Thread{}, names: map[string]int{}, flows: map[string]*flow{}}
}

// slice is a slice of a thread, open where it has no end yet.
type slice struct {
	from, to int64
	name     int
}

// Thread is what slices are on.
type Thread struct {
	slices []slice
	open   []slice // begun by B
	parts  []*part
	inner  []slice // in order; each is in that before it, or begins when that has ended
}

// End is where a flow leaves or enters a thread.
type End struct {
	Thread *Thread
	At     int64
	Inside bool // it belongs to the slice around t, not to the next
}

// flow leads from an end to all those that follow.
type flow struct {
	name int
	df   uint64 // once it is written
	out  *End
	ins  []End
}

func (f *File) name(text string) int {
	n, ok := f.names[text]
	if !ok {
		n = len(f.texts)
		f.names[text] = n
		f.texts = append(f.texts, text)
	}
	return n
}

// Thread gives the thread of a name, made when it is first asked for.
func (f *File) Thread(key string) (*Thread, error) {
	t := f.threads[key]
	if t == nil {
		if len(f.order) == foreign.MostWorkers {
			return nil, fmt.Errorf("there are more than %d threads", foreign.MostWorkers)
		}
		t = &Thread{}
		f.threads[key] = t
		f.order = append(f.order, t)
	}
	return t, nil
}

// Empty tells that there are no slices.
func (f *File) Empty() bool { return f.slices == 0 }

// mostSlices is how many slices are read: all must be in memory, because they come in any order.
const mostSlices = 1 << 26

// Add takes in a slice.
func (f *File) Add(t *Thread, from, to int64, name string) error {
	return f.add(t, slice{from, max(to, from), f.name(name)})
}

// Begin begins a slice, inside of those that are open.
func (f *File) Begin(t *Thread, at int64, name string) error {
	if len(t.open) > 1<<16 {
		return errors.New("slices are nested too deeply")
	}
	t.open = append(t.open, slice{at, at, f.name(name)})
	return nil
}

// End ends the innermost slice, if there is one.
func (f *File) End(t *Thread, at int64) error {
	n := len(t.open) - 1
	if n < 0 {
		return nil
	}
	s := t.open[n]
	t.open = t.open[:n]
	s.to = max(at, s.from)
	return f.add(t, s)
}

func (f *File) add(t *Thread, s slice) error {
	if f.slices++; f.slices > mostSlices {
		return fmt.Errorf("there are more than %d slices", mostSlices)
	}
	t.slices = append(t.slices, s)
	return nil
}

func (f *File) flow(id []byte) *flow {
	x := f.flows[string(id)]
	if x == nil {
		x = &flow{}
		f.flows[string(id)] = x
		f.listed = append(f.listed, x)
	}
	return x
}

// Leaves notes where a flow begins. One that has begun already is another one with the same id.
func (f *File) Leaves(id []byte, name string, at End) {
	if x := f.flows[string(id)]; x != nil && x.out != nil {
		delete(f.flows, string(id))
	}
	x := f.flow(id)
	x.name, x.out = f.name(name), &at
}

// Enters notes where a flow ends; it may go on from there.
func (f *File) Enters(id []byte, at End) {
	x := f.flow(id)
	x.ins = append(x.ins, at)
}

// part is a CF: a task, or as much of it as is between two flows that leave it.
type part struct {
	slice
	thread *Thread
	cf     trace.CF
	more   bool    // the next part of the thread continues it
	ins    []input // flows that enter it
	outs   []*flow // flows that leave it at its end
	frees  []*part // those of which it made the last input
}

type input struct {
	df uint64
	by *part
}

// tasks finds the slices that are in no other, as parts. Those inside of others end with them at the latest.
func (t *Thread) tasks() {
	slices.SortFunc(t.slices, func(a, b slice) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to))
	})
	var around []int64 // ends of the slices around one
	for _, s := range t.slices {
		for len(around) > 0 && around[len(around)-1] <= s.from {
			around = around[:len(around)-1]
		}
		if len(around) == 0 {
			t.parts = append(t.parts, &part{slice: s, thread: t})
		} else {
			s.to = min(s.to, around[len(around)-1])
			t.inner = append(t.inner, s)
		}
		around = append(around, s.to)
	}
	t.slices = nil
}

// at gives the task around a time, or the next one; -1 if there is none.
func (t *Thread) at(e *End) int {
	i := sort.Search(len(t.parts), func(i int) bool { return t.parts[i].from > e.At }) - 1
	if e.Inside {
		if i < 0 || t.parts[i].to < e.At {
			return -1
		}
		return i
	}
	if i >= 0 && t.parts[i].from == e.At {
		return i
	}
	if i+1 < len(t.parts) {
		return i + 1
	}
	return -1
}

// cut ends tasks where flows leave them.
func (f *File) cut() {
	leaving := map[*Thread][]*flow{}
	for _, x := range f.listed {
		if x.out != nil && len(x.ins) > 0 {
			leaving[x.out.Thread] = append(leaving[x.out.Thread], x)
		}
	}
	for t, flows := range leaving {
		slices.SortStableFunc(flows, func(a, b *flow) int { return cmp.Compare(a.out.At, b.out.At) })
		var parts []*part
		for _, p := range t.parts {
			for len(flows) > 0 && flows[0].out.At < p.from { // it leaves no task
				flows = flows[1:]
			}
			for len(flows) > 0 && flows[0].out.At < p.to {
				first := *p
				first.to, first.more = flows[0].out.At, true
				for len(flows) > 0 && flows[0].out.At == first.to {
					first.outs = append(first.outs, flows[0])
					flows = flows[1:]
				}
				parts = append(parts, &first)
				p.from = first.to
			}
			for len(flows) > 0 && flows[0].out.At == p.to {
				p.outs = append(p.outs, flows[0])
				flows = flows[1:]
			}
			parts = append(parts, p)
		}
		t.parts = parts
	}
}

// Write writes the tasks as a trace.
func (f *File) Write(to *foreign.Run) error {
	if f.slices == 0 {
		return nil
	}
	node, err := to.Node(0)
	if err != nil {
		return err
	}
	start, last := int64(math.MaxInt64), int64(math.MinInt64)
	for _, t := range f.order {
		t.tasks()
	}
	f.cut()
	for _, t := range f.order {
		for _, p := range t.parts {
			p.cf = node.CF()
			start, last = min(start, p.from), max(last, p.to)
		}
	}
	f.join(node)
	workers := 0
	for _, t := range f.order {
		if len(t.parts) > 0 {
			f.stream(node, node.Worker(workers, start), t)
			workers++
		}
	}
	node.Finish(start, last)
	return nil
}

// join gives the parts their inputs.
func (f *File) join(node *foreign.Node) {
	for _, t := range f.order {
		for _, p := range t.parts {
			for _, x := range p.outs {
				x.df = uint64(node.DF(cmp.Or(f.texts[x.name], "flow")))
				for i := range x.ins {
					e := &x.ins[i]
					k := e.Thread.at(e)
					if k < 0 {
						continue
					}
					if q := e.Thread.parts[k]; q != p && q.from >= p.to {
						q.ins = append(q.ins, input{x.df, p})
					}
				}
			}
		}
	}
	for _, t := range f.order {
		for _, q := range t.parts {
			if len(q.ins) > 0 {
				last := slices.MaxFunc(q.ins, func(a, b input) int { return cmp.Compare(a.by.to, b.by.to) })
				last.by.frees = append(last.by.frees, q)
			}
		}
	}
}

// regions writes slices inside of others as regions.
type regions struct {
	*trace.Stream
	site func(slice) uint64
	next []slice
	open []slice
}

// until writes what happens before a time, and who leaves at it.
func (r *regions) until(t int64) {
	for {
		n := len(r.open) - 1
		switch {
		case n >= 0 && r.open[n].to <= t && (len(r.next) == 0 || r.open[n].to <= r.next[0].from):
			r.Emit(r.open[n].to, trace.KindExited, r.site(r.open[n]))
			r.open = r.open[:n]
		case len(r.next) > 0 && r.next[0].from < t:
			r.Emit(r.next[0].from, trace.KindEntered, r.site(r.next[0]))
			r.open, r.next = append(r.open, r.next[0]), r.next[1:]
		default:
			return
		}
	}
}

// stream writes the events of a thread.
func (f *File) stream(node *foreign.Node, s *trace.Stream, t *Thread) {
	inside := regions{Stream: s, next: t.inner, site: func(x slice) uint64 {
		return uint64(node.Site(node.Code(cmp.Or(f.texts[x.name], "slice"), trace.Function, "", 0), "", 0))
	}}
	defer inside.until(math.MaxInt64)
	ready := func(p *part, at int64) {
		code := node.Code(cmp.Or(f.texts[p.name], "task"), trace.Atomic, "", 0)
		s.Emit(at, trace.KindCFCreated, uint64(p.cf), uint64(node.Site(code, "", 0)), 0, 1, math.Float64bits(1), 0)
		s.Emit(at, trace.KindCFReady, uint64(p.cf), 0)
	}
	continues := uint64(0)
	for i, p := range t.parts {
		inside.until(p.from)
		inputs := []uint64{}
		switch {
		case continues != 0:
			inputs = append(inputs, continues)
			if len(p.ins) == 0 {
				ready(p, p.from)
			}
		case len(p.ins) == 0:
			df := uint64(node.DF("not told"))
			s.Emit(p.from, trace.KindDFCreate, df, 0, 0)
			inputs = append(inputs, df)
			ready(p, p.from)
		}
		for _, in := range p.ins {
			inputs = append(inputs, in.df)
		}
		s.Emit(p.from, trace.KindCFStarted, append([]uint64{uint64(p.cf), 1, uint64(len(inputs))}, inputs...)...)
		inside.until(p.to)
		s.Emit(p.to, trace.KindCFFinished, uint64(p.cf), 1, math.MaxUint64)
		for _, x := range p.outs {
			s.Emit(p.to, trace.KindDFCreate, x.df, 0, uint64(p.cf))
		}
		continues = 0
		if p.more && i+1 < len(t.parts) {
			continues = uint64(node.DF("continues"))
			s.Emit(p.to, trace.KindDFCreate, continues, 0, uint64(p.cf))
		}
		for _, q := range p.frees {
			ready(q, p.to)
		}
	}
}
