// Package division divides the processor time of a run that is still going on among Useful work, Starvation, Latency,
// Overhead and Waiting: events come in block by block, and at any moment the division can be asked for, by worker and window.
//
// # What is exact
//
// At any moment Windows answers what slou.Pieces of a model of exactly the blocks that have arrived would give, to the
// nanosecond: an execution that has not ended lasts up to the last time that came from its worker, what lies between that and
// the last time that came from anywhere is loss, a CF whose creation has not arrived counts as atomic. When the run has ended it is
// slou.Compute of the trace. The order in which blocks of different streams arrive does not matter. There are three
// exceptions:
//
//   - Traces that contradict themselves: a message that is received twice, a CF created twice whose creations change places
//     when a clock is corrected, circles of parents. Even then every worker's pieces add up to its time.
//   - A DF that was mentioned before its definition, which happens only where definition blocks were lost, and is known to
//     another node by then, stays two.
//   - With Options.MaxBytes, what is older than the horizon (History): it was exact when it was forgotten, and what came too late to
//     change it is counted (Late). Still older, it is known by buckets only: windows whose ends lie on edges of buckets
//     are exact, within a bucket time is taken to be spread evenly. If even what is alive is too much, CFs and DFs that
//     nothing was heard of since the horizon are forgotten too, and later gaps that depend on them may be divided otherwise.
//
// The time of runs with regions (collectives, locks, UPC and OpenSHMEM programs) is that of a model of what had arrived, which Take gives;
// what came later is a row of its own until the next one: see regions.go.
//
// Parts of factors and causes are left to snapshots: parts of S depend on the whole run, factors only on one CF, its
// ancestors and its inputs.
//
// # How
//
// The rule is slou.Divide; facts.go answers its questions from what has arrived. Records of CFs and DFs know who uses them, so a new
// fact finds the gaps that it may change: those before executions that have the DF as an input, before those of the CF,
// or, for control inputs (control.go), before those of descendants. It marks the chunks in which they stand; a chunk holds some
// dozens of neighbouring executions of one worker (ledger.go). Marked chunks are divided when somebody asks, or when there are many.
// So a gap is divided about as often as its neighbourhood is in flux between two questions: once or twice.
package division

import (
	"slices"
	"sync"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// Options choose what New makes.
type Options struct {
	Info *trace.RunInfo // run.json as far as it is known; nil: not yet
	// DataInputsOnly leaves control inputs (those of a CF's ancestors) out, as in slou.
	DataInputsOnly bool
	// MaxBytes bounds the memory taken, roughly and without the definitions given to Add, which are the caller's; 0: everything is kept.
	MaxBytes int64
}

// Division divides the time of one run. Its methods may be used by several goroutines.
type Division struct {
	mu sync.Mutex
	*facts
	info  *trace.RunInfo
	limit int64

	nodes    []*node // by number; nil: nothing known of it
	identity []int64
	homes    []home // by DF
	dfOf     map[uint64]model.DF
	clashes  map[uint64][]model.DF // further DFs with the same 64-bit id
	damage   []damage

	chunks  []*chunk // by number, from 1; nil: dropped
	touched []*worker
	dirty   int // chunks to be divided
	steps   []slou.Piece

	start, end int64 // of the run, when it was last settled
	clockFrom  int64 // a clock was corrected from that time on
	corrected  bool  // some clock is
	tangled    bool  // something came that only a new start gets right

	regions bool   // some have come
	taken   *taken // what a model says of a run with regions; nil: nothing yet

	horizon int64 // what ended before is fixed; none: nothing
	folded  int64 // since the start: up to there only sums by bucket are known
	bucket  int64 // their length
	late    int64 // events
	added   int64 // events since the memory was looked at
	weighed int64 // bytes that could not be got rid of
}

// damage is a stretch of a stream's time that could not be read.
type damage struct {
	node, stream int
	from, to     int64
}

// New makes an empty division.
func New(opt Options) *Division {
	d := &Division{facts: newFacts(opt.DataInputsOnly), info: opt.Info, limit: opt.MaxBytes, homes: []home{{}},
		dfOf: map[uint64]model.DF{}, clashes: map[uint64][]model.DF{}, chunks: []*chunk{nil}, clockFrom: forever, horizon: none, bucket: firstBucket}
	d.SetInfo(opt.Info)
	return d
}

// SetInfo takes in a newer run.json. Which streams are workers may change by it.
func (d *Division) SetInfo(info *trace.RunInfo) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if info == nil {
		info = &trace.RunInfo{}
	}
	d.info = info
	for _, n := range d.nodes {
		if n != nil {
			before := len(n.workers)
			if d.setWorkers(n); len(n.workers) != before {
				d.tangled = true
			}
		}
	}
	for _, n := range info.Nodes {
		if n.Node >= 0 && n.Node <= trace.MaxNode {
			d.node(n.Node)
		}
	}
}

// SetProblems says what of the files could not be read so far, as Reader and Follower tell it, in place of what was said before.
func (d *Division) SetProblems(list []trace.Problem) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var damaged []damage
	for _, p := range list {
		if p.Timed && p.Kind != trace.Unfinished && p.Node >= 0 && p.Stream >= 0 {
			damaged = append(damaged, damage{p.Node, p.Stream, p.From, p.To})
		}
	}
	if slices.Equal(d.damage, damaged) {
		return
	}
	d.damage = damaged
	for w := range d.eachWorker {
		w.cutsChanged = true
	}
}

// Late counts events that came too late to change what had been forgotten already; 0 without MaxBytes.
func (d *Division) Late() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.late
}

// History says what is known of the time so far, in nanoseconds since the start of the run: before Horizon nothing changes any
// more, before Folded only the sums of buckets of length Bucket are exact. 0, 0 and 0 while memory suffices.
type History struct{ Horizon, Folded, Bucket int64 }

// History tells what has been forgotten.
func (d *Division) History() History {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.horizon == none {
		return History{}
	}
	return History{max(d.horizon-d.start, 0), d.folded, d.bucket}
}

// Span gives the start and the end of the run as far as it has arrived, in nanoseconds on the common clock.
func (d *Division) Span() trace.Span {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.settle()
	return trace.Span{From: d.start, To: d.end}
}

// eachWorker goes through all workers in the order of lanes.
func (d *Division) eachWorker(yield func(*worker) bool) {
	for _, n := range d.nodes {
		if n == nil {
			continue
		}
		for _, w := range n.workers {
			if !yield(w) {
				return
			}
		}
	}
}

func (d *Division) workers() (n int) {
	for range d.eachWorker {
		n++
	}
	return n
}

// endsRecorded tells that a worker without onProgramFinished was cut off.
func (d *Division) endsRecorded() bool {
	return !slices.Contains(d.info.Off, trace.KindProgramFinished.String())
}

// bounds finds the start and the end of the run.
func (d *Division) bounds() (start, end int64) {
	first, last, finished := none, none, none
	start = none
	earlier := func(a, b int64) int64 {
		if a == none || b != none && b < a {
			return b
		}
		return a
	}
	for _, s := range d.streams[1:] {
		c := &s.clock
		first, last = earlier(first, c.fix(s.first)), max(last, c.fix(s.last))
		start, finished = earlier(start, c.fix(s.started)), max(finished, c.fix(s.finished))
	}
	if start == none {
		start = first
	}
	if start == none {
		start = 0
	}
	killed := false
	for w := range d.eachWorker {
		killed = killed || (w.stream == nil || w.stream.finished == none) && d.endsRecorded()
	}
	end = finished
	if killed || end == none {
		end = max(last, finished)
	}
	return start, max(end, start)
}

// settle works everything out anew that has changed.
func (d *Division) settle() {
	start, end := d.bounds()
	if d.clockFrom < forever {
		d.correct()
	}
	if d.tangled {
		d.restart()
	}
	if d.horizon != none {
		start, end = d.start, max(end, d.start)
	}
	if start != d.start {
		d.start = start
		for w := range d.eachWorker {
			w.kept = waitState{}
			w.cutsChanged = true
			if len(w.chunks) > 0 {
				w.chunks[0].touch()
			}
		}
	}
	d.end = end
	for w := range d.eachWorker {
		if w.cutsChanged || len(d.held) > 0 {
			w.recut()
		}
	}
	for _, w := range d.touched {
		w.settle()
	}
	d.touched, d.dirty = d.touched[:0], 0
}

// correct takes in that a clock is corrected otherwise from a time on: nothing that is known up to there changes.
func (d *Division) correct() {
	d.epoch++
	for n := range d.remade {
		d.sortMades(n)
	}
	for c, list := range d.multi {
		slices.SortFunc(list, d.execOrder)
		d.cfs.at(c).exec = list[len(list)-1]
	}
	for w := range d.eachWorker {
		w.kept = waitState{}
		w.cutsChanged = true
		for _, c := range w.chunks {
			if c.to < d.clockFrom {
				continue
			}
			c.touch()
			d.tangled = d.tangled || !slices.IsSortedFunc(c.execs, func(a, b uint32) int { return d.execOrder(a, b) })
		}
	}
	d.clockFrom = forever
}

func (d *Division) sortMades(n uint32) {
	r := d.dfs.at(n)
	var list []uint32
	for k := r.made; k != 0; k = d.mades.at(k).before {
		list = append(list, k)
	}
	slices.Sort(list) // as they came: those of one stream in order
	r.made = 0
	for _, k := range list {
		d.placeMade(r, k)
	}
}

// restart puts everything in order anew. It is for what hardly ever happens: other workers than was thought, clocks that run
// backwards, traces that contradict themselves.
func (d *Division) restart() {
	d.tangled = false
	d.epoch++
	for w := range d.eachWorker {
		w.chunks, w.dirty = w.chunks[:w.frozen], nil
		w.replant()
		w.kept, w.cutsChanged = waitState{}, true
	}
	d.chunks, d.touched, d.dirty = []*chunk{nil}, nil, 0
	for i := range d.dfs.n {
		d.dfs.at(i).receipts = 0
		if d.remade[i] {
			d.sortMades(i)
		}
	}
	for i := range d.receipts.n {
		if i > 0 {
			d.receipts.at(i).next = 0
			d.placeReceipt(i)
		}
	}
	for c, list := range d.multi {
		slices.SortFunc(list, d.execOrder)
		d.cfs.at(c).exec = list[len(list)-1]
	}
	for e := range d.execs.n {
		x := d.execs.at(e)
		x.chunk, x.chained = 0, false
	}
	for e := range d.execs.n {
		if e == 0 {
			continue
		}
		x := d.execs.at(e)
		if structured := d.cfs.at(x.cf).structured; structured {
			d.chain(e)
		} else if w := d.streams[x.stream].worker; w != nil {
			w.insert(e)
		}
	}
}
