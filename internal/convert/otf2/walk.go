package otf2

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// walk writes the events of one location, in the order of time.
type walk struct {
	x     *exporter
	out   sink
	t     *model.Thread // nil: it has no regions
	start int64

	posted      []int32 // receives that are not blocking, as they were posted
	sends       map[int32][]int32
	done        map[int32][]int32 // sends, by the visit that waited for them
	receives    map[int32][]int32
	collectives map[int32]int32
	transfers   map[int32][]int32
	locks       map[int32][]int32
	number      uint64 // of the last transfer that had none
}

func newWalk(x *exporter, l *lane, out sink) *walk {
	w := &walk{x: x, out: out, t: l.thread, start: x.m.Start, sends: map[int32][]int32{},
		done:     map[int32][]int32{},
		receives: map[int32][]int32{}, collectives: map[int32]int32{}, transfers: map[int32][]int32{},
		locks: map[int32][]int32{}, number: 1 << 62}
	t := l.thread
	if t == nil {
		return w
	}
	for i := range t.Sends {
		s := &t.Sends[i]
		if s.Signal() {
			continue // of OTF2's own events, none says this
		}
		w.sends[s.Visit] = append(w.sends[s.Visit], int32(i))
		if s.Number > 0 && s.Done >= 0 {
			w.done[s.Done] = append(w.done[s.Done], int32(i))
		}
	}
	for i := range t.Receives {
		r := &t.Receives[i]
		if r.Signal() {
			continue
		}
		w.receives[r.Visit] = append(w.receives[r.Visit], int32(i))
		if w.early(r) {
			w.posted = append(w.posted, int32(i))
		}
	}
	slices.SortStableFunc(w.posted, func(a, b int32) int {
		x, y := &t.Receives[a], &t.Receives[b]
		return cmp.Or(cmp.Compare(x.Posted, y.Posted), cmp.Compare(x.Number, y.Number))
	})
	for i := range t.Collectives {
		c := &t.Collectives[i]
		if _, ok := operations[c.Kind]; ok && c.Visit >= 0 && len(membersOf(c)) > 0 && !c.NonBlocking {
			w.collectives[c.Visit] = int32(i)
		}
	}
	for i := range t.Transfers {
		w.transfers[t.Transfers[i].Visit] = append(w.transfers[t.Transfers[i].Visit], int32(i))
	}
	for i := range t.Locks {
		w.locks[t.Locks[i].Visit] = append(w.locks[t.Locks[i].Visit], int32(i))
	}
	return w
}

// operations are the collectives, as in OTF2_Events.h. Others have times only.
var operations = map[model.CollectiveKind]uint64{model.CollectiveBarrier: 0, model.CollectiveWait: 0,
	model.CollectiveBroadcast: 1, model.CollectiveGather: 2, model.CollectiveScatter: 4,
	model.CollectiveGatherAll: 6,
	model.CollectiveExchange:  8, model.CollectiveAllReduce: 11, model.CollectiveReduce: 12,
	model.CollectivePrefixReduce: 14, model.CollectiveAlloc: 19, model.CollectiveFree: 20}

// early tells of a receive that was posted before the call in which it arrived.
func (w *walk) early(r *model.Receive) bool { return r.Visit >= 0 && r.Posted < w.t.Enter[r.Visit] }

// around tells whether a visit without length is inside of another one that ends when it begins.
func (w *walk) around(outer, v visit) bool {
	if w.t == nil || outer.number < 0 || v.number < 0 {
		return false
	}
	for p := w.t.Parent[v.number]; p >= 0; p = w.t.Parent[p] {
		if p == outer.number {
			return true
		}
	}
	return false
}

func (w *walk) at(t int64) uint64 { return uint64(max(t-w.start, 0)) }

// posts writes which receives were posted up to a time.
func (w *walk) posts(until int64) {
	for len(w.posted) > 0 && w.t.Receives[w.posted[0]].Posted <= until {
		r := &w.t.Receives[w.posted[0]]
		w.out.put(Posted, w.at(r.Posted), r.Number)
		w.posted = w.posted[1:]
	}
}

func (w *walk) enter(v *visit) {
	w.posts(v.from - 1)
	at := w.at(v.from)
	w.out.put(Enter, at, v.region)
	if v.number < 0 {
		return
	}
	for _, i := range w.sends[v.number] {
		s := &w.t.Sends[i]
		to, comm, tag, bytes := uint64(s.Peer), w.x.comms[s.Comm], uint64(uint32(s.Tag)), uint64(s.Bytes)
		if s.Number == 0 {
			w.out.put(Send, at, to, comm, tag, bytes)
		} else {
			w.out.put(Isend, at, to, comm, tag, bytes, s.Number)
		}
	}
	for _, i := range w.transfers[v.number] {
		x := &w.t.Transfers[i]
		peer, bytes := uint64(x.Peer), uint64(x.Bytes)
		number := x.Number
		if number == 0 {
			w.number++
			number = w.number
		}
		switch x.Kind {
		case model.TransferPut:
			w.out.put(Put, at, 0, peer, bytes, number)
		case model.TransferGet:
			w.out.put(Get, at, 0, peer, bytes, number)
		default:
			w.out.put(Atomic, at, 0, peer, bytes, number)
		}
		if x.Number == 0 {
			w.out.put(TransferDone, at, 0, number)
		}
	}
	if _, ok := w.collectives[v.number]; ok && w.x.mpi {
		w.out.put(CollectiveBegin, at)
	} else if ok {
		w.out.put(RMACollectiveBegin, at)
	}
}

func (w *walk) leave(v *visit) {
	at := w.at(v.to)
	w.posts(v.to)
	if v.number < 0 {
		w.out.put(Leave, at, v.region)
		return
	}
	const exclusive, nobody = 0, Undefined
	for _, i := range w.locks[v.number] {
		if l := &w.t.Locks[i]; l.Acquire {
			w.out.put(Acquire, at, 0, nobody, l.Lock, exclusive)
		} else {
			w.out.put(Release, at, 0, nobody, l.Lock)
		}
	}
	for _, i := range w.done[v.number] {
		w.out.put(IsendDone, at, w.t.Sends[i].Number)
	}
	for _, i := range w.receives[v.number] {
		r := &w.t.Receives[i]
		from, comm, tag, bytes := uint64(r.Peer), w.x.comms[r.Comm], uint64(uint32(r.Tag)), uint64(r.Bytes)
		if w.early(r) {
			w.out.put(Ireceive, at, from, comm, tag, bytes, r.Number)
		} else {
			w.out.put(Receive, at, from, comm, tag, bytes)
		}
	}
	if i, ok := w.collectives[v.number]; ok {
		c := &w.t.Collectives[i]
		members := membersOf(c)
		root := rootNone
		if k := slices.Index(members, c.Root); k >= 0 && c.Kind != model.CollectivePrefixReduce {
			root = uint64(k)
		}
		kind := RMACollective
		if w.x.mpi {
			kind = Collective
		}
		w.out.put(kind, at, operations[c.Kind], w.x.groups[keyOf(members)], root, uint64(c.Sent),
			uint64(c.Received))
	}
	w.out.put(Leave, at, v.region)
}
