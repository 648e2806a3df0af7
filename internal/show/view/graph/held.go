package graph

import (
	"math"

	"github.com/whyslow/whyslow/internal/model"
)

// heldChange is a change in the bytes that a node holds.
type heldChange struct {
	t, bytes int64
	node     int32
}

// bytes gives the mean of the bytes that each node holds in a stretch of time.
func (g *Graph) bytes(s interval) []float64 {
	g.heldOnce.Do(g.findHeld)
	out := make([]float64, len(g.m.Nodes))
	for i := range g.held {
		if h := &g.held[i]; h.t < s.to || h.t <= s.from {
			share := 1.0
			if s.to > s.from {
				share = float64(s.to-max(h.t, s.from)) / float64(s.to-s.from)
			}
			out[h.node] += share * float64(h.bytes)
		}
	}
	for n := range out {
		out[n] = max(math.Round(out[n]*1e3)/1e3, 0)
	}
	return out
}

// findHeld lists what changes the bytes held.
func (g *Graph) findHeld() {
	for h := range g.m.Holdings() {
		if h.From == model.None || h.Bytes == 0 {
			continue
		}
		g.held = append(g.held, heldChange{h.From, h.Bytes, int32(h.Node)})
		if h.To != model.None {
			g.held = append(g.held, heldChange{h.To, -h.Bytes, int32(h.Node)})
		}
	}
}
