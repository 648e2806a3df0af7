package simulate

import (
	"context"
	"errors"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// requestBytes is about how long a request is.
const requestBytes = 32

// run is one simulation. Workers are numbered through all nodes.
type run struct {
	g   *graph
	m   *Machine
	now int64

	heap []event
	hole bool // the top of the heap has been popped
	seq  uint64

	queues []queue  // by node
	rank   []int    // by code fragment: its priority, from 1; nil: none has any
	link   []int64  // from*nodes + to: when it is free
	at     []uint32 // by CF: its next execution
	asked  []bool   // by CF: what that one needs has been asked for
	awaits []uint32 // by CF: 1 + the input it was set aside for
	have   []bool   // by input
	of     []uint32 // by input: its execution
	next   []uint32 // by input: 1 + the next one that waits for the same value
	first  []uint32 // by value: 1 + the first input that waits for it
	posted []bool   // by value
	factor []float64
	node   []uint16 // by execution: where it takes place
	keeper []uint16 // by value: the node that keeps it
	active int      // workers that are not parked
	asleep float64  // those of them whose user code needs no core now
	flying []int32  // by node: messages on their way to it
	boxes  []box    // by node
	idle   []bool   // by worker: it was parked when it looked last
	begins []bool   // by worker: its CF is one of those created whose turn it is
	wakes  []uint32 // by worker: 1 + the node whose receiver of messages it woke last
	by     uint32   // 1 + the worker that does what happens; 0: none does
	// Where no core is to spare, the receiving thread takes one from a worker. In a recorded run with
	// messages that is part of what was measured; in one without them (crowded) it comes on top.
	crowded bool
	debt    float64 // ns so taken that no worker has lost yet
	taken   struct{ wake, resume, transport int }
	thieves
	copies map[uint32]*copies // by value: those that several nodes keep; nil: there are none

	rec   *recorder // nil: no trace is written
	watch Watch     // nil: nobody does
	res   Result
}

// mostWoken is as in package engine.
const mostWoken = 8

// queue holds the CFs of a node that can go on, and its workers that have nothing to do. Several workers take
// first the CFs that were woken, because the input they waited for has come, and now and then some that were
// created, as in package engine; a single one takes all in order.
type queue struct {
	priority       []fifo[uint32] // by rank; nil: nothing has priority
	woken, created fifo[uint32]
	taken          int // from woken since the last turn of created
	turn           int // how many CFs from created are still to run in its turn
	parked         []uint32
}

func (q *queue) empty() bool { return q.woken.empty() && q.created.empty() && q.urgent() == nil }

// urgent is the first list with CFs of priority, nil if there are none.
func (q *queue) urgent() *fifo[uint32] {
	for i := range q.priority {
		if !q.priority[i].empty() {
			return &q.priority[i]
		}
	}
	return nil
}

// pop takes the next CF; there is one. turn tells whether it is the turn of those created.
func (q *queue) pop(workers int) (cf uint32, turn bool) {
	if f := q.urgent(); f != nil {
		defer f.drop()
		return *f.first(), false
	}
	f := &q.created
	if turn = q.turn > 0 && !f.empty(); !turn && !q.woken.empty() {
		f = &q.woken
		if q.taken++; q.taken == mostWoken*workers {
			q.taken, q.turn = 0, workers+1
		}
	}
	defer f.drop()
	return *f.first(), turn
}

// Run simulates the program on a machine. It fails when ctx ends or the machine cannot be simulated.
func (s *Simulator) Run(ctx context.Context, m Machine) (*Result, error) {
	return s.run(ctx, m, nil)
}

// Watch is called for every execution of user code with its worker, numbered through all nodes, its start and
// end in nanoseconds, and its number. Those of a worker come in order.
type Watch func(worker int, from, to int64, execution int)

// Watched is Run that tells what happens.
func (s *Simulator) Watched(ctx context.Context, m Machine, watch Watch) (*Result, error) {
	return s.run(ctx, m, func(r *run) error {
		r.watch = watch
		return nil
	})
}

// Record is Run that writes the trace of the run, whose id is id, to a folder, without a run.json.
func (s *Simulator) Record(ctx context.Context, m Machine, dir, id string) (*Result, error) {
	return s.run(ctx, m, func(r *run) (err error) {
		r.rec, err = newRecorder(r, dir, id)
		return err
	})
}

func (s *Simulator) run(ctx context.Context, m Machine, start func(*run) error) (*Result, error) {
	m = s.Complete(m)
	r, err := s.simulate(ctx, m, start)
	if err != nil {
		return nil, err
	}
	r.res.Nodes, r.res.Workers, r.res.Doubts = m.Nodes, m.Workers, s.doubts(r)
	all, fastest := m.power()
	chain := float64(s.g.chain(r.factor, nil)) / fastest
	r.res.ChainNS, r.res.LeastNS = int64(chain), int64(max(chain, float64(r.res.UsefulNS)/all))
	return &r.res, nil
}

// simulate runs the program; start, if given, comes first.
func (s *Simulator) simulate(ctx context.Context, m Machine, start func(*run) error) (*run, error) {
	g := s.g
	r := &run{g: g, m: &m, queues: make([]queue, m.Nodes), at: append([]uint32{}, g.first[:len(g.first)-1]...),
		asked: make([]bool, len(g.first)-1), awaits: make([]uint32, len(g.first)-1), have: make([]bool, len(g.in)),
		of: make([]uint32, len(g.in)), next: make([]uint32, len(g.in)), first: make([]uint32, len(g.home)),
		posted: make([]bool, len(g.home)), factor: s.factors(m.Speed), flying: make([]int32, m.Nodes),
		boxes: make([]box, m.Nodes), idle: make([]bool, m.Nodes*m.Workers),
		begins: make([]bool, m.Nodes*m.Workers), wakes: make([]uint32, m.Nodes*m.Workers)}
	for n := range r.boxes {
		r.boxes[n].until = -1
	}
	r.node, r.keeper = g.on(&m, s.recorded.Nodes)
	r.posted[0] = true
	for _, v := range g.given {
		r.posted[v] = true
	}
	r.mayBeStolen()
	r.rankCodes()
	r.replicate()
	r.crowded = !spare(&m) && s.recorded.Costs.Samples["transport"] == 0
	if m.Bandwidth > 0 || m.Uneven != nil && m.Uneven.Bandwidth > 0 {
		r.link = make([]int64, m.Nodes*m.Nodes)
	}
	for x := range g.cf {
		for k := g.inAt[x]; k < g.inAt[x+1]; k++ {
			r.of[k] = uint32(x)
		}
	}
	if start != nil {
		if err := start(r); err != nil {
			return nil, err
		}
	}
	r.now, r.active = int64(max(0, m.Costs.StartNS-m.Costs.StructuredNS)), m.Nodes*m.Workers
	for _, cf := range g.roots {
		if g.first[cf] < g.first[cf+1] {
			node := r.place(g.first[cf])
			r.rec.worker(uint32(node * m.Workers))
			r.rec.created(r.now, cf)
			r.enqueue(node, cf, false)
		}
	}
	for _, v := range g.alone {
		r.push(max(g.m.MadeTime[v-1]-g.m.Start, 0), appears, v, 0)
	}
	for w := range m.Nodes * m.Workers {
		r.after(0, workerFree, 0, uint32(w))
	}
	for n := 0; ; n++ {
		if n&0x3fff == 0 && ctx.Err() != nil {
			return nil, errors.Join(ctx.Err(), r.rec.close())
		}
		e, ok := r.pop()
		if !ok {
			break
		}
		r.now = e.t
		if r.by = e.w + 1; e.what > executed {
			r.by = 0
		}
		switch e.what {
		case workerFree:
			r.rec.worker(e.w)
			r.free(e.w)
		case goesOn:
			r.rec.worker(e.w)
			r.look(e.a, e.w, 0)
		case executed:
			r.rec.worker(e.w)
			r.finish(e.a, e.w)
		case received:
			r.receive(int(e.a), e.seq)
		case appears:
			first, step := r.homes(e.a)
			r.rec.receives(first)
			r.rec.made(r.now, e.a)
			for home := first; home < m.Nodes; home += step {
				r.post(home, e.a)
			}
		case thiefCame:
			r.serveThief(int(e.w), int(e.a))
		default:
			r.delivered(&e)
		}
	}
	r.res.Left = len(g.cf) - r.res.Executed
	return r, r.rec.finish(r.res.WallNS, r.res.UsefulNS)
}

// Complete fills in what is to be as recorded.
func (s *Simulator) Complete(m Machine) Machine {
	was := &s.recorded
	if m.Nodes == 0 {
		m.Nodes = was.Nodes
	}
	if m.Workers == 0 {
		m.Workers = was.Workers
	}
	if m.Latency < 0 {
		m.Latency = was.Latency
	}
	if m.Bandwidth < 0 {
		m.Bandwidth = was.Bandwidth
	}
	if m.Cores == 0 {
		m.Cores = -1
		if m.Nodes*m.Workers == was.Nodes*was.Workers && was.Cores > 0 {
			m.Cores = was.Cores
		}
	}
	if m.Costs.Samples == nil {
		m.Costs = was.Costs
	}
	if m.Priority == nil {
		m.Priority = was.Priority
	}
	return m
}

// factors are what the times of the executions of each code fragment are multiplied with.
func (s *Simulator) factors(speed map[string]float64) []float64 {
	list := make([]float64, len(s.g.m.Codes))
	for i := range list {
		list[i] = 1
		if v := speed[s.g.m.Codes[i].Name]; v > 0 {
			list[i] = 1 / v
		}
	}
	return list
}

// place is the node where an execution takes place.
func (r *run) place(x uint32) int { return int(r.node[x]) }

func (r *run) nodeOf(worker uint32) int { return int(worker) / r.m.Workers }

// after lets something happen, some time from now.
func (r *run) after(ns float64, what happening, a, w uint32) { r.push(r.now+int64(ns), what, a, w) }

// enqueue appends a CF to the queue of a node, for a parked worker if there is one: true. woken tells that it
// gets an input it waited for.
func (r *run) enqueue(node int, cf uint32, woken bool) (woke bool) {
	q := &r.queues[node]
	if rank := r.rankOf(cf); rank > 0 {
		f := &q.priority[rank-1]
		f.items = append(f.items, cf)
	} else if woken && r.m.Workers > 1 {
		q.woken.items = append(q.woken.items, cf)
	} else {
		q.created.items = append(q.created.items, cf)
	}
	if n := len(q.parked); n > 0 {
		w := q.parked[n-1]
		q.parked = q.parked[:n-1]
		r.active++
		r.res.Woken++
		if c := &r.m.Costs; r.by == 0 {
			r.after(take(c.resumes, &r.taken.resume, c.ResumeNS), workerFree, 0, w)
		} else {
			r.after(take(c.wakes, &r.taken.wake, c.WakeNS), workerFree, 0, w)
		}
		return true
	}
	return false
}

// rankOf is the priority of a CF, from 1; 0 is none.
func (r *run) rankOf(cf uint32) int {
	if r.rank == nil {
		return 0
	}
	return r.rank[r.g.m.CodeOf(model.CF(cf))]
}

// rankCodes gives the queues of all nodes lists for CFs with priority.
func (r *run) rankCodes() {
	for code := range r.g.m.Codes {
		if rank := slices.Index(r.m.Priority, r.g.m.Codes[code].Name); rank >= 0 && code > 0 {
			if r.rank == nil {
				r.rank = make([]int, len(r.g.m.Codes))
			}
			r.rank[code] = rank + 1
		}
	}
	if r.rank != nil {
		for n := range r.queues {
			r.queues[n].priority = make([]fifo[uint32], len(r.m.Priority))
		}
	}
}

// free lets a worker take the next CF, or park.
func (r *run) free(w uint32) {
	node := r.nodeOf(w)
	q := &r.queues[node]
	if q.empty() {
		r.askForWork(node)
		q.parked = append(q.parked, w)
		r.idle[w] = true
		r.active--
		r.rec.idle(w, r.now)
		r.handOver(w)
		return
	}
	r.rec.busy(w, r.now)
	cf, turn := q.pop(r.m.Workers)
	r.begins[w] = turn
	took := 0.0
	if r.idle[w] {
		r.idle[w], took = false, r.m.Costs.ParkNS
	}
	r.look(cf, w, took)
}

// look lets a worker ask for what a CF needs and run it, or set it aside. It took the worker some time to
// come to it.
func (r *run) look(cf, w uint32, took float64) {
	g, c := r.g, &r.m.Costs
	x, node := r.at[cf], r.nodeOf(w)
	if to := r.place(x); to != node {
		r.rec.moves(to, r.now, cf)
		r.after(took+r.send(node, to, requestBytes, took, cfCame, cf), workerFree, 0, w)
		return
	}
	if ns, given := r.giveAway(node, cf); given {
		r.after(took+ns, workerFree, 0, w)
		return
	}
	if !r.asked[cf] {
		r.asked[cf] = true
		for k := g.inAt[x]; k < g.inAt[x+1]; k++ {
			v := g.in[k]
			switch home := r.askedNode(v, node); {
			case v == 0 || home == node && !g.pushed[k]:
				if r.have[k] = r.isAt(v, node); !r.have[k] {
					r.wait(k, node)
				}
				r.rec.requested(node, r.now, k)
			case g.pushed[k]:
				if !r.isAt(v, home) {
					r.wait(k, home)
				} else {
					took += r.supply(home, k, took)
				}
			default:
				r.rec.requested(home, r.now+int64(took), k)
				took += r.send(node, home, requestBytes, took, requestCame, k)
			}
		}
	}
	for k := g.inAt[x]; k < g.inAt[x+1]; k++ {
		if !r.have[k] {
			r.awaits[cf] = k + 1
			r.rec.waits(r.now+int64(took), cf)
			r.after(took+c.WaitNS, workerFree, 0, w)
			return
		}
	}
	if r.begins[w] {
		r.begins[w] = false
		r.queues[node].turn--
	}
	r.rec.ready(r.now+int64(took), cf)
	took, r.debt = took+r.debt, 0
	if g.atomic(cf) {
		own := float64(g.own[x]) * r.factor[g.m.CodeOf(model.CF(cf))]
		r.res.UsefulNS += int64(own)
		slow, asleep := r.slowdown(node), float64(g.asleep[x])
		start := r.now + int64((took+max(0, c.DispatchNS+c.odd(g.odd[x])))*slow)
		end := start + int64(own*asleep+(own*(1-asleep)+float64(g.waited[x]))*slow)
		r.asleep += asleep
		if g.crowd.full && spare(r.m) {
			end = start + int64(own*asleep+own*(1-asleep)/r.m.SpeedOf(node))
		}
		r.rec.executed(start, end, int64(own), x)
		if r.watch != nil {
			r.watch(int(w), start, end, int(x))
		}
		r.push(end, executed, cf, w)
	} else {
		slow := r.slowdown(node)
		start := r.now + int64((took+max(0, c.StructuredNS+c.odd(g.odd[x])))*slow)
		end := start + int64(slow*c.CreateNS*float64(1+g.kidAt[x+1]-g.kidAt[x]))
		r.rec.executed(start, end, -1, x)
		r.push(end, executed, cf, w)
	}
}

// slowdown is how many times as long as recorded what needs a core of a node takes now.
func (r *run) slowdown(node int) float64 {
	return r.g.crowd.slowdown(float64(r.active)-r.asleep, r.m) / r.m.SpeedOf(node)
}

// finish is what comes of an execution: values and CFs. The worker's time passes meanwhile.
func (r *run) finish(cf, w uint32) {
	g, c := r.g, &r.m.Costs
	x, node := r.at[cf], r.nodeOf(w)
	r.res.Executed++
	r.asleep -= float64(g.asleep[x])
	pass := func(ns float64) { r.now += int64(ns / r.m.SpeedOf(node)) }
	for _, v := range g.out[g.outAt[x]:g.outAt[x+1]] {
		pass(c.PostNS)
		r.rec.made(r.now, v)
		for home, step := r.homes(v); home < r.m.Nodes; home += step {
			if home == node {
				pass(r.post(home, v))
			} else {
				r.rec.posts(r.now, v, home)
				pass(r.send(node, home, g.size[v], 0, valueCame, v))
			}
		}
	}
	for _, kid := range g.kid[g.kidAt[x]:g.kidAt[x+1]] {
		if g.first[kid] == g.first[kid+1] {
			continue
		}
		r.rec.created(r.now, kid)
		if to := r.place(g.first[kid]); to != node && !g.late[g.m.SiteOf[kid]] {
			r.rec.moves(to, r.now, kid)
			pass(r.send(node, to, requestBytes, 0, cfCame, kid))
		} else if r.enqueue(node, kid, false) {
			pass(c.SignalNS)
		}
	}
	r.res.WallNS = max(r.res.WallNS, r.now)
	if r.at[cf]++; r.at[cf] < g.first[cf+1] {
		r.asked[cf] = false
		r.after(0, goesOn, cf, w)
		return
	}
	r.after(0, workerFree, 0, w)
}

// wait notes that an input waits for its value at a node that keeps it.
func (r *run) wait(k uint32, home int) {
	v := r.g.in[k]
	first := &r.first[v]
	if copies := r.copies[v]; copies != nil {
		first = &copies.first[home]
	}
	r.next[k], *first = *first, k+1
}

// request is one for the value of an input, at a node that keeps it. It gives what that takes there.
func (r *run) request(home int, k uint32) (ns float64) {
	if !r.isAt(r.g.in[k], home) {
		r.wait(k, home)
		return 0
	}
	wait := r.m.Costs.AnswerNS
	return wait + r.supply(home, k, wait)
}

// supply sends a value from a node to an input, and gives what that takes there.
func (r *run) supply(from int, k uint32, wait float64) (ns float64) {
	to := r.place(r.of[k])
	r.rec.supplied(to, r.now+int64(wait), k)
	return r.send(from, to, r.g.size[r.g.in[k]], wait, inputCame, k)
}

// post stores a value at a node, and answers those who wait for it there in the order in which they came,
// those at the node first. It gives what the answers take.
func (r *run) post(home int, v uint32) (ns float64) {
	if r.isAt(v, home) {
		return 0
	}
	first := r.first[v]
	if copies := r.copies[v]; copies != nil {
		copies.posted[home], first = true, copies.first[home]
	} else {
		r.posted[v] = true
	}
	var list uint32 // reversed
	for k := first; k != 0; {
		k, r.next[k-1], list = r.next[k-1], list, k
	}
	for k := list; k != 0; k = r.next[k-1] {
		if r.place(r.of[k-1]) == home && r.answer(k-1) {
			ns += r.m.Costs.SignalNS
		}
	}
	for k := list; k != 0; k = r.next[k-1] {
		if r.place(r.of[k-1]) != home {
			ns += r.supply(home, k-1, ns)
		}
	}
	return ns
}

// answer gives an input its value, and tells whether that woke a parked worker.
func (r *run) answer(k uint32) (woke bool) {
	r.have[k] = true
	x := r.of[k]
	cf := r.g.cf[x]
	r.rec.answered(r.now, k)
	if r.awaits[cf] == k+1 && r.at[cf] == x {
		r.awaits[cf] = 0
		return r.enqueue(r.place(x), cf, true)
	}
	return false
}
