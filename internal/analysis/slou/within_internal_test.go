package slou

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// TestSkip: a part of a run is divided in the same way if all before it is looked at and if it is passed
// over.
func TestSkip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := sloutest.Random(t)
		switch rapid.IntRange(0, 3).Draw(t, "what") {
		case 0:
			r.AddWaits(t)
		case 1:
			r.Kill(t)
		case 2:
			r.AddWaits(t)
			r.Harm(t)
		}
		m := sloutest.Build(t, r.Text())
		from := rapid.Int64Range(0, m.Wall()).Draw(t, "from")
		part := &Interval{FromNS: from, ToNS: rapid.Int64Range(from, m.Wall()).Draw(t, "to")}
		p, err := Prepare(t.Context(), m, Options{}, procs.Alone())
		if err != nil {
			t.Fatal(err)
		}
		divide := func() *Result {
			res, err := Compute(t.Context(), m, Options{Within: part, Prepared: p}, procs.Alone())
			if err != nil {
				t.Fatal(err)
			}
			return res
		}
		got := divide()
		workers := len(p.structured())
		p.structured = func() []model.Ends { return make([]model.Ends, workers) }
		if d := cmp.Diff(divide(), got); d != "" {
			t.Fatalf("%d to %d (-all +passed over):\n%s", part.FromNS, part.ToNS, d)
		}
	})
}
