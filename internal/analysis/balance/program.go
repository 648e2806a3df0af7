package balance

import (
	"context"
	"slices"
	"strconv"

	"github.com/whyslow/whyslow/internal/analysis/simulate"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// Program is a recorded program as strategies see it.
//
// What a placement file cannot tell apart is a unit, and gets one node: executions of a statement with the
// same path, DFs of the same name and indices. Executions that hand their largest value on to each other
// form a track, such as all steps of a strip: on one node they need no messages.
type Program struct {
	simulate.Tasks
	Machine simulate.Machine    // where it is to run
	Located *simulate.Placement // where its locators place it there
	Tracks  []Track             // in the order of their first CFs
	TrackOf []int32             // by execution; -1 for those that cannot be placed
	Window  []uint8             // by execution: the part of the run it belongs to, see windows
	Start   []int64             // by execution: the earliest, in ns, with any number of workers
	readers func(v uint32) []uint32
	units   units

	simulator *simulate.Simulator
}

// Track is a number of executions that belong together.
type Track struct {
	Executions []uint32 // in order of their starts
	NS         int64    // of user code
	Windows    []int64  // the same, by window
}

// windowCount is into how many parts a run is divided: nodes should have the same work in each.
const windowCount = 16

// units are what a placement can tell apart.
type units struct {
	paths     paths
	execution []int32 // by execution; -1 where it cannot be placed
	value     []int32 // by value; -1 likewise
	ofCF      []cfUnit
	ofDF      []model.DF // one of its DFs
}

type cfUnit struct {
	site uint32
	path int32
}

// newProgram prepares a program for a machine.
func newProgram(ctx context.Context, s *simulate.Simulator, m simulate.Machine) (*Program, error) {
	p := &Program{Tasks: s.Tasks(), Machine: m, Located: s.Located(m.Nodes), simulator: s}
	p.findUnits()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p.windows()
	p.readers = p.readersOf()
	p.tracks()
	return p, ctx.Err()
}

// findUnits numbers them. What the trace shows to be beyond placing has none: bodies of subs, CFs that get
// DFs unasked, DFs that are on several nodes. Structured CFs stay where they are, too: they take no time, and
// what they create goes to its own node.
func (p *Program) findUnits() {
	m, u := p.Model(), &p.units
	u.paths = newPaths(p.Tasks)
	u.execution, u.value = make([]int32, p.Executions()), make([]int32, p.Values())
	fixed := map[uint32]bool{} // statements
	for x := range p.Executions() {
		if cf, _ := p.CF(x); p.Pushed(x) {
			fixed[m.SiteOf[cf]] = true
		}
	}
	known := map[cfUnit]int32{}
	for x := range p.Executions() {
		u.execution[x] = -1
		cf, _ := p.CF(x)
		key := cfUnit{m.SiteOf[cf], u.paths.of[cf]}
		if !m.Atomic(cf) || fixed[key.site] || key.site == 0 || key.path < 0 {
			continue
		}
		n, ok := known[key]
		if !ok {
			n = int32(len(u.ofCF))
			known[key] = n
			u.ofCF = append(u.ofCF, key)
		}
		u.execution[x] = n
	}
	names := map[string]int32{}
	var key []byte
	var indices []int64
	u.value[0] = -1
	for v := 1; v < p.Values(); v++ {
		u.value[v] = -1
		if p.Replicated(uint32(v)) {
			continue
		}
		df := m.DFMade(uint32(v - 1))
		if m.DFNameOf(df) == "" {
			continue
		}
		key = strconv.AppendUint(key[:0], uint64(m.DFName[df]), 36)
		indices = m.Indices(df, indices[:0])
		for _, i := range indices {
			key = strconv.AppendInt(append(key, ' '), i, 36)
		}
		n, ok := names[string(key)]
		if !ok {
			n = int32(len(u.ofDF))
			names[string(key)] = n
			u.ofDF = append(u.ofDF, df)
		}
		u.value[v] = n
	}
}

// on is how long a node takes for user code that took so many nanoseconds when it was recorded.
func (p *Program) on(node int, ns int64) int64 {
	if p.Machine.Uneven == nil {
		return ns
	}
	return int64(float64(ns) / p.Machine.SpeedOf(node))
}

// windows finds how early each execution could start, and divides the run by that into parts of equal
// length.
func (p *Program) windows() {
	n := p.Executions()
	p.Start, p.Window = make([]int64, n), make([]uint8, n)
	ended := make([]int64, n)
	last := int64(1)
	for _, x := range p.Started() {
		from := int64(0)
		if _, number := p.CF(int(x)); number > 0 {
			from = ended[x-1]
		} else if c := p.Creator(int(x)); c >= 0 {
			from = ended[c]
		}
		for _, v := range p.Inputs(int(x)) {
			if by := p.Maker(v); by >= 0 {
				from = max(from, ended[by])
			}
		}
		p.Start[x] = from
		ended[x] = from + p.Own(int(x))
		last = max(last, ended[x])
	}
	for x := range p.Window {
		p.Window[x] = uint8(min(p.Start[x]*windowCount/last, windowCount-1))
	}
}

// readersOf lists the executions that need a value.
func (p *Program) readersOf() func(v uint32) []uint32 {
	at := make([]uint32, p.Values()+1)
	for x := range p.Executions() {
		for _, v := range p.Inputs(x) {
			at[v+1]++
		}
	}
	for v := range p.Values() {
		at[v+1] += at[v]
	}
	next, list := slices.Clone(at), make([]uint32, at[p.Values()])
	for x := range p.Executions() {
		for _, v := range p.Inputs(x) {
			list[next[v]] = uint32(x)
			next[v]++
		}
	}
	return func(v uint32) []uint32 { return list[at[v]:at[v+1]] }
}

// heirs is how many readers a value may have for one of them to go on with its track: what more read is
// common property.
const heirs = 4

// tracks finds them.
func (p *Program) tracks() {
	p.TrackOf = make([]int32, p.Executions())
	ofUnit := make([]int32, len(p.units.ofCF))
	for i := range ofUnit {
		ofUnit[i] = -1
	}
	for x := range p.TrackOf {
		p.TrackOf[x] = -1
	}
	for _, x := range p.Started() {
		unit := p.units.execution[x]
		if unit < 0 {
			continue
		}
		track, largest := ofUnit[unit], int64(-1)
		if track < 0 {
			for _, v := range p.Inputs(int(x)) {
				by := p.Maker(v)
				if by >= 0 && p.TrackOf[by] >= 0 && p.Size(v) > largest && len(p.readers(v)) <= heirs {
					track, largest = p.TrackOf[by], p.Size(v)
				}
			}
		}
		if track < 0 {
			track = int32(len(p.Tracks))
			p.Tracks = append(p.Tracks, Track{Windows: make([]int64, windowCount)})
		}
		p.TrackOf[x], ofUnit[unit] = track, track
		t := &p.Tracks[track]
		t.Executions = append(t.Executions, x)
		t.NS += p.Own(int(x))
		t.Windows[p.Window[x]] += p.Own(int(x))
	}
	p.order()
}

// order sorts tracks by their first CFs: the order in which the program creates them says more about who is
// whose neighbour than the order in which workers took them.
func (p *Program) order() {
	first := make([]model.CF, len(p.Tracks))
	order := make([]int32, len(p.Tracks))
	m := p.Model()
	for i, t := range p.Tracks {
		first[i], _ = p.CF(int(t.Executions[0]))
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return p.units.paths.compare(m, first[a], first[b]) })
	tracks, now := make([]Track, len(order)), make([]int32, len(order))
	for i, was := range order {
		tracks[i], now[was] = p.Tracks[was], int32(i)
	}
	p.Tracks = tracks
	for x, t := range p.TrackOf {
		if t >= 0 {
			p.TrackOf[x] = now[t]
		}
	}
}

// kindOf is the kind of a CF's code fragment.
func kindOf(m *model.Model, cf model.CF) trace.CodeKind { return m.Codes[m.CodeOf(cf)].Kind }
