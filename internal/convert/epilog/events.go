package epilog

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"

	"github.com/whyslow/whyslow/internal/model"
)

// event is a record of an event. What else it has depends on its kind.
type event struct {
	time     int64
	location uint32
	kind     uint8
	of       [4]uint32
}

func (e *event) fields() []any {
	const noMetrics = uint8(0)
	switch e.kind {
	case recEnter, recEnterSite:
		return []any{e.of[0], noMetrics}
	case recExit:
		return []any{noMetrics}
	case recCollExit:
		return []any{noMetrics, e.of[0], e.of[1], e.of[2], e.of[3]}
	case recPutStart, recGetStart:
		return []any{e.of[0], e.of[1], e.of[2]}
	case recPutEnd, recGetEnd:
		return []any{e.of[0], e.of[1]}
	}
	return []any{e.of[0]} // of locks
}

// events are those of all threads, in the order of time; those of a thread stay as they were.
func (w *writer) events(ctx context.Context) ([]event, error) {
	var all []event
	for i := range w.m.Regions.Threads {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		t := threadEvents{w: w, t: &w.m.Regions.Threads[i], all: all,
			location: uint32(w.location(i))}
		all = t.append()
	}
	slices.SortStableFunc(all, func(a, b event) int { return cmp.Compare(a.time, b.time) })
	return all, nil
}

// threadEvents turns the visits of a thread, and what happened in them, into events.
type threadEvents struct {
	w         *writer
	t         *model.Thread
	all       []event
	location  uint32
	open      []int32
	transfers []model.Transfer // by visit, like those below
	locks     []model.LockEvent
	colls     []model.Collective
	number    uint32 // of the last transfer
}

// byVisit puts what happened in visits in their order.
func byVisit[T any](all []T, visit func(*T) int32) []T {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b T) int { return cmp.Compare(visit(&a), visit(&b)) })
	return all
}

// in returns those of a visit.
func in[T any](sorted []T, visit func(*T) int32, v int32) []T {
	from := sort.Search(len(sorted), func(i int) bool { return visit(&sorted[i]) >= v })
	n := sort.Search(len(sorted)-from, func(i int) bool { return visit(&sorted[from+i]) > v })
	return sorted[from : from+n]
}

func ofTransfer(x *model.Transfer) int32     { return x.Visit }
func ofLock(x *model.LockEvent) int32        { return x.Visit }
func ofCollective(x *model.Collective) int32 { return x.Visit }

// small is a number of bytes as the format has it.
func small(n int64) uint32 { return uint32(min(max(n, 0), math.MaxUint32)) }

func (x *threadEvents) add(time int64, kind uint8, fields ...uint32) {
	e := event{time: time, location: x.location, kind: kind}
	copy(e.of[:], fields)
	x.all = append(x.all, e)
}

func (x *threadEvents) append() []event {
	t := x.t
	x.transfers, x.locks = byVisit(t.Transfers, ofTransfer), byVisit(t.Locks, ofLock)
	x.colls = byVisit(t.Collectives, ofCollective)
	for v := range t.Enter {
		for len(x.open) > 0 && x.open[len(x.open)-1] != t.Parent[v] {
			x.leave()
		}
		if key, ok := x.w.callSite(t, v); ok {
			x.add(t.Enter[v], recEnterSite, x.w.sites[key])
		} else {
			x.add(t.Enter[v], recEnter, uint32(x.w.m.Sites[t.Site[v]].Code))
		}
		x.open = append(x.open, int32(v))
	}
	for len(x.open) > 0 {
		x.leave()
	}
	return x.all
}

// leave ends the innermost visit: first what happened in it.
func (x *threadEvents) leave() {
	v := x.open[len(x.open)-1]
	x.open = x.open[:len(x.open)-1]
	enter, exit := x.t.Enter[v], x.t.Exit[v]
	for _, m := range in(x.transfers, ofTransfer, v) {
		peer := uint32(m.Peer)
		if m.Kind != model.TransferPut { // an atomic operation reads, and then writes
			x.number++
			x.add(enter, recGetStart, peer, x.number, small(m.Bytes))
			x.add(exit, recGetEnd, peer, x.number)
		}
		if m.Kind != model.TransferGet {
			x.number++
			x.add(enter, recPutStart, peer, x.number, small(m.Bytes))
			x.add(exit, recPutEnd, peer, x.number)
		}
	}
	for _, l := range in(x.locks, ofLock, v) {
		kind := uint8(recRelease)
		if l.Acquire {
			kind = recAcquire
		}
		x.add(l.Time, kind, x.w.lock(l.Lock))
	}
	if c := in(x.colls, ofCollective, v); len(c) > 0 {
		root := uint32(unknown)
		if c[0].Root >= 0 {
			root = uint32(c[0].Root)
		}
		x.add(exit, recCollExit, root, x.w.groups[groupOf(&c[0])], small(c[0].Sent), small(c[0].Received))
		return
	}
	x.add(exit, recExit)
}

// lock numbers locks in the order in which they are met: the format has 32 bits for one.
func (w *writer) lock(id uint64) uint32 {
	n, ok := w.locks[id]
	if !ok {
		n = uint32(len(w.locks))
		w.locks[id] = n
	}
	return n
}
