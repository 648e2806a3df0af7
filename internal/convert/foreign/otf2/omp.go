package otf2

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/convert/foreign"
	"github.com/whyslow/whyslow/trace"
)

// OpenMP: archives with teams of threads become what sdk/omp records, which says more about the ideas.
//
// What a thread executes is a stack of frames: a task, and the parts of constructs within it. Each is a CF,
// of which only the top one may run. Where a thread goes to another frame, the execution of the one that it
// leaves ends; it has another when the thread comes back. Between the two it may wait, for a barrier, its
// children or the end of a region: a DF is the reason, made by what ended last.
//
// The events of a process come in the order of time, so no more is kept than what is open. An archive does
// not tell the depend clauses of tasks, nor the chunks of loops. Regions of OpenMP are no regions of the
// trace.

var oneAsFloat = math.Float64bits(1)

const (
	minTime = math.MinInt64
	unknown = math.MaxUint64 // the CPU time of an execution

	short  = 1000 // ns; an implicit task that goes on for less does nothing but the run-time system's work
	noWait = 300  // ns; a lock taken in less was free
	// mostInputs is how many DFs an execution has at most; what it waited for last counts.
	mostInputs = 64
)

// openMP is what is open in a process.
type openMP struct {
	*foreign.Node
	late  int64 // time of the last DF
	teams map[teamKey]*team
	tasks map[task]*job // explicit ones
	locks map[[2]uint64]*lock
}

func newOpenMP(n *foreign.Node) *openMP {
	return &openMP{Node: n, late: minTime, teams: map[teamKey]*team{}, tasks: map[task]*job{},
		locks: map[[2]uint64]*lock{}}
}

// teamKey is one of the parallel regions that a team has executed: how many it had begun, at each thread.
type teamKey struct{ comm, number uint64 }

// task names an explicit task: its team, the thread that made it and its number there. Those with number 0
// are implicit.
type task struct{ team, thread, number uint64 }

// team executes a parallel region.
type team struct {
	region   trace.CF // 0: not told
	at       source
	left     ended // what ended last in it
	barriers [2]barrier
}

// barrier is one of a team. No thread comes to the next but one before all have left it.
type barrier struct {
	number uint64
	last   ended
	df     uint64
}

func (m *team) barrier(number uint64) *barrier {
	b := &m.barriers[number&1]
	if b.number != number {
		*b = barrier{number: number}
	}
	return b
}

// ended is a CF, or none, and when it ended.
type ended struct {
	cf trace.CF
	at int64
}

func (e *ended) note(x ended) {
	if x.cf != 0 && (e.cf == 0 || x.at >= e.at) {
		*e = x
	}
}

type lock struct {
	holder   trace.CF
	released ended
}

// job is a task, or what a thread executes outside of all tasks.
type job struct {
	frames        []*frame // the first is its own, the others are constructs
	explicit      bool
	initial       bool // serial code
	alone         bool // code of a thread that is in no team
	team          *team
	parent        *job // of an explicit task
	outer, around *job // of an implicit one: what the thread executed before, and in which implicit task
	children      ended
	barriers      uint64  // that it has been at
	open          []visit // regions, while the thread executes another one
	on            *thread // of an explicit task that a thread is at
}

func (j *job) top() *frame {
	if j == nil {
		return nil
	}
	return j.frames[len(j.frames)-1]
}

// frame is a CF.
type frame struct {
	cf        trace.CF // 0: not made yet
	site      trace.Site
	execution uint64
	running   bool
	pending   bool // it may go on since then, and nothing is recorded of that yet
	since     int64
	waits     int // barriers and the like that it is in
	inputs    []uint64
}

func (f *frame) await(df uint64) {
	if df == 0 {
		return
	}
	if len(f.inputs) == mostInputs {
		f.inputs = slices.Delete(f.inputs, 0, 1)
	}
	f.inputs = append(f.inputs, df)
}

// fork is a parallel region that the thread has begun.
type fork struct {
	cf   trace.CF // 0: nothing executed it
	at   source
	of   *job
	in   *job // the implicit task around
	team *team
	key  teamKey
}

// source is a place in the source.
type source struct {
	file string
	line int
}

func (s source) String() string {
	if s.line <= 0 {
		return ""
	}
	return path.Base(s.file) + ":" + strconv.Itoa(s.line)
}

// sourceOf is the place of a region, by its definition, or by its name: "!$omp parallel @p.c:9".
func (a *archive) sourceOf(ref uint64) (s source) {
	r := a.regions[ref]
	if s.file = a.texts[r.file]; s.file != "" && r.line > 0 {
		return source{s.file, r.line}
	}
	_, at, _ := strings.Cut(a.texts[r.name], "@")
	if file, line, ok := strings.Cut(at, ":"); ok {
		s.line, _ = strconv.Atoi(line)
		return source{file, s.line}
	}
	return source{}
}

// frame makes one of a construct.
func (o *openMP) frame(construct string, at source) *frame {
	return &frame{site: o.construct(construct, trace.Atomic, at)}
}

func (o *openMP) construct(name string, kind trace.CodeKind, at source) trace.Site {
	if place := at.String(); place != "" {
		name += " " + place
	}
	return o.Site(o.Code(name, kind, at.file, at.line), at.file, at.line)
}

// join makes the DF of a wait. Times of its stream do not descend: those who wait go on later anyway.
func (o *openMP) join(name string, last ended) uint64 {
	if last.cf == 0 {
		return 0
	}
	o.late = max(o.late, last.at)
	df := uint64(o.DF(name))
	o.Later().Emit(o.late, trace.KindDFCreate, df, 0, uint64(last.cf))
	return df
}

// tasking is what a thread executes.
type tasking struct {
	now      *job // nil: nothing
	implicit *job // the innermost one that it is in
	forks    []fork
	begun    map[uint64]uint64 // parallel regions, by team
	done     ended             // what it executed last
}

// ---- Executions ----

func (t *thread) create(f *frame, at int64, by trace.CF, execution uint64) {
	f.cf = t.n.CF()
	t.s.Emit(at, trace.KindCFCreated, uint64(f.cf), uint64(f.site), uint64(by), execution, oneAsFloat, 0)
}

func (t *thread) start(f *frame, at int64) {
	f.running, f.pending = true, false
	f.execution++
	words := append([]uint64{uint64(f.cf), f.execution, uint64(len(f.inputs))}, f.inputs...)
	t.s.Emit(at, trace.KindCFStarted, words...)
	f.inputs = f.inputs[:0]
}

// settle records a frame that goes on since some time. always: be it ever so short.
func (t *thread) settle(always bool) *frame {
	f := t.now.top()
	if f == nil || !f.pending {
		return f
	}
	f.pending = false
	if f.cf == 0 {
		below := t.now.frames[max(len(t.now.frames)-2, 0)]
		t.create(f, f.since, below.cf, below.execution)
	} else if !always && f.execution > 0 && t.last-f.since < short {
		return f
	}
	t.start(f, f.since)
	return f
}

// stop ends the execution of the top frame.
func (t *thread) stop() {
	if f := t.settle(false); f != nil && f.running {
		f.running = false
		t.emit(trace.KindCFFinished, uint64(f.cf), f.execution, unknown)
		t.done = ended{f.cf, t.last}
	}
}

// resume lets the top frame go on, unless it waits.
func (t *thread) resume() {
	f := t.now.top()
	switch {
	case f == nil || f.running || f.pending || f.waits > 0:
	case t.now.explicit:
		t.start(f, t.last)
	default:
		f.pending, f.since = true, t.last
	}
}

// begin has the thread execute code that is in no task.
func (t *thread) begin(construct string) *job {
	j := &job{frames: []*frame{t.n.omp.frame(construct, source{})}}
	t.now, t.implicit = j, j
	t.create(j.frames[0], t.last, 0, 0)
	t.start(j.frames[0], t.last)
	return j
}

// ---- Regions and teams ----

func (t *thread) fork() error {
	if err := limit(len(t.forks)+1, mostNested, "nested parallel regions"); err != nil {
		return err
	}
	x := fork{of: t.now, in: t.implicit}
	for _, v := range slices.Backward(t.open) {
		if t.a.regions[v.ref].role == roleParallel {
			x.at = t.a.sourceOf(v.ref)
			break
		}
	}
	if by := t.settle(true); by != nil {
		region := &frame{site: t.n.omp.construct("parallel region", trace.Sub, x.at)}
		t.create(region, t.last, by.cf, by.execution)
		t.stop()
		by.waits++
		t.start(region, t.last)
		x.cf = region.cf
	}
	t.forks = append(t.forks, x)
	return nil
}

// ends ends the innermost parallel region that the thread has begun.
func (t *thread) ends() *fork {
	n := len(t.forks) - 1
	x := t.forks[n]
	t.forks = t.forks[:n]
	delete(t.n.omp.teams, x.key)
	if f := x.of.top(); f != nil {
		t.settle(true)
		t.emit(trace.KindCFFinished, uint64(x.cf), 1, unknown)
		f.waits = max(f.waits-1, 0)
	}
	return &x
}

func (t *thread) join() {
	n := len(t.forks) - 1
	if n < 0 {
		return
	}
	for in := t.forks[n].in; t.implicit != nil && t.implicit != in; { // their ends were not recorded
		t.teamEnd()
	}
	x := t.ends()
	f := x.of.top()
	if f == nil || f.waits > 0 {
		return
	}
	t.goTo(x.of)
	if x.team != nil {
		f.await(t.n.omp.join("end of parallel region", x.team.left))
	}
	if !x.of.initial || t.now != x.of {
		t.resume()
		return
	}
	next := t.n.omp.frame("serial code after", x.at)
	next.inputs = f.inputs
	x.of.frames = []*frame{next}
	t.create(next, t.last, 0, 0)
	t.start(next, t.last)
}

func (t *thread) teamBegin(comm uint64) error {
	if len(t.forks) == 0 {
		for t.implicit != nil { // likewise
			t.teamEnd()
		}
	}
	o := t.n.omp
	if t.begun == nil {
		t.begun = map[uint64]uint64{}
	}
	t.begun[comm]++
	key := teamKey{comm, t.begun[comm]}
	m := o.teams[key]
	if m == nil {
		if err := limit(len(o.teams)+1, mostOpen, "parallel regions that have not ended"); err != nil {
			return err
		}
		m = &team{}
		o.teams[key] = m
	}
	if n := len(t.forks) - 1; n >= 0 && t.forks[n].team == nil {
		x := &t.forks[n]
		x.team, x.key = m, key
		m.region, m.at = x.cf, x.at
	}
	t.stop()
	f := o.frame("parallel", m.at)
	t.now = &job{frames: []*frame{f}, team: m, outer: t.now, around: t.implicit, open: t.open}
	t.implicit = t.now
	t.create(f, t.last, m.region, min(uint64(m.region), 1))
	t.start(f, t.last)
	return nil
}

func (t *thread) teamEnd() {
	j := t.implicit
	if j == nil {
		return
	}
	for len(t.forks) > 0 && t.forks[len(t.forks)-1].in == j { // likewise
		t.ends()
	}
	t.goTo(j)
	for ; len(j.frames) > 1; j.frames = j.frames[:len(j.frames)-1] {
		t.stop()
	}
	t.stop()
	if j.team != nil {
		j.team.left.note(t.done)
	}
	t.now, t.implicit = j.outer, j.around
}

// ---- Tasks ----

func (t *thread) taskCreate(key task) error {
	if t.now == nil {
		return nil
	}
	by := t.settle(true)
	at := source{}
	for _, v := range slices.Backward(t.open) {
		if role := t.a.regions[v.ref].role; role == roleTaskCreate || role == roleTask {
			at = t.a.sourceOf(v.ref)
			break
		}
	}
	j, err := t.n.omp.task(key, at)
	if err != nil {
		return err
	}
	j.parent, j.team = t.now, t.now.team
	t.create(j.frames[0], t.last, by.cf, by.execution)
	return nil
}

// task makes an explicit task.
func (o *openMP) task(key task, at source) (*job, error) {
	j := &job{explicit: true, frames: []*frame{o.frame("task", at)}}
	o.tasks[key] = j
	return j, limit(len(o.tasks), mostOpen, "tasks that have not ended")
}

func (t *thread) taskSwitch(key task) error {
	if t.now == nil {
		return nil
	}
	j := t.implicit
	if key.number != 0 {
		if j = t.n.omp.tasks[key]; j == nil { // its creation was not recorded
			var err error
			if j, err = t.n.omp.task(key, source{}); err != nil {
				return err
			}
			j.team = t.now.team
			t.settle(true)
			t.create(j.frames[0], t.last, 0, 0)
		}
	}
	t.goTo(j)
	return nil
}

// goTo has the thread go on with a task. Regions of the implicit one stay open below those of others.
func (t *thread) goTo(j *job) {
	if j == t.now || j.on != nil { // no task is at two threads
		return
	}
	t.stop()
	t.now.on = nil
	if t.now.explicit {
		for _, v := range slices.Backward(t.open) {
			if v.site != 0 {
				t.emit(trace.KindExited, uint64(v.site))
			}
		}
	}
	t.now.open, t.open = t.open, j.open
	t.now = j
	if j.explicit {
		j.on = t
		for i := range t.open {
			if v := &t.open[i]; v.site != 0 {
				v.enter = t.last
				t.emit(trace.KindEntered, uint64(v.site))
			}
		}
	} else if j.top().waits > 0 {
		t.arrive(j) // it has executed a task within a barrier
	}
	t.resume()
}

func (t *thread) taskEnd(key task) {
	j := t.n.omp.tasks[key]
	if j == nil {
		return
	}
	delete(t.n.omp.tasks, key)
	if j == t.now {
		for ; len(j.frames) > 1; j.frames = j.frames[:len(j.frames)-1] {
			t.stop()
		}
		t.stop()
	}
	if f := j.frames[0]; j.parent != nil && f.execution > 0 {
		j.parent.children.note(ended{f.cf, t.last})
	}
}

// ---- Constructs ----

// constructs are the names of those that are CFs of their own, by role.
var constructs = map[uint64]string{roleLoop: "for", roleSection: "sections", roleWorkshare: "workshare",
	roleSingleBlock: "single", roleMaster: "masked"}

// enterConstruct is called when the thread has entered a region of OpenMP.
func (t *thread) enterConstruct(v *visit) error {
	f := t.now.top()
	if f == nil {
		return nil
	}
	switch role := t.a.regions[v.ref].role; role {
	case roleBarrier, roleImplicitBarrier, roleTaskWait:
		t.stop()
		f.waits++
		v.frame = f
		if role != roleTaskWait {
			t.arrive(t.now)
		}
	case roleCriticalBlock, roleOrderedBlock:
		if n := len(t.open) - 2; n >= 0 && !t.open[n].locked {
			outer := &t.open[n]
			v.locked = true
			return t.acquired([2]uint64{paradigmOpenMP<<32 | 1, outer.ref}, outer)
		}
	default:
		name, ok := constructs[role]
		if !ok {
			return nil
		}
		t.stop()
		inner := t.n.omp.frame(name, t.a.sourceOf(v.ref))
		inner.pending, inner.since = true, t.last
		inner.inputs, f.inputs = f.inputs, nil // what the frame below was to wait for
		t.now.frames = append(t.now.frames, inner)
		v.frame = inner
	}
	return nil
}

func (t *thread) leaveConstruct(v *visit) {
	f := t.now.top()
	switch {
	case v.locked:
		if role := t.a.regions[v.ref].role; role == roleCriticalBlock || role == roleOrderedBlock {
			if n := len(t.open) - 1; n >= 0 {
				t.released([2]uint64{paradigmOpenMP<<32 | 1, t.open[n].ref})
			}
		}
	case v.frame == nil || f != v.frame:
	case f.waits > 0:
		f.waits--
		if j := t.now; t.a.regions[v.ref].role == roleTaskWait {
			f.await(t.n.omp.join("taskwait", j.children))
			j.children = ended{}
		} else if j.team != nil {
			f.await(t.leaves(j, f))
		}
		t.resume()
	case len(t.now.frames) > 1:
		t.stop()
		t.now.frames = t.now.frames[:len(t.now.frames)-1]
		t.resume()
	}
}

// arrive notes that the thread has come to a barrier.
func (t *thread) arrive(j *job) {
	if j.team != nil {
		j.team.barrier(j.barriers).last.note(t.done)
	}
}

// leaves gives the DF of a barrier that the thread leaves; 0 if it came last itself.
func (t *thread) leaves(j *job, f *frame) uint64 {
	b := j.team.barrier(j.barriers)
	j.barriers++
	if b.last.cf == f.cf {
		return 0
	}
	if b.df == 0 {
		b.df = t.n.omp.join("barrier", b.last)
	}
	return b.df
}

// ---- Locks ----

// locks takes in that the thread has acquired a lock, for which it asked when it entered the region it is in.
func (t *thread) locks(paradigm, number uint64) error {
	n := len(t.open) - 1
	if n < 0 || t.open[n].site != 0 {
		return t.acquired([2]uint64{paradigm << 32, number}, nil)
	}
	t.open[n].locked = true
	return t.acquired([2]uint64{paradigm << 32, number}, &t.open[n])
}

// acquired notes who has a lock; in, if not nil, is the region in which the thread asked for it.
func (t *thread) acquired(key [2]uint64, in *visit) error {
	f := t.settle(true)
	if f == nil {
		return nil
	}
	o := t.n.omp
	l := o.locks[key]
	if l == nil {
		if err := limit(len(o.locks)+1, mostOpen, "locks"); err != nil {
			return err
		}
		l = &lock{}
		o.locks[key] = l
	}
	l.holder = f.cf
	if in == nil || t.last-in.enter < noWait || !f.running {
		return nil
	}
	name := fmt.Sprintf("lock %d", key[1])
	switch t.a.regions[in.ref].role {
	case roleCritical:
		name = "critical"
	case roleOrdered:
		name = "ordered"
	}
	holder := trace.CF(0)
	if l.released.at > in.enter && l.released.cf != f.cf {
		holder = l.released.cf
	}
	t.emit(trace.KindBlocked, uint64(f.cf), uint64(t.last-in.enter), uint64(o.Name("lock")),
		uint64(o.Name(name)), uint64(o.Name(t.a.sourceOf(in.ref).String())), uint64(holder))
	return nil
}

func (t *thread) released(key [2]uint64) {
	if l := t.n.omp.locks[key]; l != nil && l.holder != 0 {
		l.released, l.holder = ended{l.holder, t.last}, 0
	}
}
