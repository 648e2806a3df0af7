package engine

// A run of many processes. Each has an engine with one node; the others are nil in engine.nodes. Nodes act
// on each other by messages anyway, so the rest of the engine hardly knows. This file brings the processes
// together at the start, ends the run for all of them, and gathers the results at node 0.
//
//	join      all run the same program                      group
//	agree     all can                                       group
//	start     network; clocks; the start is recorded        messages, group
//	  ...     the program runs; who is passive (quiet.go)   messages
//	stopped   tells the others why it ended                 messages
//	end       clocks; results and what is left, to node 0   messages, group
//
// A process that is interrupted tells the others and ends at once; its group may never meet again.
//
// Messages about the run itself have no number and are not counted:
//
//	message     head                                                         to
//	Rests       messages sent and received, of a process that is passive     node 0
//	Asks        -                                                            all others
//	Answers     messages sent and received                                   node 0
//	Fault       ProgramError (JSON)                                          node 0
//	Stop        why (one byte)                                               all others
//	Inside      a CF that does not come back from user code (JSON)           node 0
//	Left        the CFs that are left so after an interrupt (JSON)           node 0
//	Ping, Pong  number of the question; the time there                       node 0, the asker
//	Load        what lies ahead of a node (JSON)                             node 0
//	Gate        what gates tell each other                                   any
//	Turn        - : the receiver may compare its clock                       the next node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/run/compile"
	"github.com/whyslow/whyslow/internal/run/transport"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// Part says that one node of the run is in this process and the others are elsewhere: every process calls
// Run with its own.
//
// At node 0 Run returns the error of the run and the sum of all results, except WallNS. At the others it
// returns what was done there, and ErrElsewhere if the run did not end well. If any was interrupted, all
// return ErrInterrupted and their own results.
type Part struct {
	Node int // the node here; there are Config.Nodes of them
	// Group is the processes, in the order of their nodes. One goroutine uses it before and after the program
	// runs. After an interrupt a call may still be waiting when Run returns.
	Group procs.Group
	// Connect joins the network of the run: deliver is called for each message to this node, one at a time, and
	// waits if that is before Connect has returned.
	Connect func(deliver func(*transport.Message)) transport.Network
	Clock   ClockSync
}

// ErrElsewhere is returned by Run, at nodes other than 0, where the run failed: node 0 reports why.
var ErrElsewhere = errors.New("the run failed: node 0 reports why")

const (
	msgRests = msgOrder + 1 + iota
	msgAsks
	msgAnswers
	msgFault
	msgStop
	msgPing
	msgPong
	msgTurn
	msgInside
	msgLeft
	msgLoad
	msgGate
)

// Why a run stops.
const (
	stopOver = iota
	stopFault
	stopInterrupt
)

var (
	// mpirun kills processes about a second after it has asked them to end: until then the trace must be
	// complete.
	interruptGrace = 250 * time.Millisecond // for workers in user code
	meetGrace      = 150 * time.Millisecond // for a group that may not meet any more
	leftGrace      = 150 * time.Millisecond // after that, for others to say which CFs they leave
	closeGrace     = 100 * time.Millisecond // for the network
)

// process is a process of a run of many.
type process struct {
	cfg         *Part
	nodes, node int
	ctx         context.Context
	eng         *engine
	sharing     int          // workers of all processes that share the cores of this one
	received    atomic.Int64 // the program's messages
	quiet       quiet
	clocks      clocks
	turn        chan struct{}
	lost        bool // the processes could not come together at the start
	interrupt   sync.Once
	interrupted chan struct{} // closed when any process was interrupted

	// Messages may come before they can be dealt with, and wait: for a network to answer on those about the run
	// itself, those of the program for its beginning, which no other message comes before.
	connected, begun chan struct{}

	asked time.Time               // when it learnt of an interrupt
	lefts chan []trace.InsideInfo // at node 0: what others tell then

	deafMu sync.Mutex
	deaf   bool // nothing of the program happens here any more; its stream belongs to Run
}

// introduction is what processes tell each other first.
type introduction struct {
	Build, Program string // of whyslow; hash
	Args           []string
	Nodes, Workers int
	Steal, Records bool
	Balance        bool   // CFs are moved while it runs
	Place          uint64 // sum of the placement
	Host           string
	Cores          unix.CPUSet // that it may use
}

// join meets the other processes and makes sure that all are going to do the same.
func join(ctx context.Context, cfg *Config) (*process, error) {
	g := cfg.Part.Group
	p := &process{cfg: cfg.Part, nodes: cfg.Nodes, node: cfg.Part.Node, ctx: ctx, turn: make(chan struct{}, 2),
		lefts:       make(chan []trace.InsideInfo, cfg.Nodes),
		interrupted: make(chan struct{}), connected: make(chan struct{}), begun: make(chan struct{})}
	own := introduction{Args: cfg.Args, Nodes: cfg.Nodes, Workers: cfg.Workers, Steal: cfg.Steal,
		Records: cfg.Records != nil, Balance: cfg.Balancer != nil, Place: cfg.Place.Sum()}
	if info, ok := debug.ReadBuildInfo(); ok {
		own.Build = compile.Hash(info.String())
	}
	own.Program = compile.Hash(cfg.Program.File, cfg.Program.Text)
	own.Host, _ = os.Hostname()
	// where that cannot be told all processes of a host share its cores
	_ = unix.SchedGetaffinity(0, &own.Cores)
	if g.Size() != cfg.Nodes || g.Rank() != p.node {
		return nil, fmt.Errorf("process %d of %d cannot have node %d of %d", g.Rank(), g.Size(), p.node, cfg.Nodes)
	}
	var all []introduction
	err := p.meet(func() (err error) {
		all, err = procs.AllOf(g, own)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i := range all {
		if what := all[0].differs(&all[i]); what != "" {
			return nil, fmt.Errorf("process %d on %s %s", i, all[i].Host, what)
		}
		if all[i].Host == own.Host && all[i].Cores == own.Cores {
			p.sharing += all[i].Workers
		}
	}
	p.quiet.init(p.nodes)
	p.clocks.init(p)
	return p, nil
}

// differs says how a process differs from process 0.
func (a *introduction) differs(b *introduction) string {
	switch {
	case a.Build != b.Build:
		return fmt.Sprintf("is another build of whyslow than process 0 on %s: have the same one on all"+
			" machines", a.Host)
	case a.Program != b.Program:
		return fmt.Sprintf("runs another program than process 0 on %s: give all the same file", a.Host)
	case !slices.Equal(a.Args, b.Args):
		return fmt.Sprintf("gives the program the arguments %q, process 0 %q: they must be the same", b.Args,
			a.Args)
	case a.Nodes != b.Nodes:
		return fmt.Sprintf("takes part in a run of %d nodes, process 0 in one of %d", b.Nodes, a.Nodes)
	case a.Steal != b.Steal:
		return "and process 0 do not agree on whether work is stolen"
	case a.Balance != b.Balance:
		return "and process 0 do not agree on whether work is moved while the program runs"
	case a.Place != b.Place:
		return "has another placement of CFs and DFs than process 0: give all the same file"
	case a.Records != b.Records:
		return "and process 0 do not agree on whether debug records are written"
	}
	return ""
}

// meet calls f, which meets the other processes, and waits for it unless some process is interrupted.
func (p *process) meet(f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	err, stopped := receive(p, done)
	if stopped != nil {
		select {
		case err = <-done:
		case <-time.After(meetGrace):
			return ErrInterrupted
		}
	}
	if err != nil && p.wasInterrupted() { // perhaps one has gone
		return ErrInterrupted
	}
	return err
}

func (p *process) wasInterrupted() bool {
	select {
	case <-p.interrupted:
		return true
	default:
		return p.ctx.Err() != nil
	}
}

// agree returns an error in all processes if there is one in any.
func (p *process) agree(err error) error {
	return p.meet(func() error { return procs.Agree(p.cfg.Group, err) })
}

// start connects the process and begins when all have compared their clocks. Who begins first may send to
// those who are about to: they deal with that when they have begun.
func (p *process) start() error {
	e := p.eng
	e.net = p.cfg.Connect(p.deliver)
	close(p.connected)
	err := p.clocks.atStart()
	if err == nil {
		err = p.meet(func() error { return procs.Barrier(p.cfg.Group) })
	}
	p.deafMu.Lock()
	e.begin()
	p.clocks.emit(p.clocks.first, e.started)
	p.deafMu.Unlock()
	close(p.begun)
	if err != nil {
		p.lost = !errors.Is(err, ErrInterrupted)
		return err
	}
	go p.watch()
	p.clocks.goOn()
	return nil
}

// deliver takes a message from another process.
func (p *process) deliver(m *transport.Message) {
	if m.Kind >= firstControl {
		<-p.connected
		p.control(m)
		return
	}
	<-p.begun
	p.deafMu.Lock()
	defer p.deafMu.Unlock()
	if p.deaf {
		m.Release()
		return
	}
	e := p.eng
	e.enter()
	p.received.Add(1)
	e.nodes[p.node].rts.handle(m)
	e.leave()
}

// obey has the node here hand CFs over, unless nothing is left to do.
func (p *process) obey(m *transport.Message) {
	p.deafMu.Lock()
	defer p.deafMu.Unlock()
	if e := p.eng; !p.deaf && e.enterBusy() {
		e.nodes[p.node].rts.handle(m)
		e.leave()
	}
}

// control deals with a message about the run itself.
func (p *process) control(m *transport.Message) {
	t := clock.Now()
	e := p.eng
	switch m.Kind {
	case msgRests, msgAnswers:
		var c counts
		unpacking(nil, m.Head).counts(&c)
		if m.Kind == msgRests {
			p.reported(m.From, c)
		} else {
			p.answered(m.From, c)
		}
	case msgAsks:
		c, _ := p.counts()
		p.tellCounts(msgAnswers, c)
	case msgFault:
		fault := &ProgramError{}
		if err := json.Unmarshal(m.Head, fault); err != nil {
			fault.Msg = fmt.Sprintf("node %d failed, and its message is not readable: %v", m.From, err)
		}
		e.finish(fault)
	case msgStop:
		switch m.Head[0] {
		case stopOver:
			e.finish(nil)
		case stopFault:
			e.finish(ErrElsewhere)
		case stopInterrupt:
			p.interrupt.Do(func() { close(p.interrupted) })
			e.finish(ErrInterrupted)
		}
	case msgLoad:
		l := &prof.Load{}
		if json.Unmarshal(m.Head, l) == nil && e.balance != nil {
			e.balance.reports[m.From].Store(l)
		}
	case msgGate:
		if g, ok := e.cfg.Gate.(ManyGate); ok {
			g.Heard(m.From, m.Head)
		}
	case msgOrder:
		p.obey(m)
	case msgPing:
		p.pong(m, t)
	case msgPong:
		p.clocks.answered(m, t)
	case msgTurn:
		p.turn <- struct{}{}
	case msgInside:
		var t insideTold
		if json.Unmarshal(m.Head, &t) == nil {
			e.watch.hear(e, m.From, t)
		}
	case msgLeft:
		var left []trace.InsideInfo
		_ = json.Unmarshal(m.Head, &left) // if it is not readable none is named
		p.lefts <- left
	}
}

// tellJSON sends a message about the run itself to node 0.
func (p *process) tellJSON(kind uint8, v any) {
	b, _ := json.Marshal(v) // numbers and strings: it cannot fail
	p.tell(0, kind, b)
}

// gatherLeft brings the names of the CFs that an interrupt has left in user code to node 0. It waits for them
// as long as the workers of others may take, and a moment more.
func (p *process) gatherLeft() {
	h := &p.eng.watch
	if p.node != 0 {
		p.tellJSON(msgLeft, h.left)
		return
	}
	late := time.After(time.Until(p.asked.Add(interruptGrace + leftGrace)))
	for range p.nodes - 1 {
		select {
		case left := <-p.lefts:
			h.left = append(h.left, left...)
		case <-late:
			return
		}
	}
}

// stopped tells the other processes why the run has ended here, where they do not know, and returns how long
// workers may take.
func (p *process) stopped() time.Duration {
	e := p.eng
	p.clocks.stop()
	var fault *ProgramError
	switch {
	case errors.Is(e.err, ErrInterrupted):
		p.asked = time.Now()
		p.passInterrupt()
		return interruptGrace
	case p.node == 0 && e.err == nil:
		p.tellAll(stopOver)
	case p.node == 0:
		p.tellAll(stopFault)
	case errors.As(e.err, &fault):
		p.tellJSON(msgFault, fault)
	}
	return stopGrace
}

// passInterrupt tells the others that this process was interrupted, unless it knows that from one of them.
func (p *process) passInterrupt() {
	p.interrupt.Do(func() {
		close(p.interrupted)
		p.tellAll(stopInterrupt)
	})
}

func (p *process) tellAll(why byte) {
	for to := range p.nodes {
		if to != p.node {
			p.tell(to, msgStop, []byte{why})
		}
	}
}

// outcome is what a process tells node 0 at the end.
type outcome struct {
	Result  Result
	Remains []byte // packed; nil if its workers were abandoned
}

// end is what comes when the workers of this process have stopped.
func (p *process) end() (*Result, error) {
	e := p.eng
	p.deafen()
	alone := p.lost || errors.Is(e.err, ErrInterrupted)
	if alone && !p.lost {
		p.gatherLeft()
	}
	if alone && !p.close() {
		e.abandoned = true // its stream may still be used
	}
	var own []*remains
	if e.abandoned {
		e.abandon()
	} else {
		own = e.end()
	}
	res := e.result()
	if alone {
		return res, e.err
	}
	err := p.clocks.atEnd()
	var sum Result
	var verdict error
	if err == nil {
		err = p.meet(func() (err error) {
			sum, verdict, err = p.gather(*res, own)
			return err
		})
	}
	if errors.Is(err, ErrInterrupted) {
		p.passInterrupt()
	}
	p.close()
	if err != nil {
		return res, err
	}
	return &sum, verdict
}

// deafen returns when no message of the program is being handled; none will be.
func (p *process) deafen() {
	p.deafMu.Lock()
	p.deaf = true
	p.deafMu.Unlock()
}

// close leaves the network. It reports false where that takes too long for a process that was interrupted.
func (p *process) close() bool {
	done := make(chan struct{})
	go func() { p.eng.net.Close(); close(done) }()
	select {
	case <-done:
		return true
	case <-p.interrupted:
	}
	select {
	case <-done:
		return true
	case <-time.After(closeGrace):
		return false
	}
}

// gather brings the results of all to node 0, which adds them up, finds out whether anything is left, and
// tells the others whether all is well. It changes nothing here, since after an interrupt nobody waits for
// it.
func (p *process) gather(res Result, own []*remains) (sum Result, verdict, err error) {
	g := p.cfg.Group
	all := own
	if len(own) == 0 { // the workers of this process were abandoned
		all = []*remains{{}}
	}
	err = procs.Collect(g, func() outcome {
		o := outcome{Result: res}
		if len(own) > 0 {
			k := packing(nil)
			k.remains(own[0])
			o.Remains = k.b
		}
		return o
	}, func(node int, o *outcome) error {
		res.add(&o.Result)
		r := &remains{node: node}
		if o.Remains != nil {
			unpacking(p.eng.prog, o.Remains).remains(r)
		}
		all = append(all, r)
		return nil
	})
	if err != nil {
		return res, nil, err
	}
	if p.node == 0 {
		verdict = p.eng.verdict(all)
	}
	bad, err := procs.FromMember(g, 0, verdict != nil)
	if err == nil && bad && p.node != 0 {
		verdict = ErrElsewhere
	}
	return res, verdict, err
}

// add adds what another process did.
func (r *Result) add(o *Result) {
	r.CFs += o.CFs
	r.Atomic += o.Atomic
	r.Migrated += o.Migrated
	r.Stolen += o.Stolen
	r.Messages += o.Messages
	r.Unplaced += o.Unplaced
	r.Addresses = append(r.Addresses, o.Addresses...)
	r.Inside = append(r.Inside, o.Inside...)
}
