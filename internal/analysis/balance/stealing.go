package balance

import "context"

// stealing places CFs where they would run if idle nodes stole those that are ready from the others.
type stealing struct{}

func (stealing) Name() string { return "stealing" }

func (stealing) Place(ctx context.Context, p *Program, node []uint16) error {
	m := p.Machine
	m.Stealable = true
	_, err := p.simulator.Watched(ctx, m, func(worker int, _, _ int64, x int) {
		if p.TrackOf[x] >= 0 {
			node[x] = uint16(worker / m.Workers)
		}
	})
	return err
}
