package balance

import "context"

// blocks gives each node a stretch of neighbouring tracks, so that the longest stretch takes as little time
// as possible. Every node gets one, in order; what a node is too slow for goes to the next.
type blocks struct{}

func (blocks) Name() string { return "blocks" }

func (blocks) Place(_ context.Context, p *Program, node []uint16) error {
	low, high := int64(0), int64(0) // of the longest stretch
	for _, t := range p.Tracks {
		high += p.on(0, t.NS)
	}
	for low < high {
		if middle := low + (high-low)/2; p.stretches(middle, nil) <= p.Machine.Nodes {
			high = middle
		} else {
			low = middle + 1
		}
	}
	p.stretches(high, func(track, on int) { p.put(node, track, on) })
	return nil
}

// stretches cuts the tracks where one more would make a stretch longer than most, and returns how many nodes
// that takes: more than there are where these do not suffice. Where tracks without any work are all that is
// left, they stay with the last node.
func (p *Program) stretches(most int64, put func(track, on int)) int {
	on, sum := 0, int64(0)
	for i, t := range p.Tracks {
		for sum+p.on(on, t.NS) > most {
			if on, sum = on+1, 0; on == p.Machine.Nodes {
				return on + 1
			}
		}
		sum += p.on(on, t.NS)
		if put != nil {
			put(i, on)
		}
	}
	return on + 1
}
