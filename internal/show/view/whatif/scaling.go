package whatif

import (
	"context"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/simulate"
	"github.com/whyslow/whyslow/internal/procs"
)

// Scaling is how the program does on more and more nodes.
type Scaling struct {
	Sampled  bool          `json:"sampled"`  // estimates
	Machines []*Prediction `json:"machines"` // by nodes; without pictures
	Pays     int           `json:"pays"`     // more nodes gain less than 5 %; 0: they gain more
}

// leastScaling is up to how many nodes a program is run at least.
const leastScaling = 16

// Scale predicts for 1, 2, 4 and more nodes, up to four times as many as asked for or recorded, and for those
// asked for. It fails as Estimate does.
func (p *Program) Scale(ctx context.Context, q Query) (*Scaling, error) {
	return p.scale(ctx, q, p.s.Run)
}

// EstimateScale is Scale from a sample; nil where there is none.
func (p *Program) EstimateScale(ctx context.Context, q Query) (*Scaling, error) {
	if p.sample == nil {
		return nil, nil
	}
	a, err := p.scale(ctx, q, p.sample.Run)
	if err == nil {
		a.Sampled = true
	}
	return a, err
}

func (p *Program) scale(ctx context.Context, q Query,
	run func(context.Context, simulate.Machine) (*simulate.Result, error)) (*Scaling, error) {
	m, err := p.machine(&q)
	if err != nil {
		return nil, err
	}
	counts := []int{m.Nodes}
	most := max(leastScaling, 4*m.Nodes, 4*p.s.Recorded().Nodes)
	for n := 1; n <= min(most, MostNodes, mostLanes/m.Workers); n *= 2 {
		counts = append(counts, n)
	}
	slices.Sort(counts)
	counts = slices.Compact(counts)
	results := make([]*simulate.Result, len(counts))
	// Two at a time: askers know how much memory that takes.
	if err := procs.Each(ctx, 2, len(counts), func(_, i int) (err error) {
		one := q
		one.Nodes = counts[i]
		m, err := p.machine(&one)
		if err == nil {
			results[i], err = run(ctx, m)
		}
		return err
	}); err != nil {
		return nil, err
	}
	a := &Scaling{}
	for _, r := range results {
		a.Machines = append(a.Machines, p.prediction(r, q.Lang))
	}
	if best := simulate.Pays(results); best != nil {
		a.Pays = best.Nodes
	}
	return a, nil
}
