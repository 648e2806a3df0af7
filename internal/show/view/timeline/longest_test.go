package timeline

import (
	"slices"
	"testing"

	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// The waits of a factor add up to it, in every window, and the longest come first, however few are wanted.
func TestLongest(t *testing.T) {
	tl, _ := made(t, sloutest.Build(t, smallRun))
	sums, err := tl.Factors(FactorQuery{From: 0, To: 50, Windows: 5})
	if err != nil {
		t.Fatal(err)
	}
	for row, factor := range sums.Rows {
		if factor == "U" {
			continue
		}
		q := WaitQuery{From: 0, To: 50, Windows: 5, Factors: []string{factor}}
		all, err := tl.Longest(q)
		if err != nil {
			t.Fatal(err)
		}
		if all.NS != sums.Sum[row] || !slices.Equal(all.Windows, sums.Total[row]) || all.Count != len(all.Rows) {
			t.Errorf("%s: %d waits of %d ns, %v; the factor is %d ns, %v", factor, all.Count, all.NS, all.Windows,
				sums.Sum[row], sums.Total[row])
		}
		for i, w := range all.Rows[:max(len(all.Rows)-1, 0)] {
			if next := all.Rows[i+1]; w.To-w.From < next.To-next.From {
				t.Errorf("%s: %v comes before %v", factor, w, next)
			}
		}
		q.Limit = 1
		if few, err := tl.Longest(q); err != nil || few.Count != all.Count || few.NS != all.NS ||
			all.Count > 0 && few.Rows[0] != all.Rows[0] {
			t.Errorf("%s: the longest of %v is %v, %v", factor, all, few, err)
		}
	}
	q := WaitQuery{From: 0, To: 50, Windows: 1, Factors: []string{"L"}, Link: "0->1", Code: "use", Producer: "make",
		DF: "x"}
	if got, err := tl.Longest(q); err != nil || got.Count != 1 || got.Rows[0].ConsumerTitle != "use[5]" {
		t.Errorf("waits for x: %+v, %v", got, err)
	}
	q.Consumer = "make"
	if got, err := tl.Longest(q); err != nil || got.Count != 0 {
		t.Errorf("waits of make for x: %+v, %v", got, err)
	}
	if _, err := tl.Longest(WaitQuery{From: 3, To: 3, Windows: 1}); err == nil {
		t.Error("an empty interval has waits")
	}
}
