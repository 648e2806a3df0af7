// Package tracks makes runs of tasks of slices on threads and flows between them, which several formats have.
//
// A slice that is in no other is a task: a CF, whose code fragment has the name of the slice. A flow is a DF
// that leads from a task to one that starts later. A slice inside of another is a region. A task ends where a
// flow leaves it and goes on as another CF, so that the rest is no reason for the wait of others.
//
// Such formats do not say why a task without flows starts when it does. It has an input "not told", which
// nobody made: its worker starves until then. All threads are workers of node 0.
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

// File is what was read: slices by thread, the ends of flows, and what no thread executes.
type File struct {
	to      *foreign.Run
	threads map[string]*Thread
	order   []*Thread // as they were met
	names   map[string]int
	texts   []string
	things  int // slices, and what else has no bound
	slices  int
	flows   map[string]*flow
	listed  []*flow
	points
}

// New gives one without slices. What is left out is counted in the run.
func New(to *foreign.Run) *File {
	return &File{to: to, threads: map[string]*Thread{}, names: map[string]int{}, flows: map[string]*flow{}}
}

// slice is a slice of a thread, open where it has no end yet. Of a task that a flow has cut, it is a part.
type slice struct {
	from, to int64
	name     int32
	more     bool // the next part of the thread continues it
}

// Thread is what slices are on.
type Thread struct {
	slices []slice
	open   []slice // begun by B
	number int     // in File.order
	parts  []slice // tasks, or as much of them as is between two flows that leave them
	cf     trace.CF
	outs   []leaving // in the order of parts
	inner  []slice   // in order; each is in that before it, or begins when that has ended
}

// leaving is a flow that leaves a part at its end.
type leaving struct {
	part int32
	*flow
}

// place is a part of a thread.
type place struct{ thread, part int32 }

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.thread, q.thread), cmp.Compare(p.part, q.part))
}

// End is where a flow leaves or enters a thread.
type End struct {
	Thread *Thread
	At     int64
	Inside bool // it belongs to the slice around t, not to the next
}

// flow leads from an end to all those that follow.
type flow struct {
	name int32
	used bool   // it leads to a part
	df   uint64 // once it is written
	out  End    // of no thread: it is not told
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
		t = &Thread{number: len(f.order)}
		f.threads[key] = t
		f.order = append(f.order, t)
	}
	return t, nil
}

// Empty tells that there are no slices.
func (f *File) Empty() bool { return f.slices == 0 }

// mostThings is how many slices, values of counters and the like are read: all must be in memory, because
// they come in any order.
const mostThings = 1 << 26

// room counts a thing.
func (f *File) room() error {
	if f.things++; f.things > mostThings {
		return fmt.Errorf("there are more than %d slices and values of counters", mostThings)
	}
	return nil
}

// Add takes in a slice.
func (f *File) Add(t *Thread, from, to int64, name string) error {
	return f.add(t, slice{from: from, to: max(to, from), name: int32(f.name(name))})
}

// Begin begins a slice, inside of those that are open.
func (f *File) Begin(t *Thread, at int64, name string) error {
	if len(t.open) > 1<<16 {
		return errors.New("slices are nested too deeply")
	}
	t.open = append(t.open, slice{from: at, to: at, name: int32(f.name(name))})
	return nil
}

// End ends the innermost slice, if there is one.
func (f *File) End(t *Thread, at int64) error {
	n := len(t.open) - 1
	if n < 0 {
		f.to.Skip("ends")
		return nil
	}
	s := t.open[n]
	t.open = t.open[:n]
	s.to = max(at, s.from)
	return f.add(t, s)
}

func (f *File) add(t *Thread, s slice) error {
	f.slices++
	t.slices = append(t.slices, s)
	return f.room()
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
	if x := f.flows[string(id)]; x != nil && x.out.Thread != nil {
		delete(f.flows, string(id))
	}
	x := f.flow(id)
	x.name, x.out = int32(f.name(name)), at
}

// Enters notes where a flow ends; it may go on from there.
func (f *File) Enters(id []byte, at End) {
	x := f.flow(id)
	x.ins = append(x.ins, at)
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
			t.parts = append(t.parts, s)
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
	flows := make([][]*flow, len(f.order))
	for _, x := range f.listed {
		if t := x.out.Thread; t != nil && len(x.ins) > 0 {
			flows[t.number] = append(flows[t.number], x)
		}
	}
	for _, t := range f.order {
		if len(flows[t.number]) > 0 {
			t.cut(flows[t.number])
		}
	}
}

func (t *Thread) cut(flows []*flow) {
	slices.SortStableFunc(flows, func(a, b *flow) int { return cmp.Compare(a.out.At, b.out.At) })
	var parts []slice
	leave := func(at int64) { // those that leave the part which is next
		for len(flows) > 0 && flows[0].out.At == at {
			t.outs = append(t.outs, leaving{int32(len(parts)), flows[0]})
			flows = flows[1:]
		}
	}
	for _, p := range t.parts {
		for len(flows) > 0 && flows[0].out.At < p.from { // it leaves no task
			flows = flows[1:]
		}
		for len(flows) > 0 && flows[0].out.At < p.to {
			first := p
			first.to, first.more = flows[0].out.At, true
			leave(first.to)
			parts = append(parts, first)
			p.from = first.to
		}
		leave(p.to)
		parts = append(parts, p)
	}
	t.parts = parts
}

// Write writes the tasks as a trace.
func (f *File) Write() error {
	if f.slices == 0 {
		return nil
	}
	node, err := f.to.Node(0)
	if err != nil {
		return err
	}
	f.to.NoMessages()
	start, last := int64(math.MaxInt64), int64(math.MinInt64)
	for _, t := range f.order {
		f.skip("beginnings", len(t.open))
		t.tasks()
	}
	f.cut()
	for _, t := range f.order {
		for i, p := range t.parts {
			if cf := node.CF(); i == 0 { // they are numbered one after the other
				t.cf = cf
			}
			start, last = min(start, p.from), max(last, p.to)
		}
	}
	j := f.join(node)
	workers := 0
	for _, t := range f.order {
		if len(t.parts) > 0 {
			f.stream(node, node.Worker(workers, start), t, j)
			workers++
		}
	}
	node.Finish(start, last)
	return f.writePoints(node)
}

// joined are the inputs of parts, and which parts get their last one from whom, in the order of parts.
type joined struct {
	ins   []input
	frees []freed
}

type input struct {
	of, by place
	df     uint64
}

type freed struct{ by, of place }

func (f *File) part(p place) *slice { return &f.order[p.thread].parts[p.part] }

// join gives the parts their inputs.
func (f *File) join(node *foreign.Node) *joined {
	j := &joined{}
	for _, t := range f.order {
		for _, x := range t.outs {
			x.df = uint64(node.DF(cmp.Or(f.texts[x.name], "flow")))
			by := place{int32(t.number), x.part}
			for i := range x.ins {
				e := &x.ins[i]
				of := place{int32(e.Thread.number), int32(e.Thread.at(e))}
				if of.part >= 0 && of != by && f.part(of).from >= f.part(by).to {
					j.ins = append(j.ins, input{of, by, x.df})
					x.used = true
				}
			}
		}
	}
	for _, x := range f.listed {
		if !x.used {
			f.to.Skip("flows")
		}
	}
	slices.SortStableFunc(j.ins, func(a, b input) int { return a.of.compare(b.of) })
	for i, in := range j.ins {
		if i == 0 || j.ins[i-1].of != in.of {
			j.frees = append(j.frees, freed{in.by, in.of})
		} else if last := &j.frees[len(j.frees)-1]; f.part(in.by).to > f.part(last.by).to {
			last.by = in.by
		}
	}
	slices.SortStableFunc(j.frees, func(a, b freed) int { return a.by.compare(b.by) })
	return j
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

// stream writes the events of a thread, which come in the order of j.
func (f *File) stream(node *foreign.Node, s *trace.Stream, t *Thread, j *joined) {
	inside := regions{Stream: s, next: t.inner, site: func(x slice) uint64 {
		return uint64(node.Site(node.Code(cmp.Or(f.texts[x.name], "slice"), trace.Function, "", 0), "", 0))
	}}
	defer inside.until(math.MaxInt64)
	ready := func(of place, at int64) {
		code := node.Code(cmp.Or(f.texts[f.part(of).name], "task"), trace.Atomic, "", 0)
		cf := uint64(f.order[of.thread].cf) + uint64(of.part)
		s.Emit(at, trace.KindCFCreated, cf, uint64(node.Site(code, "", 0)), 0, 1, math.Float64bits(1), 0)
		s.Emit(at, trace.KindCFReady, cf, 0)
	}
	continues := uint64(0)
	var started []uint64
	outs := t.outs
	for i, p := range t.parts {
		here := place{int32(t.number), int32(i)}
		cf := uint64(t.cf) + uint64(i)
		inside.until(p.from)
		started = append(started[:0], cf, 1, 0)
		entered := len(j.ins) > 0 && j.ins[0].of == here
		switch {
		case continues != 0:
			started = append(started, continues)
			if !entered {
				ready(here, p.from)
			}
		case !entered:
			df := uint64(node.DF("not told"))
			s.Emit(p.from, trace.KindDFCreate, df, 0, 0)
			started = append(started, df)
			ready(here, p.from)
		}
		for ; len(j.ins) > 0 && j.ins[0].of == here; j.ins = j.ins[1:] {
			started = append(started, j.ins[0].df)
		}
		started[2] = uint64(len(started) - 3)
		s.Emit(p.from, trace.KindCFStarted, started...)
		inside.until(p.to)
		s.Emit(p.to, trace.KindCFFinished, cf, 1, math.MaxUint64)
		for ; len(outs) > 0 && int(outs[0].part) == i; outs = outs[1:] {
			s.Emit(p.to, trace.KindDFCreate, outs[0].df, 0, cf)
		}
		continues = 0
		if p.more && i+1 < len(t.parts) {
			continues = uint64(node.DF("continues"))
			s.Emit(p.to, trace.KindDFCreate, continues, 0, cf)
		}
		for ; len(j.frees) > 0 && j.frees[0].by == here; j.frees = j.frees[1:] {
			ready(j.frees[0].of, p.to)
		}
	}
}
