// Package engine executes a luna.Program: nodes with a store and workers, DFs posted, requested, counted
// down and destroyed, CFs created, placed, migrated, stolen and run, until nothing is left to do.
//
// # How it works
//
// A node has a FIFO queue of CFs that can go on, workers (goroutines) that serve it, a store (store.go), and
// a goroutine that handles messages from other nodes; where the network is slow to wake it, idle workers do
// that too (Serve). A CF walks through its stages (step.go) on whichever worker holds it. If a DF is
// missing, the CF leaves the worker, and the answer to its request queues it again. Children are queued when
// the step that created them returns, in textual order; what a post wakes is queued at that moment. With one
// node and one worker this gives the order of execution that LuNA programs expect.
//
// # The end
//
// Engine.busy counts workers that are not parked, messages under way and CFs held back. A worker is
// counted before it is woken, so zero means that nothing can happen any more: the run is over, and CFs that
// still exist can never finish. The count changes only when a worker parks or a message is sent; running CFs
// costs nothing.
//
// With the other nodes in other processes (Config.Part, part.go), each process counts for itself, without
// messages under way, and the processes find out together that nothing is left to do (quiet.go).
package engine

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/internal/run/config"
	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/internal/run/placement"
	"github.com/whyslow/whyslow/internal/run/transport"
	"github.com/whyslow/whyslow/internal/run/transport/local"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// MaxNodes is the largest number of nodes: a CF id has 16 bits for its node.
const MaxNodes = 1 << 16

// ThreadClock tells how often the CPU time of threads is read (a reading costs about 0.4 us).
type ThreadClock int

// Thread clock settings.
const (
	// for each CF of code fragments that last over 50 us on average; CFs of others share readings
	ClockAuto ThreadClock = iota
	ClockOn               // for each CF
	ClockOff
)

// Config is what to run and how.
type Config struct {
	Program        *luna.Program
	Library        *cpp.Library
	Nodes, Workers int
	Args           []string        // words for main's parameters
	Steal          bool            // idle nodes take stealable CFs
	LinkLatency    time.Duration   // of an emulated network; without Part only
	LinkBandwidth  float64         // bytes per second and link, the same; 0: unlimited
	Session        *prof.Session   // nil: nothing is recorded
	Writers        []*trace.Writer // by node, with Part only that of the node here; none: no trace
	ThreadClock    ThreadClock
	// by code fragment: every CF of it is held that long before it may start
	Hold map[string]time.Duration
	// Priority names code fragments whose CFs workers take before others, those of the first before the rest.
	Priority []string
	// Bind has the core of each worker of this process, by node and worker; nil: they may run on any.
	Bind        []int
	Records     Recorder            // LuNA's debug records; nil: none
	Rules       []config.EventState // events emitted by rule, all that counts of them; CheckRule accepts them
	DescribeDFs bool                // the session's describer knows DFs: for modules
	Place       *placement.Bound    // comes before locators; nil: none. Its nodes must exist
	Warn        func(string)        // receives warnings, one line each
	Balancer    prof.Balancer       // moves CFs while the program runs; nil: none
	Gate        Gate                // decides when CFs go on, without Part only; nil: the engine alone
	Part        *Part               // nil: all nodes are in this process
	// StuckAfter is how long nothing may happen while CFs are inside user code until Inside is called; 0: for
	// ever. It is called again when that has lasted twice as long, and so on.
	StuckAfter time.Duration
	// Inside gets a CF that does not come back from user code, and the number of other workers inside CFs; one
	// that waits rather than one that computes. With Part it is called at node 0 only.
	Inside func(cf trace.InsideInfo, others int)
	// Places tells what addresses FILE+0xOFFSET are in the source; nil: nobody knows.
	Places func(addresses []string) map[string]Place
}

// Place is a place in the source of user code.
type Place struct {
	Function string // "" where not known
	File     string // absolute, or as the compiler was told; "" where not known
	Line     int
}

// Recorder receives what LuNA's debug mode writes to its record files. Calls may come from several
// goroutines.
type Recorder interface {
	// Names: a block entry made identities first..first+len(names)-1 of node.
	Names(node int, first uint64, b *luna.Block)
	// CF: the CF executes its first step, or (while) a further test; inputs requested and outputs posted, as
	// identities.
	CF(id, parent trace.CF, st *luna.Stmt, inputs, outputs [][]int64)
	// History gives, where the other nodes are in other processes, what a CF that ran is known by there: Came
	// gets it before one of the CFs that it created runs there.
	History(id trace.CF) []int
	Came(id trace.CF, history []int)
}

// Result is what a run did.
type Result struct {
	WallNS   int64
	CFs      int64 // created, structured ones included
	Atomic   int64 // atomic CFs executed
	Migrated int64
	Stolen   int64
	Messages int64
	Unplaced int64 // CFs that Config.Place lacks although it has others of their statements
	// Addresses are the texts FILE+0xOFFSET that SyncEvents.onBlocked has: what they mean is known as long as
	// the files are as they are.
	Addresses []string
	Inside    []trace.InsideInfo // the CFs that did not come back from user code
}

// ErrInterrupted is returned by Run when its context was cancelled.
var ErrInterrupted = errors.New("interrupted")

// Engine is one run.
type engine struct {
	cfg        Config
	prog       *luna.Program
	nodes      []*node  // nil: it is in another process
	here       []*node  // those of this process
	part       *process // nil: all are
	net        transport.Network
	ses        *prof.Session
	recording  bool
	std        std
	rules      *[points]sides // nil: no rules
	started    int64          // when the run began
	wall       int64          // to add to the clock to get system time
	steady     int64          // and CLOCK_MONOTONIC
	emitFailed sync.Once
	byHand     allByHand
	fns        []cpp.Fn             // by Routine.ID
	measure    cpp.Measure          // what calls measure; Shared: of code fragments that run long, Each
	literals   map[string]cpp.Value // string constants as C++ wants them
	hold       []time.Duration      // by Code.ID
	rank       []int                // likewise: from 1, of those with priority; nil: none has any
	static     []static             // by Stmt.ID
	busy       atomic.Int64
	stopping   atomic.Bool
	stop       sync.Once
	done       chan struct{}
	err        error // set once, before done is closed
	abandoned  bool
	ended      bool // nothing runs any more
	// workers look for work a while before they park: only where each has a core, and there is one more
	spin  bool
	serve bool // workers receive messages a while before they park: only where each has a core
	sent  atomic.Int64
	watch watch
	// balance is nil where nothing is moved while the program runs
	balance  *balance
	gateMu   sync.Mutex // held while Config.Gate is asked
	gateOver bool
	acts     atomic.Int64 // how often the gate has let CFs go
	left     atomic.Bool  // workers leave the queues alone, see Control.LeaveQueued
}

// codeTimes is what a worker knows of a code fragment: its executions there, and their ns.
type codeTimes struct{ runs, total int64 }

// long reports whether the code fragment runs long, as far as this worker has seen.
func (t *codeTimes) long() bool { return t.runs < 4 || t.total > t.runs*longRun }

// longRun is the mean duration from which the thread clock is worth its cost.
const longRun = 50_000 // ns

// stopGrace is how long workers inside user code are waited for after an error or an interrupt.
const stopGrace = 2 * time.Second

// Run executes the program. It returns *StuckError if CFs are left that can never run, *ProgramError if user
// code failed or a rule was broken, ErrInterrupted if ctx was cancelled; the Result is valid in all these
// cases. With Config.Part every process calls it, with one node each; see there for what it returns.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	var p *process
	if cfg.Part != nil {
		var err error
		if p, err = join(ctx, &cfg); err != nil {
			return nil, err
		}
	}
	e, main, err := newEngine(cfg, p)
	if p != nil {
		err = p.agree(err)
	}
	if err != nil {
		if e != nil {
			e.forget()
		}
		return nil, err
	}
	// A worker in C++ code holds a P of the Go scheduler for a while, and so does the goroutine that sleeps in
	// MPI. There must be a P for every worker, one for that goroutine and one for all else, or messages would
	// wait for user code to end.
	procs := max(runtime.GOMAXPROCS(0), min(len(e.here)*cfg.Workers+2, 256))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))

	cpp.OnForeignCrash(func(sig int, msg string) {
		switch msg {
		case cpp.Overwritten:
			e.finish(e.overwritten(sig))
		case cpp.Damaged:
			e.finish(&ProgramError{Node: e.here[0].id, Msg: msg, Signal: sig})
		default:
			e.finish(foreignCrash(e.here[0].id, sig, msg))
		}
	})
	defer cpp.OnForeignCrash(nil)

	if p != nil {
		if err := p.start(); err != nil {
			e.finish(err)
		}
	} else {
		e.connect()
		e.begin()
	}
	if cfg.Gate != nil {
		cfg.Gate.Begin(&Control{e})
	}
	if main != nil && !e.stopping.Load() {
		w := e.nodes[0].workers[0]
		w.create(&cf{}, []*luna.Stmt{cfg.Program.Main.Start}, main, placement.Start, 1)
		w.flush()
	}
	var wg sync.WaitGroup
	bound := cfg.Bind
	for w := range e.workers() {
		w.core = -1
		if len(bound) > 0 {
			w.core, bound = bound[0], bound[1:]
		}
		wg.Go(w.loop)
	}
	if e.balance != nil {
		go e.balance.run()
	}
	watching := make(chan struct{})
	go func() { e.watch.run(e); close(watching) }()
	select {
	case <-e.done:
	case <-ctx.Done():
		e.finish(ErrInterrupted)
	}
	if e.balance != nil {
		<-e.balance.stopped
	}
	grace := stopGrace
	if p != nil {
		grace = p.stopped()
	}
	quiet := make(chan struct{})
	go func() { wg.Wait(); close(quiet) }()
	select {
	case <-quiet:
	case <-time.After(grace):
		<-watching
		// Workers inside user code that does not return are left there.
		for w := range e.workers() {
			e.abandoned = e.abandoned || !w.freeze() && !w.stopped.Load()
		}
		e.watch.leave(e)
	}
	<-watching
	e.closeGate()
	e.tellLost()
	for w := range e.workers() {
		if w.stopped.Load() {
			w.meter.Close()
		}
	}
	if p != nil {
		return p.end()
	}
	if e.abandoned {
		e.abandon()
		return e.result(), e.err
	}
	e.net.Close()
	left := e.end()
	return e.result(), e.verdict(left)
}

// workers are those of this process.
func (e *engine) workers() iter.Seq[*worker] {
	return func(yield func(*worker) bool) {
		for _, n := range e.here {
			for _, w := range n.workers {
				if !yield(w) {
					return
				}
			}
		}
	}
}

// abandon keeps what it can of the trace: a worker is stuck in our own code, with what it recorded last.
func (e *engine) abandon() {
	for _, w := range e.cfg.Writers {
		if w != nil {
			w.Abandon()
		}
	}
}

// newEngine prepares a run. main is nil where node 0 is elsewhere.
func newEngine(cfg Config, part *process) (_ *engine, main *frame, _ error) {
	if cfg.Nodes < 1 || cfg.Nodes > MaxNodes || cfg.Workers < 1 || cfg.Workers > 1024 {
		return nil, nil, errors.New("a run needs 1 to 65536 nodes of 1 to 1024 workers each")
	}
	p := cfg.Program
	e := &engine{cfg: cfg, prog: p, part: part, ses: cfg.Session, recording: cfg.Session != nil,
		hold: make([]time.Duration, len(p.Codes)),
		done: make(chan struct{}), literals: map[string]cpp.Value{}, nodes: make([]*node, cfg.Nodes)}
	if e.ses == nil {
		e.ses = prof.New()
		e.ses.EnableAll(false)
	}
	for _, r := range p.Routines {
		e.fns = append(e.fns, cfg.Library.Routine(r))
	}
	sharing := cfg.Nodes * cfg.Workers // workers that share our cores
	if part != nil {
		sharing = part.sharing
		part.eng = e
	}
	for i, c := range p.Codes {
		e.hold[i] = cfg.Hold[c.Name]
		if rank := slices.Index(cfg.Priority, c.Name); rank >= 0 {
			if e.rank == nil {
				e.rank = make([]int, len(p.Codes))
			}
			e.rank[i] = rank + 1
		}
	}
	e.spin = sharing < runtime.NumCPU()
	e.serve = sharing <= runtime.NumCPU()
	for _, st := range p.Stmts {
		e.static = append(e.static, study(st))
		for _, a := range st.Args {
			if x := a.Expr; x != nil && x.Op == luna.OpString && e.literals[x.S].Type == cpp.Unset {
				e.literals[x.S] = cpp.NewString(x.S)
			}
		}
	}
	for i := range cfg.Nodes {
		if part == nil || i == part.node {
			e.nodes[i] = newNode(e, i)
			e.here = append(e.here, e.nodes[i])
		}
	}
	switch {
	case cfg.ThreadClock == ClockOff || !e.ses.CFFinished.On() && !e.ses.ThreadTime.On():
	case cfg.ThreadClock == ClockOn:
		e.measure = cpp.Each
	default:
		e.measure = cpp.Shared
	}
	if cfg.Balancer != nil && cfg.Nodes > 1 {
		e.balance = newBalance(e)
	}
	e.busy.Store(int64(len(e.here) * cfg.Workers))
	if err := e.setRules(); err != nil {
		return e, nil, err
	}
	if e.recording {
		e.setDescriber()
	}
	main, err := e.mainFrame()
	return e, main, err
}

// connect makes the network of nodes that are all here.
func (e *engine) connect() {
	e.net = local.New(e.cfg.Nodes, local.Options{Latency: e.cfg.LinkLatency, Bandwidth: e.cfg.LinkBandwidth},
		func(m *transport.Message) {
			e.nodes[m.To].rts.handle(m)
			e.leave()
		})
}

// enter counts one more thing that can make progress.
func (e *engine) enter() { e.busy.Add(1) }

// leave counts one less; the last one ends the run, if no other process has anything left to do either.
func (e *engine) leave() {
	if e.busy.Add(-1) == 0 {
		switch {
		case e.part != nil:
			e.part.rest()
		case e.cfg.Gate == nil || !e.goOn():
			e.finish(nil)
		}
	}
}

// finish ends the run: err is what Run returns, nil when nothing is left to do.
func (e *engine) finish(err error) {
	e.stop.Do(func() {
		e.err = err
		e.stopping.Store(true)
		close(e.done)
		for _, n := range e.here {
			n.queue.wakeAll()
		}
	})
}

// begin records the start of the run on every stream.
func (e *engine) begin() {
	cpu := clock.ProcessCPU()
	t := clock.Now()
	e.started = t
	process := uint64(0)
	if e.part != nil {
		process = uint64(e.part.node)
	}
	for _, n := range e.here {
		for _, ps := range n.streams() {
			e.ses.ProgramStarted.EmitAt(ps, t, process, cpu)
		}
		if e.part == nil || n.id == 0 {
			// All nodes of one process read one clock.
			e.ses.ClockSync.EmitAt(n.rts.ps, t, 0, 0)
		}
	}
}

// end is called when nothing runs any more: it looks for CFs left over, gives every DF back and records the
// end. It returns what is left, by node of this process.
func (e *engine) end() []*remains {
	e.ended = true
	var all []*remains
	for _, n := range e.here {
		all = append(all, n.remains())
	}
	e.findStored(all)
	if e.err == nil && e.cfg.Records != nil {
		e.recordPending(all)
	}
	e.release(all)
	cpu := clock.ProcessCPU()
	for _, n := range e.here {
		n.rts.drop()
		if e.err == nil && n.rts.err != nil {
			e.err = n.rts.err
		}
	}
	t := clock.Now()
	for _, n := range e.here {
		n.recordLengths(t)
		for _, ps := range n.streams() {
			e.ses.ProgramFinished.EmitAt(ps, t, cpu)
		}
	}
	e.forget()
	return all
}

// forget releases the string constants.
func (e *engine) forget() {
	for _, v := range e.literals {
		v.Release()
	}
}

func (e *engine) result() *Result {
	r := &Result{Messages: e.sent.Load(), Inside: e.watch.left}
	if e.started > 0 {
		r.WallNS = clock.Now() - e.started
	}
	if e.abandoned {
		return r
	}
	for w := range e.workers() {
		for _, name := range w.places {
			if text, ok := w.n.nameTexts.Load(name); ok {
				r.Addresses = append(r.Addresses, text.(string))
			}
		}
		r.Atomic += w.stats.atomic
		r.Stolen += w.stats.stolen
		r.Migrated += w.stats.migrated
		r.Unplaced += w.stats.unplaced
	}
	for _, n := range e.here {
		r.CFs += int64(n.cfs.Load())
		r.Stolen += n.rts.stats.stolen
		r.Migrated += n.rts.stats.migrated
	}
	return r
}
