package live

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sort"
	"time"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/internal/memory"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// How snapshots are made: in the background while somebody watches, and of parts of runs too long for one.

const (
	// coreShare is how much of one core the snapshots of a live run may take.
	coreShare = 0.2
	// snapshotBytes is the memory an event takes in a snapshot with all that is derived from it.
	// BenchmarkSnapshot measures it: 61 to 76 where every property is asked for.
	snapshotBytes = 80
	// heldBytes is what is left of that in memory where the columns are on disk, and spilledBytes what they take
	// there.
	heldBytes    = 8
	spilledBytes = 80
	// keepParts is how many snapshots of parts are kept beside the newest.
	keepParts = 2
)

// ErrNothingYet says that a run has only begun, so that there is no snapshot of it.
var ErrNothingYet = errors.New("nothing has arrived of this run yet")

// Memory that a snapshot takes beside that for its events, in bytes.
const (
	nodeBytes   = 384 // of a node, up to the highest number of one
	streamBytes = 2 << 10
	startBytes  = 8 << 10 // of a stream, while the snapshot is made
)

// limit is the number of events that one snapshot may have.
func (r *Run) limit() uint64 { return uint64(r.opt.Memory / (1 + keepParts) / snapshotBytes) }

// Ready tells whether the run has a snapshot that questions are answered from at once.
func (r *Run) Ready() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.snap != nil
}

// canSpill tells whether a snapshot with so many events can have its columns on disk.
func (r *Run) canSpill(events uint64) bool {
	return r.opt.Spill && events <= uint64(r.opt.Memory/4*3/heldBytes) && r.onDisk(events)
}

// onDisk tells whether there is room on disk for so many events.
func (r *Run) onDisk(events uint64) bool {
	return memory.CanSpill(int64(events)*spilledBytes, memory.SpillDirs(r.dir)...)
}

// refresh starts making a snapshot if there is something new, it is time, and either somebody watches or a
// long run is about to outgrow what its history knows.
func (r *Run) refresh() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.making != nil || r.tooLarge != nil || r.snap != nil && r.snap.arrived == r.arrived {
		return
	}
	if outgrown := r.status.Events > r.seen+r.limit()/2; !outgrown && time.Since(r.watched) > unwatched {
		return
	}
	if pause := time.Duration(float64(r.pace) * (1/coreShare - 1)); time.Since(r.made) < pause {
		return
	}
	r.startMaking()
}

// making is a snapshot that is being made.
type making struct {
	done      chan struct{} // closed when it is there
	over      chan struct{} // closed when older parts of a long run are divided, too
	arrived   uint64        // as Run.arrived when it was begun
	happening bool          // the run was live then
}

// startMaking makes the newest snapshot in the background; the caller holds mu.
func (r *Run) startMaking() {
	arrived, happening, parallel := r.arrived, r.status.State == StateLive, 0
	is := &making{make(chan struct{}), make(chan struct{}), arrived, happening}
	r.making = is
	r.seen = r.status.Events
	var asked *counters.Properties // those of the snapshot before, nil: nobody did
	if happening && r.snap != nil {
		parallel = 1 // it must not crowd out the program
		asked = r.snap.static.now()
	}
	r.wg.Go(func() {
		began, cpu := time.Now(), clock.ProcessCPU()
		var s *Snapshot
		err := procs.Guard(func() (err error) {
			s, err = r.build(nil, happening, parallel)
			return err
		})
		if err == nil && happening {
			_, _ = s.Timeline() // the page asks for it at once, and gets the error
			if asked != nil {
				if p, err := s.Properties(); err == nil {
					p.PrepareLike(asked)
				}
			}
		}
		if err == nil {
			s.arrived = arrived
			s.refs.Add(1)
			r.mu.Lock()
			r.replace(s)
			if r.status.State != StateLive && s.whole() {
				r.status.WallNS, r.status.Lost = s.Model.Wall(), s.Model.LostCount
			}
			r.mu.Unlock()
		}
		close(is.done)
		if err == nil {
			r.update(func(st *Status) { st.SnapshotNS = s.Span.To })
			_ = procs.Guard(func() error { r.remember(s); return nil }) // what is not kept is not known
			s.Release()
		}
		// Other programs take turns on the processor, and this process has other work.
		took := min(time.Since(began), time.Duration(clock.ProcessCPU()-cpu))
		r.mu.Lock()
		r.making, r.pace, r.made = nil, took, time.Now()
		r.mu.Unlock()
		close(is.over)
	})
}

// replace makes a snapshot the newest; the caller holds mu.
func (r *Run) replace(s *Snapshot) {
	if r.snap != nil {
		r.snap.Release()
	}
	if s != nil && s.ctx.Err() != nil { // given up meanwhile
		s.Release()
		s = nil
	}
	r.snap = s
}

// rest gives up the snapshots if nobody asked for one for some time or is using one still, and returns
// whether that is so.
func (r *Run) rest(after time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.making != nil || time.Since(r.watched) < after || r.snap != nil && r.snap.refs.Load() > 1 {
		return false
	}
	r.drop()
	r.tooLarge = nil // others may take less by now
	return true
}

// drop gives up the snapshots, of which those in use stay valid, and sums; the caller holds mu.
func (r *Run) drop() {
	if r.snap != nil {
		r.snap.Release()
	}
	for _, p := range r.parts {
		p.Release()
	}
	r.snap, r.parts, r.long = nil, nil, nil
}

// Snapshot gives the newest snapshot, and waits for the first one. If the run is too long for one, it has
// the newest part. The caller releases it. It fails with ErrNothingYet, if the trace cannot be read, or when
// ctx ends.
func (r *Run) Snapshot(ctx context.Context) (*Snapshot, error) {
	r.Watch()
	for tried := false; ; {
		r.mu.Lock()
		if r.closed {
			r.mu.Unlock()
			return nil, context.Canceled
		}
		if r.tooLarge != nil {
			r.mu.Unlock()
			return nil, r.tooLarge
		}
		if r.snap != nil && (tried || !r.stale(r.snap.arrived, r.snap.happening)) {
			s := r.snap
			s.refs.Add(1)
			r.mu.Unlock()
			return s, nil
		}
		if tried {
			r.mu.Unlock()
			return nil, r.why()
		}
		if r.making == nil {
			r.startMaking()
		}
		made, stale := r.making.done, r.stale(r.making.arrived, r.making.happening)
		if stale { // the next one will do
			made = r.making.over
		}
		r.mu.Unlock()
		tried = !stale
		select {
		case <-made:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// stale says whether a snapshot does not do because it was begun before the run was over: of such a run no
// more are made in the background. The caller holds mu.
func (r *Run) stale(arrived uint64, happening bool) bool {
	return r.status.State != StateLive && (happening || arrived != r.arrived)
}

// Prepare computes in the background what the first views of a finished run will ask for.
func (r *Run) Prepare() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.status.State == StateLive {
		return
	}
	r.wg.Go(func() {
		s, err := r.Snapshot(r.ctx)
		if err != nil {
			return // whoever asks gets the error
		}
		defer s.Release()
		if _, err := s.Timeline(); err != nil || !s.whole() {
			return
		}
		if _, err := s.Report("en"); err == nil {
			_, _ = s.Balance() // likewise
		}
	})
}

// why says why there is no snapshot.
func (r *Run) why() error {
	if st, _ := r.Status(); st.State == StateLive { // its files will come
		return fmt.Errorf("%s: %w", r.dir, ErrNothingYet)
	}
	reader, err := trace.OpenWith(r.dir, trace.OpenOptions{NoDefs: true})
	if err == nil {
		reader.Close()
		return fmt.Errorf("%s: %w", r.dir, ErrNothingYet)
	}
	return err
}

// SnapshotIn gives a snapshot with the events of an interval, in nanoseconds since the start of the run. If
// they do not fit into memory, it has as many as do, from the beginning of the interval. The caller releases
// it. It fails as Snapshot does.
func (r *Run) SnapshotIn(ctx context.Context, from, to int64) (*Snapshot, error) {
	newest, err := r.Snapshot(ctx)
	if err != nil || newest.Span.From <= from || to <= from {
		return newest, err
	}
	defer newest.Release()
	return r.part(from, to, func() (in *trace.Span, full bool) { return r.around(newest, from, to) })
}

// Whole gives a snapshot of the whole run even where that takes more than a run may take by itself, but no
// more than half of the budget of the process; else the newest one. The caller releases it. It fails as
// Snapshot does.
func (r *Run) Whole(ctx context.Context) (*Snapshot, error) {
	newest, err := r.Snapshot(ctx)
	if err != nil || newest.happening || newest.whole() ||
		int64(newest.Reader.Events()) > int64(r.shared.budget)/2/snapshotBytes {
		return newest, err
	}
	defer newest.Release()
	return r.part(0, newest.Model.Wall(), func() (in *trace.Span, full bool) {
		all := newest.Reader.Span()
		return &trace.Span{From: all.From, To: all.To + 1}, false
	})
}

// part gives a snapshot of a part of a long run: one that is kept, or one that is made of what in says.
func (r *Run) part(from, to int64, in func() (in *trace.Span, full bool)) (*Snapshot, error) {
	r.mu.Lock()
	for i, s := range r.parts {
		if s.Span.From <= from && (to <= s.Span.To || s.full) {
			copy(r.parts[1:i+1], r.parts[:i])
			r.parts[0] = s
			s.refs.Add(1)
			r.mu.Unlock()
			return s, nil
		}
	}
	r.mu.Unlock()

	span, full := in()
	s, err := r.build(span, false, 0)
	if err != nil {
		return nil, err
	}
	s.full = full
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := s.ctx.Err(); err != nil { // given up meanwhile
		s.Release()
		return nil, err
	}
	s.refs.Add(1)
	r.parts = append([]*Snapshot{s}, r.parts...)
	if len(r.parts) > keepParts {
		r.parts[keepParts].Release()
		r.parts = r.parts[:keepParts]
	}
	return s, nil
}

// since gives the earliest time from which on up to an end a trace has at most n events.
func since(reader *trace.Reader, end int64, n uint64) int64 {
	return least(min(reader.Span().From, end), end, func(t int64) bool { return eventsIn(reader, t, end) <= n })
}

func eventsIn(reader *trace.Reader, from, to int64) uint64 {
	return uint64(reader.EventsIn(trace.Span{From: from, To: to}))
}

func (r *Run) fits(reader *trace.Reader, from, to int64) bool {
	return eventsIn(reader, from, to) <= r.limit()
}

// longest gives the latest end of a part from a time on that fits into a snapshot.
func (r *Run) longest(reader *trace.Reader, from, to int64) int64 {
	return -least(-to, -from, func(t int64) bool { return r.fits(reader, from, -t) })
}

// around widens an interval as far as fits, so that small steps to its sides need no other snapshot. If the
// interval itself does not fit, its end is cut off, and full is true.
func (r *Run) around(newest *Snapshot, from, to int64) (in *trace.Span, full bool) {
	start := newest.Model.Start
	from, to = from+start, to+start
	reader := newest.Reader
	if !r.fits(reader, from, to) {
		return &trace.Span{From: from, To: r.longest(reader, from, to)}, true
	}
	// By twice the width, then half as much, as long as it fits.
	for by := 2 * (to - from); by > (to-from)/8; by /= 2 {
		if r.fits(reader, from-by, to+by) {
			return &trace.Span{From: max(from-by, start), To: to + by}, false
		}
	}
	return &trace.Span{From: from, To: to}, false
}

// least is the least t in [from, to] for which ok holds, ok being false below some t and true from there on.
func least(from, to int64, ok func(int64) bool) int64 {
	return from + int64(sort.Search(int(to-from), func(i int) bool { return ok(from + int64(i)) }))
}

// build makes a snapshot of the part of the run in a span; nil: of the run, or of the newest part that fits.
// While the run is happening, clocks are corrected by their comparisons alone. parallel is that of
// model.Options.
func (r *Run) build(in *trace.Span, happening bool, parallel int) (_ *Snapshot, err error) {
	r.mu.Lock()
	ctx, bytes := r.work, r.guess()
	r.mu.Unlock()
	done, err := r.shared.turns.take(ctx, bytes)
	if err != nil {
		return nil, err
	}
	defer func() { done() }()
	r.taken.Add(bytes)
	defer func() {
		if err != nil {
			r.taken.Add(-bytes)
		}
	}()
	reader, defs, err := r.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			reader.Close()
			r.taken.Add(-defs)
		}
	}()
	if err := r.fitsBudget(reader); err != nil {
		return nil, err
	}
	if streams := int64(len(reader.Streams())); streams*startBytes > bytes {
		done()
		if done, err = r.shared.turns.take(ctx, bytes+streams*startBytes); err != nil {
			done = func() {}
			return nil, err
		}
	}
	var spill *memory.Spill
	if events := uint64(reader.Events()); in == nil && !happening && events > r.limit() && r.canSpill(events) {
		spill, _ = memory.NewSpill(int64(events)*spilledBytes, r.opt.Memory/4, memory.SpillDirs(r.dir)...)
	}
	defer func() {
		if err != nil {
			spill.Close()
		}
	}()
	if in == nil && spill == nil && uint64(reader.Events()) > r.limit() {
		end := reader.Span().To
		in = &trace.Span{From: since(reader, end, r.limit()), To: end}
	}
	m, err := model.Build(ctx, reader, model.Options{In: in, Interpolated: happening, Parallel: parallel,
		Spill: spill, Progress: r.opt.Progress})
	if err != nil {
		return nil, err
	}
	s := &Snapshot{Reader: reader, Model: m, run: r, ctx: ctx, name: filepath.Clean(r.dir), happening: happening,
		parallel: parallel, Span: trace.Span{From: 0, To: m.Wall()}, spill: spill}
	ofEvent := int64(snapshotBytes)
	if spill != nil {
		ofEvent = heldBytes
	}
	s.bytes = int64(m.Events)*ofEvent + int64(len(m.Nodes))*nodeBytes +
		int64(len(reader.Streams()))*streamBytes
	r.taken.Add(s.bytes - bytes)
	s.bytes += defs
	if in != nil {
		s.Span = trace.Span{From: max(0, in.From-m.Start), To: min(m.Wall(), in.To-m.Start)}
	}
	if v := slou.Exported(m); v != nil {
		s.exported, s.Span = v, trace.Span{From: max(s.Span.From, v.FromNS), To: min(s.Span.To, v.ToNS)}
	}
	r.mu.Lock()
	s.regions = r.regions
	r.mu.Unlock()
	s.refs.Store(1)
	return s, nil
}

// guess is about how many bytes the next snapshot will take; the caller holds mu.
func (r *Run) guess() int64 {
	nodes := 1
	for _, n := range r.info.Nodes {
		nodes = max(nodes, min(n.Node, trace.MaxNode)+1)
	}
	return int64(min(r.status.Events, r.limit()))*snapshotBytes + int64(nodes)*nodeBytes
}
