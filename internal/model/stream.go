package model

import (
	"math"

	"github.com/whyslow/whyslow/internal/memory"
	"github.com/whyslow/whyslow/trace"
)

// stream collects the events of one stream in columns. It is filled by one goroutine.
type stream struct {
	b *builder
	nodeTables
	facts
	rows

	abroad bool  // another process reads it: it holds what that told
	open   []int // executions that have not ended

	copies  column[Copy]
	sized   column[sized] // of copies, while the run is happening, unless just made here
	queues  column[Queue]
	awaits  column[await]
	asked   column[Asked] // of this node itself
	awaited column[DF]
	placed  column[Placed]

	duplicates []Duplicate
	waits      []Wait
	openWaits  []int
	spans      []threadSpan
	off        []OffProcessor
	ran, spent int64 // CPU time of the spans, and their length
	idle       []Interval
	idleSince  int64
	log        *threadLog // nil: it entered no region
	lastLabels [64]uint32 // of rows.Labels, as in creation; 0 none. See label
}

// facts of a stream that every process gets.
type facts struct {
	Node, ID                int
	Count                   [trace.FirstUserKind]uint64
	Events                  uint64
	First, Last             int64 // earliest and latest time
	Started, Finished       int64
	Process                 int
	StartedCPU, FinishedCPU int64
	Lost                    []loss
	Syncs                   []ClockSync
	Entered                 bool // of one that another process reads: it has regions
	Role                    role // of one that is read in part: what the rest of it shows
}

// rows are the columns of a stream that other processes may be told of. Inputs of an execution end where
// those of the next one begin.
type rows struct {
	Labels           []int32 // count, then the indices
	Inputs           column[DF]
	Creations        column[creation]
	Weights          column[weight]
	Readies          column[ready]
	Runs             column[execution]
	Moves            column[Move]
	Held             column[holding]
	Mades            column[made]
	Sent, Received   column[end] // DFs
	Asked, AskedHere column[end] // requests
}

type creation struct {
	Time       int64
	CF, Parent CF
	Exec, Site uint32
	Label      uint32 // 1 + offset into labels, 0 none
}

type ready struct {
	Time int64
	CF   CF
}

type execution struct {
	Start, End, CPU int64
	CF              CF
	Number, Inputs  uint32
}

type made struct {
	Time, Size int64
	DF         DF
	By         CF
}

type await struct {
	time int64
	cf   CF
	dfs  uint32
}

type weight struct {
	CF CF
	W  float64
}

// end is one end of a message.
type end struct {
	Number  uint32
	Direct  bool // of a sending, told by who read it: the node never received the DF itself
	Time    int64
	Peer    int32
	DF      DF
	Bytes   int64
	Request uint32
	CF      CF
}

// Move is the departure or arrival of a CF that moves. Time is in nanoseconds, on the common clock once it
// is known.
type Move struct {
	CF     CF
	Time   int64
	Node   int32
	Peer   int32
	Bytes  int64
	Out    bool
	Stolen bool
}

type holding struct {
	CF   CF
	Time int64
	On   bool
}

type loss struct {
	Stream      uint64
	Count       uint64
	First, Last int64
}

func newStream(b *builder, node, id int, tables nodeTables) *stream {
	s := &stream{b: b, nodeTables: tables, idleSince: None,
		facts: facts{Node: node, ID: id, First: None, Last: None, Started: None, Finished: None, Process: -1}}
	for _, to := range []**memory.Spill{&s.copies.spill, &s.queues.spill, &s.awaits.spill, &s.asked.spill,
		&s.awaited.spill, &s.placed.spill, &s.Inputs.spill, &s.Creations.spill, &s.Readies.spill, &s.Runs.spill,
		&s.Moves.spill, &s.Mades.spill, &s.Sent.spill, &s.Received.spill, &s.Asked.spill, &s.AskedHere.spill} {
		*to = b.spill
	}
	return s
}

func (s *stream) df(v uint64) DF {
	if v < uint64(len(s.dfs)) && s.dfs[v] != 0 {
		return s.dfs[v]
	}
	return s.b.tables.undefined(s.Node, v)
}

func (s *stream) cf(v uint64) CF { return CF(s.b.cfs.number(v)) }

// event takes one event. a holds its fields, then the length and the elements of its list.
func (s *stream) event(t int64, kind trace.Kind, a []uint64) {
	s.Events++
	if kind < trace.FirstUserKind {
		s.Count[kind]++
	}
	if t > s.Last {
		s.Last = t
	}
	if t < s.First || s.First == None {
		s.First = t
	}
	switch kind {
	case trace.KindCFCreated:
		s.created(t, a)
	case trace.KindCFReady:
		s.Readies.add(ready{t - int64(a[1]), s.cf(a[0])})
	case trace.KindCFStarted:
		s.open = append(s.open, s.Runs.len())
		s.Runs.add(execution{t, None, -1, s.cf(a[0]), uint32(a[1]), uint32(s.Inputs.len())})
		for _, d := range a[3:] {
			s.Inputs.add(s.df(d))
		}
	case trace.KindCFFinished:
		s.ended(t, s.cf(a[0]), int64(a[2]))
	case trace.KindDFCreate:
		s.Mades.add(made{t, int64(a[1]), s.df(a[0]), s.cf(a[2])})
	case trace.KindDFStored:
		df := s.df(a[0])
		s.copies.add(Copy{t, df, uint16(s.Node), CopyStored})
		if n := s.Mades.len(); s.b.every && (n == 0 || s.Mades.at(n-1).DF != df) {
			s.sized.add(sized{df, int64(a[1])})
		}
	case trace.KindDFDropped:
		s.copies.add(Copy{t, s.df(a[0]), uint16(s.Node), CopyDropped})
	case trace.KindDFDestroy:
		s.copies.add(Copy{t, s.df(a[0]), uint16(s.Node), CopyExpired + CopyChange(min(a[2], 2))})
	default:
		s.rare(t, kind, a)
	}
}

func (s *stream) created(t int64, a []uint64) {
	c := creation{Time: t, CF: s.cf(a[0]), Parent: s.cf(a[2]), Exec: uint32(a[3])}
	if a[1] < uint64(len(s.site)) {
		c.Site = s.site[a[1]]
	}
	if w := math.Float64frombits(a[4]); w != 1 {
		s.Weights.add(weight{c.CF, w})
	}
	if list := a[6:]; len(list) > 0 {
		c.Label = s.label(list)
	}
	s.Creations.add(c)
}

// label keeps the indices of a CF's label. Those of goroutines come again and again: a stream looks whether it
// has them where others with the same first index, or nearly, were met last.
func (s *stream) label(list []uint64) uint32 {
	last := &s.lastLabels[list[0]%uint64(len(s.lastLabels))]
	if *last != 0 && s.isLabel(*last, list) {
		return *last
	}
	*last = uint32(len(s.Labels)) + 1
	s.Labels = append(s.Labels, int32(len(list)))
	for _, v := range list {
		s.Labels = append(s.Labels, int32(v))
	}
	return *last
}

func (s *stream) isLabel(at uint32, list []uint64) bool {
	known := s.Labels[at:]
	if int(s.Labels[at-1]) != len(list) {
		return false
	}
	for i, v := range list {
		if known[i] != int32(v) {
			return false
		}
	}
	return true
}

func (s *stream) ended(t int64, cf CF, cpu int64) {
	for i := len(s.open) - 1; i >= 0; i-- {
		e := s.Runs.at(s.open[i])
		if e.CF != cf {
			continue
		}
		e.End, e.CPU = t, max(cpu, -1)
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
		e := end{Number: s.b.messages.number(a[3]), Time: t, Peer: node32(a[1]), DF: s.df(a[0]),
			Bytes: int64(a[2]), Request: s.b.requests.number(a[4]), CF: s.cf(a[5])}
		if kind == trace.KindDFSent {
			s.Sent.add(e)
		} else {
			s.Received.add(e)
		}
	case trace.KindDFRequested:
		if a[3] == 0 {
			s.asked.add(Asked{t, s.cf(a[1]), s.df(a[0]), node32(a[2])})
			return
		}
		s.Asked.add(end{Number: s.b.requests.number(a[3]), Time: t, Peer: node32(a[2]), DF: s.df(a[0]),
			CF: s.cf(a[1])})
	case trace.KindDFRequestReceived:
		s.AskedHere.add(end{Number: s.b.requests.number(a[2]), Time: t, Peer: node32(a[1]), DF: s.df(a[0])})
	case trace.KindCFMigrated, trace.KindCFStolen, trace.KindCFReceived:
		s.Moves.add(Move{CF: s.cf(a[0]), Time: t, Node: int32(s.Node), Peer: node32(a[1]), Bytes: int64(a[2]),
			Out: kind != trace.KindCFReceived, Stolen: kind == trace.KindCFStolen})
	case trace.KindCFWaiting:
		s.awaits.add(await{t, s.cf(a[0]), uint32(s.awaited.len())})
		for _, d := range a[2:] {
			s.awaited.add(s.df(d))
		}
	case trace.KindCFHeld, trace.KindCFResumed:
		s.Held.add(holding{s.cf(a[0]), t, kind == trace.KindCFHeld})
	case trace.KindCFPlaced:
		s.placed.add(Placed{Time: t, CF: s.cf(a[0]), Place: int64(a[1])})
	case trace.KindDFPlaced:
		s.placed.add(Placed{Time: t, DF: s.df(a[0]), Place: int64(a[1])})
	case trace.KindDFDuplicate:
		s.duplicates = append(s.duplicates, Duplicate{Time: t, DF: s.df(a[0]), First: s.cf(a[1]),
			Second: s.cf(a[2])})
	case trace.KindProgramStarted:
		if s.Started == None {
			s.Started, s.Process, s.StartedCPU = t, int(min(a[0], 1<<20)), int64(a[1])
		}
	case trace.KindProgramFinished:
		s.Finished, s.FinishedCPU = t, int64(a[0])
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
		s.waits = append(s.waits, Wait{Interval: Interval{t, None}, Name: s.name(a[0])})
	case trace.KindWaitEnded:
		name := s.name(a[0])
		for i := len(s.openWaits) - 1; i >= 0; i-- {
			if w := &s.waits[s.openWaits[i]]; w.Name == name {
				w.To = t
				s.openWaits = s.openWaits[:i]
				break
			}
		}
	case trace.KindBlocked:
		s.blocked(t, a)
	case trace.KindThreadTime:
		s.threadTime(t, a)
	case trace.KindReadyQueue:
		s.queues.add(Queue{t, length(a[0]), int32(s.Node), OfReady})
	case trace.KindSendQueue:
		s.queues.add(Queue{t, length(a[1]), int32(s.Node), node32(a[0])})
	case trace.KindUsage:
		for i, of := range []int32{OfLoad, OfResident, OfArenas, OfThreads} {
			s.queues.add(Queue{t, length(a[i]), int32(s.Node), of})
		}
	case trace.KindLost:
		s.Lost = append(s.Lost, loss{Count: a[0], First: int64(a[1]), Last: int64(a[2]), Stream: a[3]})
	case trace.KindClockSync:
		s.Syncs = append(s.Syncs, ClockSync{t, int64(a[0]), int64(min(a[1], math.MaxInt64))})
	}
}

func (s *stream) name(v uint64) string { return s.defs.Name(trace.Name(v)) }

// length bounds what a damaged trace can claim, so that lengths can be added.
func length(v uint64) int64 { return int64(min(v, 1<<40)) }

func node32(v uint64) int32 { return int32(min(v, trace.MaxNode)) }
