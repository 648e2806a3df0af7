package otf2

import (
	"slices"

	"github.com/whyslow/whyslow/internal/convert/otf2"
	"github.com/whyslow/whyslow/trace"
)

// thread is a location of the process whose events are being read.
type thread struct {
	a      *archive
	n      *node
	s      *trace.Stream // nil before the first event
	worker int
	last   int64 // time of the last event
	serial uint64
	open   []visit // regions
	since  int64   // when it left its last region; only where free
	free   bool    // a thread that is not the first of its process is in no region
	tasking
}

// visit is a region that a thread is in.
type visit struct {
	ref    uint64
	site   trace.Site // 0: it is OpenMP's
	enter  int64
	frame  *frame // of such a one: the construct, or what waits
	locked bool   // the thread has got the lock that it entered the region for
}

func (t *thread) emit(kind trace.Kind, words ...uint64) { t.s.Emit(t.last, kind, words...) }

// end ends the program on the thread.
func (t *thread) end() {
	if t.s == nil {
		return
	}
	for len(t.forks) > 0 {
		t.last = t.n.last // others may have gone on
		t.join()
	}
	for t.implicit != nil {
		t.teamEnd()
	}
	t.emit(trace.KindProgramFinished, 0)
}

// event takes in an event.
func (t *thread) event(r *otf2.Reader) error {
	at, err := t.a.time(r.Words[0])
	if err != nil {
		return err
	}
	if t.s == nil {
		t.s, t.last = t.n.Worker(t.worker, at), at
		if t.n.omp != nil && t.worker == 0 {
			t.begin("serial code at the start").initial = true
		}
	}
	if t.last = max(t.last, at); t.n.omp != nil {
		t.last = max(t.last, t.n.last) // what others did is in the past
	}
	t.n.last = max(t.n.last, t.last)
	if t.n.omp != nil && r.Kind >= otf2.Fork && r.Kind <= otf2.Unlocked {
		return t.openMP(r.Kind, r.Words[1:])
	}
	w := r.Words[1:]
	switch r.Kind {
	case otf2.Enter:
		return t.enter(w[0])
	case otf2.Leave:
		t.leave(w[0])
	case otf2.Send, otf2.Isend:
		number := uint64(0)
		if r.Kind == otf2.Isend {
			number = t.starts()
			if len(t.n.requests) < mostOpen {
				t.n.requests[w[4]] = number
			}
		}
		if to, ok := t.peer(w[1], w[0]); ok {
			t.emit(trace.KindSent, to, w[3], tag(w[2]), w[1], number)
		}
	case otf2.IsendDone, otf2.Cancelled:
		if number, ok := t.n.requests[w[0]]; ok {
			delete(t.n.requests, w[0])
			t.emit(trace.KindCompleted, number)
		} else {
			delete(t.n.posted, w[0])
		}
	case otf2.Posted:
		if len(t.n.posted) < mostOpen {
			t.n.posted[w[0]] = t.post(t.last)
		}
	case otf2.Receive:
		since := t.last
		if n := len(t.open); n > 0 {
			since = t.open[n-1].enter
		}
		t.receive(w, t.post(since))
	case otf2.Ireceive:
		p, ok := t.n.posted[w[4]]
		if !ok {
			p = t.post(t.last)
		}
		delete(t.n.posted, w[4])
		t.receive(w, p)
	case otf2.Collective:
		t.collective(w[0], w[1], w[2], w[3], w[4])
	case otf2.RMACollective:
		if comm, ok := t.a.windows[w[1]]; ok {
			t.collective(w[0], comm, w[2], w[3], w[4])
		}
	case otf2.Put, otf2.Get, otf2.Atomic:
		t.transfer(r.Kind, w)
	case otf2.TransferDone:
		key := [2]uint64{w[0], w[1]}
		if number, ok := t.n.transfers[key]; ok {
			delete(t.n.transfers, key)
			t.emit(trace.KindCompleted, number)
		}
	case otf2.Acquire:
		const exclusive = 0
		if lock := lockOf(w); w[3] == exclusive && len(t.n.held) < mostOpen {
			t.n.held[lock] = true
			t.emit(trace.KindAcquired, lock)
		}
	case otf2.Release:
		if lock := lockOf(w); t.n.held[lock] {
			delete(t.n.held, lock)
			t.emit(trace.KindReleased, lock)
		}
	}
	return nil
}

// tag is a message's, of which some are negative.
func tag(word uint64) uint64 { return uint64(int64(int32(uint32(word)))) }

// lockOf numbers a lock of a window at a process.
func lockOf(w []uint64) uint64 { return w[0]<<40 ^ w[1]<<16 ^ w[2] }

func (t *thread) enter(ref uint64) error {
	if err := limit(len(t.open)+1, mostNested, "open regions in a thread"); err != nil {
		return err
	}
	t.open = append(t.open, visit{ref: ref, enter: t.last})
	v := &t.open[len(t.open)-1]
	if t.n.omp != nil && t.a.regions[ref].paradigm == paradigmOpenMP {
		return t.enterConstruct(v)
	}
	switch {
	case t.n.omp == nil && t.free && t.since < t.last: // only now is it known that there was something to wait
		t.s.Emit(t.since, trace.KindEntered, uint64(t.n.idleSite()))
		t.emit(trace.KindExited, uint64(t.n.idleSite()))
	case t.n.omp != nil && t.now == nil:
		t.begin("thread").alone = true
	default:
		t.settle(true)
	}
	t.free = false
	v.site = t.n.site(t.a, ref)
	t.emit(trace.KindEntered, uint64(v.site))
	return nil
}

// leave leaves a region, and those inside of it whose ends were not recorded.
func (t *thread) leave(ref uint64) {
	at := len(t.open) - 1
	for at >= 0 && t.open[at].ref != ref {
		at--
	}
	if at < 0 {
		return // it was entered before the recording began, or by a task elsewhere
	}
	for len(t.open) > at {
		v := t.open[len(t.open)-1]
		t.open = t.open[:len(t.open)-1]
		if v.site == 0 {
			t.leaveConstruct(&v)
			continue
		}
		t.settle(true)
		if len(t.open) == at {
			t.emit(trace.KindExited, uint64(v.site))
		}
	}
	if len(t.open) == 0 && t.now != nil && t.now.alone {
		t.teamEnd()
	}
	if len(t.open) == 0 && t.worker > 0 {
		t.free, t.since = true, t.last
	}
}

// openMP takes in an event of OpenMP.
func (t *thread) openMP(kind otf2.Kind, w []uint64) error {
	switch kind {
	case otf2.Fork:
		if w[0] == paradigmOpenMP {
			return t.fork()
		}
	case otf2.Join:
		if w[0] == paradigmOpenMP {
			t.join()
		}
	case otf2.TeamBegin:
		return t.teamBegin(w[0])
	case otf2.TeamEnd:
		t.teamEnd()
	case otf2.TaskCreate:
		return t.taskCreate(task{w[0], w[1], w[2]})
	case otf2.TaskSwitch:
		return t.taskSwitch(task{w[0], w[1], w[2]})
	case otf2.TaskEnd:
		t.taskEnd(task{w[0], w[1], w[2]})
	case otf2.Locked:
		return t.locks(w[0], w[1])
	case otf2.Unlocked:
		t.released([2]uint64{w[0] << 32, w[1]})
	}
	return nil
}

// starts numbers a transfer.
func (t *thread) starts() uint64 {
	t.n.number64++
	return t.n.number64
}

// post notes when a receive was posted. Numbers ascend with that time, in all threads of the process.
func (t *thread) post(at int64) posted {
	t.serial++
	return posted{at, uint64(max(at, 0))<<8 | t.serial&255}
}

// peer is the node of a rank of a communicator.
func (t *thread) peer(comm, rank uint64) (uint64, bool) {
	list := t.a.peers(comm, t.n.number)
	if rank >= uint64(len(list)) || list[rank] < 0 {
		return 0, false
	}
	return uint64(list[rank]), true
}

func (t *thread) receive(w []uint64, p posted) {
	if from, ok := t.peer(w[1], w[0]); ok {
		t.emit(trace.KindReceived, from, w[3], tag(w[2]), w[1], p.number, uint64(max(t.last-p.time, 0)))
	}
}

func (t *thread) transfer(kind otf2.Kind, w []uint64) {
	peer, ok := t.peer(t.a.windows[w[0]], w[1])
	if !ok {
		return
	}
	if kind == otf2.Atomic {
		t.emit(trace.KindRemoteAtomic, peer, w[2])
		return
	}
	number := t.starts()
	if len(t.n.transfers) < mostOpen {
		t.n.transfers[[2]uint64{w[0], w[3]}] = number
	}
	k := trace.KindPut
	if kind == otf2.Get {
		k = trace.KindGet
	}
	t.emit(k, peer, w[2], number)
}

// collective says that the region entered last was one.
func (t *thread) collective(op, comm, root, sent, received uint64) {
	list := t.a.peers(comm, t.n.number)
	if len(list) == 0 || len(t.a.comms[comm].groups) != 1 || slices.Contains(list, -1) {
		return
	}
	kind, ok := collectives[op]
	if !ok {
		kind = "other"
	}
	const self = otf2.Undefined - 1
	at := ^uint64(0) // -1: none
	switch {
	case kind == prefixReduce:
		at = uint64(list[0])
	case root < uint64(len(list)):
		at = uint64(list[root])
	case root == self:
		at = uint64(t.n.number)
	}
	stride := int32(1)
	if len(list) > 1 {
		stride = list[1] - list[0]
	}
	for i := 1; i < len(list); i++ {
		if stride < 1 || list[i]-list[i-1] != stride {
			stride = 0
		}
	}
	if len(list) == 1 {
		sent, received = 0, 0
	}
	t.emit(trace.KindCollective, uint64(t.n.Name(kind)), uint64(t.n.Name("")), uint64(list[0]), uint64(stride),
		uint64(len(list)), at, sent, received)
	if stride > 0 {
		return
	}
	words := []uint64{comm, 0}
	if key := (groupOn{comm, uint64(t.worker)}); !t.n.told[key] && len(list) <= trace.MaxList {
		t.n.told[key] = true
		words[1] = uint64(len(list))
		for _, m := range list {
			words = append(words, uint64(m))
		}
	}
	t.emit(trace.KindGroup, words...)
}
