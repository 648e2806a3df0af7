package division

import (
	"context"
	"iter"
	"sort"
	"sync"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// Regions. What is lost in collectives and at locks is found by patterns, which look at all threads at once; of a run with regions the time
// is not divided event by event. A model of what had arrived is made from time to time (Take), and its division stands for that part of the
// run; what comes after it is not known yet: row "undivided".
//
// In a model of half a run the end of each thread is something else than it will be: a thread that waits in a barrier waits for nobody as
// long as the others' events have not arrived. So of a run of regions alone only what stays as it is is taken over (settled).

// undivided is the row of what is not known.
const undivided = factors

// rowSums are nanoseconds by row.
type rowSums [factors + 1]int64

// taken is what a model said.
type taken struct {
	null    [slou.FactorLoss]bool // factors that cannot be computed
	workers map[model.WorkerID]*ledger
}

// Regions tells whether regions have come, so that the time is divided only as far as Take has told.
func (d *Division) Regions() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.regions
}

// Take takes over how a model of what had arrived divides the time of a run with regions, in place of what it was given before. walk
// hands over the pieces of that model, of all of the run. It fails when ctx ends.
func (d *Division) Take(ctx context.Context, m *model.Model, walk slou.Walk) error {
	if m.Count[trace.KindEntered] == 0 {
		return nil // it is of a time before the first
	}
	until := settled(m)
	t := &taken{slou.Null(m), map[model.WorkerID]*ledger{}}
	var mu sync.Mutex
	err := walk(ctx, func(id model.WorkerID, pieces iter.Seq[[]slou.Piece]) {
		l := &ledger{at: m.Start, until: until(id)}
		for list := range pieces {
			for i := range list {
				l.add(&list[i])
			}
		}
		l.p.flush()
		mu.Lock()
		defer mu.Unlock()
		t.workers[id] = l
	})
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.taken = t
	return nil
}

// sums adds up a worker's time by row until t.
func (d *Division) sums(w *worker, t int64) (sum rowSums) {
	if !d.regions {
		known := w.upTo(t)
		copy(sum[:], known[:])
		return sum
	}
	sum[undivided] = t - d.start
	if d.taken == nil {
		return sum
	}
	l := d.taken.workers[model.WorkerID{Node: w.node.number, Worker: w.number}]
	if l == nil {
		return sum
	}
	known, before := l.upTo(t), l.upTo(d.start)
	known.sub(&before)
	for f, ns := range known {
		if f == int(slou.FactorLoss) || !d.taken.null[f] {
			sum[f] = ns
			sum[undivided] -= ns
		}
	}
	return sum
}

// ledger is the time of one worker as a model tells it.
type ledger struct {
	at, until int64 // how far it goes, and may go
	p         pieces
	marks     []mark
	count     int // of pieces since the last mark
}

// mark is a place in a ledger where reading may begin.
type mark struct {
	at     int64
	offset int
	sum    amounts
}

// markEvery is how many pieces are read at most to find a moment.
const markEvery = 128

// add appends a piece, which begins where the last one ended.
func (l *ledger) add(p *slou.Piece) {
	if p.From != l.at || l.at >= l.until {
		return
	}
	if l.count%markEvery == 0 {
		l.p.flush()
		l.marks = append(l.marks, mark{l.at, len(l.p.out), l.p.sum})
	}
	l.count++
	to := min(p.To, l.until)
	l.p.add(p.Factor, to-l.at)
	l.at = to
}

// upTo adds up the time until t, or as far as it is known.
func (l *ledger) upTo(t int64) (sum amounts) {
	i := sort.Search(len(l.marks), func(i int) bool { return l.marks[i].at > t })
	if i == 0 {
		return sum
	}
	k := &l.marks[i-1]
	sum = k.sum
	upTo(l.p.out[k.offset:], k.at, t, &sum)
	return sum
}

// settled tells of each worker up to when its division stays as it is, whatever comes.
//
// Of a run of regions alone that is the time up to which the events of all threads have arrived. An operation that goes on at that time may
// turn out to be one that waited for somebody, so a worker's time is settled up to its beginning, and the same holds of a collective
// that others have not come to. Where there are CFs the rest of the rule is right for what has arrived, so all is taken.
func settled(m *model.Model) func(model.WorkerID) int64 {
	if m.Regions == nil || !slou.OnlyRegions(m) {
		return func(model.WorkerID) int64 { return m.End }
	}
	common := m.End
	for n := range m.Nodes {
		for i := range m.Nodes[n].Workers {
			if w := &m.Nodes[n].Workers[i]; w.Finished == model.None {
				common = min(common, max(w.Last, m.Start))
			}
		}
	}
	r := m.Regions
	until := make([]int64, len(m.Nodes))
	for n := range until {
		until[n] = common
	}
	pending := func(t *model.Thread, c *model.Collective) {
		if c.Visit >= 0 {
			until[t.Node] = min(until[t.Node], t.Enter[c.Visit])
		}
	}
	for _, u := range r.Unfinished {
		for _, e := range u.Came {
			pending(&r.Threads[e.Thread], r.Record(e))
		}
	}
	for i := range r.Threads {
		t := &r.Threads[i]
		for k := range t.Collectives {
			if c := &t.Collectives[k]; int(c.Size) > len(m.Nodes) { // of some members not even the names have come
				pending(t, c)
				break
			}
		}
	}
	for i := range r.Threads {
		if t := &r.Threads[i]; t.Stream < len(m.Nodes[t.Node].Workers) {
			until[t.Node] = min(until[t.Node], outside(m, t, until[t.Node]))
		}
	}
	return func(id model.WorkerID) int64 { return until[id.Node] }
}

// outside gives the beginning of the operation in which a thread is at a time; that time itself where it is in none.
func outside(m *model.Model, t *model.Thread, at int64) int64 {
	v := int32(sort.Search(len(t.Enter), func(i int) bool { return t.Enter[i] >= at })) - 1
	for ; v >= 0; v = t.Parent[v] {
		if t.Exit[v] >= at && m.Operation(t.Site[v]) {
			at = t.Enter[v]
		}
	}
	return at
}
