package graph

import (
	"math"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/show/view/fragments"
)

// heldChange is a change in the bytes that a node holds.
type heldChange struct {
	t, bytes int64
	node     int32
}

// bytes gives the mean of the bytes that each node holds in a stretch of time.
func (g *Graph) bytes(s fragments.Interval) []float64 {
	out := make([]float64, len(g.m.Nodes))
	for _, h := range g.held() {
		if h.t < s.To || h.t <= s.From {
			share := 1.0
			if s.To > s.From {
				share = float64(s.To-max(h.t, s.From)) / float64(s.To-s.From)
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
func (g *Graph) findHeld() (held []heldChange) {
	for h := range g.m.Holdings() {
		if h.From == model.None || h.Bytes == 0 {
			continue
		}
		held = append(held, heldChange{h.From, h.Bytes, int32(h.Node)})
		if h.To != model.None {
			held = append(held, heldChange{h.To, -h.Bytes, int32(h.Node)})
		}
	}
	return held
}
