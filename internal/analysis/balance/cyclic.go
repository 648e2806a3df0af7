package balance

import "context"

// cyclic deals the tracks out in turn.
type cyclic struct{}

func (cyclic) Name() string { return "cyclic" }

func (cyclic) Place(_ context.Context, p *Program, node []uint16) error {
	for i := range p.Tracks {
		p.put(node, i, i%p.Machine.Nodes)
	}
	return nil
}

// put places a track.
func (p *Program) put(node []uint16, track, on int) {
	for _, x := range p.Tracks[track].Executions {
		node[x] = uint16(on)
	}
}
