package starpu

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/whyslow/whyslow/internal/convert/foreign"
	"github.com/whyslow/whyslow/trace"
)

// How the trace comes about. First, in order of time, tasks and messages are gone through: each task reads
// the versions of data that are there and makes new ones; each message brings a version to another rank.
// Then the events of each stream are written.

// version is what is known of a version of a piece of data at a rank.
type version struct {
	df       trace.DF // number at the rank; 0: there is none
	maker    int32    // task of this rank, or -1
	there    int64    // when it was made or came here
	identity []int64
	name     string
}

// flow is what goes on in a task beside its execution.
type flow struct {
	ins, outs []dfOf
	ready     int64
	done      trace.DF // what those get that wait for the task and none of its data; 0: there are none
	cf        trace.CF
}

type dfOf struct {
	df   trace.DF
	size int64
}

// fact is what happens at a rank and at none of its workers.
type fact struct {
	t    int64
	kind trace.Kind
	args []uint64
}

type writer struct {
	*run
	to      *foreign.Run
	ctx     context.Context
	order   []int32 // executed tasks, by start
	flows   []flow  // by task
	current []version
	count   []int64 // by piece: versions so far
	byTag   map[tagKey]int32
	shared  map[int64]int32 // by tag: the first piece of it
	labels  []label         // by piece
	proxies []int32         // by task without execution: that which stands for it; -1: none, -2: not known yet
	facts   map[int][]fact  // by rank
	start   int64
	end     int64
}

type tagKey struct {
	rank int
	tag  int64
}

// label is what DFs of a piece of data are called.
type label struct {
	name  string
	place []int64
}

// write writes what was read as a trace.
func (r *run) write(ctx context.Context, to *foreign.Run) error {
	w := &writer{run: r, to: to, ctx: ctx, flows: make([]flow, len(r.tasks)), facts: map[int][]fact{},
		byTag: map[tagKey]int32{}, shared: map[int64]int32{}, current: make([]version, len(r.pieces)),
		count: make([]int64, len(r.pieces)), proxies: make([]int32, len(r.tasks))}
	for i := range r.tasks {
		w.proxies[i] = -2
		if r.tasks[i].executed() {
			w.order = append(w.order, int32(i))
		}
	}
	if len(w.order) == 0 {
		return nil
	}
	slices.SortFunc(w.order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(r.tasks[a].start, r.tasks[b].start), cmp.Compare(a, b))
	})
	w.label()
	w.bounds()
	if err := w.flow(); err != nil {
		return err
	}
	return w.streams()
}

// bounds finds out when the run begins and ends.
func (w *writer) bounds() {
	w.start, w.end = math.MaxInt64, math.MinInt64
	if w.first != none {
		w.start, w.end = w.first, w.last
	}
	for _, i := range w.order {
		t := &w.tasks[i]
		w.start, w.end = min(w.start, t.start), max(w.end, t.end)
		if t.submit != none {
			w.start = min(w.start, t.submit)
		}
	}
}

// label gives the pieces of data names. Those that several ranks know by one tag get one name.
func (w *writer) label() {
	w.labels = make([]label, len(w.pieces))
	taken := map[string]bool{}
	for i := range w.pieces {
		p := &w.pieces[i]
		if p.tag >= 0 {
			w.byTag[tagKey{p.rank, p.tag}] = int32(i)
			if first, ok := w.shared[p.tag]; ok {
				w.labels[i] = w.labels[first]
				continue
			}
			w.shared[p.tag] = int32(i)
		}
		l := label{cmp.Or(p.name, "data"), p.place}
		if key := fmt.Sprint(l.name, l.place); len(l.place) == 0 || taken[key] {
			l.place = []int64{int64(i)}
		} else {
			taken[key] = true
		}
		w.labels[i] = l
	}
}

// node gives a node; errors come when its files are written.
func (w *writer) node(rank int) (*foreign.Node, error) { return w.to.Node(rank) }

// flow goes through tasks and messages in order of time.
func (w *writer) flow() error {
	sends, receives := w.transfers()
	carried := make([]version, len(w.run.messages))
	for n := range len(w.order) + 1 {
		if n%4096 == 0 && w.ctx.Err() != nil {
			return context.Cause(w.ctx)
		}
		until := int64(math.MaxInt64)
		if n < len(w.order) {
			until = w.tasks[w.order[n]].start
		}
		for {
			sent, received := int64(math.MaxInt64), int64(math.MaxInt64)
			if len(sends) > 0 {
				sent = w.run.messages[sends[0]].sent
			}
			if len(receives) > 0 {
				received = w.run.messages[receives[0]].received
			}
			if min(sent, received) >= until {
				break
			}
			var err error
			if sent <= received {
				err = w.send(sends[0], &carried[sends[0]])
				sends = sends[1:]
			} else {
				err = w.receive(receives[0], &carried[receives[0]])
				receives = receives[1:]
			}
			if err != nil {
				return err
			}
		}
		if n < len(w.order) {
			if err := w.task(w.order[n]); err != nil {
				return err
			}
		}
	}
	return nil
}

// transfers lists the messages of which both ends and the data are told, by each end.
func (w *writer) transfers() (sends, receives []int32) {
	for i := range w.run.messages {
		m := &w.run.messages[i]
		_, from := w.byTag[tagKey{m.from, m.tag}]
		_, to := w.byTag[tagKey{m.to, m.tag}]
		if from && to && m.received != none && m.from != m.to {
			sends = append(sends, int32(i))
		}
	}
	receives = slices.Clone(sends)
	slices.SortStableFunc(sends, func(a, b int32) int {
		return cmp.Compare(w.run.messages[a].sent, w.run.messages[b].sent)
	})
	slices.SortStableFunc(receives, func(a, b int32) int {
		return cmp.Compare(w.run.messages[a].received, w.run.messages[b].received)
	})
	return sends, receives
}

// send takes the version that a message carries.
func (w *writer) send(i int32, carried *version) error {
	m := &w.run.messages[i]
	v, err := w.there(w.byTag[tagKey{m.from, m.tag}], m.size)
	if err != nil {
		return err
	}
	*carried = *v
	w.facts[m.from] = append(w.facts[m.from], fact{m.sent, trace.KindDFSent, []uint64{uint64(v.df),
		uint64(m.to), uint64(m.size), trace.MakeMessage(m.from, uint64(i)+1), 0, 0}})
	return nil
}

// receive brings a version to another rank.
func (w *writer) receive(i int32, carried *version) error {
	m := &w.run.messages[i]
	node, err := w.node(m.to)
	if err != nil {
		return err
	}
	v := *carried
	v.df, v.maker, v.there = node.DFOf(v.name, v.identity), -1, m.received
	w.current[w.byTag[tagKey{m.to, m.tag}]] = v
	w.facts[m.to] = append(w.facts[m.to], fact{m.received, trace.KindDFReceived, []uint64{uint64(v.df),
		uint64(m.from), uint64(m.size), trace.MakeMessage(m.from, uint64(i)+1), 0, 0}})
	return nil
}

// make makes the next version of a piece of data.
func (w *writer) make(piece int32, maker int32, there int64) (*version, error) {
	p, l := &w.pieces[piece], &w.labels[piece]
	node, err := w.node(p.rank)
	if err != nil {
		return nil, err
	}
	counted := piece
	if p.tag >= 0 {
		counted = w.shared[p.tag]
	}
	identity := append([]int64{0, int64(w.name([]byte(l.name)))}, l.place...)
	identity = append(identity, w.count[counted])
	w.count[counted]++
	w.current[piece] = version{node.DFOf(l.name, identity), maker, there, identity, l.name}
	return &w.current[piece], nil
}

// there gives the version of a piece of data that is there. What nobody has made was there from the
// beginning.
func (w *writer) there(piece int32, size int64) (*version, error) {
	v := &w.current[piece]
	if v.df != 0 {
		return v, nil
	}
	v, err := w.make(piece, -1, w.start)
	if err == nil {
		rank := w.pieces[piece].rank
		w.facts[rank] = append(w.facts[rank], fact{w.start, trace.KindDFCreate, []uint64{uint64(v.df),
			uint64(size), 0}})
	}
	return v, err
}

// task finds what a task reads, makes and waits for.
func (w *writer) task(i int32) error {
	t, f := &w.tasks[i], &w.flows[i]
	f.ready = t.submit
	after := func(at int64) { f.ready = max(f.ready, min(at, t.start)) }
	makers := []int32{}
	for _, a := range w.data[t.data.from:t.data.to] {
		if !a.read {
			continue
		}
		v, err := w.there(a.data, a.size)
		if err != nil {
			return err
		}
		f.ins = append(f.ins, dfOf{v.df, a.size})
		makers = append(makers, v.maker)
		after(v.there)
	}
	for _, j := range w.deps[t.deps.from:t.deps.to] {
		k, ok := w.byJob[j]
		if !ok {
			continue
		}
		if k = w.proxy(k); k < 0 || k == i || w.tasks[k].end > t.start || slices.Contains(makers, k) {
			continue
		}
		makers = append(makers, k)
		after(w.tasks[k].end)
		if w.tasks[k].job.rank() != t.job.rank() {
			continue
		}
		if w.flows[k].done == 0 {
			node, err := w.node(t.job.rank())
			if err != nil {
				return err
			}
			w.flows[k].done = node.DFOf(w.texts[w.tasks[k].name]+" done", []int64{0,
				int64(w.name([]byte(w.texts[w.tasks[k].name] + " done"))), int64(t.job.rank()), w.tasks[k].job.index()})
		}
		f.ins = append(f.ins, dfOf{w.flows[k].done, 0})
	}
	for _, a := range w.data[t.data.from:t.data.to] {
		if a.write {
			v, err := w.make(a.data, i, t.end)
			if err != nil {
				return err
			}
			f.outs = append(f.outs, dfOf{v.df, a.size})
		}
	}
	return nil
}

// proxy gives the task that stands for one: of those that a point of synchronisation waits for, the one
// that ends last; -1 if there is none.
func (w *writer) proxy(i int32) int32 {
	if w.tasks[i].executed() {
		return i
	}
	// Points may wait for points, in long chains: no recursion.
	stack := []int32{i}
	for len(stack) > 0 {
		k := stack[len(stack)-1]
		t := &w.tasks[k]
		if w.proxies[k] == -2 {
			w.proxies[k] = -1 // also what it is for those that wait in a circle
			for _, j := range w.deps[t.deps.from:t.deps.to] {
				if d, ok := w.byJob[j]; ok && !w.tasks[d].executed() && w.proxies[d] == -2 {
					stack = append(stack, d)
				}
			}
			continue
		}
		stack = stack[:len(stack)-1]
		for _, j := range w.deps[t.deps.from:t.deps.to] {
			d, ok := w.byJob[j]
			if !ok {
				continue
			}
			if !w.tasks[d].executed() {
				d = w.proxies[d]
			}
			if d >= 0 && (w.proxies[k] < 0 || w.tasks[d].end > w.tasks[w.proxies[k]].end) {
				w.proxies[k] = d
			}
		}
	}
	return w.proxies[i]
}

// streams writes the events.
func (w *writer) streams() error {
	bySubmit := slices.Clone(w.order)
	slices.SortFunc(bySubmit, func(a, b int32) int {
		return cmp.Or(cmp.Compare(w.created(a), w.created(b)), cmp.Compare(w.tasks[a].job, w.tasks[b].job))
	})
	systems := map[int]*trace.Stream{}
	for rank, facts := range w.facts {
		slices.SortStableFunc(facts, func(a, b fact) int { return cmp.Compare(a.t, b.t) })
		w.facts[rank] = facts
	}
	until := func(rank int, system *trace.Stream, t int64) {
		facts := w.facts[rank]
		n := sort.Search(len(facts), func(i int) bool { return facts[i].t > t })
		for _, f := range facts[:n] {
			system.Emit(f.t, f.kind, f.args...)
		}
		w.facts[rank] = facts[n:]
	}
	for _, i := range bySubmit {
		t := &w.tasks[i]
		rank := t.job.rank()
		node, err := w.node(rank)
		if err != nil {
			return err
		}
		system := systems[rank]
		if system == nil {
			system = node.System()
			systems[rank] = system
		}
		at := w.created(i)
		until(rank, system, at)
		code := node.Code(w.texts[t.name], trace.Atomic, "", 0)
		w.flows[i].cf = node.CF()
		system.Emit(at, trace.KindCFCreated, uint64(w.flows[i].cf), uint64(node.Site(code, "", 0)), 0, 1,
			math.Float64bits(1), 1, uint64(t.job.index()))
	}
	for rank := range w.facts {
		node, err := w.node(rank)
		if err != nil {
			return err
		}
		until(rank, node.System(), math.MaxInt64)
	}
	return w.workers()
}

// created is when a task was there: submitted, or, where that is not told, started.
func (w *writer) created(i int32) int64 {
	if t := &w.tasks[i]; t.submit != none {
		return min(t.submit, t.start)
	}
	return w.tasks[i].start
}

// workers writes what the workers did.
func (w *writer) workers() error {
	streams := map[workerKey]*workerStream{}
	of := func(key workerKey) (*workerStream, error) {
		s := streams[key]
		if s == nil {
			node, err := w.node(key.rank)
			if err != nil {
				return nil, err
			}
			s = &workerStream{Stream: node.Worker(key.worker, w.start), node: node, last: w.start}
			if told := w.run.workers[key]; told != nil {
				s.sleeps = told.sleeps
			}
			streams[key] = s
		}
		return s, nil
	}
	for key := range w.run.workers {
		if _, err := of(key); err != nil {
			return err
		}
	}
	for _, i := range w.order {
		t := &w.tasks[i]
		s, err := of(workerKey{t.job.rank(), int(t.worker)})
		if err != nil {
			return err
		}
		s.execute(t, &w.flows[i])
	}
	ranks := map[int]bool{}
	for key, s := range streams {
		s.park(math.MaxInt64)
		ranks[key.rank] = true
	}
	for rank := range ranks {
		node, err := w.node(rank)
		if err != nil {
			return err
		}
		node.Finish(w.start, w.end)
	}
	return nil
}

// workerStream is the stream of a worker.
type workerStream struct {
	*trace.Stream
	node   *foreign.Node
	sleeps []int64 // from, to, from, ... that are not written yet
	parked bool
	last   int64
}

// park writes when the worker slept, up to a time.
func (s *workerStream) park(until int64) {
	for len(s.sleeps) > 0 && s.sleeps[0] <= until {
		s.last = max(s.last, s.sleeps[0])
		kind := trace.KindIdle
		if s.parked {
			kind = trace.KindBusy
		}
		s.Emit(s.last, kind)
		s.parked = !s.parked
		s.sleeps = s.sleeps[1:]
	}
}

// execute writes a task. One that begins before the one before it has ended counts from that end.
func (s *workerStream) execute(t *task, f *flow) {
	s.park(t.start)
	start := max(t.start, s.last)
	end := max(t.end, start)
	late := int64(0)
	if f.ready != none {
		late = start - f.ready
	}
	if len(f.ins) == 0 && t.submit == none { // nothing tells why it starts now
		df := s.node.DF("not told")
		s.Emit(start, trace.KindDFCreate, uint64(df), 0, 0)
		f.ins = append(f.ins, dfOf{df, 0})
	}
	s.Emit(start, trace.KindCFReady, uint64(f.cf), uint64(max(late, 0)))
	args := []uint64{uint64(f.cf), 1, uint64(len(f.ins))}
	for _, in := range f.ins {
		args = append(args, uint64(in.df))
	}
	s.Emit(start, trace.KindCFStarted, args...)
	s.Emit(end, trace.KindCFFinished, uint64(f.cf), 1, math.MaxUint64)
	for _, out := range f.outs {
		s.Emit(end, trace.KindDFCreate, uint64(out.df), uint64(out.size), uint64(f.cf))
	}
	if f.done != 0 {
		s.Emit(end, trace.KindDFCreate, uint64(f.done), 0, uint64(f.cf))
	}
	s.last = end
}
