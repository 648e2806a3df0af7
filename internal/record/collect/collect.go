package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

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
	// OnRun is told of the folder of each run when its first sender comes, in the lifetime
	// of the collector; Runs tells of those collected before. Many goroutines may call it at
	// once; it must return soon.
	OnRun func(dir string)
	// Notify is told, in one line each, what a user should know. Many goroutines may call
	// it at once.
	Notify func(line string)
}

// Collector keeps what senders send. Its methods may be used by many goroutines.
type Collector struct {
	cfg   Config
	dir   string
	host  string
	lock  *os.File
	bytes atomic.Int64 // of all runs
	seats counter
	old   chan struct{}   // turns of runs to be forwarded that nobody sends
	ctx   context.Context // ends with Close
	stop  context.CancelFunc
	work  sync.WaitGroup // connections and forwarders

	mu      sync.Mutex
	runs    map[string]*run // by ID
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
	c := &Collector{cfg: cfg, dir: dir, runs: map[string]*run{}, conns: map[*conn]bool{},
		old:   make(chan struct{}, forwardOld),
		seats: counter{all: cfg.Limits.Connections, each: cfg.Limits.PerAddress}}
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
	if cfg.Forward.Addr != "" {
		for _, r := range c.runs {
			if r.forwarded != cfg.Forward.Addr {
				r.startForwarding()
			}
		}
	}
	return c, nil
}

// Close ends all streams, telling the senders to try again later, and waits until the files
// are closed.
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
	var list []*run
	for _, r := range c.runs {
		list = append(list, r)
	}
	return list
}

// Source is the state of the sender of a node.
type Source struct {
	Node      int  `json:"node"`
	Connected bool `json:"connected"`
	// LagNS is the age of the newest moment until which everything recorded is here; 0 once
	// all is.
	LagNS  int64  `json:"lag_ns"`
	Unsent uint64 `json:"unsent"` // blocks that the sender had to drop
}

// Sources returns the state of each node of the run in a folder, by node; nothing for a
// folder that is none of a collected run.
func (c *Collector) Sources(dir string) []Source {
	list := []Source{}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return list
	}
	for _, r := range c.allRuns() {
		if r.dir != abs {
			continue
		}
		r.mu.Lock()
		for _, s := range r.senders {
			for _, node := range s.Nodes {
				src := Source{Node: node, Connected: s.conn != nil, Unsent: s.Lost[node].Blocks}
				if !s.Ended {
					src.LagNS = s.lag.now(s.conn != nil, c.cfg.Limits.Idle)
				}
				list = append(list, src)
			}
		}
		r.mu.Unlock()
	}
	slices.SortFunc(list, func(a, b Source) int { return cmp.Compare(a.Node, b.Node) })
	return list
}

// lag is what a sender said of how far behind it is, and when.
type lag struct {
	told time.Duration
	at   time.Time // zero: nothing was said
}

// now is the lag in nanoseconds. Between two words of a sender that is doing well it does
// not grow; where one is overdue it does.
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

// run returns the run of an ID, a new one if need be; what is in the way is a Refusal.
func (c *Collector) run(id string, info *trace.RunInfo) (*run, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.runs[id]; r != nil {
		if _, err := os.Stat(r.dir); err == nil || r.busy() {
			return r, nil
		}
		c.forget(r) // its folder was removed: it begins anew
	}
	if len(c.runs) >= c.cfg.Limits.Runs {
		c.count()
	}
	if len(c.runs) >= c.cfg.Limits.Runs {
		return nil, &stream.Refusal{Code: stream.RefusedLimit, Text: fmt.Sprintf("it keeps %d runs, no more"+
			" are allowed: remove some there, or raise its limit", len(c.runs))}
	}
	dir, err := newFolder(c.dir, info.Program)
	if err != nil {
		return nil, diskRefusal(err)
	}
	r := c.newRun(id, dir)
	c.runs[id] = r
	return r, nil
}

func diskRefusal(err error) *stream.Refusal {
	return &stream.Refusal{Code: stream.RefusedDisk, Text: fmt.Sprintf("it cannot keep the trace: %v", err)}
}

// forget drops a run whose folder is gone; c.mu is held.
func (c *Collector) forget(r *run) {
	delete(c.runs, r.id)
	c.bytes.Add(-r.bytes.Load())
}

// count counts runs and bytes anew, as someone may have removed some, but not all the
// time; c.mu is held.
func (c *Collector) count() {
	if time.Since(c.counted) < 10*time.Second {
		return
	}
	c.counted = time.Now()
	for _, r := range c.runs {
		if r.busy() {
			continue
		}
		n := size(r.dir)
		c.bytes.Add(n - r.bytes.Swap(n))
		if _, err := os.Stat(r.dir); errors.Is(err, os.ErrNotExist) {
			c.forget(r)
		}
	}
}

// room says whether so many bytes more may be kept of a run; if not, why.
func (c *Collector) room(r *run, n int64) *stream.Refusal {
	if r.bytes.Load()+n > c.cfg.Limits.RunBytes {
		return &stream.Refusal{Code: stream.RefusedLimit, Final: true,
			Text: fmt.Sprintf("it keeps at most %d bytes of a run, this one has more; what comes from now"+
				" on is not kept: raise its limit", c.cfg.Limits.RunBytes)}
	}
	if c.bytes.Load()+n <= c.cfg.Limits.AllBytes {
		return nil
	}
	c.mu.Lock()
	c.count()
	c.mu.Unlock()
	if c.bytes.Load()+n <= c.cfg.Limits.AllBytes {
		return nil
	}
	return &stream.Refusal{Code: stream.RefusedLimit, Text: fmt.Sprintf("it keeps at most %d bytes of all"+
		" runs and has as many: remove some there, or raise its limit", c.cfg.Limits.AllBytes)}
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
