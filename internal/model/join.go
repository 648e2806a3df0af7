package model

import (
	"cmp"
	"runtime"
	"slices"

	"github.com/whyslow/whyslow/internal/procs"
)

// Copy is a change in what a node holds of a DF.
type Copy struct {
	Time int64
	DF   DF
	Node uint16
	What CopyChange
}

// Queue is the length of a queue of a node at a time.
type Queue struct {
	Time   int64
	Length int64
	Node   int32
	Peer   int32 // messages to that node; -1: CFs that are ready
}

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

// Duplicate is a DF that was assigned twice.
type Duplicate struct {
	Time          int64
	DF            DF
	First, Second CF
}

// join turns the columns of the streams into those of the model.
func (b *builder) join() {
	b.correct(!b.interpolated)
	b.bounds()
	var wg procs.Goroutines
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, f := range []func(){b.joinExecutions, b.joinCreations, b.joinReady, b.joinMade, b.joinMessages,
		b.joinMoves, b.joinRest, b.joinRegions} {
		wg.Go(func() {
			slots <- struct{}{}
			f()
			<-slots
		})
	}
	wg.Wait()
	b.findFirstSeen()
}

func filled[T any](n int, v T) []T {
	s := make([]T, n)
	for i := range s {
		s[i] = v
	}
	return s
}

func (b *builder) joinCreations() {
	m, n := b.m, b.cfs.size()
	m.Created, m.Parent = filled(n, None), make([]CF, n)
	m.ParentExec, m.SiteOf = make([]uint32, n), make([]uint32, n)
	m.labelAt = make([]uint32, n)
	for _, s := range b.streams {
		base := uint32(len(m.labels))
		m.labels = append(m.labels, s.labels...)
		s.labels = nil
		s.creations.empty(func(list []creation) {
			for i := range list {
				c := &list[i]
				if c.cf == 0 || (m.Created[c.cf] != None && m.Created[c.cf] <= c.time) {
					continue // created twice: the first counts
				}
				m.Created[c.cf], m.Parent[c.cf], m.ParentExec[c.cf], m.SiteOf[c.cf] = c.time, c.parent, c.exec, c.site
				if c.label != 0 {
					m.labelAt[c.cf] = base + c.label
				}
			}
		})
		for _, w := range s.weights {
			if m.weights == nil {
				m.weights = map[CF]float64{}
			}
			m.weights[w.cf] = w.w
		}
		s.weights = nil
	}
}

func (b *builder) joinReady() {
	m, n := b.m, b.cfs.size()
	m.Ready, m.ReadyNode = filled(n, None), make([]uint16, n)
	m.readyMore = map[CF][]readyAt{}
	for _, s := range b.streams {
		node := uint16(s.node)
		s.readies.empty(func(list []ready) {
			for _, r := range list {
				if old := m.Ready[r.cf]; old != None {
					// The latest goes into the columns, the others aside.
					if r.time < old {
						m.readyMore[r.cf] = append(m.readyMore[r.cf], readyAt{r.time, node})
						continue
					}
					m.readyMore[r.cf] = append(m.readyMore[r.cf], readyAt{old, m.ReadyNode[r.cf]})
				}
				m.Ready[r.cf], m.ReadyNode[r.cf] = r.time, node
			}
		})
	}
}

func (b *builder) joinExecutions() {
	m := b.m
	n, in := 0, 0
	for _, s := range b.streams {
		n += s.runs.len()
		in += s.inputs.len()
	}
	m.ExecStart, m.ExecEnd, m.ExecCPU = make([]int64, 0, n), make([]int64, 0, n), make([]int64, 0, n)
	m.ExecCF, m.ExecNumber = make([]CF, 0, n), make([]uint32, 0, n)
	m.inputsAt, m.inputs = make([]uint32, 0, n+1), make([]DF, 0, in)
	for _, s := range b.streams {
		first := len(m.ExecCF)
		s.joinRuns(m)
		if s.id < len(m.Nodes[s.node].Workers) {
			w := &m.Nodes[s.node].Workers[s.id]
			w.First, w.End = first, len(m.ExecCF)
			if w.End > w.First {
				m.byEnd = append(m.byEnd, workerRef{w, int32(s.node), int32(s.id)})
			}
		}
	}
	m.inputsAt = append(m.inputsAt, uint32(len(m.inputs)))
	m.ExecOf = make([]uint32, b.cfs.size())
	m.multi = map[CF][]uint32{}
	for e, cf := range m.ExecCF {
		if old := m.ExecOf[cf]; old != 0 {
			if len(m.multi[cf]) == 0 {
				m.multi[cf] = append(m.multi[cf], old-1)
			}
			m.multi[cf] = append(m.multi[cf], uint32(e))
		}
		m.ExecOf[cf] = uint32(e) + 1
	}
	for cf, list := range m.multi {
		slices.SortStableFunc(list, func(x, y uint32) int { return cmp.Compare(m.ExecStart[x], m.ExecStart[y]) })
		m.ExecOf[cf] = list[len(list)-1] + 1
	}
}

// joinRuns appends the executions of a stream in order of start. That is the order they were recorded in,
// unless the clock ran backwards.
func (s *stream) joinRuns(m *Model) {
	base := uint32(len(m.inputs))
	m.inputs = s.inputs.move(m.inputs)
	sorted, last := true, None
	each(&s.runs, func(e *execution) {
		e.inputs += base
		sorted, last = sorted && e.start >= last, e.start
	})
	add := func(list []execution) {
		for i := range list {
			e := &list[i]
			m.ExecStart, m.ExecEnd, m.ExecCPU = append(m.ExecStart, e.start), append(m.ExecEnd, e.end),
				append(m.ExecCPU, e.cpu)
			m.ExecCF, m.ExecNumber = append(m.ExecCF, e.cf), append(m.ExecNumber, e.number)
			m.inputsAt = append(m.inputsAt, e.inputs)
		}
	}
	if sorted {
		s.runs.empty(add)
		return
	}
	list := s.runs.move(nil)
	inputs := slices.Clone(m.inputs[base:])
	m.inputs = m.inputs[:base]
	end := make([]uint32, len(list))
	for i := range list {
		end[i] = base + uint32(len(inputs))
		if i+1 < len(list) {
			end[i] = list[i+1].inputs
		}
	}
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(list[x].start, list[y].start) })
	for _, i := range order {
		e := list[i]
		own := inputs[e.inputs-base : end[i]-base]
		e.inputs = uint32(len(m.inputs))
		m.inputs = append(m.inputs, own...)
		add([]execution{e})
	}
}

// joinMade orders the creations of DFs by DF and time. Nearly every DF is created once, so it is a counting
// sort, and the few others are put in their place as they come.
func (b *builder) joinMade() {
	m, n := b.m, b.nDF
	from := make([]uint32, n+1)
	for _, s := range b.streams {
		each(&s.mades, func(d *made) { from[d.df+1]++ })
	}
	for df := range n {
		from[df+1] += from[df]
	}
	total := from[n]
	m.MadeTime, m.MadeSize = make([]int64, total), make([]int64, total)
	m.MadeBy, m.MadeNode = make([]CF, total), make([]uint16, total)
	next := slices.Clone(from)
	for _, s := range b.streams {
		s.mades.empty(func(list []made) {
			for i := range list {
				d := &list[i]
				k := next[d.df]
				next[d.df]++
				for ; k > from[d.df] && m.MadeTime[k-1] > d.time; k-- {
					m.MadeTime[k], m.MadeSize[k], m.MadeBy[k], m.MadeNode[k] = m.MadeTime[k-1], m.MadeSize[k-1],
						m.MadeBy[k-1], m.MadeNode[k-1]
				}
				m.MadeTime[k], m.MadeSize[k], m.MadeBy[k], m.MadeNode[k] = d.time, d.size, d.by, uint16(s.node)
			}
		})
	}
	m.MadeFrom = from
}

func (b *builder) joinMessages() {
	m := b.m
	none := Message{Sent: None, Received: None, From: -1, To: -1}
	m.DFMessages, m.Requests = filled(b.messages.size(), none), filled(b.requests.size(), none)
	m.received = make([]receipts, len(m.Nodes))
	m.travelled = make([]uint64, b.nDF/64+1)
	for _, s := range b.streams {
		each(&s.sent, func(e *end) {
			if e.number == 0 {
				return // nothing tells where it came to
			}
			g := &m.DFMessages[e.number]
			g.Sent, g.From, g.To, g.Bytes, g.Request, g.DF, g.CF = e.time, int32(s.node), e.peer, e.bytes, e.request,
				e.df, e.cf
		})
		each(&s.asked, func(e *end) {
			if e.number == 0 {
				return // asked of the node itself
			}
			g := &m.Requests[e.number]
			g.Sent, g.From, g.To, g.DF, g.CF = e.time, int32(s.node), e.peer, e.df, e.cf
		})
		s.sent, s.asked = column[end]{}, column[end]{}
	}
	for _, s := range b.streams {
		each(&s.received, func(e *end) {
			if e.number == 0 {
				e.number = uint32(len(m.DFMessages))
				m.DFMessages = append(m.DFMessages, none)
			}
			g := &m.DFMessages[e.number]
			g.Received, g.From, g.To, g.DF = e.time, e.peer, int32(s.node), e.df
			if g.Sent == None {
				g.Bytes, g.Request, g.CF = e.bytes, e.request, e.cf
			}
			r := &m.received[s.node]
			r.df, r.message = append(r.df, e.df), append(r.message, e.number)
			m.travelled[e.df/64] |= 1 << (e.df % 64)
		})
		each(&s.askedHere, func(e *end) {
			if e.number == 0 {
				return
			}
			g := &m.Requests[e.number]
			g.Received, g.From, g.To, g.DF = e.time, e.peer, int32(s.node), e.df
		})
		s.received, s.askedHere = column[end]{}, column[end]{}
	}
	for i := range m.received {
		m.received[i].sort(m)
	}
}

func (r *receipts) sort(m *Model) {
	slices.SortFunc(r.message, func(x, y uint32) int {
		a, b := &m.DFMessages[x], &m.DFMessages[y]
		return cmp.Or(cmp.Compare(a.DF, b.DF), cmp.Compare(a.Received, b.Received), cmp.Compare(x, y))
	})
	for i, g := range r.message {
		r.df[i] = m.DFMessages[g].DF
	}
}

// joinMoves pairs each departure of a CF with its arrival: the i-th from node a to node b with the i-th at b
// from a.
func (b *builder) joinMoves() {
	m := b.m
	n := 0
	for _, s := range b.streams {
		n += s.moves.len()
	}
	if n == 0 {
		return
	}
	all := make([]move, 0, n)
	for _, s := range b.streams {
		all = s.moves.move(all)
	}
	slices.SortStableFunc(all, func(x, y move) int {
		return cmp.Or(cmp.Compare(x.cf, y.cf), cmp.Compare(x.time, y.time))
	})
	m.moved = make(map[CF][2]uint32, n/2)
	m.Moves = make([]Message, 0, n/2)
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j].cf == all[i].cf {
			j++
		}
		first := len(m.Moves)
		m.Moves = pair(m.Moves, all[i:j])
		if all[i].cf != 0 {
			m.moved[all[i].cf] = [2]uint32{uint32(first), uint32(len(m.Moves))}
		}
		i = j
	}
}

func pair(out []Message, moves []move) []Message {
	first := len(out)
	for _, v := range moves {
		if v.out {
			out = append(out, Message{Sent: v.time, Received: None, From: v.node, To: v.peer, Bytes: v.bytes, CF: v.cf,
				Stolen: v.stolen})
		}
	}
	for _, v := range moves {
		if v.out {
			continue
		}
		g := Message{Sent: None, From: v.peer, To: v.node, Bytes: v.bytes, CF: v.cf}
		at := slices.IndexFunc(out[first:], func(o Message) bool {
			return o.From == g.From && o.To == g.To && o.Received == None
		})
		if at < 0 {
			out = append(out, g)
			at = len(out) - 1 - first
		}
		out[first+at].Received = v.time
	}
	slices.SortStableFunc(out[first:], func(x, y Message) int {
		return cmp.Compare(max(x.Sent, x.Received), max(y.Sent, y.Received))
	})
	return out
}

func (b *builder) joinRest() {
	m := b.m
	copies, awaits, awaited := 0, 0, 0
	for _, s := range b.streams {
		copies, awaits, awaited = copies+s.copies.len(), awaits+s.awaits.len(), awaited+s.awaited.len()
	}
	m.Copies = make([]Copy, 0, copies)
	m.Awaits = Awaits{make([]CF, 0, awaits), make([]int64, 0, awaits), make([]uint32, 0, awaits),
		make([]DF, 0, awaited)}
	for _, s := range b.streams {
		base := uint32(len(m.Awaits.dfs))
		s.awaits.empty(func(list []await) {
			for _, a := range list {
				m.Awaits.CF, m.Awaits.Time = append(m.Awaits.CF, a.cf), append(m.Awaits.Time, a.time)
				m.Awaits.at = append(m.Awaits.at, base+a.dfs)
			}
		})
		m.Awaits.dfs = s.awaited.move(m.Awaits.dfs)
		m.Copies = s.copies.move(m.Copies)
		m.Queues = s.queues.move(m.Queues)
		m.Duplicates = append(m.Duplicates, s.duplicates...)
	}
	m.Held = map[CF][]Interval{}
	var held []holding
	for _, s := range b.streams {
		held = append(held, s.held...)
	}
	slices.SortStableFunc(held, func(x, y holding) int { return cmp.Compare(x.time, y.time) })
	since := map[CF]int64{}
	for _, h := range held {
		t, on := since[h.cf]
		switch {
		case h.on && !on:
			since[h.cf] = h.time
		case !h.on && on:
			m.Held[h.cf] = append(m.Held[h.cf], Interval{t, h.time})
			delete(since, h.cf)
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
