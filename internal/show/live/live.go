// Package live shows runs while they happen and afterwards.
//
// A run is a folder that a trace is written to, by the program itself or by a collector. Run follows it:
//
//	            every 200 ms              blocks                    at any moment
//	folder ──► trace.Follower ──┬──► properties.Live ──► nodes, links, memory
//	   │                        └──► division.Division ──► factors by window
//	   └──────► model.Build ───────► Snapshot ──► everything else, and factors of runs with regions
//	      seldom, while watched
//
// What can be kept up to date event by event is: the properties of nodes and links, and the division of time. Everything else is
// asked of a Snapshot: a model of all that has arrived. It is made anew while somebody watches, so often that it takes a fifth
// of one core: ten times a second while a trace is small, every few seconds at ten million events. When the run is over one last
// snapshot is made, the ordered structures are dropped, and from then on everything comes from that model: the page shows exactly
// what a report on the finished trace says.
//
// The factors of runs with regions (UPC, OpenSHMEM, collectives, locks) depend on what all threads did: the division takes them over from
// each snapshot of the whole run, and counts as not known what came after it, or may still change. Of a run that is too long for a snapshot
// nothing more is taken over.
//
// Clocks of several processes are corrected by their comparisons alone while the run goes on, and for a part of a run: what else is to be
// repaired is known of a whole run only. The last snapshot of the whole has repaired times, as a report has.
//
// Memory: a model takes about 14 bytes an event, what is derived from it up to 45 more. Where a trace is too long for
// Options.Memory, a snapshot has a part of the run only: the newest, or what a query asks for; whole views of the run's history
// stay, from the ordered structures, which fold old detail.
package live

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/whyslow/whyslow/internal/show/live/division"
	"github.com/whyslow/whyslow/internal/show/live/properties"
	"github.com/whyslow/whyslow/trace"
)

// States of a run beside trace.Ended...: "done", "failed", "stuck", "interrupted".
const (
	StateLive   = "live"
	StateKilled = "killed" // it has no end and nothing writes to it
)

const (
	pollEvery = 200 * time.Millisecond
	// unwatched is how long after the last question snapshots of a live run are no longer made.
	unwatched = 10 * time.Second
	// silence is how long nothing must have come from a run whose program cannot be asked before it counts as killed.
	silence = 15 * time.Second
)

// Options of Open; the zero value means the defaults.
type Options struct {
	// Memory is about how many bytes the run may take; 0 means DefaultMemory.
	Memory int64
	// Alive tells whether the program of a run without an end still runs, and whether that is known. nil: looked up on this host.
	Alive func() (alive, known bool)
}

// DefaultMemory is that of Options.
const DefaultMemory = 4 << 30

// Status is what changes while a run goes on.
type Status struct {
	Version int
	State   string
	WallNS  int64 // from the start to the last time that has arrived, or to the end
	Events  uint64
	Lost    uint64
	Bytes   int64
	// SnapshotNS is the time, since the start, up to which a snapshot exists.
	SnapshotNS int64
}

// Run is one run being shown. Its methods may be used by many goroutines at once.
type Run struct {
	dir, id string
	opt     Options
	ctx     context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup

	mu      sync.Mutex
	info    *trace.RunInfo
	status  Status
	changed chan struct{} // closed when status changes
	closed  bool
	arrived uint64 // grows with everything that arrives
	watched time.Time
	snap    *Snapshot     // the newest
	pace    time.Duration // how long it took
	made    time.Time     // when it was ready
	making  chan struct{} // not nil while one is made; closed then
	parts   []*Snapshot   // of parts of a long run, the latest used first

	// What follows the run event by event; nil once it is over.
	orderedMu sync.Mutex
	props     *properties.Live
	division  *division.Division
}

// RunID names a run by the folder of its trace, the same at every start.
func RunID(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	sum := sha256.Sum256([]byte(filepath.Clean(dir)))
	return hex.EncodeToString(sum[:6])
}

// Open shows the run whose trace is in a folder: a finished one, or one that is being written, or that has yet to begin if the
// folder is there. Close ends it.
func Open(dir string, opt Options) (*Run, error) {
	if opt.Memory <= 0 {
		opt.Memory = DefaultMemory
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, err
	}
	r := &Run{dir: dir, id: RunID(dir), opt: opt, changed: make(chan struct{}), info: &trace.RunInfo{}}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	if r.opt.Alive == nil {
		r.opt.Alive = r.onThisHost
	}
	state, err := r.finished()
	if err != nil {
		return nil, err
	}
	r.status = Status{Version: 1, State: cmp.Or(state, StateLive)}
	if state != "" {
		if err := r.headers(); err != nil {
			return nil, err
		}
		if r.status.Events <= r.limit() {
			if state == StateKilled {
				r.wg.Go(func() {
					if r.wake() {
						r.follow()
					}
				})
			}
			return r, nil
		}
	}
	r.begin()
	r.wg.Go(r.follow)
	return r, nil
}

// begin makes what follows the run from its beginning.
func (r *Run) begin() {
	r.orderedMu.Lock()
	r.props = properties.NewLive(properties.Options{MaxBytes: r.opt.Memory / 8})
	r.division = division.New(division.Options{MaxBytes: r.opt.Memory / 8})
	r.orderedMu.Unlock()
	r.mu.Lock()
	r.status.Events, r.status.Lost = 0, 0
	r.mu.Unlock()
}

// wake waits until something more comes of a run that counted as killed: what sends it was only away, longer than anybody waits.
// It is live again then, and to be followed from its beginning. false: the run was closed.
func (r *Run) wake() bool {
	st, _ := r.Status()
	tick := time.NewTicker(5 * pollEvery)
	defer tick.Stop()
	for folderSize(r.dir) == st.Bytes {
		select {
		case <-r.ctx.Done():
			return false
		case <-tick.C:
		}
	}
	r.begin()
	r.update(func(s *Status) { s.State = StateLive })
	return true
}

// Close ends showing the run; snapshots that are in use stay.
func (r *Run) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.cancel()
	r.wg.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range append(r.parts, r.snap) {
		if s != nil {
			s.Release()
		}
	}
	r.snap, r.parts = nil, nil
}

// ID names the run in addresses.
func (r *Run) ID() string { return r.id }

// Dir is the folder of its trace.
func (r *Run) Dir() string { return r.dir }

// Info is what run.json says, never nil.
func (r *Run) Info() *trace.RunInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.info
}

// Status tells how far the run is, and gives a channel that is closed when that changes.
func (r *Run) Status() (Status, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status, r.changed
}

// Watch says that somebody looks at the run: snapshots are made for a while.
func (r *Run) Watch() {
	r.mu.Lock()
	r.watched = time.Now()
	r.mu.Unlock()
}

// update changes the status and tells everybody.
func (r *Run) update(f func(s *Status)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.status)
	r.status.Version++
	close(r.changed)
	r.changed = make(chan struct{})
}

// Ordered calls f with what follows a live run event by event; it tells whether there is such: not of a run that is over, which
// is to be asked through a snapshot. f must not keep what it is given. Of a run with regions the division knows what snapshots have told, so they
// are made for who asks.
func (r *Run) Ordered(f func(p *properties.Live, d *division.Division)) bool {
	if d := r.divided(); d != nil && d.Regions() {
		r.Watch()
	}
	return r.ordered(f)
}

// divided gives the division of a live run, nil of one that is over.
func (r *Run) divided() (d *division.Division) {
	r.ordered(func(_ *properties.Live, is *division.Division) { d = is })
	return d
}

func (r *Run) ordered(f func(p *properties.Live, d *division.Division)) bool {
	r.orderedMu.Lock()
	defer r.orderedMu.Unlock()
	if r.props == nil {
		return false
	}
	f(r.props, r.division)
	return true
}

// finished tells how the run ended, "" if it is not known to have.
func (r *Run) finished() (string, error) {
	info, err := trace.ReadRunInfo(r.dir)
	switch {
	case err == nil:
		r.info = info
	case errors.Is(err, fs.ErrNotExist):
	default:
		// A damaged run.json does not hide the rest; the reader will tell.
	}
	if r.info.Ended != "" {
		return r.info.Ended, nil
	}
	last, begun, err := lastChange(r.dir)
	if err != nil || !begun {
		return "", err
	}
	reader, err := trace.Open(r.dir)
	if err != nil {
		return "", err
	}
	defer reader.Close()
	if !slices.ContainsFunc(reader.Nodes(), func(node int) bool { return !reader.Closed(node) }) {
		return trace.EndedDone, nil
	}
	if alive, known := r.opt.Alive(); known {
		if alive {
			return "", nil
		}
		return StateKilled, nil
	}
	if time.Since(last) > silence {
		return StateKilled, nil
	}
	return "", nil
}

// lastChange tells when a file of a node changed last, and whether there is any.
func lastChange(dir string) (last time.Time, begun bool, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".wst" {
			continue
		}
		begun = true
		if st, err := e.Info(); err == nil && st.ModTime().After(last) {
			last = st.ModTime()
		}
	}
	return last, begun, err
}

// onThisHost asks the system for the processes of the run.
func (r *Run) onThisHost() (alive, known bool) {
	host, err := os.Hostname()
	if err != nil || len(r.info.Processes) == 0 {
		return false, false
	}
	for _, p := range r.info.Processes {
		if p.Host != host || p.PID <= 0 {
			return false, false
		}
		if err := syscall.Kill(p.PID, 0); err == nil || errors.Is(err, syscall.EPERM) {
			return true, true
		}
	}
	return false, true
}

// headers fills in the figures of a finished run that do not take reading it.
func (r *Run) headers() error {
	reader, err := trace.Open(r.dir)
	if err != nil {
		return err
	}
	defer reader.Close()
	r.status.Events = uint64(reader.Events())
	r.status.Bytes = folderSize(r.dir)
	span := reader.Span()
	r.status.WallNS = span.To - span.From
	return nil
}

func folderSize(dir string) (n int64) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
	}
	return n
}

// follow takes in what arrives until the run is over.
func (r *Run) follow() {
	for r.followOnce() == StateKilled && r.wake() {
	}
}

// followOnce takes in what arrives until the run seems to be over, and tells how it ended; "" if it was closed.
func (r *Run) followOnce() string {
	f := trace.NewFollower(r.dir)
	defer func() { _ = f.Close() }() // it was only read
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	heard := time.Now()
	var batch trace.Batch
	infoVersion, problems := -1, 0
	for {
		events, lost := uint64(0), uint64(0)
		news := false
		// inform passes on what run.json says, before the events of the workers it names.
		inform := func() {
			if f.InfoVersion() == infoVersion {
				return
			}
			infoVersion, news = f.InfoVersion(), true
			r.mu.Lock()
			r.info = f.Info()
			r.mu.Unlock()
			r.ordered(func(p *properties.Live, d *division.Division) {
				p.Info(f.Info())
				d.SetInfo(f.Info())
			})
		}
		n, err := f.Poll(r.ctx, func(b *trace.RawBlock) error {
			inform()
			if b.Defs {
				return nil
			}
			if err := b.Read(&batch); err != nil {
				return nil // it is among the follower's problems
			}
			events += uint64(batch.N)
			first, last = min(first, batch.First), max(last, batch.Last)
			for i, k := range batch.Kind {
				if k == trace.KindLost {
					lost += batch.Args(i)[0]
				}
			}
			defs := f.Defs(b.Node)
			r.orderedMu.Lock()
			defer r.orderedMu.Unlock()
			r.props.Add(defs, &batch)
			r.division.Add(defs, &batch)
			return nil
		})
		if r.ctx.Err() != nil {
			return ""
		}
		if err != nil {
			r.update(func(s *Status) { s.State = StateKilled })
			return "" // its folder cannot be read any more
		}
		if n > 0 {
			heard = time.Now()
		}
		if list := f.Problems(); len(list) != problems {
			problems = len(list)
			r.ordered(func(_ *properties.Live, d *division.Division) { d.SetProblems(list) })
		}
		inform()
		if n > 0 || news {
			size := folderSize(r.dir)
			r.mu.Lock()
			r.arrived++
			r.mu.Unlock()
			r.update(func(s *Status) {
				s.Events += events
				s.Lost += lost
				s.Bytes = size
				if first <= last {
					s.WallNS = last - first
				}
			})
		}
		if n == 0 && !news {
			if state := r.over(f, heard); state != "" {
				size := folderSize(r.dir) // a block that was cut off makes it more than what was read
				r.mu.Lock()
				r.status.Bytes = size
				r.mu.Unlock()
				r.end(state)
				return state
			}
		}
		r.refresh()
		select {
		case <-r.ctx.Done():
			return ""
		case <-tick.C:
		}
	}
}

// over tells how a run that has nothing new ended, "" if it may go on.
func (r *Run) over(f *trace.Follower, heard time.Time) string {
	nodes := f.Nodes()
	if len(nodes) == 0 {
		return ""
	}
	ended := f.Info().Ended
	closed := !slices.ContainsFunc(nodes, func(n int) bool { return !f.Closed(n) })
	switch {
	case ended != "" && (closed || time.Since(heard) > time.Second):
		return ended
	case closed && time.Since(heard) > 3*time.Second: // run.json may yet say how
		return trace.EndedDone
	case closed:
		return ""
	}
	if alive, known := r.opt.Alive(); known {
		if !alive && time.Since(heard) > time.Second {
			return StateKilled
		}
		return ""
	}
	if time.Since(heard) > silence {
		return StateKilled
	}
	return ""
}

// end makes the last snapshot, and drops what followed the run unless it is too long for one.
func (r *Run) end(state string) {
	r.mu.Lock()
	long, making := r.status.Events > r.limit(), r.making
	r.mu.Unlock()
	if making != nil {
		<-making
	}
	if long {
		r.mu.Lock()
		r.arrived++ // the last snapshot has not seen the end
		r.mu.Unlock()
		r.update(func(s *Status) { s.State = state })
		return
	}
	s, err := r.build(nil, false)
	r.orderedMu.Lock()
	r.props, r.division = nil, nil
	r.orderedMu.Unlock()
	if err == nil {
		r.mu.Lock()
		s.arrived = r.arrived
		r.replace(s)
		r.mu.Unlock()
	}
	r.update(func(st *Status) {
		st.State = state
		if err == nil {
			st.WallNS, st.SnapshotNS, st.Events, st.Lost = s.Model.Wall(), s.Model.Wall(), s.Model.Events, s.Model.LostCount
		}
	})
}
