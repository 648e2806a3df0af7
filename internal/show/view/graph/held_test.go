package graph

import (
	"context"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/counters"
)

// TestBytes compares with what package counters says of the same interval.
func TestBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := randomRun(t)
		if m.Wall() < 2 {
			return
		}
		g := build(t, m)
		res, err := counters.Compute(context.Background(), m,
			counters.Options{Windows: 7, Only: []string{counters.BytesHeld}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range res.Series {
			if s.Node < 0 {
				continue
			}
			for w, want := range s.Mean {
				from := int64(w) * res.WindowNS
				to := min(from+res.WindowNS, m.Wall())
				n, err := g.Nodes(from, to)
				if err != nil {
					t.Fatal(err)
				}
				if got := n.Nodes[s.Node].Bytes; math.Abs(got-max(want, 0)) > 0.01 {
					t.Fatalf("node %d holds %v from %d to %d, by series %v", s.Node, got, from, to, want)
				}
			}
		}
	})
}
