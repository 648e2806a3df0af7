package counters

import (
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// Sums follow the quantities of a run that is too long for one model. A part of such a run does not tell what
// was there before it. So every event counts by itself, whatever CF or DF it is about: where an execution
// starts, one more CF is running and one less is ready. Such sums do not depend on the order in which blocks
// arrive, and take as much memory for an hour as for a minute.
//
// They are kept by level and stretch of time; stretches get longer with the run. A stretch holds by how much
// the level changed, and when on average. So means over stretches and values at their ends are exact, but
// extremes within a stretch are unknown.
//
// Where all was recorded, a model says the same but for this: a CF that runs again counts as gone between
// its executions; one-sided transfers count when they are told, and do not fly; a message flies as long as
// the messages of its link do on average; weights other than 1 are not followed, nor relations that the
// program does not count itself, nor, where CFs are stolen, which of them are ready. What a damaged trace
// lacks stays missing.
type Sums struct {
	mu     sync.Mutex
	most   int   // stretches of all levels
	have   int   // likewise
	shift  int   // stretches have 1<<shift nanoseconds on the common clock
	last   int64 // latest time
	levels map[levelKey]*sumLevel
	counts [trace.FirstUserKind]uint64
	syncs  map[int][]model.ClockSync // by node
	links  *linkTable
	length map[queueKey]int64
	weighs bool // some CF has another weight than 1
}

type levelKey struct {
	q     quantity
	place int32
}

// sumLevel has stretches in order of time; a level does not change in those that are missing.
type sumLevel struct{ list []stretch }

// stretch is what a level does from at<<shift on.
type stretch struct {
	at, d  int64   // d: by how much it changed
	moment float64 // what the changes add to its integral over the stretch
}

const (
	stretchBytes = 32
	finest       = 10      // the shift in the beginning
	mostOfLevel  = 1 << 13 // stretches
)

// NewSums makes Sums of no events. They take about so many bytes of memory at most.
func NewSums(bytes int64) *Sums {
	return &Sums{most: int(bytes / stretchBytes), shift: finest, last: none, levels: map[levelKey]*sumLevel{},
		syncs: map[int][]model.ClockSync{}, links: newLinkTable(), length: map[queueKey]int64{}}
}

// Bytes is about the memory taken.
func (s *Sums) Bytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(s.have) * stretchBytes
}

// Add takes in a block. Blocks of a stream come in order. Clocks are corrected by the comparisons that have
// arrived of them.
func (s *Sums) Add(b *trace.Batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, t := range b.Time {
		k, a := b.Kind[i], b.Args(i)
		switch {
		case k == trace.KindClockSync:
			s.syncs[b.Node] = append(s.syncs[b.Node], model.ClockSync{Time: t, Offset: int64(a[0])})
		case k < trace.FirstUserKind:
			const far = 1 << 60 // of a damaged trace
			t = min(max(model.Common(t, s.syncs[b.Node]), -far), far)
			s.counts[k]++
			s.last = max(s.last, t)
			s.event(int32(b.Node), t, k, a)
		}
	}
}

// event takes one event. a holds its fields.
func (s *Sums) event(node int32, t int64, k trace.Kind, a []uint64) {
	life := func(from, to model.CFState) {
		s.make(stateChange(t, node, from, to, 0))
	}
	message := func(from, to int32, what messageChange) {
		s.make(change{t, int64(a[2]), s.links.number(from, to), firstOfMessage + kind(what)})
	}
	queue := func(peer int32, length int64, place int32, what kind) {
		k := queueKey{node, peer}
		s.make(change{t, length - s.length[k], place, what})
		s.length[k] = length
	}
	switch k {
	case trace.KindCFCreated:
		s.weighs = s.weighs || math.Float64frombits(a[4]) != 1
		life(model.CFAbsent, model.CFWaiting)
	case trace.KindCFReady:
		t -= int64(a[1])
		life(model.CFWaiting, model.CFReady)
	case trace.KindCFStarted:
		if a[1] > 1 { // it had not finished after all
			life(model.CFAbsent, model.CFWaiting)
		}
		life(model.CFReady, model.CFRunning)
	case trace.KindCFFinished:
		life(model.CFRunning, model.CFFinished)
	case trace.KindCFMigrated, trace.KindCFStolen:
		life(model.CFWaiting, model.CFMoving)
		message(node, peer(a[1]), counts|countsMoved|takesOff)
	case trace.KindCFReceived:
		life(model.CFMoving, model.CFWaiting)
		message(peer(a[1]), node, lands)
	case trace.KindDFCreate:
		s.make(change{t, 0, whole, dfMade})
	case trace.KindDFDestroy:
		s.make(change{t, 0, whole, dfGone})
	case trace.KindDFStored:
		s.make(change{t, int64(a[1]), node, copyStored})
	case trace.KindDFDropped:
		s.make(change{t, int64(a[1]), node, copyDropped})
	case trace.KindDFSent:
		if a[3] != 0 { // else the node had it itself
			message(node, peer(a[1]), counts|countsData|takesOff)
		}
	case trace.KindDFReceived:
		if a[3] != 0 {
			message(peer(a[1]), node, lands)
		}
	case trace.KindPut, trace.KindGet, trace.KindRemoteAtomic, trace.KindSent:
		if from, to := node, peer(a[0]); from != to {
			if k == trace.KindGet {
				from, to = to, from
			}
			s.make(change{t, length(a[1]), s.links.number(from, to), firstOfMessage + kind(counts)})
		}
	case trace.KindReadyQueue:
		queue(model.OfReady, length(a[0]), node, readyLength)
	case trace.KindUsage:
		for i, v := range a[:4] {
			of := model.OfLoad - int32(i)
			queue(of, length(v), node, usedLevel(of))
		}
	case trace.KindSendQueue:
		queue(peer(a[0]), length(a[1]), s.links.number(node, peer(a[0])), sendLength)
	case trace.KindRelations:
		s.make(change{t, int64(a[0]), node, innerChanged})
		s.make(change{t, int64(a[1]), node, outerChanged})
	}
}

func peer(v uint64) int32 { return int32(min(v, trace.MaxNode)) }

// length bounds what a damaged trace can claim, so that lengths can be added.
func length(v uint64) int64 { return int64(min(v, 1<<40)) }

func (s *Sums) make(c change) {
	c.each(func(q quantity, place int32, d int64) { s.add(q, place, c.t, d) })
}

// add changes a level.
func (s *Sums) add(q quantity, place int32, t, d int64) {
	x := s.levels[levelKey{q, place}]
	if x == nil {
		if s.have >= s.most {
			return // a damaged trace has that many links
		}
		x = &sumLevel{}
		s.levels[levelKey{q, place}] = x
	}
	at := t >> s.shift
	i := len(x.list) - 1
	if i < 0 || x.list[i].at != at {
		i = sort.Search(len(x.list), func(i int) bool { return x.list[i].at >= at })
		if i == len(x.list) || x.list[i].at != at {
			x.list = slices.Insert(x.list, i, stretch{at: at})
			s.have++
		}
	}
	x.list[i].d += d
	x.list[i].moment += float64(d) * float64((at+1)<<s.shift-t)
	for (s.have > s.most || len(x.list) > mostOfLevel) && s.shift < 60 {
		s.coarsen()
	}
}

// coarsen joins pairs of stretches.
func (s *Sums) coarsen() {
	s.have = 0
	for _, x := range s.levels {
		out := x.list[:0]
		for _, e := range x.list {
			if e.at&1 == 0 { // the first of two: its changes last for the second, too
				e.moment += float64(e.d) * float64(int64(1)<<s.shift)
			}
			e.at >>= 1
			if n := len(out); n > 0 && out[n-1].at == e.at {
				out[n-1].d += e.d
				out[n-1].moment += e.moment
			} else {
				out = append(out, e)
			}
		}
		x.list = out
		s.have += len(out)
	}
	s.shift++
}

// Ask calls f with what is known of the quantities, m being a model of a part of the run. f must not keep it.
func (s *Sums) Ask(m *model.Model, f func(Set)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := newHistory(m, s.links)
	r.wall = max(m.End, s.last) - m.Start
	r.unknown = unknown(m, &s.counts)
	if s.counts[trace.KindCFStolen] > 0 { // nobody knows whether they were ready
		r.unknown[ready], r.unknown[waiting] = true, true
	}
	r.unknown[weight] = r.unknown[weight] || s.weighs
	if s.counts[trace.KindRelations] == 0 {
		r.unknown[inner], r.unknown[outer] = true, true
	}
	r.stored = func(q quantity, place int32) *steps {
		switch {
		case r.unknown[q]:
			return nil
		case q == objects:
			return sumOf(m, s.steps(m, cfs, place), s.steps(m, copies, place))
		}
		return s.steps(m, q, place)
	}
	r.moment = func(t int64) values {
		return func(q quantity, place int32) int64 {
			if x := r.stored(q, place); x != nil {
				return x.at(t)
			}
			return 0
		}
	}
	f(r)
}

// steps gives a level as a step function: in each stretch its mean, or the whole numbers around that, and the
// value it ends with. Times are those since the start of the run.
func (s *Sums) steps(m *model.Model, q quantity, place int32) *steps {
	of := q
	if x, ok := ofLinks[q]; ok && place != whole {
		var sum *steps
		for i := range s.links.list {
			if s.links.end(int32(i), x.from) == place {
				sum = sumOf(m, sum, s.steps(m, x.of, int32(i)))
			}
		}
		return sum
	} else if ok {
		of = x.of
	}
	switch q {
	case flights:
		of = messages
	case flightNS: // messages in flight, times how long
		of = inFlight
	}
	x := s.levels[levelKey{of, place}]
	if x == nil {
		return nil
	}
	out, width, value := &steps{}, int64(1)<<s.shift, int64(0)
	for i, e := range x.list {
		from := e.at<<s.shift - m.Start
		if q == flightNS {
			if i > 0 {
				before := (x.list[i-1].at+1)<<s.shift - m.Start
				out.add(before, value*(from-before))
			}
			out.add(from, value*width+int64(math.Round(e.moment)))
			value += e.d
			continue
		}
		integral := int64(math.Round(e.moment))
		out.add(from, integral>>s.shift)
		out.add(from+width-integral&(width-1), 1)
		out.add(from+width, e.d-integral>>s.shift-1)
	}
	return out.settle()
}
