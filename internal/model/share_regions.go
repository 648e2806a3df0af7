package model

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// What processes tell each other of regions. Every model has all threads, in the same order: those of own
// nodes whole, of each other one a shadow. So everybody pairs collectives and follows locks alike, by the
// code of one process. A shadow has what patterns look at:
//
//   - collectives and locks, all of them, and the visits they are in;
//   - messages, and the visits they are sent, received and completed in;
//   - the visits inside of these, which are not their own time, and those around them, for their call paths;
//   - before each collective, the last operation: it tells whether the thread had just left a barrier.
//
// Shadows are made of threads as they stand in the model: those who know everything of a thread deal with its
// clock, its losses and visits that never ended. Only where clocks are repaired (regions_clocks.go)
// does the process that repairs them get collectives and locks before, with raw times.

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
		with(t.Collectives[i].Done, collective)
	}
	for i := range t.Sends {
		with(t.Sends[i].Visit, inside)
		with(t.Sends[i].Done, inside)
	}
	for i := range t.Receives {
		with(t.Receives[i].Visit, inside)
		if v, ok := slices.BinarySearch(t.Enter, t.Receives[i].Posted); ok && t.Receives[i].Tag == tagPost {
			with(int32(v), inside) // MPI_Win_start
		}
	}
	operation := func(v int32) bool {
		k := m.Codes[m.Sites[t.Site[v]].Code].Kind
		return keep[v] == collective || k > trace.Function
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
	out := *t
	out.Enter, out.Exit, out.Site, out.Parent = make([]int64, 0, n), make([]int64, 0, n), make([]uint32, 0, n),
		make([]int32, 0, n)
	out.Collectives, out.Locks = slices.Clone(t.Collectives), slices.Clone(t.Locks)
	out.Sends, out.Receives = slices.Clone(t.Sends), slices.Clone(t.Receives)
	out.Transfers = nil
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
		out.Collectives[i].Visit, out.Collectives[i].Done = to(out.Collectives[i].Visit),
			to(out.Collectives[i].Done)
	}
	for i := range out.Locks {
		out.Locks[i].Visit = to(out.Locks[i].Visit)
	}
	for i := range out.Sends {
		out.Sends[i].Visit, out.Sends[i].Done = to(out.Sends[i].Visit), to(out.Sends[i].Done)
	}
	for i := range out.Receives {
		out.Receives[i].Visit = to(out.Receives[i].Visit)
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
	var shadows []Thread
	for i := range r.Threads {
		shadows = append(shadows, r.Threads[i].shadow(m))
	}
	all, err := procs.AllOf(h.g, shadows)
	if err != nil {
		return err
	}
	all[h.rank] = r.Threads
	r.Threads = inOrderOfNodes(slices.Concat(all...))
	if len(r.Threads) == 0 {
		return nil
	}
	m.Regions = r
	m.pairRegions()
	return nil
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
	NoPlaces string
}

// tellPlaces turns addresses into functions and lines: by the files that one process finds, whatever the
// others would.
func (h *sharing) tellPlaces() error {
	m := h.m
	var own wirePlaces
	if h.rank == 0 {
		noPlaces := h.b.resolve(h.r.Path())
		own = wirePlaces{m.Codes, m.Sites, noPlaces}
	}
	w, err := procs.FromMember(h.g, 0, own)
	if err != nil {
		return err
	}
	m.Codes, m.Sites, m.NoPlaces = w.Codes, w.Sites, w.NoPlaces
	return nil
}
