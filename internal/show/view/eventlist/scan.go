package eventlist

import (
	"context"
	"sync"
	"time"

	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// Looking through the trace for a filter.
//
// What passes a filter is kept per block: how many events, and a bit for each. So it takes at most a bit per
// event of the trace, and any interval of time can be asked about. Only blocks that overlap the interval are
// looked at, in order of time, by goroutines that go on after the answer was given: until all is done, or
// nobody has asked for a while (lease), or the filter is thrown out, or Close. What was found up to then
// stays.

// maxFilters is how many filters are remembered.
const maxFilters = 8

// results are what passes one filter.
type results struct {
	filter *filter

	mu   sync.Mutex
	done []bool // by block
	n    []int32
	bits [][]uint64
	job  *job // the last one; nil: none yet
}

// job looks through the blocks that overlap an interval.
type job struct {
	from, to int64
	lease    *time.Timer // cancels it
	cancel   context.CancelFunc
	over     chan struct{} // closed at the end
	err      error         // to be read after over
}

// resultsOf finds or makes the results of a query's filter.
func (l *List) resultsOf(q *Query) (*results, error) {
	key := q.key()
	l.mu.Lock()
	defer l.mu.Unlock()
	if r, ok := l.filters.Get(key); ok {
		return r, nil
	}
	f, err := l.compile(q)
	if err != nil {
		return nil, err
	}
	r := &results{filter: f, done: make([]bool, len(l.blocks)), n: make([]int32, len(l.blocks)),
		bits: make([][]uint64, len(l.blocks))}
	for i := range l.blocks {
		b := &l.blocks[i]
		if !b.kinds.meets(&f.kinds) || f.nodes != nil && !f.nodes[l.streams[b.stream].node] {
			r.done[i] = true
		} else if !f.needed && b.kinds.within(&f.kinds) {
			r.done[i], r.n[i] = true, b.n
		}
	}
	l.filters.Put(key, r)
	return r, nil
}

func (r *results) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.job != nil {
		r.job.cancel()
	}
}

// blocksOf lists the blocks that may have events from one time to another, both included, in order of time.
func (l *List) blocksOf(from, to int64) []int {
	_, parts := l.all.around(from, to)
	return parts
}

// look returns the events that pass from one time to another, both included, as far as they are known once
// patience is over (0: all): those before frontier. scanned is how much of the interval was looked through.
func (l *List) look(ctx context.Context, r *results, from, to int64, patience time.Duration) (v *view,
	frontier int64, scanned float64, err error) {
	blocks := l.blocksOf(from, to)
	if j := l.start(r, blocks, from, to); j != nil {
		if err := j.wait(ctx, patience); err != nil {
			return nil, 0, 0, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var parts []blockEvents
	frontier = maxTime
	whole, known := 0, 0
	for _, b := range blocks {
		n := int(l.blocks[b].n)
		whole += n
		if !r.done[b] {
			frontier = min(frontier, l.blocks[b].lo)
			continue
		}
		known += n
		if frontier == maxTime && r.n[b] > 0 {
			parts = append(parts, blockEvents{int32(b), r.n[b], r.bits[b]})
		}
	}
	scanned = 1
	if known < whole {
		scanned = float64(known) / float64(whole)
	}
	return newView(l, parts), frontier, scanned, nil
}

// lease is how long a job continues after the last question about it.
const lease = 10 * time.Second

// wait waits until the job has ended, at most for patience; 0 is forever.
func (j *job) wait(ctx context.Context, patience time.Duration) error {
	var late <-chan time.Time
	if patience > 0 {
		late = time.After(patience)
	} else {
		j.lease.Stop()
		defer j.lease.Reset(lease)
	}
	select {
	case <-j.over:
		return j.err
	case <-ctx.Done():
		return ctx.Err()
	case <-late:
		return nil
	}
}

// start makes sure that the blocks are being scanned; it returns nil if that is done.
func (l *List) start(r *results, blocks []int, from, to int64) *job {
	r.mu.Lock()
	defer r.mu.Unlock()
	var left []int
	for _, b := range blocks {
		if !r.done[b] {
			left = append(left, b)
		}
	}
	if len(left) == 0 {
		return nil
	}
	if j := r.job; j != nil && j.from <= from && j.to >= to {
		select {
		case <-j.over:
		default:
			j.lease.Reset(lease)
			return j
		}
	}
	if r.job != nil {
		r.job.cancel()
	}
	ctx, cancel := context.WithCancel(l.ctx)
	j := &job{from: from, to: to, lease: time.AfterFunc(lease, cancel), cancel: cancel,
		over: make(chan struct{})}
	r.job = j
	l.wg.Add(1) // the caller keeps l open
	go func() {
		defer l.wg.Done()
		defer close(j.over)
		defer cancel()
		defer j.lease.Stop()
		j.err = l.scan(ctx, r, left)
	}()
	return j
}

// scan scans blocks. Cancellation is not an error: what was found remains.
func (l *List) scan(ctx context.Context, r *results, left []int) error {
	spaces := make([][]byte, procs.Lanes(0, len(left))) // by worker
	err := procs.Each(ctx, 0, len(left), func(worker, i int) error {
		b := batches.Get().(*trace.Batch)
		defer batches.Put(b)
		e, err := l.read(left[i], b)
		if err != nil {
			return err
		}
		n, bits, space := r.filter.match(&e, spaces[worker])
		spaces[worker] = space
		r.mu.Lock()
		defer r.mu.Unlock()
		r.done[left[i]], r.n[left[i]], r.bits[left[i]] = true, n, bits
		return nil
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}
