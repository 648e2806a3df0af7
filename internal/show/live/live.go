// Package live shows runs while they execute and afterwards.
//
// A run is a folder that a trace is written to, by the program itself or by a collector. Run follows it:
//
//	           every 100 ms
//	folder ──► follow.Follower ───► Status: what has arrived
//	   │
//	   └─────► model.Build ───────► Snapshot ───► factors, nodes and links, timeline and everything else
//	           as often as a fifth of a core allows, while somebody watches
//
// Live and finished runs are analysed in one way: from the model of a Snapshot. A snapshot is made about ten
// times a second while a trace is small, and every few seconds at ten million events. A late event is in its
// place in the next snapshot. When the run is over one last snapshot is made, and the page shows exactly
// what a report on the finished trace says.
//
// An answer says how far it knows the run. Time after the snapshot, or after a worker's last event in it,
// counts as "undivided", so that what is not known yet never looks like a loss. Threads of UPC and OpenSHMEM
// programs wait for each other, so their time is known only as far as no later event changes it (known.go).
//
// While a run executes, its clocks are corrected by their comparisons alone. Repairs by messages need the
// whole run; the last snapshot has them, as a report does.
//
// Memory: a model takes about 14 bytes an event, what is derived from it up to 45 more. If a trace is too
// long for Options.Memory, and the run is over, its columns go to disk (memory.Spill), so that a snapshot has
// all of it. Otherwise a snapshot has the newest part of the run, or the part that a query asks for, and
// answers nothing that depends on the rest (Partial).
// Sums by worker and factor of older parts are kept (history.go). They are exact for time that a snapshot of
// the whole run knew. Later parts are divided without events far before them, so a CF that waited for data
// made long ago may be divided differently. Properties of nodes and links are sums over all events
// (long.go).
//
// A run that is over may go on: a sender comes back, or one comes that nobody knew of when the others ended.
// When files in its folder grow, it is live again and followed from its beginning.
//
// A collector shows thousands of runs. One that ends while nobody looks has no snapshot. A run that is over,
// and that nobody sends or looks at, is checked less and less often (seldom).
package live

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/whyslow/whyslow/internal/files"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/internal/tracefile/follow"
	"github.com/whyslow/whyslow/trace"
)

// States of a run besides trace.Ended...: "done", "failed", "stuck", "interrupted".
const (
	StateLive   = "live"
	StateKilled = "killed" // it has no end, and nothing writes to it
)

const (
	pollEvery = 100 * time.Millisecond
	// unwatched is how long after the last question a live run still gets snapshots.
	unwatched = 10 * time.Second
	// silence is how long a run must send nothing to count as killed if its program cannot be asked.
	silence = 15 * time.Second
)

// Options of Open; the zero value means the defaults.
type Options struct {
	// Memory is about how many bytes the run may take; 0 means DefaultMemory.
	Memory int64
	// Spill lets a run that is over and takes more have its columns on disk.
	Spill bool
	// Progress, if not nil, gets how many bytes of the trace have been read for a snapshot, and of how many.
	Progress func(done, total int64)
	// Alive says whether the program of a run without an end still runs, and whether that is known.
	// nil: it is looked up on this host.
	Alive func() (alive, known bool)
}

// DefaultMemory is that of Options.
const DefaultMemory = 4 << 30

// Status is what changes while a run executes.
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
	pace    time.Duration // processor time that it took
	made    time.Time     // when it was ready
	making  *making       // of the newest one, nil: none is being made
	seen    uint64        // events that had arrived when it was begun
	parts   []*Snapshot   // of parts of a long run, the most recently used first
	history history       // of a long run

	kinds   [trace.FirstUserKind]uint64 // the events of each that were followed
	long    *long                       // nil: nobody asked
	regions bool                        // it has some

	work     context.Context // of what is computed
	stopWork context.CancelCauseFunc
	tooLarge error // why nothing more is computed; nil: it is
	// taken is about how many bytes the snapshots take that there are, also being made or no longer the run's.
	taken  atomic.Int64
	shared *shared
}

// RunID names a run by the folder of its trace, the same at every start.
func RunID(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	sum := sha256.Sum256([]byte(filepath.Clean(dir)))
	return hex.EncodeToString(sum[:6])
}

// Open shows the run whose trace is in a folder. The trace may be finished, or being written, or have yet to
// begin. It fails if there is no such folder, or if the trace cannot be read. Close ends showing it.
func Open(dir string, opt Options) (*Run, error) { return open(dir, opt, &shared{turns: newTurns()}) }

func open(dir string, opt Options, with *shared) (*Run, error) {
	if opt.Memory <= 0 {
		opt.Memory = DefaultMemory
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, err
	}
	r := &Run{dir: dir, id: RunID(dir), opt: opt, changed: make(chan struct{}), info: &trace.RunInfo{},
		shared: with}
	r.history.bytes = opt.Memory / 16
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.newWork()
	if r.opt.Alive == nil {
		r.opt.Alive = r.onThisHost
	}
	before := size(dir)
	state, err := r.finished()
	if err != nil {
		return nil, err
	}
	r.status = Status{Version: 1, State: cmp.Or(state, StateLive)}
	if state != "" {
		if err := r.headers(); err != nil {
			return nil, err
		}
		if r.status.Events <= r.limit() || r.canSpill(r.status.Events) {
			r.wg.Go(func() {
				if r.wake(before) {
					r.follow()
				}
			})
			return r, nil
		}
	}
	r.begin()
	r.wg.Go(r.follow)
	return r, nil
}

// begin starts to follow the run from its beginning.
func (r *Run) begin() {
	r.mu.Lock()
	r.status.Events, r.status.Lost, r.long = 0, 0, nil
	clear(r.kinds[:])
	r.mu.Unlock()
}

// How often wake looks: a collector can have thousands of runs that are over, most of them for good.
const (
	wakeEvery = 10 * pollEvery
	seldomest = 60 // times wakeEvery
)

// seldom says when to look, less and less often.
type seldom struct{ wait, waited int }

// due tells whether it is time to look. It is if somebody is known to send, or looks.
func (s *seldom) due(needed bool) bool {
	if s.waited++; s.waited <= s.wait {
		return needed
	}
	s.wait, s.waited = min(2*s.wait+1, seldomest), 0
	return true
}

// size is how many bytes the node files of a run and its run.json have, 0 if its folder is gone. Other files
// may change when the run is over.
func size(dir string) (n int64) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".wst" && e.Name() != tracefile.RunFile {
			continue
		}
		if st, err := e.Info(); err == nil && st.Mode().IsRegular() {
			n += st.Size()
		}
	}
	return n
}

// wake waits until the files of a run that is over are no longer of a size. Then the run is live again, and
// has to be followed from its beginning. It returns false if the run was closed.
func (r *Run) wake(of int64) bool {
	tick := time.NewTicker(wakeEvery)
	defer tick.Stop()
	for look := (seldom{}); ; {
		alive, known := r.opt.Alive()
		if look.due(alive && known || time.Since(r.lastWatched()) < unused) {
			if now := size(r.dir); now != of && now > 0 {
				break
			}
		}
		select {
		case <-r.ctx.Done():
			return false
		case <-tick.C:
		}
	}
	r.again()
	return true
}

// again makes the run live, to be followed from its beginning.
func (r *Run) again() {
	r.begin()
	r.update(func(s *Status) { s.State = StateLive })
}

// Close ends showing the run. Snapshots in use stay valid.
func (r *Run) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.cancel()
	r.wg.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop()
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

// Status says how far the run is, and gives a channel that is closed when that changes.
func (r *Run) Status() (Status, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status, r.changed
}

// Watch says that somebody looks at the run, so that snapshots are made for a while.
func (r *Run) Watch() {
	r.mu.Lock()
	r.watched = time.Now()
	r.mu.Unlock()
}

// update changes the status, holding mu, and tells everybody.
func (r *Run) update(f func(s *Status)) {
	r.mu.Lock()
	before := r.status.State
	f(&r.status)
	other := r.status.State != before
	r.status.Version++
	close(r.changed)
	r.changed = make(chan struct{})
	r.mu.Unlock()
	if other {
		r.shared.news.tell()
	}
}

// finished says how the run ended, "" if it is not known to have.
func (r *Run) finished() (string, error) {
	if info, err := trace.ReadRunInfo(r.dir); err == nil { // a damaged one does not hide the rest
		r.info = info
	}
	if r.info.Ended != "" {
		return r.info.Ended, nil
	}
	last, begun, err := lastChange(r.dir)
	if err != nil || !begun {
		return "", err
	}
	reader, err := trace.OpenWith(r.dir, trace.OpenOptions{NoDefs: true})
	if err != nil {
		if alive, known := r.opt.Alive(); known && alive {
			return "", nil // it has just created its files
		}
		return "", err
	}
	defer reader.Close()
	if !slices.ContainsFunc(reader.Nodes(), func(node int) bool { return !reader.Closed(node) }) {
		return trace.EndedDone, nil
	}
	if r.dead(time.Since(last)) {
		return StateKilled, nil
	}
	return "", nil
}

// dead tells whether nothing writes to a run without an end. quiet is how long nothing has come of it.
func (r *Run) dead(quiet time.Duration) bool {
	if alive, known := r.opt.Alive(); known {
		return !alive
	}
	return quiet > silence
}

// lastChange says when a file of a node changed last, and whether there is any.
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
		if exists(p.PID) {
			return true, true
		}
	}
	return false, true
}

// headers fills in the figures of a finished run that can be had without reading it.
func (r *Run) headers() error {
	reader, err := trace.OpenWith(r.dir, trace.OpenOptions{NoDefs: true})
	if err != nil {
		return err
	}
	defer reader.Close()
	r.status.Events = uint64(reader.Events())
	r.status.Bytes = files.Size(r.dir)
	span := reader.Span()
	r.status.WallNS = span.To - span.From
	return nil
}

// follow takes in what arrives until the run is closed.
func (r *Run) follow() {
	for {
		of, over, ok := r.followOnce()
		switch {
		case !ok:
			return
		case !over:
			r.again()
		case !r.wake(of):
			return
		}
	}
}

// followOnce takes in what arrives until the run seems to be over, and says of which size its files are
// then. It stops earlier if the run has to be followed from its beginning (not over), and if the run was
// closed or cannot be read (not ok).
func (r *Run) followOnce() (of int64, over, ok bool) {
	f := follow.New(r.dir)
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	heard := time.Now()
	var batch trace.Batch
	infoVersion := -1
	ending := "" // nothing was new at the last look, and it had ended so; of is from before this look
	for {
		events, lost := uint64(0), uint64(0)
		var kinds [trace.FirstUserKind]uint64
		news, regions := false, false
		inform := func() {
			if f.InfoVersion() == infoVersion {
				return
			}
			infoVersion, news = f.InfoVersion(), true
			r.mu.Lock()
			r.info = f.Info()
			r.mu.Unlock()
		}
		n, err := f.Poll(r.ctx, func(b *tracefile.RawBlock) error {
			if b.Defs {
				return nil
			}
			if err := f.Read(b, &batch); err != nil {
				return nil // it is among the follower's problems
			}
			events += uint64(batch.N)
			first, last = min(first, batch.First), max(last, batch.Last)
			for i, k := range batch.Kind {
				if k < trace.FirstUserKind {
					kinds[k]++
				}
				if k == trace.KindLost {
					lost += batch.Args(i)[0]
				}
				regions = regions || k == trace.KindEntered
			}
			return nil
		})
		if r.ctx.Err() != nil {
			return 0, false, false
		}
		if err != nil {
			r.update(func(s *Status) { s.State = StateKilled })
			return 0, false, false // its folder can no longer be read
		}
		if f.Stale() {
			return 0, false, true
		}
		if n > 0 {
			heard = time.Now()
		}
		inform()
		if n > 0 || news {
			bytes := files.Size(r.dir)
			r.update(func(s *Status) {
				r.arrived++
				r.regions = r.regions || regions
				s.Events += events
				s.Lost += lost
				for k, n := range kinds {
					r.kinds[k] += n
				}
				s.Bytes = bytes
				if first <= last {
					s.WallNS = last - first
				}
			})
		}
		if n == 0 {
			batch = trace.Batch{} // many runs are silent most of the time
		}
		was := ending
		if ending = ""; n == 0 && !news {
			ending = r.over(f, heard)
		}
		if ending != "" && ending == was {
			bytes := files.Size(r.dir) // a block that was cut off makes it more than what was read
			r.update(func(s *Status) { s.Bytes = bytes })
			r.end(ending)
			return of, true, true
		}
		if ending != "" {
			of = size(r.dir)
		}
		r.refresh()
		select {
		case <-r.ctx.Done():
			return 0, false, false
		case <-tick.C:
		}
	}
}

// over says how a run that has nothing new ended, "" if it may continue.
func (r *Run) over(f *follow.Follower, heard time.Time) string {
	nodes := f.Nodes()
	if len(nodes) == 0 {
		return ""
	}
	ended, quiet := f.Info().Ended, time.Since(heard)
	closed := !slices.ContainsFunc(nodes, func(n int) bool { return !f.Closed(n) })
	switch {
	case ended != "" && (closed || quiet > time.Second):
		return ended
	case closed && quiet > 3*time.Second: // run.json may yet say how
		return trace.EndedDone
	case !closed && quiet > time.Second && r.dead(quiet):
		return StateKilled
	}
	return ""
}

// end makes the last snapshot, if somebody looks at the run; otherwise the first who asks has it made.
func (r *Run) end(state string) {
	r.mu.Lock()
	long, making, watched := r.status.Events > r.limit(), r.making, time.Since(r.watched) < unwatched
	r.mu.Unlock()
	if making != nil {
		<-making.done
	}
	var s *Snapshot
	var err error
	if !long && watched {
		s, err = r.build(nil, false, 0)
	}
	r.update(func(st *Status) {
		st.State = state
		switch {
		case err != nil:
		case s == nil:
			r.arrived++ // the last snapshot has not seen the end
		default:
			s.arrived = r.arrived
			r.replace(s)
			st.WallNS, st.SnapshotNS = s.Model.Wall(), s.Model.Wall()
			st.Events, st.Lost = s.Model.Events, s.Model.LostCount
		}
	})
}
