package traceevents

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

// file is what was read: slices by thread, and the ends of flows.
type file struct {
	threads map[string]*thread
	order   []*thread // as they were met
	names   map[string]int
	texts   []string
	slices  int
	flows   map[string]*flow
	listed  []*flow
}

func newFile() *file {
	return &file{threads: map[string]*thread{}, names: map[string]int{}, flows: map[string]*flow{}}
}

// slice is a slice of a thread, open where it has no end yet.
type slice struct {
	from, to int64
	name     int
}

type thread struct {
	slices []slice
	open   []slice // begun by B
	parts  []*part
	inner  []slice // in order; each is in that before it, or begins when that has ended
}

// end is where a flow leaves or enters a thread.
type end struct {
	thread *thread
	t      int64
	inside bool // it belongs to the slice around t, not to the next
}

// flow leads from an end to all those that follow.
type flow struct {
	name int
	df   uint64 // once it is written
	out  *end
	ins  []end
}

func (f *file) name(text string) int {
	n, ok := f.names[text]
	if !ok {
		n = len(f.texts)
		f.names[text] = n
		f.texts = append(f.texts, text)
	}
	return n
}

func (f *file) thread(r *record) (*thread, error) {
	key := string(r.PID) + "/" + string(r.TID)
	t := f.threads[key]
	if t == nil {
		if len(f.order) == foreign.MostWorkers {
			return nil, fmt.Errorf("there are more than %d threads", foreign.MostWorkers)
		}
		t = &thread{}
		f.threads[key] = t
		f.order = append(f.order, t)
	}
	return t, nil
}

func (f *file) add(t *thread, s slice) error {
	if f.slices++; f.slices > mostSlices {
		return fmt.Errorf("there are more than %d slices", mostSlices)
	}
	t.slices = append(t.slices, s)
	return nil
}

// event takes an event in.
func (f *file) event(r *record) error {
	switch r.Ph {
	case "X", "B", "E", "s", "t", "f":
	default:
		return nil
	}
	at, err := nanoseconds(r.Ts)
	if err != nil {
		return err
	}
	t, err := f.thread(r)
	if err != nil {
		return err
	}
	switch r.Ph {
	case "X":
		dur := int64(0)
		if r.Dur != "" {
			if dur, err = nanoseconds(r.Dur); err != nil {
				return err
			}
		}
		to := at + max(dur, 0)
		if len(r.BindID) > 0 {
			if r.FlowIn {
				f.enters(r.BindID, end{t, at, true})
			}
			if r.FlowOut {
				f.leaves(r.BindID, r.Name, end{t, to, true})
			}
		}
		return f.add(t, slice{at, to, f.name(r.Name)})
	case "B":
		if len(t.open) > 1<<16 {
			return errors.New("slices are nested too deeply")
		}
		t.open = append(t.open, slice{at, at, f.name(r.Name)})
	case "E":
		if n := len(t.open) - 1; n >= 0 {
			s := t.open[n]
			t.open = t.open[:n]
			s.to = max(at, s.from)
			return f.add(t, s)
		}
	case "s":
		f.leaves(r.ID, r.Name, end{t, at, true})
	case "t":
		f.enters(r.ID, end{t, at, true})
	case "f":
		f.enters(r.ID, end{t, at, r.Bp == "e"})
	}
	return nil
}

func (f *file) flow(id []byte) *flow {
	x := f.flows[string(id)]
	if x == nil {
		x = &flow{}
		f.flows[string(id)] = x
		f.listed = append(f.listed, x)
	}
	return x
}

// leaves notes where a flow begins. One that has begun already is another one with the same id.
func (f *file) leaves(id []byte, name string, at end) {
	if x := f.flows[string(id)]; x != nil && x.out != nil {
		delete(f.flows, string(id))
	}
	x := f.flow(id)
	x.name, x.out = f.name(name), &at
}

func (f *file) enters(id []byte, at end) {
	x := f.flow(id)
	x.ins = append(x.ins, at)
}

// part is a CF: a task, or as much of it as is between two flows that leave it.
type part struct {
	slice
	thread *thread
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
func (t *thread) tasks() {
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
func (t *thread) at(e *end) int {
	i := sort.Search(len(t.parts), func(i int) bool { return t.parts[i].from > e.t }) - 1
	if e.inside {
		if i < 0 || t.parts[i].to < e.t {
			return -1
		}
		return i
	}
	if i >= 0 && t.parts[i].from == e.t {
		return i
	}
	if i+1 < len(t.parts) {
		return i + 1
	}
	return -1
}

// cut ends tasks where flows leave them.
func (f *file) cut() {
	leaving := map[*thread][]*flow{}
	for _, x := range f.listed {
		if x.out != nil && len(x.ins) > 0 {
			leaving[x.out.thread] = append(leaving[x.out.thread], x)
		}
	}
	for t, flows := range leaving {
		slices.SortStableFunc(flows, func(a, b *flow) int { return cmp.Compare(a.out.t, b.out.t) })
		var parts []*part
		for _, p := range t.parts {
			for len(flows) > 0 && flows[0].out.t < p.from { // it leaves no task
				flows = flows[1:]
			}
			for len(flows) > 0 && flows[0].out.t < p.to {
				first := *p
				first.to, first.more = flows[0].out.t, true
				for len(flows) > 0 && flows[0].out.t == first.to {
					first.outs = append(first.outs, flows[0])
					flows = flows[1:]
				}
				parts = append(parts, &first)
				p.from = first.to
			}
			for len(flows) > 0 && flows[0].out.t == p.to {
				p.outs = append(p.outs, flows[0])
				flows = flows[1:]
			}
			parts = append(parts, p)
		}
		t.parts = parts
	}
}

// write writes the tasks as a trace.
func (f *file) write(to *foreign.Run) error {
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
func (f *file) join(node *foreign.Node) {
	for _, t := range f.order {
		for _, p := range t.parts {
			for _, x := range p.outs {
				x.df = uint64(node.DF(cmp.Or(f.texts[x.name], "flow")))
				for i := range x.ins {
					e := &x.ins[i]
					k := e.thread.at(e)
					if k < 0 {
						continue
					}
					if q := e.thread.parts[k]; q != p && q.from >= p.to {
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
func (f *file) stream(node *foreign.Node, s *trace.Stream, t *thread) {
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
