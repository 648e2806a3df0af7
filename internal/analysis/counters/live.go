package counters

import (
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/counters/steps"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// Live
//
// Problem. Blocks of events arrive from many streams in any order: a DF is dropped before it was stored, an
// execution ends before its CF was created, a node's clock turns out to be off after its events have been
// taken in. At every moment, the answers must be those of a model of exactly what has arrived.
//
// Plan. The facts of each CF, DF, message and queue are kept as recorded, on the clock of their node. What
// they change is a function of these facts (emitLife, emitDF, emitHolding, emitFlight), the one that
// FromModel uses as well. When a fact comes, everything that its owner had changed is taken back from the
// step functions, and what it changes now is put in. Changes that are the same before and after cost nothing.
// Most facts come in the order of their owner's life, and only continue it.
//
// The step functions are on the common clock. They cannot stay on each node's own clock: those of the whole
// run, of links and of CFs that move mix the clocks of several nodes. A new measurement of a clock changes
// only times after the measurement before it. At the next question, the owners of facts since then are taken
// back, the clock is set, and they are put in again.
//
// Memory. See live_memory.go: old detail is folded, and facts of CFs, DFs and messages that are gone are
// forgotten. Events that come too late for that are counted.

// LiveOptions are the options of NewLive; the zero value means the defaults.
type LiveOptions struct {
	// MaxBytes roughly bounds the memory taken; 0 means 256 MiB. For a moment it may take half as much again.
	MaxBytes int64
}

const defaultBytes = 256 << 20

// Live follows a run while its blocks arrive. It is a Set; its answers are right at every moment for what has
// arrived.
//
// Only one goroutine at a time may use it, for questions too, which tidy up.
type Live struct {
	max  int64
	info *trace.RunInfo

	history
	stale  bool // history, but for its step functions, is out of date
	counts [trace.FirstUserKind]uint64
	nodes  []*liveNode
	trees  [quantities]built
	delta  delta

	cfs      arena[cfRecord]
	cfByID   numbering
	cfFacts  arena[cfFact]
	cfEvents []model.CFEvent // scratch
	dfs      arena[liveDF]
	byID     map[uint64]uint32
	copies   arena[holding]
	held     []model.HeldCopy // scratch
	dfFacts  arena[copyFact]
	messages arena[liveMessage]
	byNumber map[uint64]uint32
	queues   map[queueKey]*samples
	sampled  map[queueKey][]sample // that wait
	untaken  int                   // so many wait
	taken    int                   // so many were taken in

	newest    int64 // latest time seen, on the common clock
	forgotten int64 // facts of CFs and DFs up to then may have been forgotten
	trimAt    int64 // bytes at which something is forgotten
	checkIn   int   // events until memory is looked at again
	fold      int64 // resolution of what is folded
	full      bool  // nothing can be forgotten any more
	late      uint64
	identity  []int64 // scratch
}

// liveNode is what is known of a node.
type liveNode struct {
	clock   clock
	syncs   []model.ClockSync // not in force yet
	streams map[int]*liveStream
	workers int       // by run.json; -1 not known
	held    numbering // of holdings, by DF number
}

// liveStream is what is known of a stream, on its node's clock.
type liveStream struct {
	first, last       int64
	started, finished int64
	ran               bool
	open              []openRun
}

// openRun is an execution that has not ended.
type openRun struct {
	cf   uint64
	fact uint32
}

// NewLive makes a Live of which nothing has arrived.
func NewLive(opt LiveOptions) *Live {
	if opt.MaxBytes <= 0 {
		opt.MaxBytes = defaultBytes
	}
	l := &Live{max: opt.MaxBytes, byID: map[uint64]uint32{}, byNumber: map[uint64]uint32{},
		queues: map[queueKey]*samples{}, sampled: map[queueKey][]sample{}, newest: none, forgotten: none,
		trimAt: opt.MaxBytes, checkIn: checkSoon, stale: true}
	l.history = history{links: newLinkTable(), refresh: l.refresh,
		stored: func(q quantity, place int32) *steps.Steps { return l.trees[q].at(place) }}
	return l
}

// Info passes on run.json: nodes, workers, events that are off, how the run ended. It may be called again. A
// node's number of workers counts from when it is first known.
func (l *Live) Info(info *trace.RunInfo) {
	l.info, l.stale = info, true
	if info == nil {
		return
	}
	for _, n := range info.Nodes {
		if n.Node >= 0 && n.Node <= trace.MaxNode {
			l.node(n.Node).workers = min(max(n.Workers, 0), maxWorkers)
		}
	}
}

// maxWorkers bounds what a damaged run.json can claim.
const maxWorkers = 1 << 12

// Count gives the number of events of a standard kind that have arrived.
func (l *Live) Count(k trace.Kind) uint64 { return l.counts[k] }

// Late counts the events that were left out because they came too late, after their CF, DF or message had
// been forgotten, or because memory was full.
func (l *Live) Late() uint64 { return l.late }

func (l *Live) node(n int) *liveNode {
	for len(l.nodes) <= n {
		l.nodes = append(l.nodes, nil)
	}
	if l.nodes[n] == nil {
		l.nodes[n] = &liveNode{workers: -1, streams: map[int]*liveStream{}}
	}
	return l.nodes[n]
}

func (n *liveNode) stream(id int) *liveStream {
	s := n.streams[id]
	if s == nil {
		s = &liveStream{first: none, last: none, started: none, finished: none}
		n.streams[id] = s
	}
	return s
}

// Add takes in a block. Blocks of different streams may come in any order, those of one stream in theirs.
// defs has at least the definitions that the block needs. Neither is kept.
func (l *Live) Add(defs *trace.Defs, b *trace.Batch) {
	if b.Node < 0 || b.Node > trace.MaxNode || b.N == 0 {
		return
	}
	l.stale = true
	n := l.node(b.Node)
	s := n.stream(b.Stream)
	if s.first == none || b.First < s.first {
		s.first = b.First
	}
	s.last = max(s.last, b.Last)
	l.newest = max(l.newest, n.clock.common(b.Last))
	at := origin{l: l, n: n, s: s, defs: defs, node: uint16(b.Node), stream: uint16(b.Stream),
		worker: n.workers < 0 || b.Stream < n.workers}
	for i, k := range b.Kind {
		if k < trace.FirstUserKind {
			l.counts[k]++
			at.event(b.Time[i], k, b.Words[b.Off[i]:b.Off[i+1]])
		}
	}
	if l.untaken > max(fewSamples, l.taken/2) {
		l.takeSamples()
	}
	if l.checkIn -= b.N; l.checkIn <= 0 {
		l.trim()
	}
}

// origin is where events come from.
type origin struct {
	l            *Live
	n            *liveNode
	s            *liveStream
	defs         *trace.Defs
	node, stream uint16
	worker       bool
}

// event takes one event. a holds its fields, then the length and the elements of its list.
func (p *origin) event(t int64, kind trace.Kind, a []uint64) {
	l := p.l
	switch kind {
	case trace.KindCFCreated:
		l.created(p, t, a)
	case trace.KindCFReady:
		l.cfEvent(p, a[0], cfFact{t: t - int64(a[1]), what: model.CFBecameReady})
	case trace.KindCFStarted:
		l.started(p, t, a[0], a[1])
	case trace.KindCFFinished:
		l.finished(p, t, a[0])
	case trace.KindCFMigrated, trace.KindCFStolen:
		l.moveEvent(p, a[0], cfFact{t: t, end: int64(a[2]), peer: uint16(a[1]), what: model.CFLeft})
	case trace.KindCFReceived:
		l.moveEvent(p, a[0], cfFact{t: t, end: int64(a[2]), peer: uint16(a[1]), what: model.CFReceived})
	case trace.KindCFDestroyed:
		l.destroyedCF(a[0])
	case trace.KindDFCreate:
		l.made(p, t, a[0], int64(a[1]))
	case trace.KindDFStored:
		l.copied(p, t, a[0], false)
	case trace.KindDFDropped:
		l.copied(p, t, a[0], true)
	case trace.KindDFDestroy:
		l.destroyed(p, t, a[0])
	case trace.KindDFSent, trace.KindDFReceived:
		l.message(p, t, a, kind == trace.KindDFSent)
	case trace.KindReadyQueue:
		l.sample(queueKey{int32(p.node), -1}, sample{t, length(a[0]), 0})
	case trace.KindSendQueue:
		l.sample(queueKey{int32(p.node), int32(uint16(a[0]))}, sample{t, length(a[1]), 0})
	case trace.KindRelations:
		l.sample(queueKey{int32(p.node), relationsPeer}, sample{t, int64(a[0]), int64(a[1])})
	case trace.KindClockSync:
		p.n.syncs = append(p.n.syncs, model.ClockSync{Time: t, Offset: int64(a[0])})
	case trace.KindProgramStarted:
		if p.s.started == none {
			p.s.started = t
		}
	case trace.KindProgramFinished:
		p.s.finished = t
	}
}

// length bounds what a damaged trace can claim, so that lengths can be added.
func length(v uint64) int64 { return int64(min(v, 1<<40)) }

// make makes a change.
func (l *Live) make(c change) { c.each(1, l.add) }

// add makes a change in a step function.
func (l *Live) add(q quantity, place int32, t, d int64) {
	if q != weight || l.weighted {
		l.trees[q].add(place, t, d)
	}
}

// weigh begins to follow weights: until now all were 1.
func (l *Live) weigh() {
	l.weighted = true
	follow := func(at int32, s *steps.Steps) {
		if s != nil {
			for c := range s.All() {
				l.add(weight, at, c.T, c.D*weightUnit)
			}
		}
	}
	follow(whole, l.trees[cfs].whole)
	for i, s := range l.trees[cfs].places {
		follow(int32(i), s)
	}
}

// delta collects the changes that are taken back and those that are put in, so that those which are both cost
// nothing.
type delta []deltaChange

type deltaChange struct {
	change
	n int64 // how often; below 0, taken back
}

// adder takes changes n times.
func (x *delta) adder(n int64) func(c change) { return func(c change) { x.add(c, n) } }

func (x *delta) add(c change, n int64) {
	const few = 32 // beyond, looking for the same change costs more than making it
	list := *x
	if len(list) <= few {
		for i := range list {
			if o := &list[i]; o.change == c {
				if o.n += n; o.n == 0 {
					*o = list[len(list)-1]
					*x = list[:len(list)-1]
				}
				return
			}
		}
	}
	*x = append(list, deltaChange{c, n})
}

// apply makes the changes collected.
func (l *Live) apply() {
	for i := range l.delta {
		l.delta[i].each(l.delta[i].n, l.add)
	}
	l.delta = l.delta[:0]
}

// Wall is the length of the run so far, in nanoseconds.
func (l *Live) Wall() int64 {
	l.refresh()
	return l.wall()
}

// refresh brings everything up to date with what has arrived.
func (l *Live) refresh() {
	if !l.stale {
		return
	}
	l.stale = false
	l.takeSamples()
	l.setClocks()
	killed := l.killed
	l.bounds()
	if l.killed != killed {
		l.killedChanged(killed)
	}
	done := l.info != nil && l.info.Ended == trace.EndedDone && !l.killed
	l.unknown = (&recorded{&l.counts, l.info, done, len(l.nodes)}).unknown()
}

// bounds finds the start and the end of the run and its workers, as a model does.
func (l *Live) bounds() {
	earlier := func(a, b int64) int64 {
		if a == none || b != none && b < a {
			return b
		}
		return a
	}
	first, last, start, finished := none, none, none, none
	l.workers = l.workers[:0]
	l.killed = false
	endsOff := l.info != nil && slices.Contains(l.info.Off, trace.KindProgramFinished.String())
	for _, n := range l.nodes {
		if n == nil {
			l.workers = append(l.workers, 0)
			continue
		}
		workers := max(n.workers, 0)
		for id, s := range n.streams {
			first, last = earlier(first, n.clock.common(s.first)), max(last, n.clock.common(s.last))
			start = earlier(start, n.clock.common(s.started))
			finished = max(finished, n.clock.common(s.finished))
			if n.workers < 0 && (s.ran || s.started != none) {
				workers = max(workers, id+1)
			}
		}
		ends := 0
		for id, s := range n.streams {
			if id < workers && s.finished != none {
				ends++
			}
		}
		if ends < workers && !endsOff {
			l.killed = true
		}
		l.workers = append(l.workers, workers)
	}
	if start == none {
		start = first
	}
	if start == none {
		start = 0
	}
	l.start, l.end = start, finished
	if l.killed || l.end == none {
		l.end = max(last, finished)
	}
	l.end = max(l.end, l.start)
}
