package slou_test

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// event is an event of a random run, as the brute-force rule sees it and as a line of text.
type event struct {
	t            int64
	node, stream int
	kind         string
	cf, parent   string
	exec         int // of cf, or of parent
	df           int // number of the DF, the same on all nodes here
	peer         int
	number, req  string // message, request
	inputs       []int
	late, cpu    int64
	code         int
}

func (e event) text() string {
	args := map[string]string{
		"CFEvents.onCreated":            fmt.Sprintf("cf=%s site=%d parent=%s execution=%d", e.cf, e.code, orDash(e.parent), e.exec),
		"CFEvents.onReady":              fmt.Sprintf("cf=%s late=%d", e.cf, e.late),
		"CFEvents.onStarted":            fmt.Sprintf("cf=%s execution=%d inputs=[%s]", e.cf, e.exec, strings.Trim(fmt.Sprint(e.inputs), "[]")),
		"CFEvents.onFinished":           fmt.Sprintf("cf=%s execution=%d cpu=%d", e.cf, e.exec, e.cpu),
		"CFEvents.onMigrated":           fmt.Sprintf("cf=%s to=%d", e.cf, e.peer),
		"CFEvents.onStolen":             fmt.Sprintf("cf=%s by=%d", e.cf, e.peer),
		"CFEvents.onReceived":           fmt.Sprintf("cf=%s from=%d", e.cf, e.peer),
		"DFEvents.onCreate":             fmt.Sprintf("df=%d size=8 cf=%s", e.df, e.cf),
		"DFEvents.onRequested":          fmt.Sprintf("df=%d cf=%s node=%d request=%s", e.df, e.cf, e.peer, e.req),
		"DFEvents.onRequestReceived":    fmt.Sprintf("df=%d from=%d request=%s", e.df, e.peer, e.req),
		"DFEvents.onSent":               fmt.Sprintf("df=%d to=%d message=%s request=%s", e.df, e.peer, e.number, orDash(e.req)),
		"DFEvents.onReceived":           fmt.Sprintf("df=%d from=%d message=%s request=%s", e.df, e.peer, e.number, orDash(e.req)),
		"SyncEvents.onWaitStarted":      `"lock"`,
		"SyncEvents.onWaitEnded":        `"lock"`,
		"GlobalEvents.onLost":           fmt.Sprintf("count=1 first=%d last=%d stream=%d", e.late, e.t, e.stream),
		"CFEvents.onHeld":               e.cf,
		"CFEvents.onResumed":            e.cf,
		"GlobalEvents.onProgramStarted": "", "GlobalEvents.onProgramFinished": "",
		"GlobalEvents.onIdle": "", "GlobalEvents.onBusy": "",
	}[e.kind]
	return fmt.Sprintf("%d n%d s%d %s %s", e.t, e.node, e.stream, e.kind, args)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// dice is where a random run takes its decisions from.
type dice struct{ t *rapid.T }

func (d dice) int(lo, hi int) int { return rapid.IntRange(lo, hi).Draw(d.t, "n") }
func (d dice) yes(percent int) bool {
	return rapid.IntRange(0, 99).Draw(d.t, "p") < percent
}

// randomRun simulates a run in which every fact follows from those before it.
type randomRun struct {
	dice
	nodes, workers int
	events         []event
	free           [][]int64        // by node and worker: when it has ended its last CF
	counter        []int            // by node: CFs, messages and requests
	dfs            []randomDF       // by number - 1
	structured     []randomExec     // executions that create CFs
	at             map[[2]int]int64 // df, node -> since when it is there
}

type randomDF struct {
	node int
	made int64
}

type randomExec struct {
	cf         string
	node, exec int
	start, end int64
}

// Codes 1 to 4 are atomic, 5 and 6 structured.
const atomicCodes, codes = 4, 6

func newRandomRun(t *rapid.T) *randomRun {
	r := &randomRun{dice: dice{t}, at: map[[2]int]int64{}}
	r.nodes, r.workers = r.int(1, 3), r.int(1, 2)
	r.counter = make([]int, r.nodes)
	for n := range r.nodes {
		r.free = append(r.free, make([]int64, r.workers))
		for w := range r.workers {
			r.add(event{node: n, stream: w, kind: "GlobalEvents.onProgramStarted"})
		}
	}
	for range r.int(1, 12) {
		r.cf()
	}
	var end int64
	for _, e := range r.events {
		end = max(end, e.t)
	}
	for n := range r.nodes {
		for w := range r.workers {
			r.add(event{t: end + 1, node: n, stream: w, kind: "GlobalEvents.onProgramFinished"})
		}
	}
	slices.SortStableFunc(r.events, func(a, b event) int { return int(a.t - b.t) })
	return r
}

func (r *randomRun) add(e event) { r.events = append(r.events, e) }

func (r *randomRun) id(node int) string {
	r.counter[node]++
	return fmt.Sprintf("%d.%d", node, r.counter[node])
}

// system is the stream of the run-time system's own events.
const system = 9

// cf adds the life of one CF.
func (r *randomRun) cf() {
	code := r.int(1, codes)
	var home int
	var t int64
	e := event{kind: "CFEvents.onCreated", code: code, stream: system}
	if len(r.structured) > 0 && r.yes(70) {
		p := r.structured[r.int(0, len(r.structured)-1)]
		home, t = p.node, p.start+int64(r.int(0, int(p.end-p.start)))
		e.parent, e.exec = p.cf, p.exec
	} else {
		home, t = r.int(0, r.nodes-1), int64(r.int(0, 30))
	}
	cf := r.id(home)
	e.cf, e.t, e.node = cf, t, home
	r.add(e)
	created := t
	var inputs []int
	for range min(r.int(0, 3), len(r.dfs)) {
		inputs = append(inputs, r.int(1, len(r.dfs)))
	}
	node := home
	if r.nodes > 1 && r.yes(40) {
		node, t = r.move(cf, node, t, "CFEvents.onMigrated")
	}
	ready := r.fetch(cf, inputs, node, max(t, created)) + int64(r.int(0, 3))
	r.add(event{t: ready, node: node, stream: system, kind: "CFEvents.onReady", cf: cf})
	if r.nodes > 1 && r.yes(20) {
		node, t = r.move(cf, node, ready, "CFEvents.onStolen")
		ready = r.fetch(cf, inputs, node, t) + int64(r.int(0, 3))
		r.add(event{t: ready + 1, node: node, stream: system, kind: "CFEvents.onReady", cf: cf, late: 1})
	}
	w := r.int(0, r.workers-1)
	start := max(ready, r.free[node][w]) + int64(r.int(0, 4))
	end := start + int64(r.int(1, 20))
	r.free[node][w] = end
	r.add(event{t: start, node: node, stream: w, kind: "CFEvents.onStarted", cf: cf, exec: 1, inputs: inputs})
	cpu := int64(-1)
	if r.yes(30) {
		cpu = int64(r.int(0, 25))
	}
	r.add(event{t: end, node: node, stream: w, kind: "CFEvents.onFinished", cf: cf, exec: 1, cpu: cpu})
	if code > atomicCodes {
		r.structured = append(r.structured, randomExec{cf, node, 1, start, end})
		for exec := 2; r.yes(30); exec++ {
			// It runs again, like a while, with other inputs.
			var more []int
			for range min(r.int(0, 2), len(r.dfs)) {
				more = append(more, r.int(1, len(r.dfs)))
			}
			start = max(r.fetch(cf, more, node, end), r.free[node][w]) + int64(r.int(0, 3))
			end = start + int64(r.int(1, 9))
			r.free[node][w] = end
			r.add(event{t: start, node: node, stream: w, kind: "CFEvents.onStarted", cf: cf, exec: exec, inputs: more})
			r.add(event{t: end, node: node, stream: w, kind: "CFEvents.onFinished", cf: cf, exec: exec, cpu: -1})
			r.structured = append(r.structured, randomExec{cf, node, exec, start, end})
		}
	}
	for range r.int(0, 2) {
		r.dfs = append(r.dfs, randomDF{node, end})
		df := len(r.dfs)
		r.at[[2]int{df, node}] = end
		r.add(event{t: end, node: node, stream: w, kind: "DFEvents.onCreate", df: df, cf: cf})
	}
}

// move sends a CF to another node.
func (r *randomRun) move(cf string, node int, t int64, kind string) (int, int64) {
	to := (node + r.int(1, r.nodes-1)) % r.nodes
	sent := t + int64(r.int(0, 8))
	got := sent + int64(r.int(1, 10))
	r.add(event{t: sent, node: node, stream: system, kind: kind, cf: cf, peer: to})
	r.add(event{t: got, node: to, stream: system, kind: "CFEvents.onReceived", cf: cf, peer: node})
	return to, got
}

// fetch brings the inputs to a node for a CF that is there since t and says when the last is there.
func (r *randomRun) fetch(cf string, inputs []int, node int, t int64) int64 {
	ready := t
	for _, df := range inputs {
		if _, here := r.at[[2]int{df, node}]; !here {
			r.bring(cf, df, node, t)
		}
		ready = max(ready, r.at[[2]int{df, node}])
	}
	return ready
}

func (r *randomRun) bring(cf string, df, node int, t int64) {
	from := r.dfs[df-1].node
	if other := r.int(0, r.nodes-1); other != node && r.yes(30) {
		// By way of a third node.
		if _, there := r.at[[2]int{df, other}]; !there {
			r.bring(cf, df, other, t)
		}
		from = other
	}
	sent := r.at[[2]int{df, from}]
	req := ""
	if r.yes(60) {
		req = r.id(node)
		asked := t + int64(r.int(0, 6))
		got := asked + int64(r.int(1, 8))
		r.add(event{t: asked, node: node, stream: system, kind: "DFEvents.onRequested", df: df, cf: cf, peer: from, req: req})
		r.add(event{t: got, node: from, stream: system, kind: "DFEvents.onRequestReceived", df: df, peer: node, req: req})
		sent = max(sent, got)
	}
	sent += int64(r.int(0, 5))
	got := sent + int64(r.int(1, 12))
	message := r.id(from)
	r.add(event{t: sent, node: from, stream: system, kind: "DFEvents.onSent", df: df, peer: node, number: message, req: req, cf: cf})
	r.add(event{t: got, node: node, stream: system, kind: "DFEvents.onReceived", df: df, peer: from, number: message, req: req, cf: cf})
	r.at[[2]int{df, node}] = got
}

// text writes the run as a text twin.
func (r *randomRun) text() string {
	var s strings.Builder
	fmt.Fprintf(&s, "#run {\"ended\":\"\",\"nodes\":[")
	for n := range r.nodes {
		if n > 0 {
			s.WriteString(",")
		}
		fmt.Fprintf(&s, `{"node":%d,"process":0,"workers":%d}`, n, r.workers)
	}
	s.WriteString("]}\n")
	for n := range r.nodes {
		fmt.Fprintf(&s, "#node %d\n", n)
		for c := 1; c <= codes; c++ {
			kind := "atomic"
			if c > atomicCodes {
				kind = "sub"
			}
			fmt.Fprintf(&s, "#code %d c%d %s\n#site %d code=%d\n", c, c, kind, c, c)
		}
		for df := range r.dfs {
			fmt.Fprintf(&s, "#df %d x [0 1 %d]\n", df+1, df+1)
		}
	}
	for _, e := range r.events {
		s.WriteString(e.text() + "\n")
	}
	return s.String()
}
