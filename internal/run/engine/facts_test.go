package engine_test

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// facts is a trace read for the tests, and what is inconsistent in it.
type facts struct {
	dir    string
	kinds  map[trace.Kind]int
	events []event // by time
	faults []string
	cfs    map[trace.CF]*cfFacts
	sites  map[trace.Site]string // text of the statement
	good   bool                  // the program ended well and every event was recorded
	r      *trace.Reader
}

type event struct {
	node, stream int
	t            int64
	kind         trace.Kind
	a            []uint64
	list         []uint64
	df           uint64 // 64-bit id of the DF if the first field is one
}

type cfFacts struct {
	site               trace.Site
	created, destroyed int64
	nCreated, nDestroy int
	node               int     // where it is now
	starts, ends       []int64 // by execution
	ready              []int64
	nodes              []int // of executions
	leaving            *event
}

// seenKinds collects, over all runs of the tests, the kinds of events that were recorded.
var seenKinds = map[trace.Kind]int{}

func (f *facts) fault(format string, args ...any) {
	if len(f.faults) < 20 {
		f.faults = append(f.faults, fmt.Sprintf(format, args...))
	}
}

// readFacts reads a trace and checks it. good: the program ended well, so that everything must come to its
// end.
func readFacts(t testing.TB, dir string, good bool) *facts {
	t.Helper()
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	f := &facts{dir: dir, kinds: map[trace.Kind]int{}, cfs: map[trace.CF]*cfFacts{},
		sites: map[trace.Site]string{}, good: good, r: r}
	for _, s := range r.Streams() {
		f.stream(r, s.Node, s.Stream)
	}
	for _, p := range r.Problems() {
		if good {
			f.fault("%v", p)
		}
	}
	slices.SortStableFunc(f.events, func(x, y event) int { return cmp.Compare(x.t, y.t) })
	for k, n := range f.kinds {
		seenKinds[k] += n
	}
	f.checkCFs()
	f.checkDFs()
	f.checkMessages()
	f.reread(t, r, good)
	return f
}

// stream reads one stream and checks what can be checked within it.
func (f *facts) stream(r *trace.Reader, node, stream int) {
	defs := r.Defs(node)
	defs.EachSite(func(s trace.SiteDef) { f.sites[s.Site] = defs.Name(s.Text) })
	c := r.Stream(node, stream)
	var b trace.Batch
	last := int64(-1 << 62)
	var before trace.Kind
	var foreign, block uint64
	var running trace.CF
	var execution uint64
	idle, finished := false, false
	n := 0
	for c.Next(&b) {
		for i := range b.N {
			e := event{node: node, stream: stream, t: b.Time[i], kind: b.Kind[i], a: slices.Clone(b.Args(i))}
			spec := defs.Kind(e.kind)
			if fixed, list := spec.List(); list {
				e.list = e.a[fixed+1:]
				e.a = e.a[:fixed]
			}
			if len(spec.Fields) > 0 && spec.Fields[0].Type == trace.FieldDF {
				if e.df = defs.ID(trace.DF(e.a[0])); e.df == 0 {
					f.fault("n%d s%d: %v of the undefined DF %d", node, stream, e.kind, e.a[0])
				}
			}
			f.events = append(f.events, e)
			f.kinds[e.kind]++
			where := fmt.Sprintf("n%d s%d event %d, %v", node, stream, n, e.kind)
			if e.t < last {
				f.fault("%s: %d ns before the event before it, %v", where, last-e.t, before)
			}
			last, before = e.t, e.kind
			n++
			if (n == 1) != (e.kind == trace.KindProgramStarted) {
				f.fault("%s: is event %d of the stream", where, n)
			}
			if finished && e.kind != trace.KindClockSync { // the last comparison comes after the end
				f.fault("%s: after the end", where)
			}
			switch e.kind {
			case trace.KindProgramFinished:
				finished = true
			case trace.KindForeignStarted:
				if foreign != 0 {
					f.fault("%s: within user code", where)
				}
				foreign = e.a[0]
			case trace.KindForeignEnded:
				if foreign != e.a[0] {
					f.fault("%s: of %d within %d", where, e.a[0], foreign)
				}
				foreign = 0
			case trace.KindCFStarted:
				if running != 0 {
					f.fault("%s: within %v", where, running)
				}
				running, execution = trace.CF(e.a[0]), e.a[1]
			case trace.KindCFFinished:
				if running != trace.CF(e.a[0]) || execution != e.a[1] {
					f.fault("%s: of %v, not %v", where, trace.CF(e.a[0]), running)
				}
				running = 0
			case trace.KindBlockStarted:
				if block != 0 {
					f.fault("%s: within another block", where)
				}
				block = e.a[0]
			case trace.KindBlockExited, trace.KindBlockMigrated, trace.KindBlockWaiting, trace.KindBlockContinued:
				// A CF whose node is known when it is created goes there at once.
				if block != e.a[0] {
					f.fault("%s: of %d within %d", where, e.a[0], block)
				}
				if e.kind != trace.KindBlockContinued {
					block = 0
				}
			case trace.KindCFHeld:
				block = 0
			case trace.KindIdle:
				if idle {
					f.fault("%s: twice", where)
				}
				idle = true
			case trace.KindBusy:
				if !idle {
					f.fault("%s: was not idle", where)
				}
				idle = false
			}
			if idle && e.kind != trace.KindIdle && e.kind != trace.KindProgramFinished {
				f.fault("%s: while idle", where)
			}
		}
	}
	if f.good && (running != 0 || foreign != 0 || !finished) {
		f.fault("n%d s%d: ends with running CF %v, user code %d, end recorded: %v", node, stream, running,
			foreign, finished)
	}
}

func (f *facts) cf(id uint64) *cfFacts {
	c := f.cfs[trace.CF(id)]
	if c == nil {
		c = &cfFacts{node: -1}
		f.cfs[trace.CF(id)] = c
	}
	return c
}

// checkCFs follows every CF from its creation to its end. Events are by time; those of equal times may be in
// any order.
func (f *facts) checkCFs() {
	for i := range f.events {
		e := &f.events[i]
		switch e.kind {
		case trace.KindCFCreated:
			c := f.cf(e.a[0])
			c.nCreated++
			c.created, c.site, c.node = e.t, trace.Site(e.a[1]), e.node
			if trace.CF(e.a[0]).Node() != e.node {
				f.fault("CF %v was created on node %d", trace.CF(e.a[0]), e.node)
			}
			if f.sites[c.site] == "" {
				f.fault("CF %v is of an unknown statement", trace.CF(e.a[0]))
			}
		case trace.KindCFDestroyed:
			c := f.cf(e.a[0])
			c.destroyed = e.t
			c.nDestroy++
			if c.nDestroy > 1 {
				f.fault("CF %v was destroyed twice", trace.CF(e.a[0]))
			}
		}
	}
	counters := map[int][]uint64{}
	for id := range f.cfs {
		counters[id.Node()] = append(counters[id.Node()], id.Counter())
	}
	for node, l := range counters {
		slices.Sort(l)
		for i, n := range l {
			if n != uint64(i)+1 && f.good {
				f.fault("node %d: CFs are not numbered from 1 without holes: %d after %d", node, n, i)
				break
			}
		}
	}
	for i := range f.events {
		f.cfEvent(&f.events[i])
	}
	for id, c := range f.cfs {
		if c.nCreated != 1 {
			f.fault("CF %v was created %d times", id, c.nCreated)
		}
		if len(c.starts) != len(c.ends) && f.good {
			f.fault("CF %v started %d times and finished %d times", id, len(c.starts), len(c.ends))
		}
		if f.good && c.nDestroy == 0 {
			f.fault("CF %v (%s) was not destroyed", id, f.sites[c.site])
		}
		if f.good && len(c.starts) == 0 {
			f.fault("CF %v was not executed", id)
		}
		if c.leaving != nil && f.good {
			f.fault("CF %v never arrived at node %d", id, c.leaving.a[1])
		}
	}
}

func (f *facts) cfEvent(e *event) {
	if e.kind > trace.KindCFResumed {
		return
	}
	id := trace.CF(e.a[0])
	c := f.cf(e.a[0])
	bad := func(format string, args ...any) {
		f.fault("%v of CF %v (%s) on node %d: %s", e.kind, id, f.sites[c.site], e.node,
			fmt.Sprintf(format, args...))
	}
	if c.nCreated > 0 && e.t < c.created {
		bad("%d ns before its creation", c.created-e.t)
	}
	if c.nDestroy > 0 && e.t > c.destroyed {
		bad("%d ns after its end", e.t-c.destroyed)
	}
	switch e.kind {
	case trace.KindCFCreated:
	case trace.KindCFMigrated, trace.KindCFStolen:
		if c.leaving != nil || c.node != e.node {
			bad("is on node %d", c.node)
		}
		if int(e.a[1]) == e.node {
			bad("to its own node")
		}
		c.leaving = e
	case trace.KindCFReceived:
		switch {
		case c.leaving == nil && f.whole():
			bad("was not sent")
		case c.leaving == nil:
		case int(c.leaving.a[1]) != e.node || c.leaving.node != int(e.a[1]) || c.leaving.a[2] != e.a[2]:
			bad("does not match %v", *c.leaving)
		}
		c.leaving, c.node = nil, e.node
	default:
		if e.node != c.node {
			bad("is on node %d", c.node)
		}
	}
	switch e.kind {
	case trace.KindCFReady:
		if late := int64(e.a[1]); late < 0 || e.t-late < c.created {
			bad("ready %d ns before its creation", c.created-(e.t-late))
		}
		c.ready = append(c.ready, e.t)
	case trace.KindCFStarted:
		if len(c.ready) <= len(c.starts) {
			bad("execution %d, ready %d times", e.a[1], len(c.ready))
		}
		if e.a[1] != uint64(len(c.starts))+1 || len(c.starts) != len(c.ends) {
			bad("execution %d after %d starts and %d ends", e.a[1], len(c.starts), len(c.ends))
		}
		c.starts = append(c.starts, e.t)
		c.nodes = append(c.nodes, e.node)
	case trace.KindCFFinished:
		if e.a[1] != uint64(len(c.ends))+1 {
			bad("execution %d after %d ends", e.a[1], len(c.ends))
		}
		c.ends = append(c.ends, e.t)
		if cpu := int64(e.a[2]); cpu < -1 || cpu > 60e9 {
			bad("took %d ns of the thread", cpu)
		}
	case trace.KindCFWaiting:
		if len(e.list) == 0 {
			bad("waits for nothing")
		}
	}
}

// checkDFs checks the copies held on nodes: every one that was stored is given up.
func (f *facts) checkDFs() {
	type copy struct {
		node int
		df   uint64
	}
	held := map[copy]int{}
	first := map[copy]int64{}
	made := map[uint64]int64{}
	for i := range f.events {
		e := &f.events[i]
		k := copy{e.node, e.df}
		switch e.kind {
		case trace.KindDFCreate:
			if _, ok := made[e.df]; !ok {
				made[e.df] = e.t
			}
		case trace.KindDFStored:
			held[k]++
			if _, ok := first[k]; !ok {
				first[k] = e.t
			}
			if t, ok := made[e.df]; !ok && f.good || ok && e.t < t {
				f.fault("DF %d was stored on node %d before it was made", e.a[0], e.node)
			}
		case trace.KindDFDropped:
			held[k]--
		case trace.KindDFDestroy:
			if e.a[2] > uint64(trace.End) {
				f.fault("DF %d destroyed for reason %d", e.a[0], e.a[2])
			}
		}
	}
	for k, n := range held {
		if n != 0 && f.good {
			f.fault("node %d holds %d copies of DF %x at the end", k.node, n, k.df)
		}
	}
	for i := range f.events {
		if e := &f.events[i]; e.kind == trace.KindCFStarted && f.good {
			for _, n := range e.list {
				df := f.r.Defs(e.node).ID(trace.DF(n))
				if t, ok := first[copy{e.node, df}]; !ok || t > e.t {
					f.fault("CF %v started with DF %d, which is not on node %d", trace.CF(e.a[0]), n, e.node)
				}
			}
		}
	}
}

// checkMessages pairs what was sent with what was received, requests with answers.
func (f *facts) checkMessages() {
	sent := map[uint64]*event{}
	received := map[uint64]*event{}
	requests := map[uint64]*event{}
	asked := map[uint64]*event{}
	answered := map[uint64]bool{}
	queue := map[[2]int]uint64{}
	once := func(m map[uint64]*event, k uint64, e *event) {
		if m[k] != nil {
			f.fault("%v twice with the number %x", e.kind, k)
		}
		m[k] = e
	}
	for i := range f.events {
		e := &f.events[i]
		switch e.kind {
		case trace.KindDFSent:
			once(sent, e.a[3], e)
			if e.a[4] != 0 {
				if answered[e.a[4]] {
					f.fault("request %x is answered twice", e.a[4])
				}
				answered[e.a[4]] = true
			}
			if int(e.a[3]>>48) != e.node {
				f.fault("message %x was sent by node %d", e.a[3], e.node)
			}
		case trace.KindDFReceived:
			once(received, e.a[3], e)
		case trace.KindDFRequested:
			if e.a[3] == 0 {
				if int(e.a[2]) != e.node {
					f.fault("a request from node %d to node %d has no number", e.node, e.a[2])
				}
				continue
			}
			once(requests, e.a[3], e)
		case trace.KindDFRequestReceived:
			once(asked, e.a[2], e)
		case trace.KindReadyQueue:
			queue[[2]int{e.node, -1}] = e.a[0]
		case trace.KindSendQueue:
			queue[[2]int{e.node, int(e.a[0])}] = e.a[1]
		}
	}
	for n, s := range sent {
		r := received[n]
		switch {
		case r == nil && f.good:
			f.fault("message %x from node %d was never received", n, s.node)
		case r == nil:
		case r.node != int(s.a[1]) || s.node != int(r.a[1]) || r.t < s.t || r.df != s.df || r.a[2] != s.a[2] ||
			r.a[4] != s.a[4]:
			f.fault("message %x: sent %+v, received %+v", n, *s, *r)
		case s.a[5] != 0 && r.a[5] != s.a[5]:
			f.fault("push %x: for CF %x, received for %x", n, s.a[5], r.a[5])
		}
		if req := requests[s.a[4]]; s.a[4] != 0 && (req == nil || req.node != int(s.a[1]) || req.df != s.df ||
			r != nil && r.a[5] != req.a[1]) {
			f.fault("message %x answers request %x: %v", n, s.a[4], req)
		}
	}
	for n := range received {
		if sent[n] == nil && f.whole() {
			f.fault("message %x was received but not sent", n)
		}
	}
	for n, q := range requests {
		g := asked[n]
		switch {
		case g == nil && f.good:
			f.fault("request %x never came to node %d", n, q.a[2])
		case g == nil:
		case g.node != int(q.a[2]) || q.node != int(g.a[1]) || g.t < q.t || g.df != q.df:
			f.fault("request %x: sent %+v, received %+v", n, *q, *g)
		}
		if f.good && !answered[n] {
			f.fault("request %x was not answered", n)
		}
	}
	for k, n := range queue {
		if f.good && n != 0 {
			f.fault("a queue of node %d (peer %d) ends with length %d", k[0], k[1], n)
		}
	}
}

// whole reports whether all streams are recorded to their end. If workers had to be abandoned they are not.
func (f *facts) whole() bool { return f.kinds[trace.KindProgramFinished] > 0 }

// ran lists, for every statement that was executed, the nodes its executions ran on, in order of time.
func (f *facts) ran() map[string][]int {
	m := map[string][]int{}
	for i := range f.events {
		if e := &f.events[i]; e.kind == trace.KindCFStarted {
			text := f.sites[f.cf(e.a[0]).site]
			m[text] = append(m[text], e.node)
		}
	}
	for _, l := range m {
		sort.Ints(l)
	}
	return m
}

// text is the trace in words.
func (f *facts) text() string {
	var b bytes.Buffer
	r, err := trace.Open(f.dir)
	if err != nil {
		return err.Error()
	}
	defer r.Close()
	if err := twin.Dump(&b, r); err != nil {
		return err.Error()
	}
	return b.String()
}

// name is the name of a DF as it was declared, with its indices.
func (f *facts) name(e *event) string {
	defs := f.r.Defs(e.node)
	name, identity, _ := defs.DF(trace.DF(e.a[0]), nil)
	s := defs.Name(name)
	for _, i := range identity[min(2, len(identity)):] {
		s += fmt.Sprintf("[%d]", i)
	}
	return s
}

// stored lists the nodes on which a DF was held, each once.
func (f *facts) stored(df string) []int {
	var l []int
	for i := range f.events {
		if e := &f.events[i]; e.kind == trace.KindDFStored && f.name(e) == df {
			l = append(l, e.node)
		}
	}
	slices.Sort(l)
	return slices.Compact(l)
}

// destroyed tells why each of these DFs ceased to be.
func (f *facts) destroyed(dfs ...string) string {
	var l []string
	for _, df := range dfs {
		text := df
		for i := range f.events {
			if e := &f.events[i]; e.kind == trace.KindDFDestroy && f.name(e) == df {
				text += " " + trace.Reason(e.a[2]).String()
			}
		}
		l = append(l, text)
	}
	return strings.Join(l, ", ")
}
