//go:build !no_state_module

package modules

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// StateName is the name of the module that counts what exists and what is going on.
const StateName = "state_module"

// loadEvent is what the module emits.
const loadEvent = "StateEvents.onLoad(node:Node ready:Int running:Int bytes:Bytes)"

func init() {
	prof.RegisterModule(prof.ModuleInfo{
		Name:   StateName,
		Doc:    "counts CFs, DFs and activity on each node, for other modules to query at any time",
		Output: "with interval: a line of JSON per node at that interval and at the end",
		Cost:   "about 40 ns per event, no lock; 8 bytes per live CF",
		Events: []string{"CFEvents.*", "DFEvents.onStored", "DFEvents.onDropped", "DFEvents.onSent",
			"DFEvents.onReceived",
			"GlobalEvents.onReadyQueue", "GlobalEvents.onSendQueue", "GlobalEvents.onIdle", "GlobalEvents.onBusy",
			"GlobalEvents.onProgramStarted", "GlobalEvents.onProgramFinished"},
		Emits: []string{loadEvent},
		Params: []prof.Param{
			{Name: "interval", Default: 0, Doc: "milliseconds between two lines; 0: no lines"},
			{Name: "file", Default: "", Doc: outputDoc},
			{Name: "emit", Default: 0, Doc: "at least this many milliseconds between two StateEvents.onLoad of a " +
				"node; 0: none"},
		},
		New: func() prof.Module { return &State{} },
	})
}

// State is the module state_module. It implements prof.State.
//
// # How it counts
//
// The life of a CF is a walk through states (here, waiting, ready, running), each event a step. A CF's state
// and weight are one word, which each event exchanges; the old word tells which counts change. So an event
// that says what is known changes nothing, and a missing one leaves no count behind.
//
// Counts are kept by stream and added up when somebody asks. While events go on, a sum may have seen half of
// a move between streams; it is never below zero, and exact when nothing happens.
//
// Not done: counts by code fragment (profile_module) and neighbour relations (GlobalEvents.onRelations).
type State struct {
	cfs     cfTable[atomic.Uint64]
	streams *prof.PerStream[stateStream]
	workers int
	first   int   // node of this process; those before it have no lines
	emit    int64 // ns, 0: never
	load    *prof.UserEvent

	mu    sync.Mutex
	nodes []*stateNode

	out     *prof.Output
	start   int64
	stop    chan struct{}
	stopped chan struct{}
}

// What a CF is doing, in the lowest bits of its word. Above them is its weight in units of 1/weightUnit.
const (
	cfGone    = iota // not on any node of this process
	cfHere           // exists; neither of the following
	cfWaiting        // onWaiting was the last word
	cfReady          // onReady was
	cfRunning        // onStarted was
	cfStates

	stateBits  = 3
	weightUnit = 1 << 20
	maxWeight  = 1 << 39
)

// stateStream is what one stream has changed. Only its own stream adds to it.
type stateStream struct {
	node           *stateNode
	cfs            [cfStates]atomic.Int64 // by state; that of cfGone means nothing
	finished       atomic.Int64
	dfs, bytes     atomic.Int64
	sent, received atomic.Int64
	weight         atomic.Int64 // in units
	sending        atomic.Int64
	busy           atomic.Int64
	peers          []uint64 // lengths of the queues to other nodes, as last recorded here
	_              [64]byte
}

// stateNode is what a node's streams share.
type stateNode struct {
	queue    atomic.Int64
	nextEmit atomic.Int64
}

// Start connects the handlers and starts to write lines if that is wanted.
func (m *State) Start(h *prof.Host) error {
	interval, emit := h.Int("interval"), h.Int("emit")
	for name, ms := range map[string]int{"interval": interval, "emit": emit} {
		if ms < 0 {
			return fmt.Errorf("%s=%d: give a number of milliseconds, 0 for never", name, ms)
		}
	}
	run, ses := h.Run(), h.Session()
	m.workers, m.start, m.emit = run.Workers, run.StartNS, int64(emit)*1e6
	m.first = run.Node
	for n := range run.Nodes {
		m.node(m.first + n)
	}
	m.streams = prof.NewPerStream(ses, func(s *prof.Stream, st *stateStream) { st.node = m.node(s.Node()) })
	if emit > 0 {
		var err error
		if m.load, err = ses.Define("StateEvents", "onLoad", trace.Field{Name: "node", Type: trace.FieldNode,
			Doc: "the node"},
			trace.Field{Name: "ready", Type: trace.FieldInt, Doc: "CFs that are ready but do not run"},
			trace.Field{Name: "running", Type: trace.FieldInt, Doc: "CFs being executed"},
			trace.Field{Name: "bytes", Type: trace.FieldBytes, Doc: "bytes of the DF copies held"}); err != nil {
			return err
		}
	}
	if err := m.connect(h); err != nil {
		return err
	}
	if interval > 0 {
		var err error
		if m.out, err = h.Open(h.String("file")); err != nil {
			return err
		}
		m.stop, m.stopped = make(chan struct{}), make(chan struct{})
		go m.write(time.Duration(interval) * time.Millisecond)
	}
	return nil
}

// node returns a node, made if it is new.
func (m *State) node(n int) *stateNode {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.nodes) <= n {
		m.nodes = append(m.nodes, &stateNode{})
	}
	return m.nodes[n]
}

// enter gives a CF that is new on a node its weight and state.
func (m *State) enter(st *stateStream, cf trace.CF, weight float64) {
	w := units(weight)
	st.weight.Add(w - m.set(st, m.cfs.at(cf), uint64(w)<<stateBits|cfHere))
}

// leave ends a CF's time on a node.
func (m *State) leave(st *stateStream, cf trace.CF) {
	if c := m.cfs.find(cf); c != nil {
		st.weight.Add(-m.set(st, c, cfGone))
	}
}

// set exchanges the word of a CF, counts, and returns the weight that it had.
func (m *State) set(st *stateStream, c *atomic.Uint64, word uint64) (weight int64) {
	old := c.Swap(word)
	st.count(old, word)
	return int64(old) >> stateBits
}

func (st *stateStream) count(old, word uint64) {
	from, to := old&(1<<stateBits-1), word&(1<<stateBits-1)
	if from == to {
		return
	}
	// First what is more: a sum in between is rather too high than too low.
	if to != cfGone {
		st.cfs[to].Add(1)
	}
	if from != cfGone {
		st.cfs[from].Add(-1)
	}
}

// move brings a CF that stays on its node into another state.
func (m *State) move(st *stateStream, cf trace.CF, state uint64) {
	c := m.cfs.at(cf)
	old := c.Load()
	for !c.CompareAndSwap(old, old&^(1<<stateBits-1)|state) {
		old = c.Load()
	}
	st.count(old, state)
}

// units turns a weight into a whole number, so that sums of any order come out the same and end at zero.
func units(weight float64) int64 {
	if math.IsNaN(weight) {
		return 0
	}
	return int64(math.Round(max(-maxWeight, min(weight, maxWeight)) * weightUnit))
}

// Node returns the state of a node of this process; that of a node without events is zero.
func (m *State) Node(node int) (s prof.NodeState) {
	m.mu.Lock()
	if node < 0 || node >= len(m.nodes) {
		m.mu.Unlock()
		return s
	}
	n := m.nodes[node]
	m.mu.Unlock()
	var weight int64
	m.streams.All(func(_ *prof.Stream, st *stateStream) {
		if st.node != n {
			return
		}
		// In the order in which CFs go through them: one that moves meanwhile counts twice rather than never.
		here, waiting, ready, running := st.cfs[cfHere].Load(), st.cfs[cfWaiting].Load(), st.cfs[cfReady].Load(),
			st.cfs[cfRunning].Load()
		s.CFs += here + waiting + ready + running
		s.Waiting += waiting
		s.Ready += ready
		s.Running += running
		s.Finished += st.finished.Load()
		s.DFs += st.dfs.Load()
		s.Bytes += st.bytes.Load()
		s.Sent += st.sent.Load()
		s.Received += st.received.Load()
		s.Sending += st.sending.Load()
		s.Busy += st.busy.Load()
		weight += st.weight.Load()
	})
	for _, p := range []*int64{&s.CFs, &s.Waiting, &s.Ready, &s.Running, &s.DFs, &s.Bytes} {
		*p = max(0, *p)
	}
	s.Queue = n.queue.Load()
	s.Weight = float64(weight) / weightUnit
	return s
}

// tick emits the load of the stream's node if that is due.
func (m *State) tick(s *prof.Stream, st *stateStream, t int64) {
	if m.emit == 0 {
		return
	}
	due := st.node.nextEmit.Load()
	if t < due || !st.node.nextEmit.CompareAndSwap(due, t+m.emit) {
		return
	}
	n := m.Node(s.Node())
	if err := m.load.EmitAt(s, t, s.Node(), n.Ready, n.Running, n.Bytes); err != nil {
		panic(err) // the types are ours
	}
}

// stateLine is a line of the output; docs/modules.md explains it.
type stateLine struct {
	TimeNS int64 `json:"time_ns"`
	Node   int   `json:"node"`
	prof.NodeState
}

// lines writes a line for each node.
func (m *State) lines() error {
	m.mu.Lock()
	nodes := len(m.nodes)
	m.mu.Unlock()
	var b strings.Builder
	enc := json.NewEncoder(&b)
	t := prof.Now() - m.start
	for n := m.first; n < nodes; n++ {
		if err := enc.Encode(stateLine{t, n, m.Node(n)}); err != nil {
			return err
		}
	}
	_, _ = m.out.Write([]byte(b.String())) // the Output keeps an error, and Flush returns it
	return m.out.Flush()
}

// write writes lines until Finish.
func (m *State) write(interval time.Duration) {
	defer close(m.stopped)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if m.lines() != nil {
				return // Finish meets the same error
			}
		case <-m.stop:
			return
		}
	}
}

// Finish writes the last lines: what is left.
func (m *State) Finish() error {
	if m.stop == nil {
		return nil
	}
	close(m.stop)
	<-m.stopped
	m.stop = nil
	return m.lines()
}
