package live

import (
	"testing"

	"pgregory.net/rapid"
)

// TestPast: sums are exact at edges, whatever has been dropped since. Between edges each row only grows, and
// all rows together are the time.
func TestPast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := rapid.Int64Range(0, 1000).Draw(t, "start")
		p := past{edges: []int64{start}, sums: make([]rowSums, 1)}
		exact := map[int64]rowSums{start: {}}
		for range rapid.IntRange(1, 60).Draw(t, "stretches") {
			if rapid.IntRange(0, 9).Draw(t, "thin") == 0 {
				p.thin()
				continue
			}
			sum, last := p.sums[len(p.sums)-1], p.edges[len(p.edges)-1]
			at := last
			for row := range sum {
				ns := rapid.Int64Range(0, 50).Draw(t, "ns")
				sum[row] += ns
				at += ns
			}
			if at > last {
				p.edges, p.sums = append(p.edges, at), append(p.sums, sum)
				exact[at] = sum
			}
		}
		for _, at := range p.edges {
			if p.upTo(at) != exact[at] {
				t.Fatalf("at %d: %d, was %d", at, p.upTo(at), exact[at])
			}
		}
		before := rowSums{}
		for at := start; at <= p.edges[len(p.edges)-1]; at++ {
			sum, total := p.upTo(at), int64(0)
			for row, ns := range sum {
				if ns < before[row] {
					t.Fatalf("at %d row %d falls from %d to %d", at, row, before[row], ns)
				}
				total += ns
			}
			if total != at-start {
				t.Fatalf("up to %d all rows are %d", at-start, total)
			}
			before = sum
		}
	})
}
