//go:build !no_perfetto_module

package modules

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/whyslow/whyslow/internal/tracefile/eventjson"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// PerfettoName is the name of the module that writes a trace for Perfetto.
const PerfettoName = "perfetto_module"

// perfettoCounters are the choices of the parameter counters, by what they show.
var perfettoCounters = []string{"DFSizer", "DFHeld", "ReadyQueue", "SendQueue"}

func init() {
	prof.RegisterModule(prof.ModuleInfo{
		Name:    PerfettoName,
		Aliases: []string{"prefetto_module"},
		Doc:     "writes a JSON trace for Perfetto (ui.perfetto.dev): user code, memory, queues, DFs between nodes",
		Output:  "a JSON file, written while the program runs; the file of a killed run can be opened",
		Cost: "about 65 ns per event, 130 ns per record (call of user code, counter change, DF sent or " +
			"received); 120 bytes of file per record; a lock when 64 kB are passed on, and for " +
			"each change of DFHeld",
		Events: []string{"GlobalEvents.onForeignStarted", "GlobalEvents.onForeignEnded",
			"GlobalEvents.onReadyQueue", "GlobalEvents.onSendQueue",
			"CFEvents.onCreated", "CFEvents.onStarted", "CFEvents.onFinished", "CFEvents.onDestroyed",
			"DFEvents.onCreate", "DFEvents.onDestroy", "DFEvents.onStored", "DFEvents.onDropped", "DFEvents.onSent",
			"DFEvents.onReceived", "SyncEvents.onWaitStarted", "SyncEvents.onWaitEnded"},
		Params: []prof.Param{
			{Name: "file", Default: "perfetto.json", Doc: outputDoc},
			{Name: "precision", Default: "ns", Choices: []string{"ns", "us"}, Doc: "of times, which are in " +
				"microseconds: ns keeps fractions, us rounds down"},
			{Name: "counters", Default: perfettoCounters, Doc: "per node: DFSizer (bytes of DFs created and " +
				"destroyed so far), DFHeld (bytes of copies held), ReadyQueue, SendQueue (lengths)"},
			{Name: "flows", Default: true,
				Doc: "DFs sent and received, with an arrow from the sender to the receiver"},
			{Name: "args", Default: false, Doc: "CFs with their ids and labels, DFs with their names"},
			{Name: "structured", Default: false, Doc: "also executions of structured CFs"},
		},
		New: func() prof.Module { return &Perfetto{} },
	})
}

// Perfetto is the module perfetto_module.
//
// # The file
//
// An array of records in the Trace Event Format, one a line: complete events ("X") for calls of user code,
// counters ("C"), names of processes and threads ("M"). A node is a process, a stream one of its threads.
// Each record but the first begins with the comma that sets it off, so the file always lacks but its last
// bracket, which readers do without.
//
// # How it is written
//
// Each stream hands over its buffer when that is full or a second old. Records of different streams are not
// in the order of time; readers do not ask for that.
//
// Stores and drops have the time of the CF that did them, and arrive a little later. So DFHeld is
// added up in order of time, and changes at the same time count together, as in the report: otherwise
// its peaks would be higher than what was ever held.
//
// Arrows are made of the message's number in the records of sending and receipt ("bind_id"). Records for
// arrows ("s", "f") would be tied to user code around them, and most messages are sent outside of it.
type Perfetto struct {
	out        *prof.Output
	describe   func() prof.Describer
	start      int64
	whole      bool // microseconds
	args       bool
	structured bool
	run        prof.RunFacts
	cfs        cfTable[tracedCF]
	streams    *prof.PerStream[perfettoStream]
	mu         sync.Mutex
	nodes      map[int]*perfettoNode
	tids       int // given to streams beyond those of RunFacts
}

// tracedCF is what is known of a CF.
type tracedCF struct {
	site    atomic.Uint64 // its creating node and statement
	started atomic.Int64
	label   atomic.Pointer[string] // its indices
}

// perfettoNode has the counters of a node.
type perfettoNode struct {
	created, destroyed atomic.Int64
	mu                 sync.Mutex
	changes            []heldChange // of the bytes held, not yet written
	held, heldAt       int64        // what was written last, and for when
}

// heldChange is that of the bytes held from a time on; on its way to the file, what is held from then on.
type heldChange struct{ t, bytes int64 }

// settled is how long changes of the bytes held wait for earlier ones that other workers tell of later.
const settled = int64(1e8)

// perfettoStream is the state of a stream; only who uses the stream may touch it.
type perfettoStream struct {
	node    *perfettoNode
	buf     []byte
	written int64  // time of the first record in buf
	place   []byte // `,"pid":1,"tid":2,"args":{`
	names   map[perfettoName]*perfettoText
	waits   []int64 // starts of the waits in progress
	cf      trace.CF
	// The call of user code in progress, or the last one.
	calling bool
	called  int64
	site    trace.Site
}

type perfettoName struct {
	node int
	site trace.Site
}

// perfettoText is what records about a statement begin with.
type perfettoText struct {
	foreign, cf []byte
	label       []byte // quoted, without the last quote; nil for none
	atomic      bool
}

// pieceSize is how much of a stream is collected before it is passed on.
const pieceSize = 1 << 16

// pieceAge is how long what is collected may wait, if there are further events.
const pieceAge = int64(1e9)

// Start writes the first record and connects the handlers.
func (m *Perfetto) Start(h *prof.Host) error {
	counters := h.Strings("counters")
	for _, c := range counters {
		if !slices.Contains(perfettoCounters, c) {
			return fmt.Errorf("counters=%s: use some of %v", c, perfettoCounters)
		}
	}
	switch h.String("precision") {
	case "ns", "us":
		m.whole = h.String("precision") == "us"
	default:
		return fmt.Errorf("precision=%s: use ns or us", h.String("precision"))
	}
	var err error
	if m.out, err = h.Open(h.String("file")); err != nil {
		return err
	}
	m.run, m.describe, m.start = h.Run(), h.Describe, h.Run().StartNS
	if m.args, m.structured = h.Bool("args"), h.Bool("structured"); m.args {
		h.WantDFs()
	}
	m.nodes = map[int]*perfettoNode{}
	m.tids = m.run.PID + m.run.Nodes + m.run.Nodes*m.threads()
	m.streams = prof.NewPerStream(h.Session(), m.join)
	// The first process opens the list, which cannot begin with a comma.
	m.nodes[m.run.Node] = &perfettoNode{}
	if err := m.write(m.appendProcess([]byte("[\n"), m.run.Node)); err != nil {
		return err
	}
	return m.connect(h, func(c string) bool { return slices.Contains(counters, c) }, h.Bool("flows"))
}

// pid is the process that stands for a node: this one for its first node, then the numbers after it.
func (m *Perfetto) pid(node int) int { return m.run.PID + node - m.run.Node }

// threads is how many streams a node has as a rule: its workers, messages, measurements.
func (m *Perfetto) threads() int { return m.run.Workers + 2 }

func (m *Perfetto) appendProcess(dst []byte, node int) []byte {
	dst = append(strconv.AppendInt(append(dst, `{"name":"process_name","ph":"M","pid":`...), int64(m.pid(node)),
		10), `,"args":{"name":`...)
	name := "node " + strconv.Itoa(node)
	if m.run.Program != "" {
		name = m.run.Program + " " + name
	}
	return append(eventjson.AppendString(dst, name), "}}"...)
}

// join prepares the state of a stream: it and, if it is the first one, its node get their names.
func (m *Perfetto) join(s *prof.Stream, st *perfettoStream) {
	m.mu.Lock()
	defer m.mu.Unlock()
	node, id := s.Node(), s.ID()
	st.names = map[perfettoName]*perfettoText{}
	st.buf = make([]byte, 0, pieceSize+1024)
	if st.node = m.nodes[node]; st.node == nil {
		st.node = &perfettoNode{}
		m.nodes[node] = st.node
		st.buf = m.appendProcess(append(st.buf, ",\n"...), node)
	}
	// No two threads have the same number: Perfetto would take them for one.
	own := node - m.run.Node
	tid := m.run.PID + m.run.Nodes + own*m.threads() + id
	if id >= m.threads() || own >= m.run.Nodes {
		m.tids++
		tid = m.tids
	}
	place := fmt.Appendf(nil, `"pid":%d,"tid":%d,"args":{`, m.pid(node), tid)
	st.place = append([]byte{','}, place...)
	st.buf = append(append(append(st.buf, ",\n{\"name\":\"thread_name\",\"ph\":\"M\","...), place...),
		`"name":"`...)
	switch {
	case id < m.run.Workers || m.run.Workers == 0:
		st.buf = fmt.Appendf(st.buf, `worker %d"}}`, id)
	case id == m.run.Workers:
		st.buf = append(st.buf, `messages"}}`...)
	default:
		st.buf = fmt.Appendf(st.buf, `system %d"}}`, id)
	}
}

// text returns what is to be written about a statement of a node.
func (m *Perfetto) text(st *perfettoStream, node int, site trace.Site) *perfettoText {
	key := perfettoName{node, site}
	if x := st.names[key]; x != nil {
		return x
	}
	d := m.describe().Site(node, site)
	head := func(category string) []byte {
		return append(append(eventjson.AppendString([]byte(",\n{\"name\":"), d.Code), `,"cat":"`...),
			category+`","ph":"X","ts":`...)
	}
	x := &perfettoText{foreign: head("ForeignBlock"), cf: head("CF"), atomic: d.Kind == trace.Atomic}
	if d.Label != "" {
		x.label = eventjson.AppendString(nil, d.Label)
		x.label = x.label[:len(x.label)-1]
	}
	st.names[key] = x
	return x
}

// appendTime appends a number of nanoseconds as microseconds.
func (m *Perfetto) appendTime(dst []byte, ns int64) []byte {
	us, rest := ns/1000, ns%1000
	if m.whole || rest == 0 {
		return strconv.AppendInt(dst, us, 10)
	}
	if rest < 0 {
		rest = -rest
		if us == 0 {
			dst = append(dst, '-')
		}
	}
	dst = append(strconv.AppendInt(dst, us, 10), '.', byte('0'+rest/100))
	if rest %= 100; rest > 0 {
		dst = append(dst, byte('0'+rest/10))
		if rest %= 10; rest > 0 {
			dst = append(dst, byte('0'+rest))
		}
	}
	return dst
}

// slice begins a record of something that lasted; done ends it.
func (m *Perfetto) slice(st *perfettoStream, head []byte, from, to int64) {
	from, to = from-m.start, to-m.start
	if m.whole { // both ends are rounded alike, or neighbours would overlap
		from, to = floor(from), floor(to)
	}
	st.buf = append(m.appendTime(append(st.buf, head...), from), `,"dur":`...)
	st.buf = append(m.appendTime(st.buf, max(0, to-from)), st.place...)
}

// floor is the whole microsecond before a time.
func floor(ns int64) int64 { return ns - (ns%1000+1000)%1000 }

// counter begins a record of a counter, up to its arguments.
func (m *Perfetto) counter(st *perfettoStream, head string, t int64) {
	st.buf = append(st.buf, head...)
	at := t - m.start
	if m.whole {
		at = floor(at)
	}
	st.buf = append(append(m.appendTime(st.buf, at), `,"dur":0`...), st.place...)
}

// changed notes a change of the bytes held, and takes out what is old enough to be written.
func (n *perfettoNode) changed(t, bytes int64) (due []heldChange) {
	n.mu.Lock()
	if len(n.changes) == cap(n.changes) { // append alone would copy a long list for each quarter more
		n.changes = slices.Grow(n.changes, max(64, len(n.changes)))
	}
	n.changes = append(n.changes, heldChange{t, bytes})
	old := t-n.changes[0].t > 2*settled
	n.mu.Unlock()
	if old {
		due = n.heldBefore(t - settled)
	}
	return due
}

// heldBefore takes out the changes before a time: what was held from when on.
func (n *perfettoNode) heldBefore(t int64) (list []heldChange) {
	n.mu.Lock()
	defer n.mu.Unlock()
	slices.SortFunc(n.changes, func(a, b heldChange) int { return cmp.Compare(a.t, b.t) })
	due := sort.Search(len(n.changes), func(i int) bool { return n.changes[i].t >= t })
	list = make([]heldChange, 0, due)
	for _, c := range n.changes[:due] {
		n.held += c.bytes
		n.heldAt = max(n.heldAt, c.t)
		if len(list) == 0 || list[len(list)-1].t != n.heldAt {
			list = append(list, heldChange{t: n.heldAt})
		}
		list[len(list)-1].bytes = n.held
	}
	n.changes = append(n.changes[:0], n.changes[due:]...)
	return list
}

func (m *Perfetto) writeHeld(st *perfettoStream, list []heldChange, now int64) {
	for _, h := range list {
		m.counter(st, ",\n"+`{"name":"DFHeld","cat":"DF","ph":"C","ts":`, h.t)
		st.buf = strconv.AppendInt(append(st.buf, `"bytes":`...), h.bytes, 10)
		m.done(st, now)
	}
}

// done ends a record, whose stream passes on its buffer if that is due.
func (m *Perfetto) done(st *perfettoStream, t int64) {
	st.buf = append(st.buf, "}}"...)
	if st.written == 0 {
		st.written = t
	}
	if len(st.buf) >= pieceSize || t-st.written > pieceAge {
		m.handOver(st)
	}
}

func (m *Perfetto) handOver(st *perfettoStream) {
	_ = m.write(st.buf) // the Output keeps the error and tells
	st.buf, st.written = st.buf[:0], 0
}

// write writes whole records and gets them to the file, so that this ends with a whole record.
func (m *Perfetto) write(b []byte) error {
	if _, err := m.out.Write(b); err != nil {
		return err
	}
	return m.out.Flush()
}

// Finish writes what is left, and of user code that has not returned that it ran until now.
func (m *Perfetto) Finish() error {
	now := prof.Now()
	m.streams.All(func(s *prof.Stream, st *perfettoStream) {
		if st.calling {
			m.slice(st, m.text(st, s.Node(), st.site).foreign, st.called, now)
			st.buf = append(st.buf, `"unfinished":true`...)
			m.done(st, now)
			st.calling = false
		}
		m.writeHeld(st, st.node.heldBefore(math.MaxInt64), now)
		m.handOver(st)
	})
	return m.write([]byte("\n]\n"))
}
