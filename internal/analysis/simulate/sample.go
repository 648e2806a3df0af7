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
// ratio.
type Sample struct {
	s            *Simulator
	parts        []*Simulator
	before       int64              // wall time of all parts on the recorded machine, in ns
	whole        int64              // that of the program
	useful       map[string]float64 // by code fragment, in ns of the whole program
	of, executed int                // executions of a part, of the program
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
	sample := &Sample{s: s, of: of, whole: whole.WallNS, useful: map[string]float64{}, executed: n}
	for i := range sampleParts {
		// from the middle of each of as many equal parts
		middle := n * (2*i + 1) / (2 * sampleParts)
		sample.parts = append(sample.parts, s.part(middle-of/2, middle+of/2))
	}
	for x, cf := range s.g.cf {
		if s.g.atomic(cf) {
			sample.useful[s.g.m.Codes[s.g.m.CodeOf(model.CF(cf))].Name] += float64(s.g.own[x])
		}
	}
	var err error
	sample.before, err = sample.wall(ctx, Machine{Latency: -1, Bandwidth: -1})
	return sample, err
}

// Fits tells whether the sample has enough work for all workers of a machine.
func (p *Sample) Fits(m Machine) bool {
	m = p.s.Complete(m)
	return m.Nodes*m.Workers*perWorker <= p.of
}

// wall is the wall time of all parts.
func (p *Sample) wall(ctx context.Context, m Machine) (sum int64, err error) {
	m = p.s.Complete(m)
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
// is exact. It fails when ctx ends.
func (p *Sample) Run(ctx context.Context, m Machine) (*Result, error) {
	m = p.s.Complete(m)
	wall, err := p.wall(ctx, m)
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
	all, _ := m.power()
	r.LeastNS = int64(float64(r.UsefulNS) / all)
	r.WallNS = max(r.LeastNS, int64(float64(wall)*float64(p.whole)/float64(max(p.before, 1))))
	return r, nil
}

// part makes a program of the executions that were the from-th to the to-th to start. CFs and values keep
// their numbers.
func (s *Simulator) part(from, to int) *Simulator {
	g := s.g
	kept := slices.Clone(g.started[from:to])
	slices.Sort(kept)
	p := &graph{m: g.m, crowd: g.crowd, late: g.late, home: g.home, size: g.size, steals: g.steals,
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
			}
		}
		p.inAt = append(p.inAt, uint32(len(p.in)))
		p.out = append(p.out, g.out[g.outAt[x]:g.outAt[x+1]]...)
		p.outAt = append(p.outAt, uint32(len(p.out)))
		p.kid = append(p.kid, g.kid[g.kidAt[x]:g.kidAt[x+1]]...)
		p.kidAt = append(p.kidAt, uint32(len(p.kid)))
	}
	known := map[uint32]bool{}
	for _, x := range g.started[from:to] { // CFs that were there before, in the order in which they went on
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
