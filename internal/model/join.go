package model

import (
	"cmp"
	"context"
	mathbits "math/bits"
	"slices"

	"github.com/whyslow/whyslow/internal/memory"
	"github.com/whyslow/whyslow/internal/procs"
)

// Copy is a change in what a node holds of a DF.
type Copy struct {
	Time int64
	DF   DF
	Node uint16
	What CopyChange
}

// Queue is the length of a queue of a node at a time, or how much its process uses of something.
type Queue struct {
	Time   int64
	Length int64
	Node   int32
	Peer   int32 // messages to that node, or one of those that follow
}

// What Queue.Peer says if it is no node.
const (
	OfReady    int32 = -1 - iota // CFs that are ready
	OfLoad                       // CPU time, in percent of a core
	OfResident                   // bytes in memory
	OfArenas                     // bytes of the run-time system
	OfThreads
)

// CopyChange says what happened to a copy of a DF.
type CopyChange uint8

// The changes, in the order of trace.Reason for those that end a DF.
const (
	CopyStored CopyChange = iota
	CopyDropped
	CopyExpired
	CopyDeleted
	CopyEnd
)

// Awaits are the onWaiting events: CF[i] waited at Time[i] for the DFs Of(i).
type Awaits struct {
	CF   []CF
	Time []int64
	at   []uint32
	dfs  []DF
}

// Of gives the DFs awaited in the i-th event.
func (a *Awaits) Of(i int) []DF {
	end := len(a.dfs)
	if i+1 < len(a.at) {
		end = int(a.at[i+1])
	}
	return a.dfs[a.at[i]:end]
}

// Asked is a request that a CF made for a DF, at its own node or another one.
type Asked struct {
	Time int64
	CF   CF
	DF   DF
	Node int32 // that was asked
}

// Duplicate is a DF that was assigned twice.
type Duplicate struct {
	Time          int64
	DF            DF
	First, Second CF
}

// join turns the columns of the streams into those of the model.
func (b *builder) join() {
	b.applyClocks()
	b.bounds()
	facts := []func(){b.joinExecutions, b.joinCreations, b.joinReady, b.joinMade, b.joinMessages, b.joinMoves,
		b.joinRest, b.joinRegions}
	_ = procs.Each(context.Background(), 0, len(facts), func(_, i int) error { // none fails
		facts[i]()
		return nil
	})
	b.findReady()
	b.findFirstSeen()
	b.findAsked()
}

func filled[T any](n int, v T) []T { return fill(make([]T, n), v) }

func fill[T any](list []T, v T) []T {
	for i := range list {
		list[i] = v
	}
	return list
}

// unlessAll gives nil for a column that tells nothing: imported traces have some.
func unlessAll(list []int64, v int64) []int64 {
	for _, x := range list {
		if x != v {
			return list
		}
	}
	return nil
}

// ordered gives the numbers from 0 to n-1 in an order, those that are equal as they are.
func ordered(n int, compare func(x, y int) int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	slices.SortStableFunc(list, compare)
	return list
}

func (b *builder) joinCreations() {
	m, n := b.m, b.cfs.size()
	m.Created, m.Parent = fill(Make[int64](m, n), None), Make[CF](m, n)
	m.ParentExec, m.SiteOf = Make[uint32](m, n), Make[uint32](m, n)
	m.labelAt = Make[uint32](m, n)
	labels := 0
	for _, s := range b.streams {
		labels += len(s.Labels)
	}
	m.labels = Make[int32](m, labels)[:0]
	for _, s := range b.streams {
		base := uint32(len(m.labels))
		m.labels = append(m.labels, s.Labels...)
		s.Labels = nil
		s.Creations.empty(func(list []creation) {
			for i := range list {
				c := &list[i]
				if c.CF == 0 || (m.Created[c.CF] != None && m.Created[c.CF] <= c.Time) {
					continue // created twice: the first counts
				}
				m.Created[c.CF], m.Parent[c.CF], m.ParentExec[c.CF], m.SiteOf[c.CF] = c.Time, c.Parent, c.Exec, c.Site
				if c.Label != 0 {
					m.labelAt[c.CF] = base + c.Label
				}
			}
		})
		for _, w := range s.Weights.move(nil) {
			if m.weights == nil {
				m.weights = map[CF]float64{}
			}
			m.weights[w.CF] = w.W
		}
	}
}

func (b *builder) joinReady() {
	m, n := b.m, b.cfs.size()
	m.Ready, m.ReadyNode = fill(Make[int64](m, n), None), Make[uint16](m, n)
	m.readyMore = map[CF][]readyAt{}
	for _, s := range b.streams {
		node := uint16(s.Node)
		s.Readies.empty(func(list []ready) {
			for _, r := range list {
				if old := m.Ready[r.CF]; old != None {
					// The latest goes into the columns, the others aside.
					if r.Time < old {
						m.readyMore[r.CF] = append(m.readyMore[r.CF], readyAt{r.Time, node})
						continue
					}
					m.readyMore[r.CF] = append(m.readyMore[r.CF], readyAt{old, m.ReadyNode[r.CF]})
				}
				m.Ready[r.CF], m.ReadyNode[r.CF] = r.Time, node
			}
		})
	}
	for _, list := range m.readyMore {
		slices.SortFunc(list, readyAt.compare)
	}
}

// compare orders by node, then by time.
func (r readyAt) compare(o readyAt) int {
	return cmp.Or(cmp.Compare(r.node, o.node), cmp.Compare(r.t, o.t))
}

func (b *builder) joinExecutions() {
	m := b.m
	n, in := 0, 0
	for _, s := range b.streams {
		n += s.Runs.len()
		in += s.Inputs.len()
	}
	m.ExecStart, m.ExecEnd, m.execCPU = Make[int64](m, n)[:0], Make[int64](m, n)[:0], Make[int64](m, n)[:0]
	m.ExecCF, m.ExecNumber = Make[CF](m, n)[:0], Make[uint32](m, n)[:0]
	m.inputsAt, m.inputs = Make[uint32](m, n+1)[:0], Make[DF](m, in)[:0]
	for _, s := range b.streams {
		first := len(m.ExecCF)
		s.joinRuns(m)
		if s.ID < len(m.Nodes[s.Node].Workers) {
			w := &m.Nodes[s.Node].Workers[s.ID]
			w.First, w.End = first, len(m.ExecCF)
			for i := range w.Off {
				w.Off[i].Execution += first
			}
			if w.End > w.First {
				m.byEnd = append(m.byEnd, workerRef{w, int32(s.Node), int32(s.ID)})
			}
		}
	}
	m.inputsAt = append(m.inputsAt, uint32(len(m.inputs)))
	m.execCPU = unlessAll(m.execCPU, -1)
	m.ExecOf = Make[uint32](m, b.cfs.size())
	var several bits
	for e, cf := range m.ExecCF {
		if m.ExecOf[cf] != 0 {
			several.set(uint32(cf))
		}
		m.ExecOf[cf] = uint32(e) + 1
	}
	m.multi.build(m, several)
}

// repeated are the executions of CFs with several, in order of start.
type repeated struct {
	cf   []CF     // with several, in order
	at   []uint32 // by CF in cf, and one more: its first in exec
	exec []uint32
}

// of gives the executions of a CF; none if it has less than two.
func (r *repeated) of(cf CF) []uint32 {
	i, ok := slices.BinarySearch(r.cf, cf)
	if !ok {
		return nil
	}
	return r.exec[r.at[i]:r.at[i+1]:r.at[i+1]]
}

// build lists the executions of CFs, and makes the last one known as Model.ExecOf.
func (r *repeated) build(m *Model, several bits) {
	n := 0
	for _, word := range several {
		n += mathbits.OnesCount64(word)
	}
	if n == 0 {
		return
	}
	r.cf, r.at = Make[CF](m, n)[:0], Make[uint32](m, n+1)
	for cf := range m.ExecOf {
		if several.has(uint32(cf)) {
			m.ExecOf[cf] = uint32(len(r.cf)) // for now
			r.cf = append(r.cf, CF(cf))
		}
	}
	for _, cf := range m.ExecCF {
		if several.has(uint32(cf)) {
			r.at[m.ExecOf[cf]+1]++
		}
	}
	for i := range n {
		r.at[i+1] += r.at[i]
	}
	r.exec = Make[uint32](m, int(r.at[n]))
	for e := len(m.ExecCF) - 1; e >= 0; e-- { // at counts down to where each begins
		if cf := m.ExecCF[e]; several.has(uint32(cf)) {
			i := m.ExecOf[cf] + 1
			r.at[i]--
			r.exec[r.at[i]] = uint32(e)
		}
	}
	copy(r.at, r.at[1:])
	r.at[n] = uint32(len(r.exec))
	for i, cf := range r.cf {
		list := r.exec[r.at[i]:r.at[i+1]]
		slices.SortStableFunc(list, func(x, y uint32) int { return cmp.Compare(m.ExecStart[x], m.ExecStart[y]) })
		m.ExecOf[cf] = list[len(list)-1] + 1
	}
}

// joinRuns appends the executions of a stream in order of start. That is the order they were recorded in,
// unless the clock ran backwards.
func (s *stream) joinRuns(m *Model) {
	add := func(e *execution) {
		m.ExecStart, m.ExecEnd, m.execCPU = append(m.ExecStart, e.Start), append(m.ExecEnd, e.End),
			append(m.execCPU, e.CPU)
		m.ExecCF, m.ExecNumber = append(m.ExecCF, e.CF), append(m.ExecNumber, e.Number)
		m.inputsAt = append(m.inputsAt, e.Inputs)
	}
	sorted, last := true, None
	each(&s.Runs, func(e *execution) { sorted, last = sorted && e.Start >= last, e.Start })
	if sorted {
		base := uint32(len(m.inputs))
		m.inputs = s.Inputs.move(m.inputs)
		s.Runs.empty(func(list []execution) {
			for i := range list {
				list[i].Inputs += base
				add(&list[i])
			}
		})
		return
	}
	order := ordered(s.Runs.len(), func(x, y int) int {
		return cmp.Compare(s.Runs.at(x).Start, s.Runs.at(y).Start)
	})
	s.reorderOff(order)
	for _, i := range order {
		e := *s.Runs.at(i)
		e.Inputs = uint32(len(m.inputs))
		m.inputs = append(m.inputs, s.inputsOf(i)...)
		add(&e)
	}
	s.Runs, s.Inputs = column[execution]{}, column[DF]{}
}

// joinMade orders the creations of DFs by DF and time. Nearly every DF is created once, so it is a counting
// sort, and the few others are put in their place as they come.
func (b *builder) joinMade() {
	m, n := b.m, b.nDF
	from := Make[uint32](m, n+1)
	for _, s := range b.streams {
		each(&s.Mades, func(d *made) { from[d.DF+1]++ })
	}
	for df := range n {
		from[df+1] += from[df]
	}
	total := from[n]
	m.MadeTime, m.madeSize = Make[int64](m, int(total)), Make[int64](m, int(total))
	m.MadeBy, m.MadeNode = Make[CF](m, int(total)), Make[uint16](m, int(total))
	set := func(k uint32, t, size int64, by CF, node uint16) {
		m.MadeTime[k], m.madeSize[k], m.MadeBy[k], m.MadeNode[k] = t, size, by, node
	}
	next := append(Make[uint32](m, len(from))[:0], from...)
	for _, s := range b.streams {
		s.Mades.empty(func(list []made) {
			for i := range list {
				d := &list[i]
				k := next[d.DF]
				next[d.DF]++
				for ; k > from[d.DF] && m.MadeTime[k-1] > d.Time; k-- {
					set(k, m.MadeTime[k-1], m.madeSize[k-1], m.MadeBy[k-1], m.MadeNode[k-1])
				}
				set(k, d.Time, d.Size, d.By, uint16(s.Node))
			}
		})
	}
	m.MadeFrom, m.madeSize = from, unlessAll(m.madeSize, 0)
	m.stored = map[DF]int64{}
	for _, s := range b.streams {
		each(&s.sized, func(d *sized) {
			if from[d.DF] == from[d.DF+1] && d.DF != 0 {
				m.stored[d.DF] = max(m.stored[d.DF], d.Bytes)
			}
		})
		s.sized = column[sized]{}
	}
}

func (b *builder) joinMessages() {
	m := b.m
	none := Message{Sent: None, Received: None, From: -1, To: -1}
	m.DFMessages = fill(Make[Message](m, b.messages.size()), none)
	m.Requests = fill(Make[Message](m, b.requests.size()), none)
	m.received = make([]receipts, len(m.Nodes))
	m.travelled = make(bits, b.nDF/64+1)
	came := make([]int, len(m.Nodes))
	for _, s := range b.streams {
		came[s.Node] += s.Received.len()
		each(&s.Sent, func(e *end) { s.left(e, m.DFMessages) })
		each(&s.Asked, func(e *end) { s.left(e, m.Requests) })
		s.Sent, s.Asked = column[end]{}, column[end]{}
	}
	for n := range came {
		m.received[n].message = Make[uint32](m, came[n])[:0]
	}
	for _, s := range b.streams {
		each(&s.Received, func(e *end) {
			if e.Number == 0 {
				e.Number = uint32(len(m.DFMessages))
				m.DFMessages = append(m.DFMessages, none)
			}
			s.came(e, m.DFMessages)
			r := &m.received[s.Node]
			r.message = append(r.message, e.Number)
			m.travelled.set(uint32(e.DF))
		})
		each(&s.AskedHere, func(e *end) {
			if e.Number != 0 {
				s.came(e, m.Requests)
			}
		})
		s.Received, s.AskedHere = column[end]{}, column[end]{}
	}
	for i := range m.received {
		m.received[i].sort(m)
	}
}

// left notes that a message left; one without a number was asked of the node itself, or nothing tells where
// it came to.
func (s *stream) left(e *end, list []Message) {
	if e.Number != 0 {
		g := &list[e.Number]
		g.Sent, g.From, g.To, g.Bytes, g.Request, g.DF, g.CF = e.Time, int32(s.Node), e.Peer, e.Bytes, e.Request,
			e.DF, e.CF
	}
}

// came notes that a message came.
func (s *stream) came(e *end, list []Message) {
	g := &list[e.Number]
	g.Received, g.From, g.To, g.DF = e.Time, e.Peer, int32(s.Node), e.DF
	if g.Sent == None {
		g.Bytes, g.Request, g.CF = e.Bytes, e.Request, e.CF
	}
}

func (r *receipts) sort(m *Model) {
	slices.SortFunc(r.message, func(x, y uint32) int {
		a, b := &m.DFMessages[x], &m.DFMessages[y]
		if a.DF != b.DF { // as nearly always
			return cmp.Compare(a.DF, b.DF)
		}
		// Processes number messages differently: their numbers come last.
		return cmp.Or(cmp.Compare(a.Received, b.Received), cmp.Compare(a.Sent, b.Sent),
			cmp.Compare(a.From, b.From), cmp.Compare(a.Bytes, b.Bytes), cmp.Compare(x, y))
	})
	r.df = Make[DF](m, len(r.message))
	for i, g := range r.message {
		r.df[i] = m.DFMessages[g].DF
	}
}

func (b *builder) joinMoves() {
	m := b.m
	m.Moves = b.journeys(m.spill)
	for _, s := range b.streams {
		s.Moves = column[Move]{}
	}
	if len(m.Moves) == 0 {
		return
	}
	m.moved = Make[uint32](m, b.cfs.size())
	for i := len(m.Moves) - 1; i >= 0; i-- {
		m.moved[m.Moves[i].CF] = uint32(i) + 1
	}
	m.moved[0] = 0 // what no CF is said to have done
}

// movesByCF are the moves of all streams by CF, then time. Most CFs move once, so it is a counting sort, and
// the few moves of one are sorted.
func (b *builder) movesByCF() []Move {
	next := memory.Make[uint32](b.spill, b.cfs.size()+1)
	n := 0
	for _, s := range b.streams {
		each(&s.Moves, func(v *Move) { next[v.CF+1]++ })
		n += s.Moves.len()
	}
	for cf := range b.cfs.size() {
		next[cf+1] += next[cf]
	}
	all := memory.Make[Move](b.spill, n)
	for _, s := range b.streams {
		each(&s.Moves, func(v *Move) {
			all[next[v.CF]] = *v
			next[v.CF]++ // now next[cf] is where those of cf end
		})
	}
	byTime := func(x, y Move) int { return cmp.Compare(x.Time, y.Time) }
	first := uint32(0)
	for _, end := range next[:b.cfs.size()] {
		if own := all[first:end]; !slices.IsSortedFunc(own, byTime) {
			slices.SortStableFunc(own, byTime)
		}
		first = end
	}
	return all
}

// journeys pairs each departure of a CF with its arrival: the i-th from node a to node b with the i-th at b
// from a. They are ordered by CF, then time.
func (b *builder) journeys(to *memory.Spill) []Message {
	all := b.movesByCF()
	out := memory.Make[Message](to, (len(all)+1)/2)[:0]
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].CF == all[0].CF {
			n++
		}
		out = pairMoves(out, all[:n])
		all = all[n:]
	}
	return out
}

// pairMoves appends the messages that the moves of one CF make, in order of time: the i-th departure from
// one node to another goes with the i-th arrival there.
func pairMoves(out []Message, moves []Move) []Message {
	first := len(out)
	for _, v := range moves {
		if v.Out {
			out = append(out, Message{Sent: v.Time, Received: None, From: v.Node, To: v.Peer, Bytes: v.Bytes, CF: v.CF,
				Stolen: v.Stolen})
		}
	}
	var next map[[2]int32]int // by nodes: no departure before it is left; most CFs move once
	if len(moves) > 2 {
		next = map[[2]int32]int{}
	}
	for _, v := range moves {
		if v.Out {
			continue
		}
		way := [2]int32{v.Peer, v.Node}
		at := max(first, next[way])
		for at < len(out) && (out[at].From != v.Peer || out[at].To != v.Node || out[at].Received != None) {
			at++
		}
		if at == len(out) {
			out = append(out, Message{Sent: None, From: v.Peer, To: v.Node, Bytes: v.Bytes, CF: v.CF})
		}
		out[at].Received = v.Time
		if next != nil {
			next[way] = at + 1
		}
	}
	slices.SortStableFunc(out[first:], func(x, y Message) int { return cmp.Compare(x.at(), y.at()) })
	return out
}

// at is when a message arrived, or left if it never did.
func (g *Message) at() int64 {
	if g.Received == None {
		return g.Sent
	}
	return g.Received
}

func (b *builder) joinRest() {
	m := b.m
	awaits, awaited := 0, 0
	for _, s := range b.streams {
		awaits, awaited = awaits+s.awaits.len(), awaited+s.awaited.len()
		m.Duplicates = append(m.Duplicates, s.duplicates...)
	}
	m.Copies = gathered(b, func(s *stream) *column[Copy] { return &s.copies })
	m.Queues = gathered(b, func(s *stream) *column[Queue] { return &s.queues })
	m.Placed = gathered(b, func(s *stream) *column[Placed] { return &s.placed })
	m.Awaits = Awaits{Make[CF](m, awaits)[:0], Make[int64](m, awaits)[:0], Make[uint32](m, awaits)[:0],
		Make[DF](m, awaited)[:0]}
	for _, s := range b.streams {
		base := uint32(len(m.Awaits.dfs))
		s.awaits.empty(func(list []await) {
			for _, a := range list {
				m.Awaits.CF, m.Awaits.Time = append(m.Awaits.CF, a.cf), append(m.Awaits.Time, a.time)
				m.Awaits.at = append(m.Awaits.at, base+a.dfs)
			}
		})
		m.Awaits.dfs = s.awaited.move(m.Awaits.dfs)
	}
	m.Held = map[CF][]Interval{}
	held := gathered(b, func(s *stream) *column[holding] { return &s.Held })
	slices.SortStableFunc(held, func(x, y holding) int { return cmp.Compare(x.Time, y.Time) })
	since := map[CF]int64{}
	for _, h := range held {
		t, on := since[h.CF]
		switch {
		case h.On && !on:
			since[h.CF] = h.Time
		case !h.On && on:
			m.Held[h.CF] = append(m.Held[h.CF], Interval{t, h.Time})
			delete(since, h.CF)
		}
	}
	for cf, t := range since {
		m.Held[cf] = append(m.Held[cf], Interval{t, max(t, m.End)})
	}
}

// findFirstSeen finds the first event of the DFs whose creation was not recorded.
func (b *builder) findFirstSeen() {
	m := b.m
	m.firstSeen = map[DF]int64{}
	see := func(df DF, t int64) {
		if t == None || df == 0 || m.MadeFrom[df] != m.MadeFrom[df+1] {
			return
		}
		if old, ok := m.firstSeen[df]; !ok || t < old {
			m.firstSeen[df] = t
		}
	}
	for _, list := range [][]Message{m.DFMessages, m.Requests} {
		for i := range list {
			see(list[i].DF, list[i].Sent)
			see(list[i].DF, list[i].Received)
		}
	}
	for i := range m.Copies {
		see(m.Copies[i].DF, m.Copies[i].Time)
	}
}

// findAsked keeps the requests of CFs that have not started since. What others asked for, their executions
// tell.
func (b *builder) findAsked() {
	m := b.m
	keep := func(a Asked) {
		if e := m.ExecOf[a.CF]; a.CF != 0 && (e == 0 || m.ExecStart[e-1] < a.Time) {
			m.Asked = append(m.Asked, a)
		}
	}
	for _, s := range b.streams {
		s.asked.empty(func(list []Asked) {
			for _, a := range list {
				keep(a)
			}
		})
	}
	for i := range m.Requests {
		if g := &m.Requests[i]; g.Sent != None {
			keep(Asked{g.Sent, g.CF, g.DF, g.To})
		}
	}
	slices.SortStableFunc(m.Asked, func(x, y Asked) int {
		return cmp.Or(cmp.Compare(x.CF, y.CF), cmp.Compare(x.Time, y.Time))
	})
}
