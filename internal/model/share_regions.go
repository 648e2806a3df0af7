package model

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// What processes tell each other of regions.
//
// Every model has all threads, in the same order: those of own nodes whole, of each other one a shadow. So
// collectives are put together and locks followed by everybody alike, by the code of one process, and what
// patterns look at then is here as well:
//
//   - collectives and locks, all of them, and the visits they are in;
//   - the visits inside of these, which are not their own time, and those around all of these, for their call
//     paths;
//   - before each collective, the last operation: it tells whether the thread had just left a barrier.
//
// Other visits and all transfers are not. A process needs memory for its own threads and everybody's
// collectives and locks: some 90 bytes for each collective with its visit. Which of the threads came last is
// known only with all.
//
// Shadows are made of threads as they stand in the model, so that clocks, losses and visits that never ended
// are dealt with by those who know all of them. Only where clocks are repaired (regions_clocks.go)
// collectives and locks are told before, with raw times, to the process that does it.

// wireThread is a thread with collectives and locks as columns.
type wireThread struct {
	Node, Stream      int
	Start, End, Last  int64
	Open, Stray, Back int
	Lossy             bool

	// By visit.
	Enter []int64 // since the one before
	Exit  []int64 // since Enter
	Site  []uint32
	Above []int32 // visit - parent, which is -1 for none

	// By collective, as in Collective.
	Visit                     []int32
	Kind, In, Out             []byte
	First, Stride, Size, Root []int32
	Sent, Received            []int64
	Notify                    []int32

	// By event of a lock.
	LockVisit []int32
	Acquire   []bool
	Lock      []uint64
	LockTime  []int64 // since the one before
}

// wire makes of a thread what others are told: all of it but transfers.
func (t *Thread) wire() *wireThread {
	w := &wireThread{Node: t.Node, Stream: t.Stream, Start: t.Start, End: t.End, Last: t.last, Open: t.Open,
		Stray: t.Stray, Back: t.Back, Lossy: t.lossy,
		Site: t.Site, Enter: make([]int64, len(t.Enter)), Exit: make([]int64, len(t.Enter)),
		Above: make([]int32, len(t.Parent))}
	last := int64(0)
	for v, enter := range t.Enter {
		w.Enter[v], w.Exit[v], last = enter-last, t.Exit[v]-enter, enter
	}
	for v, p := range t.Parent {
		w.Above[v] = int32(v) - p
	}
	for i := range t.Collectives {
		c := &t.Collectives[i]
		w.Visit, w.Kind, w.In, w.Out = append(w.Visit, c.Visit), append(w.Kind, byte(c.Kind)),
			append(w.In, byte(c.Sync.In)), append(w.Out, byte(c.Sync.Out))
		w.First, w.Stride, w.Size, w.Root = append(w.First, c.Start), append(w.Stride, c.Stride),
			append(w.Size, c.Size), append(w.Root, c.Root)
		w.Sent, w.Received, w.Notify = append(w.Sent, c.Sent), append(w.Received, c.Received),
			append(w.Notify, c.Notify)
	}
	last = 0
	for i := range t.Locks {
		l := &t.Locks[i]
		w.LockVisit, w.Acquire, w.Lock, w.LockTime = append(w.LockVisit, l.Visit), append(w.Acquire, l.Acquire),
			append(w.Lock, l.Lock), append(w.LockTime, l.Time-last)
		last = l.Time
	}
	return w
}

// thread is the inverse of wire.
func (w *wireThread) thread() Thread {
	t := Thread{Node: w.Node, Stream: w.Stream, Start: w.Start, End: w.End, last: w.Last, Open: w.Open,
		Stray: w.Stray, Back: w.Back, lossy: w.Lossy,
		Site: w.Site, Enter: w.Enter, Exit: w.Exit, Parent: w.Above, Collectives: make([]Collective, len(w.Visit)),
		Locks: make([]LockEvent, len(w.LockVisit))}
	last := int64(0)
	for v := range t.Enter {
		last += t.Enter[v]
		t.Enter[v], t.Exit[v] = last, last+t.Exit[v]
	}
	for v := range t.Parent {
		t.Parent[v] = int32(v) - t.Parent[v]
	}
	for i := range t.Collectives {
		t.Collectives[i] = Collective{Visit: w.Visit[i], Kind: CollectiveKind(w.Kind[i]),
			Sync:  Sync{SyncMode(w.In[i]), SyncMode(w.Out[i])},
			Start: w.First[i], Stride: w.Stride[i], Size: w.Size[i], Root: w.Root[i], Sent: w.Sent[i],
			Received: w.Received[i], Notify: w.Notify[i], Instance: -1}
	}
	last = 0
	for i := range t.Locks {
		last += w.LockTime[i]
		t.Locks[i] = LockEvent{Visit: w.LockVisit[i], Acquire: w.Acquire[i], Lock: w.Lock[i], Time: last,
			Link: LockRef{-1, -1}}
	}
	return t
}

// shadow leaves out of a thread what others need not know.
func (t *Thread) shadow(m *Model) Thread {
	const (
		kept       = 1 + iota
		inside     // with all that is inside of it
		collective // likewise
	)
	keep := make([]byte, len(t.Enter))
	with := func(v int32, as byte) {
		if v < 0 {
			return
		}
		if keep[v] < inside {
			for w := v + 1; int(w) < len(keep) && t.Parent[w] >= v; w++ {
				keep[w] = max(keep[w], inside)
			}
		}
		keep[v] = max(keep[v], as)
	}
	for i := range t.Locks {
		with(t.Locks[i].Visit, inside)
	}
	for i := range t.Collectives {
		with(t.Collectives[i].Visit, collective)
	}
	operation := func(v int32) bool {
		k := m.Codes[m.Sites[t.Site[v]].Code].Kind
		return keep[v] == collective || k > trace.Function && k <= trace.Runtime
	}
	for i := range t.Collectives {
		v := t.Collectives[i].Visit - 1
		for v >= 0 && !operation(v) {
			v--
		}
		if v >= 0 {
			keep[v] = max(keep[v], kept)
		}
	}
	n := 0
	for v := len(keep) - 1; v >= 0; v-- {
		if keep[v] == 0 {
			continue
		}
		n++
		if p := t.Parent[v]; p >= 0 {
			keep[p] = max(keep[p], kept)
		}
	}
	out := Thread{Node: t.Node, Stream: t.Stream, Start: t.Start, End: t.End, Open: t.Open, Stray: t.Stray,
		Back: t.Back, lossy: t.lossy, last: t.last,
		Enter: make([]int64, 0, n), Exit: make([]int64, 0, n), Site: make([]uint32, 0, n),
		Parent:      make([]int32, 0, n),
		Collectives: slices.Clone(t.Collectives), Locks: slices.Clone(t.Locks)}
	place := make([]int32, len(keep))
	to := func(v int32) int32 {
		if v < 0 {
			return v
		}
		return place[v]
	}
	for v := range keep {
		if keep[v] == 0 {
			continue
		}
		place[v] = int32(len(out.Enter))
		out.Enter, out.Exit, out.Site, out.Parent = append(out.Enter, t.Enter[v]), append(out.Exit, t.Exit[v]),
			append(out.Site, t.Site[v]), append(out.Parent, to(t.Parent[v]))
	}
	for i := range out.Collectives {
		out.Collectives[i].Visit = to(out.Collectives[i].Visit)
	}
	for i := range out.Locks {
		out.Locks[i].Visit = to(out.Locks[i].Visit)
	}
	return out
}

// tellRegions tells everybody of the threads here, and puts together what they did.
func (h *sharing) tellRegions() error {
	m := h.m
	entered := false
	for k := range m.Count {
		entered = entered || m.Count[k] > 0 && isRegionKind(trace.Kind(k))
	}
	if !entered {
		return nil
	}
	r := m.Regions
	if r == nil {
		r = &Regions{}
	}
	var own []*wireThread
	for i := range r.Threads {
		t := r.Threads[i].shadow(m)
		own = append(own, t.wire())
	}
	in, err := procs.AllGather(h.g, procs.Encode(&own))
	if err != nil {
		return err
	}
	in[h.rank] = nil
	shadows, err := threadsOf(in)
	if err != nil {
		return err
	}
	r.Threads = inOrderOfNodes(append(r.Threads, shadows...))
	if len(r.Threads) == 0 {
		return nil
	}
	m.Regions = r
	m.pairRegions()
	return nil
}

// gatherThreads brings the threads of all processes to the first.
func (h *sharing) gatherThreads(own []Thread) ([]Thread, error) {
	var list []*wireThread
	for i := range own {
		list = append(list, own[i].wire())
	}
	in, err := procs.Gather(h.g, 0, procs.Encode(&list))
	if err != nil || h.rank != 0 {
		return nil, err
	}
	all, err := threadsOf(in)
	return inOrderOfNodes(all), err
}

// threadsOf reads what processes told of threads, and gives it up.
func threadsOf(in [][]byte) (all []Thread, err error) {
	for rank, b := range in {
		if len(b) == 0 {
			continue
		}
		in[rank] = nil
		var list []*wireThread
		if err := procs.Decode(b, &list); err != nil {
			return nil, procs.Told(rank, err)
		}
		for i, w := range list {
			all, list[i] = append(all, w.thread()), nil
		}
	}
	return all, nil
}

func inOrderOfNodes(list []Thread) []Thread {
	slices.SortStableFunc(list, func(x, y Thread) int {
		return cmp.Or(cmp.Compare(x.Node, y.Node), cmp.Compare(x.Stream, y.Stream))
	})
	return list
}

type wirePlaces struct {
	Codes    []Code
	Sites    []Site
	Problems []string
}

// tellPlaces turns addresses into functions and lines: by the files that one process finds, whatever the
// others would.
func (h *sharing) tellPlaces() error {
	m := h.m
	var b []byte
	if h.rank == 0 {
		problems := h.b.resolve(h.r.Path())
		b = procs.Encode(&wirePlaces{m.Codes, m.Sites, problems})
	}
	b, err := procs.Broadcast(h.g, 0, b)
	if err != nil {
		return err
	}
	var w wirePlaces
	if err := procs.Decode(b, &w); err != nil {
		return procs.Told(0, err)
	}
	m.Codes, m.Sites, m.Problems = w.Codes, w.Sites, append(w.Problems, m.Problems...)
	return nil
}
