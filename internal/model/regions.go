package model

import (
	"slices"
	"strings"

	"github.com/whyslow/whyslow/trace"
)

// Regions are what threads entered and left: functions of the program, and operations of a run-time system
// that is no task graph, with what is known of each operation. It is nil for a run without any.
//
// Three states of the run are unrolled into columns, so that what an event needs of them is one or two array
// accesses away: the stack of regions (Thread.Parent), the queues of collectives (Collective.Instance,
// Instances, Members) and who has a lock (LockEvent.Link, Lock.Holds).
type Regions struct {
	Threads []Thread // by node and stream
	// Instances are the collectives that all members took part in, by the time the last one left. Those of
	// Instances[i] are Members[Instances[i].First:][:Instances[i].Size], by their place in the group.
	Instances []Instance
	Members   []Member
	Locks     []Lock   // by number
	Letters   []Letter // messages, by receiving thread, in the order in which it received them

	// Unfinished are, by group, the first collectives that only some members came to.
	Unfinished []Unfinished

	Unmatched   int // collectives that not all members took part in
	Mixed       int // likewise: where the members called different ones
	Overlapping int // acquisitions of a lock that another node had
	Strays      int // messages of which one end only is known
}

// Thread is a stream of a node that entered regions. A visit is one stay in a region; visits are numbered in
// the order in which they were entered, so that those inside a visit follow it.
type Thread struct {
	Node, Stream int
	// Start and End are the times of its first and its last event; of a thread that never ended and has open
	// regions, End is that of the run.
	Start, End int64

	Enter, Exit []int64  // by visit; what was never left is left at End
	Site        []uint32 // by visit: index into Model.Sites
	Parent      []int32  // by visit: the one it is inside of, -1 for none

	// What happened in visits, in order of time. Visit is -1 where that was in no region; of collectives also,
	// where it was in one that is another collective already.
	Collectives []Collective
	Transfers   []Transfer
	Locks       []LockEvent
	Sends       []Send
	Receives    []Receive
	// Since tells of sends that are MPI_Win_complete's signal when the last transfer of the epoch to the
	// receiver's window ended; those that had none are missing.
	Since map[int32]int64

	Open  int // visits that were never left
	Stray int // exits of regions that were not entered
	Back  int // events whose time was before that of an earlier one

	Lossy bool  // events were lost
	Last  int64 // time of its last event
}

// Collective is what one thread did in a collective operation.
type Collective struct {
	Visit               int32
	Kind                CollectiveKind
	Sync                Sync
	NonBlocking         bool  // the region only began it
	Start, Stride, Size int32 // the group: nodes Start, Start+Stride, and so on
	Root                int32 // a node; -1: none, or not known
	// the group, if these cannot describe it: its nodes by their place in it; nil otherwise
	Nodes          *[]int32
	Sent, Received int64 // bytes
	// of CollectiveWait: index of its CollectiveNotify into Thread.Collectives, -1 where there is none
	Notify int32
	// index into Regions.Instances; -1: not all members took part; a notify belongs to the instance of its wait
	Instance int32
	Done     int32 // of a non-blocking one: the visit in which it ended, -1 if that is not known
}

// End is the visit in which a collective ended.
func (c *Collective) End() int32 {
	if c.Done >= 0 {
		return c.Done
	}
	return c.Visit
}

// Instance is a collective operation that all members took part in. Kind, Sync and Root are those of the
// first member; a barrier of two phases is of kind CollectiveBarrier.
type Instance struct {
	First, Size int32
	Kind        CollectiveKind
	Sync        Sync
	Root        int32 // place of the root in the group, -1: none, or not known
}

// Member is the part of one node in an instance: Regions.Threads[Thread].Collectives[Record].
type Member struct{ Thread, Record int32 }

// Unfinished is a collective that only some members of a group came to.
type Unfinished struct {
	Came   []Member
	Absent []int32 // nodes
}

// Transfer is a one-sided transfer.
type Transfer struct {
	Visit  int32
	Peer   int32 // the node whose memory it is
	Kind   TransferKind
	Bytes  int64
	Number uint64 // 0: it is over when its region is; otherwise it may be under way longer
}

// TransferKind tells what a transfer does to the other node's memory.
type TransferKind uint8

// Kinds of transfers.
const (
	TransferPut TransferKind = iota
	TransferGet
	TransferAtomic
	TransferMessage // of EachTransfer alone: a message with a sender and a receiver
)

// LockEvent is the acquisition or release of a lock.
type LockEvent struct {
	Visit   int32
	Acquire bool
	Shared  bool // several threads may have it at once, if all share it
	Lock    uint64
	Time    int64
	// of an acquisition: the last release before it, of the same lock, by one that excludes it; of a release: its
	// acquisition
	Link LockRef
}

// LockRef names Regions.Threads[Thread].Locks[Event]; Thread is -1 for none.
type LockRef struct{ Thread, Event int32 }

// Lock is what happened to one lock.
type Lock struct {
	ID uint64
	// Name is the variable ("queue_lock", "locks[3]", "p+0x4060" where it has no name) or memory ("byte 64 of
	// shmem_malloc", which is called at the place); "": only the number is known. File and Line are where that
	// is declared or called; "" and 0 where that is not known.
	Name  string
	File  string
	Line  int
	Holds []Hold // in order of time
}

// Hold is the time in which a node had a lock. One of its ends may be missing in the trace.
type Hold struct{ Acquired, Released LockRef }

// threadLog collects the regions of one stream.
type threadLog struct {
	visits      column[visit]
	stack       []openVisit
	collectives column[Collective]
	transfers   column[Transfer]
	locks       column[LockEvent]
	sends       column[Send]
	receives    column[Receive]
	done        column[completion]
	groups      map[uint64]*[]int32 // by number
	notify      int32               // the one whose wait has not come; -1: none
	kinds       map[uint64]CollectiveKind
	syncs       map[uint64]Sync
	last        int64
	stray, back int
}

type visit struct {
	enter, exit int64
	site        uint32
	parent      int32
}

// openVisit is a visit that has not ended; described: it is known which collective it is.
type openVisit struct {
	visit     int32
	described bool
}

// sharedLock is the bit of a lock's number that tells, in MPI programs, that it is shared.
const sharedLock = 1 << 63

// maxVisits of a stream is how many can be numbered; no trace that fits memory has as many.
const maxVisits = 1<<31 - 1

// region takes an event of regions and of what happens in them.
func (s *stream) region(t int64, kind trace.Kind, a []uint64) {
	if s.log == nil {
		s.log = &threadLog{notify: -1, last: t, kinds: map[uint64]CollectiveKind{}, syncs: map[uint64]Sync{},
			groups: map[uint64]*[]int32{}}
	}
	r := s.log
	if t < r.last {
		t = r.last
		r.back++
	}
	r.last = t
	top := int32(-1)
	if n := len(r.stack); n > 0 {
		top = r.stack[n-1].visit
	}
	switch kind {
	case trace.KindEntered:
		if n := r.visits.len(); n < maxVisits {
			r.stack = append(r.stack, openVisit{visit: int32(n)})
			r.visits.add(visit{t, None, s.siteOf(a[0]), top})
		}
	case trace.KindExited:
		s.exit(t, s.siteOf(a[0]))
	case trace.KindCollective:
		if n := len(r.stack); n > 0 {
			if r.stack[n-1].described {
				top = -1 // a region is one collective
			}
			r.stack[n-1].described = true
		}
		s.collective(top, a)
	case trace.KindAcquired, trace.KindReleased:
		e := LockEvent{Visit: top, Acquire: kind == trace.KindAcquired, Lock: a[0], Time: t, Link: LockRef{-1, -1}}
		if a[0]&sharedLock != 0 && s.b.m.MPI() {
			e.Lock, e.Shared = a[0]&^sharedLock, true
		}
		r.locks.add(e)
	case trace.KindPut, trace.KindGet:
		r.transfers.add(Transfer{Visit: top, Peer: node32(a[0]), Kind: TransferKind(kind - trace.KindPut),
			Bytes: length(a[1]), Number: a[2]})
	case trace.KindRemoteAtomic:
		r.transfers.add(Transfer{Visit: top, Peer: node32(a[0]), Kind: TransferAtomic, Bytes: length(a[1])})
	case trace.KindCompleted:
		r.done.add(completion{top, a[0]})
	case trace.KindSent:
		r.sends.add(Send{Visit: top, Done: -1, Peer: node32(a[0]), Bytes: length(a[1]), Tag: int32(int64(a[2])),
			Comm: a[3], Number: a[4]})
	case trace.KindReceived:
		if int32(int64(a[2])) == tagBegun {
			r.ends(t-length(a[5]), top)
			break
		}
		r.receives.add(Receive{Visit: top, Peer: node32(a[0]), Bytes: length(a[1]), Tag: int32(int64(a[2])),
			Comm: a[3], Number: a[4], Posted: t - length(a[5])})
	case trace.KindGroup:
		r.group(a)
	}
}

func (s *stream) siteOf(v uint64) uint32 {
	if v < uint64(len(s.site)) {
		return s.site[v]
	}
	return 0
}

// exit leaves the innermost open region with that site, or else that code, and all inside of it, whose exits
// were not recorded.
func (s *stream) exit(t int64, site uint32) {
	r, sites := s.log, s.b.m.Sites
	innermost := func(is func(site uint32) bool) int {
		i := len(r.stack) - 1
		for i >= 0 && !is(r.visits.at(int(r.stack[i].visit)).site) {
			i--
		}
		return i
	}
	at := innermost(func(open uint32) bool { return open == site })
	if code := sites[site].Code; at < 0 && code != 0 {
		at = innermost(func(open uint32) bool { return sites[open].Code == code })
	}
	if at < 0 {
		r.stray++
		return
	}
	for _, v := range r.stack[at:] {
		r.visits.at(int(v.visit)).exit = t
	}
	r.stack = r.stack[:at]
}

func (s *stream) collective(top int32, a []uint64) {
	r := s.log
	kind, ok := r.kinds[a[0]]
	if !ok {
		kind = collectiveKind(s.name(a[0]))
		r.kinds[a[0]] = kind
	}
	sync, ok := r.syncs[a[1]]
	if !ok {
		sync = parseSync(s.name(a[1]))
		r.syncs[a[1]] = sync
	}
	c := Collective{Visit: top, Kind: kind, Sync: sync, Start: node32(a[2]), Stride: node32(a[3]),
		Size: node32(a[4]), Root: -1, Sent: length(a[6]), Received: length(a[7]), Notify: -1, Instance: -1,
		NonBlocking: s.name(a[1]) == "non-blocking", Done: -1}
	if int64(a[5]) >= 0 {
		c.Root = node32(a[5])
	}
	switch kind {
	case CollectiveNotify:
		r.notify = int32(r.collectives.len())
	case CollectiveWait:
		c.Notify, r.notify = r.notify, -1
	}
	r.collectives.add(c)
}

// ends notes that the non-blocking collective which was begun at a time has ended in a visit.
func (r *threadLog) ends(begun int64, visit int32) {
	for k := r.collectives.len() - 1; k >= 0; k-- {
		c := r.collectives.at(k)
		if c.Visit < 0 {
			continue
		}
		enter := r.visits.at(int(c.Visit)).enter
		if enter == begun && c.NonBlocking {
			c.Done = visit
		}
		if enter <= begun {
			return
		}
	}
}

// group says who takes part in the last collective.
func (r *threadLog) group(a []uint64) {
	if members := a[2:]; len(members) > 0 { // a[1] is their number
		list := make([]int32, len(members))
		for i, m := range members {
			list[i] = node32(m)
		}
		r.groups[a[0]] = &list
	}
	if n := r.collectives.len(); n > 0 {
		r.collectives.at(n - 1).Nodes = r.groups[a[0]]
	}
}

// correct moves the times to the common clock.
func (r *threadLog) correct(clock *clockMap) {
	each(&r.visits, func(v *visit) { v.enter, v.exit = clock.common(v.enter), clock.common(v.exit) })
	each(&r.locks, func(l *LockEvent) { l.Time = clock.common(l.Time) })
	each(&r.receives, func(x *Receive) { x.Posted = clock.common(x.Posted) })
}

// thread turns what was collected into columns.
func (s *stream) thread(m *Model) Thread {
	r := s.log
	t := Thread{Node: s.Node, Stream: s.ID, Start: s.First, End: s.Last, Last: s.Last, Stray: r.stray,
		Back: r.back}
	if s.Started != None {
		t.Start = min(s.Started, s.First)
	}
	n := r.visits.len()
	t.Enter, t.Exit, t.Site, t.Parent = make([]int64, 0, n), make([]int64, 0, n), make([]uint32, 0, n),
		make([]int32, 0, n)
	each(&r.visits, func(v *visit) {
		if v.exit == None {
			t.Open++
		}
	})
	if t.Open > 0 && s.Finished == None {
		t.End = max(t.End, m.End)
	}
	r.visits.empty(func(list []visit) {
		for _, v := range list {
			if v.exit == None {
				v.exit = max(t.End, v.enter)
			}
			t.Enter, t.Exit, t.Site, t.Parent = append(t.Enter, v.enter), append(t.Exit, v.exit),
				append(t.Site, v.site), append(t.Parent, v.parent)
		}
	})
	t.Collectives = r.collectives.move(make([]Collective, 0, r.collectives.len()))
	t.Transfers = r.transfers.move(make([]Transfer, 0, r.transfers.len()))
	t.Locks = r.locks.move(nil)
	t.Sends = r.sends.move(make([]Send, 0, r.sends.len()))
	t.Receives = r.receives.move(make([]Receive, 0, r.receives.len()))
	if r.done.len() > 0 && len(t.Sends) > 0 {
		t.completes(r.done.move(make([]completion, 0, r.done.len())))
	}
	t.lastTransfers()
	s.log = nil
	return t
}

// Operation tells whether a visit is one of an operation of the run-time system, not of a function of the
// program.
func (m *Model) Operation(site uint32) bool { return m.Codes[m.Sites[site].Code].Kind > trace.Function }

// cutAtLosses ends operations that began before events were lost and, by what was recorded, went on after
// that: their exits are among what was lost, and what follows is not inside of them.
func (t *Thread) cutAtLosses(m *Model, lost []Interval) {
	for _, l := range lost {
		for v := range t.Enter {
			if t.Enter[v] > l.From {
				break
			}
			if t.Exit[v] < l.To || !m.Operation(t.Site[v]) {
				continue
			}
			t.Exit[v] = l.From
			for w := v + 1; w < len(t.Enter); w++ {
				if t.Parent[w] == int32(v) && t.Enter[w] >= l.From {
					t.Parent[w] = t.Parent[v]
				}
			}
		}
	}
}

// CollectiveKind is what a collective operation does.
type CollectiveKind uint8

// Kinds of collectives, see SyncEvents.onCollective.
const (
	CollectiveOther CollectiveKind = iota // one that this package does not know
	CollectiveBarrier
	CollectiveNotify
	CollectiveWait
	CollectiveBroadcast
	CollectiveScatter
	CollectiveGather
	CollectiveReduce
	CollectiveGatherAll
	CollectiveExchange
	CollectivePermute
	CollectiveAllReduce
	CollectiveCollect
	CollectivePrefixReduce
	CollectiveAlloc
	CollectiveFree
	CollectiveStart
	CollectiveFinish
	collectiveKinds
)

var collectiveNames = [collectiveKinds]string{"other", "barrier", "notify", "wait", "broadcast", "scatter",
	"gather", "reduce", "gather-all", "exchange",
	"permute", "all-reduce", "collect", "prefix-reduce", "alloc", "free", "start", "finish"}

func (k CollectiveKind) String() string { return collectiveNames[k] }

func collectiveKind(name string) CollectiveKind {
	return CollectiveKind(max(0, slices.Index(collectiveNames[:], name)))
}

// SyncMode is what a collective waits for on entry or exit.
type SyncMode uint8

// Modes; see the UPC specification on upc_flag_t.
const (
	SyncNone SyncMode = iota // the interface has no modes
	SyncAll
	SyncMy
	SyncNo
)

var syncNames = []string{"", "all", "my", "no"}

// Sync is the modes of a collective.
type Sync struct{ In, Out SyncMode }

func (s Sync) String() string {
	if s == (Sync{}) {
		return ""
	}
	return syncNames[s.In] + "/" + syncNames[s.Out]
}

func parseSync(text string) Sync {
	mode := func(name string) SyncMode { return SyncMode(max(0, slices.Index(syncNames, name))) }
	in, out, _ := strings.Cut(text, "/")
	return Sync{mode(in), mode(out)}
}
