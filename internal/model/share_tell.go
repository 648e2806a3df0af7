package model

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// What everybody knows of the whole run.

type wireTables struct {
	Codes []Code
	Sites []Site
	Names []string
}

// tellTables makes the names, sites and code fragments of all processes' nodes one table.
func (h *sharing) tellTables(own []nodeTables) error {
	m, t := h.m, h.b.tables
	all, err := procs.AllOf(h.g, wireTables{m.Codes[1:], m.Sites[1:], m.Names[1:]})
	if err != nil {
		return err
	}
	m.Codes, m.Sites, m.Names = m.Codes[:1:1], m.Sites[:1:1], m.Names[:1:1]
	clear(t.codes)
	clear(t.sites)
	clear(t.names)
	t.names[""] = 0
	for rank, w := range all {
		codes, sites, names := []int{0}, []uint32{0}, []uint32{0}
		for _, c := range w.Codes {
			codes = append(codes, t.code(c))
		}
		for _, s := range w.Sites {
			s.Code = codes[s.Code]
			sites = append(sites, t.site(s))
		}
		for _, s := range w.Names {
			names = append(names, t.name(s))
		}
		if rank != h.rank {
			continue
		}
		for i, n := range m.DFName {
			m.DFName[i] = names[n]
		}
		for _, n := range own {
			for i, s := range n.site {
				n.site[i] = sites[s]
			}
		}
	}
	return nil
}

// tellUndefined gives one number, too, to the names that were made up since, of DFs whose definitions are
// lost: those from defined on.
func (h *sharing) tellUndefined(defined int) error {
	m, t := h.m, h.b.tables
	all, err := procs.AllOf(h.g, m.Names[defined:])
	if err != nil {
		return err
	}
	for _, s := range m.Names[defined:] {
		delete(t.names, s)
	}
	m.Names = m.Names[:defined:defined]
	for rank, list := range all {
		var names []uint32
		for _, s := range list {
			names = append(names, t.name(s))
		}
		if rank != h.rank {
			continue
		}
		for i, n := range m.DFName {
			if int(n) >= defined {
				m.DFName[i] = names[int(n)-defined]
			}
		}
	}
	return nil
}

type wireProblems struct {
	Opened, Read []string
	Lost         uint64
	Damage       []wireDamage
}

type wireDamage struct {
	Node, Stream int
	From, To     int64
}

// tellProblems lists the problems of all processes' files: those found when they were opened first, as one
// process would.
func (h *sharing) tellProblems(opened int) error {
	m := h.m
	own := wireProblems{Opened: m.Problems[:opened], Read: m.Problems[opened:], Lost: m.LostCount}
	for _, d := range h.b.damage {
		own.Damage = append(own.Damage, wireDamage{d.node, d.stream, d.From, d.To})
	}
	all, err := procs.AllOf(h.g, own)
	if err != nil {
		return err
	}
	m.Problems, m.LostCount, h.b.damage = nil, 0, nil
	for _, w := range all {
		m.Problems, m.LostCount = append(m.Problems, w.Opened...), m.LostCount+w.Lost
		for _, d := range w.Damage {
			h.b.damage = append(h.b.damage, damage{d.Node, d.Stream, Interval{d.From, d.To}})
		}
	}
	for _, w := range all {
		m.Problems = append(m.Problems, w.Read...)
	}
	return nil
}

// summary is what everybody knows of a stream.
type summary struct {
	Node, Stream            int
	First, Last             int64
	Started, Finished       int64
	Process                 int
	StartedCPU, FinishedCPU int64
	Executes, Entered       bool
	Lost                    []wireLoss
	Syncs                   []ClockSync
	Events                  uint64
	Count                   map[trace.Kind]uint64
}

type wireLoss struct {
	Stream, Count uint64
	First, Last   int64
}

// tellSummaries tells everybody of the own streams, and makes streams that stand for those of the others.
func (h *sharing) tellSummaries() error {
	var own []summary
	for _, s := range h.own {
		w := summary{s.node, s.id, s.first, s.last, s.started, s.finished, s.process, s.startedCPU, s.finishedCPU,
			s.runs.len() > 0, s.log != nil, nil, s.syncs,
			s.events, map[trace.Kind]uint64{}}
		for _, l := range s.lost {
			w.Lost = append(w.Lost, wireLoss{l.stream, l.count, l.first, l.last})
		}
		for k, n := range s.count {
			if n > 0 {
				w.Count[trace.Kind(k)] = n
			}
		}
		own = append(own, w)
	}
	all, err := procs.AllOf(h.g, own)
	if err != nil {
		return err
	}
	for rank, list := range all {
		if rank == h.rank {
			continue
		}
		for i := range list {
			w := &list[i]
			s := newStream(h.b, w.Node, w.Stream, nodeTables{})
			s.first, s.last, s.started, s.finished = w.First, w.Last, w.Started, w.Finished
			s.process, s.startedCPU, s.finishedCPU, s.executes, s.entered = w.Process, w.StartedCPU, w.FinishedCPU,
				w.Executes, w.Entered
			s.syncs, s.events = w.Syncs, w.Events
			for k, n := range w.Count {
				s.count[k] = n
			}
			for _, l := range w.Lost {
				s.lost = append(s.lost, loss{l.Stream, l.Count, l.First, l.Last})
			}
			s.at = new(positions)
			h.abroad[streamKey{s.node, s.id}] = s
			h.order = append(h.order, s)
		}
	}
	sortStreams(h.order)
	return nil
}

// wireSeen is the first event of a DF whose creation was not recorded; None where there is none.
type wireSeen struct {
	DFs  []wireDF
	Time []int64
}

// tellFirstSeen finds, for DFs of which no process knows a creation, the first event in the whole run.
func (h *sharing) tellFirstSeen() error {
	m := h.m
	for i := range h.out {
		h.out[i] = outbox{}
	}
	times := make([]wireSeen, h.size)
	mine := make([][]DF, h.size)
	for i := range m.DFName {
		df := DF(i)
		if df == 0 || m.MadeFrom[df] != m.MadeFrom[df+1] || (df < h.ownDFs && !h.shared.has(uint32(df))) {
			continue
		}
		w := h.wireDF(df)
		k := h.m.Owner(w.Node)
		if len(w.Identity) > 0 {
			k = h.matcher(trace.IdentityID(w.Identity))
		}
		t, ok := m.firstSeen[df]
		if !ok {
			t = None
		}
		times[k].DFs, times[k].Time = append(times[k].DFs, w), append(times[k].Time, t)
		mine[k] = append(mine[k], df)
	}
	out := make([][]byte, h.size)
	for k := range times {
		if len(mine[k]) > 0 {
			out[k] = procs.Encode(&times[k])
		}
	}
	in, err := h.g.Exchange(out)
	if err != nil {
		return err
	}
	asked := make([]wireSeen, h.size)
	first := map[string]int64{}
	for k, b := range in {
		if len(b) == 0 {
			continue
		}
		if err := procs.Decode(b, &asked[k]); err != nil {
			return procs.Told(k, err)
		}
		for i := range asked[k].DFs {
			key := asked[k].DFs[i].key()
			t, ok := first[key]
			if !ok {
				t = None
			}
			first[key] = earlier(t, asked[k].Time[i])
		}
	}
	clear(out)
	for k := range asked {
		answer := make([]int64, len(asked[k].DFs))
		for i := range answer {
			answer[i] = first[asked[k].DFs[i].key()]
		}
		if len(answer) > 0 {
			out[k] = procs.Encode(&answer)
		}
	}
	if in, err = h.g.Exchange(out); err != nil {
		return err
	}
	for k, b := range in {
		if len(b) == 0 {
			continue
		}
		var answer []int64
		if err := procs.Decode(b, &answer); err != nil {
			return procs.Told(k, err)
		}
		for i, t := range answer {
			if t != None && i < len(mine[k]) {
				m.firstSeen[mine[k][i]] = t
			}
		}
	}
	return nil
}

// key is the same for the same DF only.
func (w *wireDF) key() string {
	if len(w.Identity) > 0 {
		return string(procs.Encode(&w.Identity))
	}
	return string(procs.Encode(&[]uint32{uint32(w.Node), w.Number}))
}

// tellClocks finds the corrections of all clocks. Where a message would still be received before it was sent,
// or collectives and locks may ask for as much, one process repairs them for all.
func (h *sharing) tellClocks() error {
	b, m := h.b, h.m
	b.streams = append(slices.Clone(h.own), h.order...)
	sortStreams(b.streams)
	m.clocks = b.syncs()
	if process, several := b.processes(); several {
		crossings := slices.DeleteFunc(b.crossings(process), func(l Crossing) bool { return !m.Own(int(l.To)) })
		found, err := procs.AllOf(h.g, CompareClocks(m.clocks, crossings))
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
			return h.repairClocks(process, crossings)
		}
	}
	return nil
}

// repaired is what the process that repairs clocks found.
type repaired struct {
	Knots  [][]ClockSync
	Clocks Clocks
}

func (h *sharing) repairClocks(process []int, own []Crossing) error {
	b, m := h.b, h.m
	in, err := procs.Gather(h.g, 0, procs.Encode(&own))
	if err != nil {
		return err
	}
	var raw []Thread
	if b.severalHosts() {
		if raw, err = h.gatherThreads(b.rawThreads()); err != nil {
			return err
		}
	}
	var answer []byte
	if h.rank == 0 {
		var all []Crossing
		for k, b := range in {
			var crossings []Crossing
			if err := procs.Decode(b, &crossings); err != nil {
				return procs.Told(k, err)
			}
			all = append(all, crossings...)
		}
		b.repairRegions(process, all, raw)
		answer = procs.Encode(&repaired{m.clocks, m.Clocks})
	}
	if answer, err = procs.Broadcast(h.g, 0, answer); err != nil {
		return err
	}
	var r repaired
	if err := procs.Decode(answer, &r); err != nil {
		return procs.Told(0, err)
	}
	m.clocks, m.Clocks = append(r.Knots, make([][]ClockSync, len(m.clocks)-len(r.Knots))...), r.Clocks
	return nil
}

func sortStreams(list []*stream) {
	slices.SortFunc(list, func(x, y *stream) int {
		return cmp.Or(cmp.Compare(x.node, y.node), cmp.Compare(x.id, y.id))
	})
}
