package model

import (
	"math"

	"github.com/whyslow/whyslow/trace"
)

// stream collects the events of one stream in columns. It is filled by one goroutine.
type stream struct {
	b    *builder
	node int
	id   int
	nodeTables

	count       [trace.FirstUserKind]uint64
	events      uint64
	first, last int64 // earliest and latest time

	started, finished       int64
	process                 int
	startedCPU, finishedCPU int64

	creations column[creation]
	labels    []int32 // count, then the indices
	weights   []weight
	readies   column[ready]
	runs      column[execution]
	inputs    column[DF]
	open      []int // executions that have not ended
	mades     column[made]

	sent, received   column[end] // DFs
	asked, askedHere column[end] // requests
	moves            column[move]
	copies           column[Copy]
	queues           column[Queue]
	awaits           column[await]
	awaited          column[DF]

	held       []holding
	duplicates []Duplicate
	lost       []loss
	waits      []Wait
	openWaits  []int
	idle       []Interval
	idleSince  int64
	syncs      []ClockSync
	log        *threadLog // nil: it entered no region

	at       *positions // of one that another process reads: where its records stand there
	executes bool       // likewise: it executed something
	entered  bool       // likewise: it has something of regions
}

type creation struct {
	time       int64
	cf, parent CF
	exec, site uint32
	label      uint32 // 1 + offset into labels, 0 none
}

type ready struct {
	time int64
	cf   CF
}

type execution struct {
	start, end, cpu int64
	cf              CF
	number, inputs  uint32
}

type made struct {
	time, size int64
	df         DF
	by         CF
}

type await struct {
	time int64
	cf   CF
	dfs  uint32
}

type weight struct {
	cf CF
	w  float64
}

// end is one end of a message.
type end struct {
	number  uint32
	time    int64
	peer    int32
	df      DF
	bytes   int64
	request uint32
	cf      CF
}

type move struct {
	cf     CF
	time   int64
	node   int32
	peer   int32
	bytes  int64
	out    bool
	stolen bool
}

type holding struct {
	cf   CF
	time int64
	on   bool
}

type loss struct {
	stream      uint64
	count       uint64
	first, last int64
}

func newStream(b *builder, node, id int, tables nodeTables) *stream {
	return &stream{b: b, node: node, id: id, nodeTables: tables, first: None, last: None, started: None,
		finished: None, idleSince: None, process: -1}
}

func (s *stream) df(v uint64) DF {
	if v < uint64(len(s.dfs)) && s.dfs[v] != 0 {
		return s.dfs[v]
	}
	return s.b.tables.undefined(s.node, v)
}

func (s *stream) cf(v uint64) CF { return CF(s.b.cfs.number(v)) }

// event takes one event. a holds its fields, then the length and the elements of its list.
func (s *stream) event(t int64, kind trace.Kind, a []uint64) {
	s.events++
	if kind < trace.FirstUserKind {
		s.count[kind]++
	}
	if t > s.last {
		s.last = t
	}
	if t < s.first || s.first == None {
		s.first = t
	}
	switch kind {
	case trace.KindCFCreated:
		s.created(t, a)
	case trace.KindCFReady:
		s.readies.add(ready{t - int64(a[1]), s.cf(a[0])})
	case trace.KindCFStarted:
		s.open = append(s.open, s.runs.len())
		s.runs.add(execution{t, None, -1, s.cf(a[0]), uint32(a[1]), uint32(s.inputs.len())})
		for _, d := range a[3:] {
			s.inputs.add(s.df(d))
		}
	case trace.KindCFFinished:
		s.ended(t, s.cf(a[0]), int64(a[2]))
	case trace.KindDFCreate:
		s.mades.add(made{t, int64(a[1]), s.df(a[0]), s.cf(a[2])})
	case trace.KindDFStored:
		s.copies.add(Copy{t, s.df(a[0]), uint16(s.node), CopyStored})
	case trace.KindDFDropped:
		s.copies.add(Copy{t, s.df(a[0]), uint16(s.node), CopyDropped})
	case trace.KindDFDestroy:
		s.copies.add(Copy{t, s.df(a[0]), uint16(s.node), CopyExpired + CopyChange(min(a[2], 2))})
	default:
		s.rare(t, kind, a)
	}
}

func (s *stream) created(t int64, a []uint64) {
	c := creation{time: t, cf: s.cf(a[0]), parent: s.cf(a[2]), exec: uint32(a[3])}
	if a[1] < uint64(len(s.site)) {
		c.site = s.site[a[1]]
	}
	if w := math.Float64frombits(a[4]); w != 1 {
		s.weights = append(s.weights, weight{c.cf, w})
	}
	if list := a[6:]; len(list) > 0 {
		c.label = uint32(len(s.labels)) + 1
		s.labels = append(s.labels, int32(len(list)))
		for _, v := range list {
			s.labels = append(s.labels, int32(v))
		}
	}
	s.creations.add(c)
}

func (s *stream) ended(t int64, cf CF, cpu int64) {
	for i := len(s.open) - 1; i >= 0; i-- {
		e := s.runs.at(s.open[i])
		if e.cf != cf {
			continue
		}
		e.end, e.cpu = t, max(cpu, -1)
		// What started later and has not ended never will: its end was lost.
		s.open = s.open[:i]
		return
	}
}

// rare takes the kinds that come less often than once per CF.
func (s *stream) rare(t int64, kind trace.Kind, a []uint64) {
	if isRegionKind(kind) {
		s.region(t, kind, a)
		return
	}
	switch kind {
	case trace.KindDFSent, trace.KindDFReceived:
		e := end{number: s.b.messages.number(a[3]), time: t, peer: node32(a[1]), df: s.df(a[0]),
			bytes: int64(a[2]), request: s.b.requests.number(a[4]), cf: s.cf(a[5])}
		if kind == trace.KindDFSent {
			s.sent.add(e)
		} else {
			s.received.add(e)
		}
	case trace.KindDFRequested:
		s.asked.add(end{number: s.b.requests.number(a[3]), time: t, peer: node32(a[2]), df: s.df(a[0]),
			cf: s.cf(a[1])})
	case trace.KindDFRequestReceived:
		s.askedHere.add(end{number: s.b.requests.number(a[2]), time: t, peer: node32(a[1]), df: s.df(a[0])})
	case trace.KindCFMigrated, trace.KindCFStolen, trace.KindCFReceived:
		s.moves.add(move{cf: s.cf(a[0]), time: t, node: int32(s.node), peer: node32(a[1]), bytes: int64(a[2]),
			out: kind != trace.KindCFReceived, stolen: kind == trace.KindCFStolen})
	case trace.KindCFWaiting:
		s.awaits.add(await{t, s.cf(a[0]), uint32(s.awaited.len())})
		for _, d := range a[2:] {
			s.awaited.add(s.df(d))
		}
	case trace.KindCFHeld, trace.KindCFResumed:
		s.held = append(s.held, holding{s.cf(a[0]), t, kind == trace.KindCFHeld})
	case trace.KindDFDuplicate:
		s.duplicates = append(s.duplicates, Duplicate{Time: t, DF: s.df(a[0]), First: s.cf(a[1]),
			Second: s.cf(a[2])})
	case trace.KindProgramStarted:
		if s.started == None {
			s.started, s.process, s.startedCPU = t, int(min(a[0], 1<<20)), int64(a[1])
		}
	case trace.KindProgramFinished:
		s.finished, s.finishedCPU = t, int64(a[0])
	case trace.KindIdle:
		if s.idleSince == None {
			s.idleSince = t
		}
	case trace.KindBusy:
		if s.idleSince != None && t >= s.idleSince {
			s.idle = append(s.idle, Interval{s.idleSince, t})
		}
		s.idleSince = None
	case trace.KindWaitStarted:
		s.openWaits = append(s.openWaits, len(s.waits))
		s.waits = append(s.waits, Wait{Interval{t, None}, s.name(a[0])})
	case trace.KindWaitEnded:
		name := s.name(a[0])
		for i := len(s.openWaits) - 1; i >= 0; i-- {
			if w := &s.waits[s.openWaits[i]]; w.Name == name {
				w.To = t
				s.openWaits = s.openWaits[:i]
				break
			}
		}
	case trace.KindReadyQueue:
		s.queues.add(Queue{t, length(a[0]), int32(s.node), -1})
	case trace.KindSendQueue:
		s.queues.add(Queue{t, length(a[1]), int32(s.node), node32(a[0])})
	case trace.KindLost:
		s.lost = append(s.lost, loss{count: a[0], first: int64(a[1]), last: int64(a[2]), stream: a[3]})
	case trace.KindClockSync:
		s.syncs = append(s.syncs, ClockSync{t, int64(a[0]), int64(min(a[1], math.MaxInt64))})
	}
}

func (s *stream) name(v uint64) string { return s.defs.Name(trace.Name(v)) }

// length bounds what a damaged trace can claim, so that lengths can be added.
func length(v uint64) int64 { return int64(min(v, 1<<40)) }

func node32(v uint64) int32 { return int32(min(v, trace.MaxNode)) }
