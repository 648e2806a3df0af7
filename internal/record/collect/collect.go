package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/whyslow/whyslow/internal/files"
	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/trace"
)

// Config says how to collect.
type Config struct {
	Dir     string // folder for the traces; made if need be
	Token   string // that senders must give; "": none
	Version string // of whyslow, for the collector that is forwarded to
	Limits  Limits // zero values mean DefaultLimits
	// Forward, where its Addr is set, is a collector that gets every run, too.
	Forward stream.Target
	// OnRun gets the folder of each run when the run's first sender comes, in the lifetime of the collector;
	// Runs lists those collected before. Many goroutines may call it at once; it must return soon.
	OnRun func(dir string)
	// Keep, if not 0, is how long a run is kept that nothing more comes of; then it is removed.
	Keep time.Duration
	// MaxSize, if not 0, is how many bytes all runs may take before the oldest are removed. Runs that are being
	// sent count, but are not removed.
	MaxSize int64
	// OnRemoved, if not nil, gets the folder of each run that the collector has removed.
	OnRemoved func(dir string)
	// Notify gets what a user should know, a line each. Many goroutines may call it at once.
	Notify func(line string)
}

// Collector keeps what senders send. Its methods may be used by many goroutines.
type Collector struct {
	cfg   Config
	dir   string
	host  string
	lock  *os.File
	bytes counter // of all runs
	begun counter // runs
	seats counter
	// memory is what is kept of what senders say; reading is held by those who read much of it.
	memory  counter
	reading chan struct{}
	old     chan struct{}   // turns of runs to be forwarded that nobody sends
	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	work    sync.WaitGroup // connections and forwarders
	numbers atomic.Uint64  // of connections

	mu      sync.Mutex
	runs    map[string]*run // by ID
	next    map[string]int  // numbers of the next folders, by what comes before
	dirs    map[string]*run // the same, by their folders
	conns   map[*conn]bool
	closed  bool
	counted time.Time // when bytes and runs were last counted anew
	told    string
}

var errLocked = errors.New("another collector uses it")

// New opens a collector on a folder and finds the runs collected there before. Close it.
func New(cfg Config) (*Collector, error) {
	if err := cfg.Limits.check(); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	l := &cfg.Limits
	c := &Collector{cfg: cfg, dir: dir, runs: map[string]*run{}, dirs: map[string]*run{},
		next: map[string]int{}, conns: map[*conn]bool{},
		old: make(chan struct{}, forwardOld), reading: make(chan struct{}, 2),
		bytes:  counter{all: l.AllBytes, each: l.AddressBytes},
		begun:  counter{each: int64(l.AddressRuns)},
		seats:  counter{all: int64(l.Connections), each: int64(l.PerAddress)},
		memory: counter{all: l.Memory, each: l.Memory / 4}}
	if c.lock, err = lock(dir); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if c.host, err = os.Hostname(); err != nil {
		c.host = "unknown host"
	}
	if err := c.load(); err != nil {
		c.lock.Close()
		return nil, err
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	if cfg.Keep > 0 || cfg.MaxSize > 0 {
		c.tidy(time.Now())
		c.work.Add(1)
		go c.keepTidy()
	}
	if cfg.Forward.Addr != "" {
		for _, r := range c.runs {
			if r.forwarded != cfg.Forward.Addr {
				r.startForwarding()
			}
		}
	}
	return c, nil
}

// Close ends all streams, telling the senders to try again later, and waits until the files are closed.
func (c *Collector) Close() error {
	c.mu.Lock()
	c.closed = true
	for k := range c.conns {
		k.cut(&stream.Refusal{Code: stream.RefusedClosing, Text: "it was ended"})
	}
	c.mu.Unlock()
	c.stop()
	c.work.Wait()
	return c.lock.Close()
}

// RunState is how a run is doing at the collector.
type RunState struct {
	ID      string
	Dir     string // its trace
	Program string
	Senders int    // connected
	Ended   string // as in run.json: "" while it goes on, and if it was killed
	Bytes   int64  // on disk
	Err     string // why not everything can be kept, "" if it can
}

// Runs returns all runs in the folder that were collected, by Dir.
func (c *Collector) Runs() []RunState {
	var list []RunState
	for _, r := range c.allRuns() {
		r.mu.Lock()
		if !r.made {
			r.mu.Unlock()
			continue
		}
		s := RunState{ID: r.id, Dir: r.dir, Program: r.info.Program, Ended: r.info.Ended,
			Bytes: r.bytes.Load(), Err: r.err}
		for _, from := range r.senders {
			if from.conn != nil {
				s.Senders++
			}
		}
		r.mu.Unlock()
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b RunState) int { return cmp.Compare(a.Dir, b.Dir) })
	return list
}

func (c *Collector) allRuns() []*run {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Values(c.runs))
}

// Source is the state of the sender of a node.
type Source struct {
	Node      int  `json:"node"`
	Connected bool `json:"connected"`
	// LagNS is the age of the newest moment until which everything recorded is here; 0 once all is.
	LagNS  int64  `json:"lag_ns"`
	Unsent uint64 `json:"unsent"` // blocks that the sender had to drop
}

// Sources returns the state of each node of the collected run in a folder, by node.
func (c *Collector) Sources(dir string) []Source {
	list := []Source{}
	r := c.in(dir)
	if r == nil {
		return list
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.known() {
		for _, node := range s.Nodes {
			src := Source{Node: node, Connected: s.conn != nil, Unsent: s.Lost[node].Blocks}
			if !s.Ended {
				src.LagNS = s.lag.now(s.conn != nil, c.cfg.Limits.Idle)
			}
			list = append(list, src)
		}
	}
	slices.SortFunc(list, func(a, b Source) int { return cmp.Compare(a.Node, b.Node) })
	return list
}

// Sending tells whether anybody sends the collected run in a folder.
func (c *Collector) Sending(dir string) bool {
	r := c.in(dir)
	return r != nil && r.busy()
}

// in is the run in a folder, nil if none was collected there.
func (c *Collector) in(dir string) *run {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dirs[abs]
}

// lag is what a sender said of how far behind it is, and when.
type lag struct {
	told time.Duration
	at   time.Time // zero: nothing was said
}

// now is the lag in nanoseconds. It grows only while the sender's next word is overdue.
func (l lag) now(connected bool, idle time.Duration) int64 {
	if l.at.IsZero() {
		return 0
	}
	since := time.Since(l.at)
	if connected && since < idle/2 {
		return int64(l.told)
	}
	return int64(l.told + since)
}

// run gives a connection the run of an ID, a new one if need be; what is in the way is a Refusal. A new run
// has a name in the folder, but nothing is made there before there is something to keep. drop gives it back.
func (c *Collector) run(id, from string, info *trace.RunInfo) (*run, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.runs[id]; r != nil {
		err := r.usable()
		if err == nil {
			r.users++
			return r, nil
		}
		if r.exists() {
			return nil, err
		}
		c.forget(r) // its folder was removed: it begins anew
	}
	if len(c.runs) >= c.cfg.Limits.Runs || !c.begun.fits(from, 1) {
		c.count()
	}
	if len(c.runs) >= c.cfg.Limits.Runs {
		return nil, limit(false, "it keeps %d runs, which is its limit: remove some there, or raise the limit",
			len(c.runs))
	}
	if !c.begun.fits(from, 1) {
		return nil, limit(false, "it keeps %d runs from your address, which is its limit: remove some there,"+
			" or raise the limit", c.cfg.Limits.AddressRuns)
	}
	dir, err := c.free(folderName(info.Program))
	if err != nil {
		return nil, diskRefusal(err)
	}
	r := c.newRun(id, dir, from)
	r.users = 1
	c.enter(r)
	return r, nil
}

// mostNames is how many names of programs are known at most.
const mostNames = 1000

// free names the folder of a new run; c.mu is held. The collector's folder may hold thousands: it is looked
// through once for each name of a program.
func (c *Collector) free(name string) (string, error) {
	next, ok := c.next[name]
	if !ok {
		if len(c.next) >= mostNames {
			clear(c.next)
		}
		var err error
		if next, err = files.NextTrace(c.dir, name); err != nil {
			return "", err
		}
	}
	for ; ; next++ {
		dir := files.TraceName(c.dir, name, next)
		if _, err := os.Lstat(dir); c.dirs[dir] == nil && errors.Is(err, fs.ErrNotExist) {
			c.next[name] = next
			return dir, nil
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
}

// drop takes a connection away from a run. Nothing remains of a run without a folder that nobody sends.
func (c *Collector) drop(r *run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.users--; r.users > 0 {
		return
	}
	if !r.exists() {
		c.forget(r)
		return
	}
	time.AfterFunc(restAfter*c.cfg.Limits.Idle, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.rest()
	})
}

// enter begins to count a run; c.mu is held, or nobody else knows the collector.
func (c *Collector) enter(r *run) {
	c.runs[r.id], c.dirs[r.dir] = r, r
	c.begun.add(r.from, 1)
}

// limit refuses what is more than the collector is set to take; final: asking again is of no use.
func limit(final bool, format string, args ...any) *stream.Refusal {
	return &stream.Refusal{Code: stream.RefusedLimit, Text: fmt.Sprintf(format, args...), Final: final}
}

func diskRefusal(err error) *stream.Refusal {
	return &stream.Refusal{Code: stream.RefusedDisk, Text: fmt.Sprintf("it cannot keep the trace: %v", err)}
}

// forget drops a run of which there is no folder; c.mu is held.
func (c *Collector) forget(r *run) {
	if c.runs[r.id] != r {
		return
	}
	delete(c.runs, r.id)
	delete(c.dirs, r.dir)
	c.begun.add(r.from, -1)
	r.grow(-r.bytes.Load())
	r.mu.Lock()
	defer r.mu.Unlock()
	r.release()
}

// count counts runs and bytes anew, as someone may have removed some, but not all the time; c.mu is held.
func (c *Collector) count() {
	if time.Since(c.counted) < 10*time.Second {
		return
	}
	c.counted = time.Now()
	for _, r := range c.runs {
		if r.users > 0 {
			continue
		}
		r.grow(files.Size(r.dir) - r.bytes.Load())
		if _ = r.usable(); !r.exists() {
			c.forget(r)
		}
	}
}

// room says whether so many bytes more may be kept of a run; if not, why.
func (c *Collector) room(r *run, n int64) *stream.Refusal {
	if r.bytes.Load()+n > c.cfg.Limits.RunBytes {
		return limit(true, "it keeps at most %d bytes of a run, and drops this run's later events: raise its"+
			" limit", c.cfg.Limits.RunBytes)
	}
	if c.bytes.fits(r.from, n) {
		return nil
	}
	c.mu.Lock()
	c.count()
	c.mu.Unlock()
	if c.bytes.fits(r.from, n) {
		return nil
	}
	return limit(false, "it keeps at most %d bytes of all runs, %d of those from one address, and is full:"+
		" remove some there, or raise its limit", c.cfg.Limits.AllBytes, c.cfg.Limits.AddressBytes)
}

// notify passes a line on, unless it was the last.
func (c *Collector) notify(line string) {
	c.mu.Lock()
	same := c.told == line
	c.told = line
	c.mu.Unlock()
	if !same && c.cfg.Notify != nil {
		c.cfg.Notify(line)
	}
}
