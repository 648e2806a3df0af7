package model

import (
	"cmp"
	"context"
	"slices"

	"github.com/whyslow/whyslow/internal/memory"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// Clocks says how well the clocks of nodes in different processes agree. All but Nodes counts messages: DFs,
// requests and CFs, between nodes of different processes, of which both ends were recorded; and of runs on
// several hosts the messages of MPI, and what collectives and locks ask for. For a part of a run, it covers
// that part.
type Clocks struct {
	Messages     int64
	Raw          Disorder // by the clocks as they were
	Interpolated Disorder // by clocks corrected with the comparisons alone
	Left         Disorder // by the times of the model
	Nodes        []ClockRepair
}

// Disorder counts the messages that were received before they were sent.
type Disorder struct {
	Count     int64 `json:"count"`
	LargestNS int64 `json:"largest_ns"` // by how much
	SumNS     int64 `json:"sum_ns"`
}

// ClockRepair says how a node's times were moved so that no message is received before it was sent. It is
// zero where they were not.
type ClockRepair struct {
	Disorder // the messages for which the clock was put forward
	// how far an event was moved at most, including what earlier messages passed on
	MovedNS int64 `json:"moved_ns"`
}

// Repairs sums up the repairs of all nodes.
func (c *Clocks) Repairs() (r ClockRepair) {
	for _, n := range c.Nodes {
		r.join(n.Disorder)
		r.MovedNS = max(r.MovedNS, n.MovedNS)
	}
	return r
}

func (d *Disorder) see(sent, received int64) {
	if by := sent - received; by > 0 {
		d.Count, d.SumNS, d.LargestNS = d.Count+1, d.SumNS+by, max(d.LargestNS, by)
	}
}

func (d *Disorder) join(o Disorder) {
	d.Count, d.SumNS, d.LargestNS = d.Count+o.Count, d.SumNS+o.SumNS, max(d.LargestNS, o.LargestNS)
}

// Clock gives the correction of a node's clock, for Common. Callers must not change it.
func (m *Model) Clock(node int) []ClockSync {
	if node < 0 || node >= len(m.clocks) {
		return nil
	}
	return m.clocks[node]
}

// Crossing is a message that crossed from one node to another of another process, by the clocks of the nodes
// as they were.
type Crossing struct {
	From, To       int32
	Sent, Received int64
}

func (l Crossing) compare(o Crossing) int {
	return cmp.Or(cmp.Compare(l.Sent, o.Sent), cmp.Compare(l.Received, o.Received), cmp.Compare(l.From, o.From),
		cmp.Compare(l.To, o.To))
}

// CompareClocks counts the messages between processes and, of them, those that were received before they were
// sent: as recorded, and by clocks corrected with syncs, those of each node by time. The rest of the result
// is zero.
func CompareClocks(syncs [][]ClockSync, crossings []Crossing) (c Clocks) {
	at := make([]clockMap, len(syncs))
	for n := range syncs {
		at[n].syncs = syncs[n]
	}
	for i := range crossings {
		e := &crossings[i]
		c.Messages++
		c.Raw.see(e.Sent, e.Received)
		c.Interpolated.see(at[e.From].common(e.Sent), at[e.To].common(e.Received))
	}
	return c
}

// Join adds what CompareClocks found for other messages of the same run.
func (c *Clocks) Join(o *Clocks) {
	c.Messages += o.Messages
	c.Raw.join(o.Raw)
	c.Interpolated.join(o.Interpolated)
	c.Left.join(o.Left)
}

// Chosen leaves out comparisons of a clock, which are by time, that others explain: the straight line between
// those before and after is within their error. While a program runs messages wait for cores and each other,
// so comparisons are often ten times worse than at the start and at the end; following them would bend a
// clock that is straight.
//
// The first and the last are kept, and the one between them that the line explains least, moved towards the
// line as far as its error allows; then likewise before and after that one.
func Chosen(list []ClockSync) []ClockSync {
	if len(list) < 3 {
		return list
	}
	all, keep := slices.Clone(list), make([]bool, len(list))
	keep[0], keep[len(list)-1] = true, true
	for ahead := [][2]int{{0, len(list) - 1}}; len(ahead) > 0; {
		from, to := ahead[len(ahead)-1][0], ahead[len(ahead)-1][1]
		ahead = ahead[:len(ahead)-1]
		ends := []ClockSync{all[from], all[to]}
		worst, by := 0, int64(0)
		for i := from + 1; i < to; i++ {
			k := all[i]
			line := Common(k.Time, ends) - k.Time
			if d := max(line-k.Offset, k.Offset-line) - k.Error; d > by {
				worst, by = i, d
			}
		}
		if by > 0 {
			k := &all[worst]
			line := Common(k.Time, ends) - k.Time
			k.Offset = max(k.Offset-k.Error, min(k.Offset+k.Error, line))
			keep[worst] = true
			ahead = append(ahead, [2]int{from, worst}, [2]int{worst, to})
		}
	}
	var out []ClockSync
	for i, k := range all {
		if keep[i] {
			out = append(out, k)
		}
	}
	return out
}

// compared are all comparisons of each node's clock, by time.
func (b *builder) compared() [][]ClockSync {
	all := make([][]ClockSync, len(b.m.Nodes))
	for _, s := range b.streams {
		all[s.Node] = append(all[s.Node], s.Syncs...)
	}
	for _, list := range all {
		slices.SortStableFunc(list, func(x, y ClockSync) int { return cmp.Compare(x.Time, y.Time) })
	}
	return all
}

// syncs are the comparisons of each node's clock that count, by time; those of a node whose offsets are all 0
// are left out.
func (b *builder) syncs() [][]ClockSync {
	all := b.compared()
	for n, list := range all {
		if !slices.ContainsFunc(list, func(y ClockSync) bool { return y.Offset != 0 }) {
			all[n] = nil
		} else if !b.every {
			all[n] = Chosen(list)
		}
	}
	return all
}

// processes gives each node the process whose clock it reads: by run.json, or by what its events say.
func (b *builder) processes() (process []int, several bool) {
	process = make([]int, len(b.m.Nodes))
	for n := range process {
		process[n] = b.m.Nodes[n].Process
	}
	for _, s := range b.streams {
		if s.Process >= 0 && b.m.Info.Node(s.Node) == nil {
			process[s.Node] = s.Process
		}
	}
	for n := range process {
		several = several || (b.m.Nodes[n].Read && process[n] != process[0])
	}
	return process, several
}

// shareClocks gives all nodes of a process, which read one clock, the comparisons of one of them: of that
// with most, or the first of those.
func (b *builder) shareClocks(process []int) {
	compared, best := b.compared(), map[int]int{}
	for n, p := range process {
		if old, ok := best[p]; !ok || len(compared[n]) > len(compared[old]) {
			best[p] = n
		}
	}
	for n, p := range process {
		if best[p] != n {
			b.m.clocks[n] = b.m.clocks[best[p]]
		}
	}
}

// repairShared repairs the clocks of processes.
func repairShared(process []int, syncs [][]ClockSync, crossings []Crossing) ([][]ClockSync, Clocks) {
	first := map[int]int32{}
	for n, p := range process {
		if _, ok := first[p]; !ok {
			first[p] = int32(n)
		}
	}
	between := slices.Clone(crossings)
	for i := range between {
		e := &between[i]
		e.From, e.To = first[process[e.From]], first[process[e.To]]
	}
	clocks, c := RepairClocks(syncs, between)
	clocks = slices.Clone(clocks)
	for n, p := range process {
		if one := first[p]; int(one) != n {
			clocks[n], c.Nodes[n].MovedNS = clocks[one], c.Nodes[one].MovedNS
		}
	}
	return clocks, c
}

// crossings are the messages between processes, in an order that depends on the trace alone.
func (b *builder) crossings(process []int) (out []Crossing) {
	add := func(e Crossing) {
		if process[e.From] != process[e.To] {
			out = memory.Append(b.spill, out, e)
		}
	}
	messages := func(count int, ends func(*stream) (left, came *column[end])) {
		all := fill(memory.Make[Crossing](b.spill, count), Crossing{From: -1, To: -1})
		for _, s := range b.streams {
			left, came := ends(s)
			each(left, func(e *end) { all[e.Number].From, all[e.Number].Sent = int32(s.Node), e.Time })
			each(came, func(e *end) { all[e.Number].To, all[e.Number].Received = int32(s.Node), e.Time })
		}
		for i, e := range all {
			if i > 0 && e.From >= 0 && e.To >= 0 {
				add(e)
			}
		}
	}
	messages(b.messages.size(), func(s *stream) (_, _ *column[end]) { return &s.Sent, &s.Received })
	messages(b.requests.size(), func(s *stream) (_, _ *column[end]) { return &s.Asked, &s.AskedHere })
	for _, g := range b.journeys(b.spill) { // the order of times of one node does not depend on clocks
		if g.Sent != None && g.Received != None {
			add(Crossing{From: g.From, To: g.To, Sent: g.Sent, Received: g.Received})
		}
	}
	return out
}

// findClocks finds the corrections of all clocks. Where, by the comparisons alone, a message would be
// received before it was sent, or collectives and locks may ask for as much, one process repairs them for
// all.
func (b *builder) findClocks(g procs.Group) error {
	m := b.m
	m.clocks = b.syncs()
	process, several := b.processes()
	if !several {
		return nil
	}
	b.shareClocks(process)
	crossings := slices.DeleteFunc(b.crossings(process), func(l Crossing) bool { return !m.Own(int(l.To)) })
	found, err := procs.AllOf(g, CompareClocks(m.clocks, crossings))
	if err != nil {
		return err
	}
	for i := range found {
		m.Clocks.Join(&found[i])
	}
	switch {
	case b.interpolated:
		m.Clocks.Left = m.Clocks.Interpolated
	case m.Clocks.Interpolated.Count == 0 && !b.severalHosts():
		m.Clocks.Nodes = make([]ClockRepair, len(m.clocks))
	default:
		return b.repairClocks(g, process, crossings)
	}
	return nil
}

// evidence is what a process knows that asks for repairs of clocks.
type evidence struct {
	Crossings []Crossing
	Threads   []Thread
}

// repaired is what the process that repairs clocks found.
type repaired struct {
	Knots  [][]ClockSync
	Clocks Clocks
}

func (b *builder) repairClocks(g procs.Group, process []int, own []Crossing) error {
	m := b.m
	all := evidence{Crossings: own}
	if b.severalHosts() {
		all.Threads = b.rawThreads()
	}
	err := procs.Collect(g, func() evidence { return all }, func(_ int, theirs *evidence) error {
		all.Crossings = append(all.Crossings, theirs.Crossings...)
		all.Threads = append(all.Threads, theirs.Threads...)
		return nil
	})
	if err != nil {
		return err
	}
	if g.Rank() == 0 {
		b.repairRegions(process, all.Crossings, inOrderOfNodes(all.Threads))
	}
	r, err := procs.FromMember(g, 0, repaired{m.clocks, m.Clocks})
	if err != nil {
		return err
	}
	m.clocks, m.Clocks = append(r.Knots, make([][]ClockSync, len(m.clocks)-len(r.Knots))...), r.Clocks
	return nil
}

// clockKinds are the events that clocks are compared and repaired by.
var clockKinds = []trace.Kind{trace.KindEntered, trace.KindExited, trace.KindCollective, trace.KindAcquired,
	trace.KindReleased, trace.KindSent, trace.KindReceived, trace.KindGroup, trace.KindProgramStarted,
	trace.KindClockSync, trace.KindDFSent, trace.KindDFReceived, trace.KindDFRequested,
	trace.KindDFRequestReceived, trace.KindCFMigrated, trace.KindCFStolen, trace.KindCFReceived}

// ReadClocks finds the corrections of the nodes' clocks that Build uses, without a model: those of each node
// for Common, how well they agree, and all comparisons that were recorded. It reads the whole trace, and
// fails only when ctx ends.
func ReadClocks(ctx context.Context, r *trace.Reader) (corrections [][]ClockSync, agreement Clocks,
	compared [][]ClockSync, err error) {
	b := newBuilder(r.Run(), r.Nodes())
	tables := make([]nodeTables, len(b.m.Nodes))
	for _, n := range r.Nodes() {
		tables[n] = b.tables.add(n, r.Defs(n))
	}
	var skip kindSet
	for k := range skip {
		skip[k] = !slices.Contains(clockKinds, trace.Kind(k))
	}
	if err := b.readStreams(ctx, r, 2, tables, nil, &skip, func() {}); err != nil {
		return nil, Clocks{}, nil, err
	}
	err = b.findClocks(procs.Alone())
	return b.m.clocks, b.m.Clocks, b.compared(), err
}
