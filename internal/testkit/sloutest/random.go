package sloutest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"pgregory.net/rapid"
)

// dice is where a random run takes its decisions from.
type dice struct{ t *rapid.T }

func (d dice) int(lo, hi int) int { return rapid.IntRange(lo, hi).Draw(d.t, "n") }
func (d dice) yes(percent int) bool {
	return rapid.IntRange(0, 99).Draw(d.t, "p") < percent
}

// maker simulates a run.
type maker struct {
	dice
	*Run
	free       [][]int64        // by node and worker: when it has ended its last CF
	counter    []int            // by node: CFs, messages and requests
	dfs        []madeDF         // by number - 1
	structured []execution      // executions that create CFs
	at         map[[2]int]int64 // df, node -> since when it is there
}

type madeDF struct {
	node int
	made int64
}

type execution struct {
	cf         string
	node, exec int
	start, end int64
}

// Random simulates a run of up to three nodes of up to two workers each with up to a dozen CFs and those that
// its structured CFs create. Its times are small: up to some hundreds of nanoseconds.
func Random(t *rapid.T) *Run {
	r := &maker{dice: dice{t}, Run: &Run{}, at: map[[2]int]int64{}}
	r.Nodes, r.Workers = r.int(1, 3), r.int(1, 2)
	r.counter = make([]int, r.Nodes)
	for n := range r.Nodes {
		r.free = append(r.free, make([]int64, r.Workers))
		for w := range r.Workers {
			r.add(Event{Node: n, Stream: w, Kind: "GlobalEvents.onProgramStarted"})
		}
	}
	for range r.int(1, 12) {
		r.cf()
	}
	var end int64
	for _, e := range r.Events {
		end = max(end, e.Time)
	}
	for n := range r.Nodes {
		for w := range r.Workers {
			r.add(Event{Time: end + 1, Node: n, Stream: w, Kind: "GlobalEvents.onProgramFinished"})
		}
	}
	r.DFs = len(r.dfs)
	r.sort()
	return r.Run
}

func (r *Run) sort() {
	slices.SortStableFunc(r.Events, func(a, b Event) int { return int(a.Time - b.Time) })
}

func (r *maker) add(e Event) { r.Events = append(r.Events, e) }

func (r *maker) id(node int) string {
	r.counter[node]++
	return fmt.Sprintf("%d.%d", node, r.counter[node])
}

// cf adds the life of one CF.
func (r *maker) cf() {
	code := r.int(1, Codes)
	var home int
	var t int64
	e := Event{Kind: "CFEvents.onCreated", Code: code, Stream: System}
	if len(r.structured) > 0 && r.yes(70) {
		p := r.structured[r.int(0, len(r.structured)-1)]
		home, t = p.node, p.start+int64(r.int(0, int(p.end-p.start)))
		e.Parent, e.Execution = p.cf, p.exec
	} else {
		home, t = r.int(0, r.Nodes-1), int64(r.int(0, 30))
	}
	for range r.int(0, 2) {
		e.Indices = append(e.Indices, r.int(-1, 2))
	}
	cf := r.id(home)
	e.CF, e.Time, e.Node = cf, t, home
	r.add(e)
	created := t
	var inputs []int
	for range min(r.int(0, 3), len(r.dfs)) {
		inputs = append(inputs, r.int(1, len(r.dfs)))
	}
	node := home
	if r.Nodes > 1 && r.yes(40) {
		node, t = r.move(cf, node, t, "CFEvents.onMigrated")
	}
	ready := r.fetch(cf, inputs, node, max(t, created)) + int64(r.int(0, 3))
	r.add(Event{Time: ready, Node: node, Stream: System, Kind: "CFEvents.onReady", CF: cf})
	if r.Nodes > 1 && r.yes(20) {
		node, t = r.move(cf, node, ready, "CFEvents.onStolen")
		ready = r.fetch(cf, inputs, node, t) + int64(r.int(0, 3))
		r.add(Event{Time: ready + 1, Node: node, Stream: System, Kind: "CFEvents.onReady", CF: cf, Late: 1})
	}
	w := r.int(0, r.Workers-1)
	start := max(ready, r.free[node][w]) + int64(r.int(0, 4))
	end := start + int64(r.int(1, 20))
	r.free[node][w] = end
	r.add(Event{Time: start, Node: node, Stream: w, Kind: "CFEvents.onStarted", CF: cf, Execution: 1,
		Inputs: inputs})
	cpu := int64(-1)
	if r.yes(30) {
		cpu = int64(r.int(0, 25))
	}
	r.add(Event{Time: end, Node: node, Stream: w, Kind: "CFEvents.onFinished", CF: cf, Execution: 1, CPU: cpu})
	if code > AtomicCodes {
		r.structured = append(r.structured, execution{cf, node, 1, start, end})
		for exec := 2; r.yes(30); exec++ {
			// It runs again, like a while, with other inputs.
			var more []int
			for range min(r.int(0, 2), len(r.dfs)) {
				more = append(more, r.int(1, len(r.dfs)))
			}
			start = max(r.fetch(cf, more, node, end), r.free[node][w]) + int64(r.int(0, 3))
			end = start + int64(r.int(1, 9))
			r.free[node][w] = end
			r.add(Event{Time: start, Node: node, Stream: w, Kind: "CFEvents.onStarted", CF: cf, Execution: exec,
				Inputs: more})
			r.add(Event{Time: end, Node: node, Stream: w, Kind: "CFEvents.onFinished", CF: cf, Execution: exec,
				CPU: -1})
			r.structured = append(r.structured, execution{cf, node, exec, start, end})
		}
	}
	for range r.int(0, 2) {
		r.dfs = append(r.dfs, madeDF{node, end})
		df := len(r.dfs)
		r.at[[2]int{df, node}] = end
		r.add(Event{Time: end, Node: node, Stream: w, Kind: "DFEvents.onCreate", DF: df, CF: cf})
	}
}

// move sends a CF to another node.
func (r *maker) move(cf string, node int, t int64, kind string) (int, int64) {
	to := (node + r.int(1, r.Nodes-1)) % r.Nodes
	sent := t + int64(r.int(0, 8))
	got := sent + int64(r.int(1, 10))
	r.add(Event{Time: sent, Node: node, Stream: System, Kind: kind, CF: cf, Peer: to})
	r.add(Event{Time: got, Node: to, Stream: System, Kind: "CFEvents.onReceived", CF: cf, Peer: node})
	return to, got
}

// fetch brings the inputs to a node for a CF that is there since t and says when the last is there.
func (r *maker) fetch(cf string, inputs []int, node int, t int64) int64 {
	ready := t
	for _, df := range inputs {
		if _, here := r.at[[2]int{df, node}]; !here {
			r.bring(cf, df, node, t)
		}
		ready = max(ready, r.at[[2]int{df, node}])
	}
	return ready
}

func (r *maker) bring(cf string, df, node int, t int64) {
	from := r.dfs[df-1].node
	if other := r.int(0, r.Nodes-1); other != node && r.yes(30) {
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
		r.add(Event{Time: asked, Node: node, Stream: System, Kind: "DFEvents.onRequested", DF: df, CF: cf,
			Peer: from, Request: req})
		r.add(Event{Time: got, Node: from, Stream: System, Kind: "DFEvents.onRequestReceived", DF: df, Peer: node,
			Request: req})
		sent = max(sent, got)
	}
	sent += int64(r.int(0, 5))
	got := sent + int64(r.int(1, 12))
	message := r.id(from)
	r.add(Event{Time: sent, Node: from, Stream: System, Kind: "DFEvents.onSent", DF: df, Peer: node,
		Message: message, Request: req, CF: cf})
	r.add(Event{Time: got, Node: node, Stream: System, Kind: "DFEvents.onReceived", DF: df, Peer: from,
		Message: message, Request: req, CF: cf})
	r.at[[2]int{df, node}] = got
}

// Kill ends the run at a random time, as a crash does: what came later is not recorded.
func (r *Run) Kill(t *rapid.T) {
	end := rapid.Int64Range(0, r.Events[len(r.Events)-1].Time).Draw(t, "killed")
	r.Events = slices.DeleteFunc(r.Events,
		func(e Event) bool { return e.Time > end || e.Kind == "GlobalEvents.onProgramFinished" })
}

// Stick lets the run get stuck at a random time: no CF starts any more and no message is sent, what runs
// ends.
func (r *Run) Stick(t *rapid.T) {
	end := rapid.Int64Range(0, r.Events[len(r.Events)-1].Time).Draw(t, "stuck")
	running := map[string]int{} // CF to execution
	r.Events = slices.DeleteFunc(r.Events, func(e Event) bool {
		if e.Kind == "CFEvents.onStarted" && e.Time <= end {
			running[e.CF] = e.Execution
		}
		ends := e.Kind == "CFEvents.onFinished" && running[e.CF] == e.Execution
		return e.Time > end && !ends && e.Kind != "GlobalEvents.onProgramFinished"
	})
	r.Ended = "stuck"
}

// AddWaits lets workers wait for locks, some within others, at random times.
func (r *Run) AddWaits(t *rapid.T) {
	d, end := dice{t}, max(0, int(r.Events[len(r.Events)-1].Time)) // before 0: it was harmed
	for n := range r.Nodes {
		for w := range r.Workers {
			at := 0
			for range d.int(0, 3) {
				from := d.int(at, end)
				at = d.int(from, min(from+30, end))
				name := fmt.Sprintf("lock%d", d.int(1, 2))
				r.Events = append(r.Events, Event{Time: int64(from), Node: n, Stream: w, Kind: "SyncEvents.onWaitStarted",
					Name: name})
				if in := d.int(from, at); d.yes(40) {
					r.Events = append(r.Events,
						Event{Time: int64(in), Node: n, Stream: w, Kind: "SyncEvents.onWaitStarted", Name: "inner"},
						Event{Time: int64(d.int(in, at)), Node: n, Stream: w, Kind: "SyncEvents.onWaitEnded", Name: "inner"})
				}
				r.Events = append(r.Events, Event{Time: int64(at), Node: n, Stream: w, Kind: "SyncEvents.onWaitEnded",
					Name: name})
			}
		}
	}
	r.sort()
}

// Harm makes nonsense of a run: events vanish, clocks jump and run backwards, ids are mixed up, times get
// lost. The events are no longer in order of time.
func (r *Run) Harm(t *rapid.T) {
	rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	harm := rapid.IntRange(1, 60).Draw(t, "harm")
	odd := func() bool { return rnd.IntN(100) < harm }
	rare := func() bool { return rnd.IntN(10000) < harm*harm }
	var out []Event
	for _, e := range r.Events {
		if rare() {
			continue
		}
		if odd() {
			e.Time += int64(rnd.IntN(61) - 30)
		}
		other := r.Events[rnd.IntN(len(r.Events))]
		if rare() && other.CF != "" && e.CF != "" {
			e.CF = other.CF
		}
		if rare() {
			e.Stream = rnd.IntN(3)
		}
		if rare() && e.Parent != "" {
			e.Parent = e.CF
		}
		if rare() && r.DFs > 0 && e.DF > 0 {
			e.DF = 1 + rnd.IntN(r.DFs)
		}
		if rare() && other.Message != "" && e.Message != "" {
			e.Message = other.Message
		}
		out = append(out, e)
		if rare() {
			out = append(out, Event{Time: e.Time, Node: e.Node, Stream: e.Stream, Name: "lock",
				Kind: []string{"SyncEvents.onWaitStarted", "SyncEvents.onWaitEnded",
					"GlobalEvents.onLost", "GlobalEvents.onIdle", "GlobalEvents.onBusy",
					"GlobalEvents.onProgramFinished"}[rnd.IntN(6)], Late: e.Time - int64(rnd.IntN(20))})
		}
		if rare() && e.CF != "" {
			out = append(out, Event{Time: e.Time + int64(rnd.IntN(9)), Node: e.Node, Stream: System, CF: e.CF,
				Kind: []string{"CFEvents.onHeld", "CFEvents.onResumed"}[rnd.IntN(2)]})
		}
	}
	r.Events = out
}
