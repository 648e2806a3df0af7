//go:build cgo

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/prof/config"
	"github.com/whyslow/whyslow/trace"
)

var clockSyncTimes = map[string]engine.ClockSyncTime{
	"periodic": engine.ClockSyncPeriodic, "start": engine.ClockSyncEnds, "off": engine.ClockSyncOff,
}

// manyRun is one process of a run of many while it runs.
type manyRun struct {
	*crew
	o        *runOptions
	io       stdio // of this process; what others say comes out at rank 0
	out      *output
	stdout   *capture
	said     *tagged                   // nil at rank 0
	terminal *tagged                   // of modules
	stopped  atomic.Pointer[time.Time] // when the run was interrupted
}

// runMany is runProgram where mpirun started many processes.
func runMany(ctx context.Context, io stdio, c *crew, o *runOptions, plan *config.Plan, args []string) error {
	m, err := startMany(ctx, io, c, o)
	if err = c.agree(err); err != nil {
		return err
	}
	cfg := engine.Config{
		Nodes: o.nodes, Workers: o.workers, Args: args, Steal: !o.noSteal, ThreadClock: threadClocks[o.threadClock], Hold: o.holds,
		Warn: func(text string) { m.io.say("warning: %s", text) },
		Part: &engine.Part{
			Node: c.Rank(), Group: c.Group(), Connect: m.out.connect(c),
			Clock: engine.ClockSync{When: clockSyncTimes[o.clock.sync], Precision: o.clock.precision, Drift: o.clock.drift * 1e-6},
		},
	}
	// What ranks other than 0 say of the program is what rank 0 says, unless they fail alone: agree.
	cfg.Program, cfg.Library, err = prepare(ctx, io, c, o, args)
	var p *profiling
	if err == nil {
		if c.speaks() {
			for _, line := range c.coreWarnings(o.workers, onlineCores()) {
				m.io.say("warning: %s", line)
			}
		}
		p, err = startProfiling(m.io, m.terminal, c, o, args, plan)
	}
	if err != nil {
		return errors.Join(err, m.end())
	}
	cfg.Session, cfg.Writers, cfg.DescribeDFs, cfg.Rules = p.session, p.writers(), p.run.WantsDFs(), p.rules
	folder, folderErr := os.Getwd()
	res, runErr := engine.Run(ctx, cfg)
	after := afterRun(ctx)
	if errors.Is(runErr, engine.ErrInterrupted) {
		return m.interrupted(p, cfg.Library, runErr)
	}
	closeLibrary(cfg.Library, runErr, cfg.Warn)
	if folderErr == nil {
		folderErr = os.Chdir(folder)
	}
	if folderErr != nil {
		m.io.say("warning: the current folder may have changed: %v", folderErr)
	}
	var outcome error
	if c.speaks() {
		outcome = runOutcome(m.io, runErr)
	}
	endErr := m.endProfiling(p, runErr, outcome)
	endErr = cmp.Or(endErr, m.sentAll(after, p))
	endErr = cmp.Or(endErr, m.end())
	left := endAtOnce(ctx, func() {
		io.say("interrupted")
		if dir := p.dir(); dir != "" {
			fmt.Fprintln(io.err, dir)
		}
	})
	leaveWorld(c.world, &endErr) // the report is rank 0's alone, and may take long
	left()
	switch {
	case !c.speaks():
		return nil
	case p.dir() != "":
		return p.report(ctx, after, io, o, outcome, endErr)
	case res != nil && !o.quiet:
		io.say("%v, %d CFs, %d messages between nodes; no trace", time.Duration(res.WallNS).Round(time.Microsecond), res.CFs, res.Messages)
	}
	return cmp.Or(outcome, endErr)
}

// startMany leads what this process prints to where it is to be read.
func startMany(ctx context.Context, io stdio, c *crew, o *runOptions) (*manyRun, error) {
	m := &manyRun{crew: c, o: o, io: io}
	m.stopped.Store(&time.Time{})
	context.AfterFunc(ctx, func() { now := time.Now(); m.stopped.Store(&now) })
	m.out = newOutput(ctx, c.Rank(), c.Size(), os.Stdout, io.err)
	m.out.failed = func(err error) { io.say("warning: the program's output cannot be written: %v", err) }
	tag := fmt.Sprintf("node %d: ", c.Rank())
	say := func(lines []byte) { m.out.put(toErr, lines) }
	m.terminal = &tagged{tag: tag, put: say}
	if c.Rank() > 0 {
		m.out.err = os.Stderr // should this rank have to write itself
		m.said = &tagged{tag: tag, put: say}
		m.io.err = m.said
	}
	var err error
	m.stdout, err = startCapture(func(was *os.File) func([]byte) {
		m.out.out = was
		return func(text []byte) { m.out.put(toOut, text) }
	})
	return m, err
}

// end brings to rank 0 what was printed last.
func (m *manyRun) end() error {
	err := m.stopOutput()
	return errors.Join(err, m.out.finish(m.Group()))
}

func (m *manyRun) stopOutput() error {
	m.terminal.flush()
	if m.said != nil {
		m.said.flush()
	}
	return m.stdout.end()
}

// ending is what rank 0 is told by each process when the run is over.
type ending struct {
	Node   trace.NodeInfo  // of it
	Clock  trace.ClockPair // at the end
	Lost   uint64          // events that were not recorded
	Failed string          // why its trace is not complete
	Module bool            // a module failed; the user was told
}

// endProfiling lets the modules finish, and has rank 0 note in the trace how the run ended at all ranks.
func (m *manyRun) endProfiling(p *profiling, runErr, outcome error) error {
	if p.session == nil {
		return nil
	}
	e := m.endPart(p)
	if p.trace == nil {
		e.Module = m.finishModules(p)
	}
	own, err := json.Marshal(e)
	if err != nil {
		return err
	}
	all, err := procs.AllGather(m.Group(), own)
	if err != nil {
		return err
	}
	var failed error
	broken, lost := false, uint64(0)
	for i, text := range all {
		var e ending
		if err := json.Unmarshal(text, &e); err != nil {
			return err
		}
		broken, lost = broken || e.Module, lost+e.Lost
		if e.Failed != "" && failed == nil {
			failed = fmt.Errorf("node %d: %s", i, e.Failed)
		}
		if p.trace != nil && m.speaks() {
			p.info.Nodes[i].Unwritten, p.info.Nodes[i].Error = e.Node.Unwritten, e.Node.Error
			p.info.Processes[i].Monotonic = append(p.info.Processes[i].Monotonic, e.Clock)
		}
	}
	if p.trace != nil {
		if m.speaks() {
			p.noteEnd(runErr, outcome)
			failed = cmp.Or(failed, p.writeInfo(true))
		}
		failed = cmp.Or(failed, m.gatherParts(p))
		failed = cmp.Or(failed, p.shareInfo(m.crew), p.writeInfo(m.speaks()))
		p.endSource()
		broken = m.finishModules(p) || broken
	}
	if !m.speaks() {
		return nil
	}
	if lost > 0 {
		m.io.say("warning: %d events were not recorded", lost)
	}
	if failed == nil && broken {
		return exitWith(exitDamaged, nil)
	}
	return incomplete(failed)
}

// endPart completes the file of this node.
func (m *manyRun) endPart(p *profiling) (e ending) {
	e.Clock = clockPair()
	if p.trace == nil {
		return e
	}
	if err := p.trace.Finish(); err != nil {
		e.Failed = fileError(err).Error()
	}
	node := []trace.NodeInfo{{Node: m.node()}}
	e.Lost = p.countLost(node)
	e.Node = node[0]
	return e
}

// finishModules reports whether one failed, of which it tells the user.
func (m *manyRun) finishModules(p *profiling) (failed bool) {
	err := p.run.Finish()
	if err != nil {
		m.io.say("%v", err)
	}
	return err != nil
}

// clockPair is this moment.
func clockPair() trace.ClockPair {
	own, monotonic, uncertain := clock.Pair()
	return trace.ClockPair{Own: own, Monotonic: monotonic, Uncertainty: uncertain}
}

const (
	// interruptGrace is how long what a program has printed is waited for after an interrupt: mpirun kills all soon.
	interruptGrace = 100 * time.Millisecond
	// stayAfter is how long after an interrupt a process stays: mpirun gives all a second, but kills those that are left
	// as soon as one of them has ended.
	stayAfter = 850 * time.Millisecond
	// othersAfter is how long after it the files of the others should be complete.
	othersAfter = 550 * time.Millisecond
)

// interrupted ends this process after a Ctrl+C, or because another one has died. Nobody else is waited for. The trace comes
// first.
func (m *manyRun) interrupted(p *profiling, library *cpp.Library, runErr error) error {
	defer func() { time.Sleep(time.Until(m.stopped.Load().Add(stayAfter))) }()
	m.world.(*member).abandon()
	outcome := exitWith(exitInterrupted, nil)
	var err error
	if p.trace != nil {
		e := m.endPart(p)
		if e.Failed != "" {
			err = errors.New(e.Failed)
		}
		if n := p.info.Node(m.node()); n != nil {
			n.Unwritten, n.Error = e.Node.Unwritten, e.Node.Error
		}
		p.noteEnd(runErr, outcome)
		err = errors.Join(err, p.writeInfo(m.speaks()))
		p.endSource()
	}
	if m.speaks() {
		m.io.say("interrupted")
		if err != nil {
			m.io.say("%v", incomplete(err))
		}
	}
	flushed := make(chan struct{})
	go func() { library.Flush(); close(flushed) }()
	select {
	case <-flushed:
	case <-time.After(interruptGrace):
	}
	if p.run != nil {
		m.finishModules(p)
	}
	_ = m.stopOutput() // there is nothing left to do about it
	m.out.abandon()
	if p.send != nil {
		p.send.wait(context.Background(), m.io, interruptGrace)
	}
	if dir := p.dir(); dir != "" && m.speaks() {
		m.lookForDead(p)
		fmt.Fprintln(m.io.err, dir)
	}
	return outcome
}

// lookForDead says of which nodes the trace ends early because their processes are gone, and where parts of it are.
func (m *manyRun) lookForDead(p *profiling) {
	if m.o.localDir != "" {
		m.io.say("the parts of the trace were not gathered: %s", p.parts())
		return
	}
	time.Sleep(time.Until(m.stopped.Load().Add(othersAfter)))
	r, err := trace.Open(p.folder)
	if err != nil {
		m.io.say("warning: %v", fileError(err))
		return
	}
	defer r.Close()
	for i := range p.info.Nodes {
		if n := &p.info.Nodes[i]; !r.Closed(n.Node) {
			n.Error = "its process ended early"
			m.io.say("warning: the trace of node %d (%s, rank %d) is not complete: %s", n.Node, n.Host, n.Process, n.Error)
			err = p.writeInfo(true)
		}
	}
	if err != nil {
		m.io.say("warning: %v", fileError(err))
	}
}
