package pattern

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/model"
	_ "github.com/whyslow/whyslow/internal/testkit/effort"
)

// This file makes up programs of several threads that keep the rules, and looks at each of them a second time
// in the simplest way there is: for every thread of every operation, all others.

// op is an operation of one thread in a made-up program.
type op struct {
	kind, sync    string // of a collective
	root          int    // node, or -1
	enter, exit   int64
	arrived       int64 // of a barrier of two phases: when it was notified
	acquired      int64 // of a lock operation, -1: it is a release
	lock          int
	first, stride int // of the group
	nodes         []int
	number        int // of the collective
	thread        int
}

type program struct {
	n     int
	text  []*strings.Builder
	now   []int64
	ops   []op
	count int
	locks map[int]int64 // when each is free again
	began []int64
}

var regionCodes = []string{"main function", "f function", "upc_barrier barrier", "upc_notify barrier",
	"upc_wait barrier", "coll collective", "alloc memory",
	"upc_lock lock", "upc_unlock lock", "upc_memget bulk", "init runtime", "put access"}

func newProgram(n int) *program {
	p := &program{n: n, now: make([]int64, n), locks: map[int]int64{}, began: make([]int64, n)}
	for node := range n {
		b := &strings.Builder{}
		fmt.Fprintf(b, "#node %d\n", node)
		for i, c := range regionCodes {
			fmt.Fprintf(b, "#code %d %s\n#site %d code=%d at=p.upc:%d:0\n", i+1, c, i+1, i+1, i+1)
		}
		p.text = append(p.text, b)
	}
	return p
}

func (p *program) emit(node int, t int64, format string, args ...any) {
	fmt.Fprintf(p.text[node], "%d %s\n", t, fmt.Sprintf(format, args...))
}

func (p *program) all() string {
	out := ""
	for _, b := range p.text {
		out += b.String()
	}
	return out
}

var collectives = []string{"barrier", "split", "broadcast", "scatter", "gather", "reduce", "gather-all",
	"exchange", "permute", "all-reduce", "collect",
	"prefix-reduce", "alloc", "free", "start", "finish"}

func drawProgram(t *rapid.T) *program {
	p := newProgram(rapid.SampledFrom([]int{1, 2, 3, 4, 5}).Draw(t, "threads"))
	steps := []int64{0, 1, 2, 3, 5, 8, 13, 21, 34, 55}
	step := func() int64 { return rapid.SampledFrom(steps).Draw(t, "step") }
	for node := range p.n {
		p.now[node] = step()
		p.began[node] = p.now[node]
		p.emit(node, p.now[node], "Global.onProgramStarted")
		p.now[node] += step()
		p.emit(node, p.now[node], "Region.onEntered 1")
	}
	for range rapid.SampledFrom([]int{1, 3, 8, 12, 20}).Draw(t, "phases") {
		for node := range p.n {
			p.now[node] += step()
		}
		switch rapid.SampledFrom([]int{0, 1, 2, 3, 4, 5}).Draw(t, "what") {
		case 0:
			p.sections(step)
		case 1:
			for node := range p.n {
				p.emit(node, p.now[node], "Region.onEntered 10")
				p.emit(node, p.now[node], "Message.onGet from=%d bytes=%d",
					rapid.IntRange(0, p.n-1).Draw(t, "peer"),
					step())
				p.now[node] += step()
				p.emit(node, p.now[node], "Region.onExited 10")
			}
		case 2:
			for node := range p.n {
				p.emit(node, p.now[node], "Region.onEntered 2")
			}
			p.collective(t, step)
			for node := range p.n {
				p.emit(node, p.now[node], "Region.onExited 2")
			}
		default:
			p.collective(t, step)
		}
	}
	for node := range p.n {
		p.now[node] += step()
		p.emit(node, p.now[node], "Region.onExited 1")
		p.now[node] += step()
		p.emit(node, p.now[node], "Global.onProgramFinished")
	}
	return p
}

// sections lets all threads pass through a section with a lock, in the order in which they ask for it.
func (p *program) sections(step func() int64) {
	order := make([]int, p.n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return int(p.now[x] - p.now[y]) })
	lock := int(step() % 2)
	for _, node := range order {
		enter := p.now[node]
		at := max(enter, p.locks[lock]) + 1 + step() // at the same time the order would be open
		exit := at + step()
		p.emit(node, enter, "Region.onEntered 8")
		p.emit(node, at, "Sync.onAcquired %d", lock)
		p.emit(node, exit, "Region.onExited 8")
		release := exit + 1 + step()
		p.emit(node, release, "Region.onEntered 9")
		p.emit(node, release, "Sync.onReleased %d", lock)
		p.now[node] = release + step()
		p.emit(node, p.now[node], "Region.onExited 9")
		p.locks[lock] = release
		p.ops = append(p.ops, op{kind: "lock", enter: enter, exit: exit, acquired: at, lock: lock,
			thread: node},
			op{kind: "unlock", enter: release, exit: p.now[node], acquired: -1, lock: lock, thread: node})
	}
}

func (p *program) collective(t *rapid.T, step func() int64) {
	kind := rapid.SampledFrom(collectives).Draw(t, "kind")
	sync := rapid.SampledFrom([]string{"", "all/all", "my/my", "no/no", "all/no", "my/all", "no/all"}).Draw(t,
		"sync")
	first, stride := 0, 1
	if kind != "alloc" && kind != "free" {
		first, stride = rapid.SampledFrom([]int{0, 0, 0, 1 % p.n}).Draw(t, "first"),
			rapid.SampledFrom([]int{1, 1, 2}).Draw(t, "stride")
	}
	var nodes []int
	for node := first; node < p.n; node += stride {
		nodes = append(nodes, node)
	}
	p.count++
	root := rapid.SampledFrom(append([]int{-1}, nodes...)).Draw(t, "root")
	ops := make([]op, len(nodes))
	latest := int64(0)
	for i, node := range nodes {
		o := op{kind: kind, sync: sync, root: root, arrived: p.now[node], enter: p.now[node], first: first,
			stride: stride, nodes: nodes, number: p.count, thread: node, acquired: -1}
		if kind == "permute" {
			o.root = rapid.SampledFrom(nodes).Draw(t, "partner")
		}
		group := fmt.Sprintf("start=%d stride=%d size=%d root=%d", first, stride, len(nodes), o.root)
		site := map[string]int{"barrier": 3, "split": 5, "alloc": 7, "free": 7, "start": 11,
			"finish": 11}[kind]
		if site == 0 {
			site = 6
		}
		name := kind
		if kind == "split" {
			p.emit(node, o.enter, "Region.onEntered 4")
			p.emit(node, o.enter, "Sync.onCollective notify %s", group)
			o.enter += step()
			p.emit(node, o.enter, "Region.onExited 4")
			o.enter += step()
			name = "wait"
		}
		p.emit(node, o.enter, "Region.onEntered %d", site)
		p.emit(node, o.enter, "Sync.onCollective %s sync=%q %s", name, sync, group)
		latest = max(latest, o.arrived)
		ops[i] = o
	}
	for i, node := range nodes {
		o := &ops[i]
		o.exit = o.enter + step()
		if !strings.HasPrefix(sync, "no") || kind == "barrier" || kind == "split" {
			o.exit = max(o.exit, latest+step()) // more than each kind asks for
		}
		p.now[node] = o.exit
		site := map[string]int{"barrier": 3, "split": 5, "alloc": 7, "free": 7, "start": 11,
			"finish": 11}[kind]
		if site == 0 {
			site = 6
		}
		p.emit(node, o.exit, "Region.onExited %d", site)
	}
	p.ops = append(p.ops, ops...)
}

// naive gives what each thread lost, by metric, with all readings that need no second look.
func (p *program) naive() map[string][]int64 {
	out := map[string][]int64{}
	add := func(metric string, o *op, from, to int64) {
		if out[metric] == nil {
			out[metric] = make([]int64, p.n)
		}
		out[metric][o.thread] += max(0, min(to, o.exit)-max(from, o.enter))
	}
	for i := range p.ops {
		o := &p.ops[i]
		if o.kind == "lock" {
			last := int64(-1)
			for j := range p.ops {
				if r := &p.ops[j]; r.kind == "unlock" && r.lock == o.lock && r.enter <= o.acquired && j < i {
					last = max(last, r.enter)
				}
			}
			add("lock-contention", o, o.enter, last)
			continue
		} else if o.kind == "unlock" {
			continue
		}
		var all, senders, before []*op // others and itself; all but the root; those its prefix depends on
		var rootOp, partner *op
		n := len(o.nodes)
		place := func(node int) int { return slices.Index(o.nodes, node) }
		for j := range p.ops {
			x := &p.ops[j]
			if x.number != o.number || x.number == 0 {
				continue
			}
			all = append(all, x)
			if x.thread != o.root {
				senders = append(senders, x)
			} else {
				rootOp, partner = x, x
			}
			if o.root < 0 || (place(x.thread)-place(o.root)+n)%n <= (place(o.thread)-place(o.root)+n)%n {
				before = append(before, x)
			}
		}
		latest := func(list []*op) (t int64) {
			t = -1
			for _, x := range list {
				t = max(t, x.arrived)
			}
			return t
		}
		M, m := latest(all), int64(1<<40)
		for _, x := range all {
			m = min(m, x.exit)
		}
		in, end, _ := strings.Cut(o.sync, "/")
		toOne, fromOne := o.kind == "gather" || o.kind == "reduce", o.kind == "broadcast" ||
			o.kind == "scatter"
		waits, e := in != "no", o.arrived
		switch {
		case o.kind == "barrier" || o.kind == "split":
			add("wait-at-barrier", o, o.enter, M)
			add("barrier-completion", o, max(m, M), o.exit)
			add("barrier-completion-first", o, m, o.exit)
		case o.kind == "alloc" || o.kind == "free":
			add("wait-at-alloc", o, e, M)
			add("alloc-root-late", o, e, all[0].arrived)
			add("alloc-other-late", o, max(e, all[0].arrived), M)
		case o.kind == "start" || o.kind == "finish":
			add("wait-at-start-end", o, e, M)
		case fromOne && rootOp != nil && waits:
			add("late-broadcast", o, e, rootOp.arrived)
			e = max(e, rootOp.arrived)
		case toOne && o == rootOp && waits && len(senders) > 0:
			first := int64(1 << 40)
			for _, x := range senders {
				first = min(first, x.arrived)
			}
			add("early-reduce", o, e, first)
			e = max(e, first)
			if in != "all" {
				add("wait-inside", o, e, M)
			}
		case o.kind == "prefix-reduce" && waits:
			add("early-prefix", o, e, latest(before))
			e = max(e, latest(before))
		case o.kind == "permute" && in != "all":
			if waits {
				add("wait-inside", o, e, partner.arrived)
			}
		case !toOne && !fromOne && o.kind != "prefix-reduce" && waits:
			add("wait-at-nxn", o, e, M)
		}
		if toOne || fromOne || o.kind == "prefix-reduce" {
			if in == "all" {
				add("sync-on-entry", o, e, M)
			}
			if end == "all" {
				add("sync-on-exit", o, max(m, M), o.exit)
			}
		}
		if slices.Contains([]string{"gather-all", "exchange", "permute", "all-reduce", "collect"}, o.kind) &&
			end != "no" {
			add("nxn-completion", o, max(m, M), o.exit)
		}
	}
	return out
}

// TestRandom holds the search against the naive one, and what it finds against what must hold of any run.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := drawProgram(rt)
		m := buildText(t, p.all())
		r := compute(t, m)
		want := p.naive()
		for i, metric := range r.Metrics {
			if metric.Pattern == 0 && metric.ID != "wait-at-start-end" ||
				strings.HasSuffix(metric.ID, "-duration") ||
				metric.Reading == "wait-inside" {
				continue
			}
			for thread := range r.Threads {
				got := r.total(i, thread)
				var w int64
				if v := want[metric.ID]; v != nil {
					w = v[thread]
				}
				if got != w {
					rt.Fatalf("%s of thread %d: %d, want %d\n%s", metric.ID, thread, got, w, p.all())
				}
			}
		}
		if len(r.Problems) > 0 {
			rt.Fatalf("%v\n%s", r.Problems, p.all())
		}
		for i := range r.Threads {
			if r.total(0, i) != p.now[i]-p.began[i] {
				rt.Fatalf("thread %d: time %d, it ran %d", i, r.total(0, i), p.now[i]-p.began[i])
			}
		}
		consistent(rt, m, r)
	})
}

func (r *Result) total(metric, thread int) (sum int64) {
	for _, row := range r.Metrics[metric].Rows {
		sum += row.Values[thread]
	}
	return sum
}

// consistent checks what holds of any run: parts are within what they are parts of, and pieces are in order
// and make up the operations.
func consistent(t interface{ Fatalf(string, ...any) }, m *model.Model, r *Result) {
	below := make([][]int, len(r.Metrics))
	for i, x := range r.Metrics {
		if x.Parent >= 0 {
			below[x.Parent] = append(below[x.Parent], i)
		}
	}
	metric := map[string]int{}
	for i, x := range r.Metrics {
		metric[x.ID] = i
		if len(below[i]) == 0 {
			continue
		}
		exact := slices.Contains([]string{"time", "synchronisation", "communication", "point-to-point"}, x.ID)
		for call := range r.Calls {
			for thread := range r.Threads {
				sum, own := int64(0), r.Value(i, call, thread)
				for _, b := range below[i] {
					v := r.Value(b, call, thread)
					if v < 0 {
						t.Fatalf("%s at %s of thread %d is %d", r.Metrics[b].ID, r.path(call), thread, v)
					}
					sum += v
				}
				if sum > own || exact && sum != own {
					t.Fatalf("%s at %s of thread %d is %d, its parts are %d", x.ID, r.path(call), thread, own,
						sum)
				}
			}
		}
	}
	for i := range r.Threads {
		th := &m.Regions.Threads[i]
		if got := r.total(0, i); got != th.End-th.Start {
			t.Fatalf("thread %d: time %d, it ran %d", i, got, th.End-th.Start)
		}
		parts := map[string]int64{}
		at, sum := th.Start, int64(0)
		for _, p := range r.Pieces(model.WorkerID{Node: th.Node, Worker: th.Stream}) {
			if p.From < at || p.To <= p.From || p.To > th.End {
				t.Fatalf("thread %d: piece %v after %d", i, p, at)
			}
			if at = p.To; p.Kind != Works {
				sum += p.To - p.From
			}
			if p.Kind == Waits {
				parts[p.Part] += p.To - p.From
			}
		}
		if want := r.total(0, i) - r.total(metric["program"], i); sum != want && m.Executions() == 0 {
			t.Fatalf("thread %d: pieces of %d, operations took %d", i, sum, want)
		}
		for part, ns := range parts {
			if want := r.total(metric[part], i); ns != want {
				t.Fatalf("thread %d: pieces of %s are %d, the metric %d", i, part, ns, want)
			}
		}
	}
}

// drawDisorder makes up what no program does, on up to so many nodes.
func drawDisorder(rt *rapid.T, nodes int) *program {
	p := newProgram(rapid.IntRange(1, nodes).Draw(rt, "threads"))
	for node := range p.n {
		at := int64(0)
		for range rapid.IntRange(1, 30).Draw(rt, "events") {
			at += rapid.Int64Range(-2, 6).Draw(rt, "step")
			site := rapid.IntRange(0, 12).Draw(rt, "site")
			stream := rapid.IntRange(0, 5).Draw(rt, "stream") / 5
			text := rapid.SampledFrom([]string{"Region.onEntered %[1]d", "Region.onEntered %[1]d",
				"Region.onExited %[1]d", "Region.onExited %[1]d", "Sync.onAcquired 1",
				"Sync.onReleased 1", "Sync.onCollective barrier size=2", "Sync.onCollective wait size=3",
				"Sync.onCollective notify size=2",
				"Sync.onCollective broadcast start=1 stride=2 size=9 root=7",
				"Sync.onCollective gather size=2 root=1 sync=all/all", "Sync.onCollective nothing size=1",
				"Sync.onCollective permute size=2 stride=0 root=5", "Sync.onCollective reduce size=1 root=0 sync=my/all",
				"Message.onPut to=1 bytes=5", "Message.onGet from=0 bytes=3", "Message.onCompleted 0",
				"Message.onRemoteAtomic 7",
				"Global.onLost count=3 first=4 last=9 stream=0"}).Draw(rt, "event")
			if strings.Contains(text, "%") {
				text = fmt.Sprintf(text, site)
			}
			fmt.Fprintf(p.text[node], "%d n%d s%d %s\n", at, node, stream, text)
		}
	}
	return p
}

// TestDisorder gives the search whatever comes: it keeps to what holds of any run.
func TestDisorder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := drawDisorder(rt, 3)
		text := p.all()
		m := buildText(t, text)
		r := compute(t, m)
		if r == nil {
			return
		}
		consistent(fataler{rt, text}, m, r)
	})
}

type fataler struct {
	*rapid.T
	text string
}

func (f fataler) Fatalf(format string, args ...any) {
	f.T.Fatalf("%s\n%s", fmt.Sprintf(format, args...), f.text)
}

// Value gives the severity of a metric at a call path, of one thread.
func (r *Result) Value(metric, call, thread int) int64 {
	for _, row := range r.Metrics[metric].Rows {
		if row.Call == call {
			return row.Values[thread]
		}
	}
	return 0
}
