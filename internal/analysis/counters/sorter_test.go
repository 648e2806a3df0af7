package counters

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/whyslow/whyslow/internal/model"
)

// What was added in any order comes in order of time, moved into the run: from many shares, from one that has
// nearly everything, and where far more or fewer changes come than was expected.
func TestSorter(t *testing.T) {
	const start, end, n = 100, 100 + 1_000_000_007, 3 * perShare
	random := rand.New(rand.NewPCG(1, 2))
	times := map[string]func(i int) int64{
		"spread":     func(int) int64 { return start - 50 + random.Int64N(end-start+100) },
		"nearly all": func(i int) int64 { return start + int64(i%7)*77_777_777/7*int64(min(i%1000, 1)) },
		"backwards":  func(i int) int64 { return end - int64(i)*100 },
	}
	for name, at := range times {
		for _, about := range []int{0, n, 100 * n} {
			s := newSorter(&model.Model{}, start, end, about, true)
			var want []change
			for i := range n {
				c := change{at(i), int64(i), int32(i % 5), kind(i % int(kinds))}
				s.add(c)
				c.t = min(max(c.t, start), end) - start
				want = append(want, c)
			}
			got := s.record(&model.Model{})
			s.close()
			if !slices.IsSorted(got.T) || got.Len() != n {
				t.Fatalf("%s, about %d: %d changes, in order: %t", name, about, got.Len(), slices.IsSorted(got.T))
			}
			for i := range n { // those of one moment may come in any order
				if want[got.Size[i]] != got.at(i) {
					t.Fatalf("%s, about %d: %+v, wanted %+v", name, about, got.at(i), want[got.Size[i]])
				}
			}
			if sizes := slices.Sorted(slices.Values(got.Size)); sizes[0] != 0 || len(slices.Compact(sizes)) != n {
				t.Fatalf("%s, about %d: changes come twice", name, about)
			}
		}
	}
}
