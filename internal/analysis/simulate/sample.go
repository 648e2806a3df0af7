package simulate

import (
	"context"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// Sample estimates the wall time of a program that is too large to be simulated while somebody waits.
//
// Some stretches of the recorded run, evenly spaced, are programs of their own: what began within the
// stretch, with all values that were made before there from the start. Each is simulated on the recorded
// machine and on another one. The whole run is taken to change as the sum of the stretches does. Stretches
// begin with all workers idle and end with few busy on both machines, so that this hardly matters for the
// ratio. Machines with so many workers that a stretch is hardly work for them get one long stretch instead,
// and a rougher estimate.
//
// A structured CF that was still creating CFs of the stretch is part of it, so that they do not come sooner
// than it can create them. It creates those of the stretch only.
type Sample struct {
	s        *Simulator
	short    stretches
	long     stretches          // a single one
	whole    int64              // wall time of the program on the recorded machine, in ns
	useful   map[string]float64 // by code fragment, in ns of the whole program
	executed int                // executions of the program
}

// stretches are parts of a program.
type stretches struct {
	of     int // executions of each
	parts  []*Simulator
	before int64 // wall time of all on the recorded machine, in ns
}

const (
	// SampleOf is how many executions a stretch should have.
	SampleOf = 40_000
	// sampleParts is how many stretches there are.
	sampleParts = 6
	// perWorker is how many executions of a stretch a worker gets at least: with fewer, their order decides.
	perWorker = 100
)

// Sample takes a sample with stretches of so many executions; whole is what was predicted of the program on
// the recorded machine. It is nil where a sample would not be much smaller than the program.
func (s *Simulator) Sample(ctx context.Context, whole *Result, of int) (*Sample, error) {
	n := len(s.g.cf)
	if n < 4*sampleParts*of {
		return nil, nil
	}
	sample := &Sample{s: s, whole: whole.WallNS, useful: map[string]float64{}, executed: n}
	for x, cf := range s.g.cf {
		if s.g.atomic(cf) {
			sample.useful[s.g.m.Codes[s.g.m.CodeOf(model.CF(cf))].Name] += float64(s.g.own[x])
		}
	}
	ends := make([]int64, n) // by execution, as recorded
	for e, x := range s.g.index {
		ends[x] = s.g.m.ExecStart[e] + s.g.own[x]
	}
	var err error
	if sample.short, err = s.stretches(ctx, sampleParts, of, ends); err != nil {
		return nil, err
	}
	sample.long, err = s.stretches(ctx, 1, sampleParts*of, ends)
	return sample, err
}

// stretches cuts out so many parts of so many executions.
func (s *Simulator) stretches(ctx context.Context, count, of int, ends []int64) (p stretches, err error) {
	p.of = of
	for i := range count {
		// from the middle of each of as many equal parts
		middle := len(s.g.cf) * (2*i + 1) / (2 * count)
		p.parts = append(p.parts, s.part(middle-of/2, middle+of/2, ends))
	}
	p.before, err = p.wall(ctx, s.Complete(Machine{Latency: -1, Bandwidth: -1}))
	return p, err
}

// fits tells whether stretches have enough work for all workers of a machine.
func (p *stretches) fits(m *Machine) bool { return m.Nodes*m.Workers*perWorker <= p.of }

// wall is the wall time of all parts on a machine.
func (p *stretches) wall(ctx context.Context, m Machine) (sum int64, err error) {
	for _, s := range p.parts {
		r, err := s.simulate(ctx, m, nil)
		if err != nil {
			return 0, err
		}
		sum += r.res.WallNS
	}
	return sum, nil
}

// Run estimates the program's run on a machine without a placement: its wall time and its useful time, which
// is exact, as the bounds are. It fails when ctx ends.
func (p *Sample) Run(ctx context.Context, m Machine) (*Result, error) {
	m = p.s.Complete(m)
	of := &p.short
	if !of.fits(&m) {
		of = &p.long
	}
	wall, err := of.wall(ctx, m)
	if err != nil {
		return nil, err
	}
	r := &Result{Nodes: m.Nodes, Workers: m.Workers, Executed: p.executed}
	for code, ns := range p.useful {
		if v := m.Speed[code]; v > 0 {
			ns /= v
		}
		r.UsefulNS += int64(ns)
	}
	all, fastest := m.power()
	factors := p.s.factors(m.Speed)
	chain := float64(p.s.g.chain(factors, nil)) / fastest
	r.ChainNS, r.LeastNS = int64(chain), int64(max(chain, float64(r.UsefulNS)/all))
	r.WallNS = max(r.LeastNS, int64(float64(wall)*float64(p.whole)/float64(max(of.before, 1))),
		int64(float64(p.s.g.chain(factors, &m.Costs))/fastest))
	return r, nil
}

// creators are the executions before the from-th to start that were still creating CFs of those up to the
// to-th: no CF of those may start without them.
func (g *graph) creators(from, to int, ends []int64) (list []uint32) {
	begin := g.m.Start
	if from > 0 {
		begin = ends[g.started[from]] - g.own[g.started[from]]
	}
	inside := map[uint32]bool{}
	for _, x := range g.started[from:to] {
		inside[x] = true
	}
	for _, x := range g.started[from:to] {
		if by := g.maker[g.cf[x]]; by != 0 && x == g.first[g.cf[x]] && !inside[by-1] &&
			!g.atomic(g.cf[by-1]) && ends[by-1] > begin {
			inside[by-1] = true
			list = append(list, by-1)
		}
	}
	return list
}

// part makes a program of the executions that were the from-th to the to-th to start, with their creators.
// CFs and values keep their numbers.
func (s *Simulator) part(from, to int, ends []int64) *Simulator {
	g := s.g
	order := append(g.creators(from, to, ends), g.started[from:to]...)
	kept := slices.Clone(order)
	slices.Sort(kept)
	p := &graph{m: g.m, crowd: g.crowd, late: g.late, home: g.home, size: g.size, step: g.step, steals: g.steals,
		first: make([]uint32, len(g.first)), maker: make([]uint32, len(g.maker)), inAt: []uint32{0},
		outAt: []uint32{0}, kidAt: []uint32{0}, places: places{value: g.places.value}}
	number := map[uint32]uint32{} // of executions in the part
	for i, x := range kept {
		number[x] = uint32(i)
		p.first[g.cf[x]+1]++
	}
	for cf := range len(p.first) - 1 {
		p.first[cf+1] += p.first[cf]
	}
	for _, x := range kept {
		p.cf, p.own, p.node = append(p.cf, g.cf[x]), append(p.own, g.own[x]), append(p.node, g.node[x])
		p.asleep, p.waited = append(p.asleep, g.asleep[x]), append(p.waited, g.waited[x])
		p.odd = append(p.odd, g.odd[x])
		p.places.execution = append(p.places.execution, g.placeOf(x))
		for k := g.inAt[x]; k < g.inAt[x+1]; k++ {
			v := g.in[k]
			p.in, p.pushed = append(p.in, v), append(p.pushed, g.pushed[k])
			if by := g.madeIn[v]; by != 0 {
				if _, inside := number[by-1]; !inside {
					p.given = append(p.given, v)
				}
			} else if v != 0 && g.m.MadeBy[v-1] == 0 {
				p.given = append(p.given, v)
			}
		}
		p.inAt = append(p.inAt, uint32(len(p.in)))
		p.out = append(p.out, g.out[g.outAt[x]:g.outAt[x+1]]...)
		p.outAt = append(p.outAt, uint32(len(p.out)))
		for _, kid := range g.kid[g.kidAt[x]:g.kidAt[x+1]] {
			if _, inside := number[g.first[kid]]; inside || g.first[kid] == g.first[kid+1] {
				p.kid = append(p.kid, kid)
			}
		}
		p.kidAt = append(p.kidAt, uint32(len(p.kid)))
	}
	known := map[uint32]bool{}
	for _, x := range order { // CFs that were there before, in the order in which they went on
		cf := g.cf[x]
		if known[cf] {
			continue
		}
		known[cf] = true
		if by := g.maker[cf]; by != 0 && x == g.first[cf] {
			if n, inside := number[by-1]; inside {
				p.maker[cf] = n + 1
				continue
			}
		}
		p.roots = append(p.roots, cf)
	}
	return &Simulator{g: p, recorded: s.recorded}
}

// placeOf is what the locator of an execution says, or that of the CF whose creator it stays with.
func (g *graph) placeOf(x uint32) int32 {
	for g.places.execution[x] == creator {
		by := g.maker[g.cf[x]]
		if by == 0 {
			return 0
		}
		x = by - 1
	}
	return g.places.execution[x]
}
