package report

import (
	"bytes"
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// TestRandom: every analysis works on runs of every kind, whole, killed, stuck and damaged; every face shows
// them; and who asks again gets the same answer.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		run := sloutest.Random(r)
		for _, change := range [][]func(*rapid.T){{run.AddWaits}, {run.Stick, run.Harm, run.Kill}} {
			if i := rapid.IntRange(-1, len(change)-1).Draw(r, "change"); i >= 0 {
				change[i](r)
			}
		}
		m := sloutest.Build(t, run.Text())
		var first []byte
		for range 2 {
			all, err := Compute(context.Background(), m, Wanted{Splits: []string{"node", "code", "index:0"},
				Windows: rapid.IntRange(1, 30).Draw(r, "windows")}, nil)
			if err != nil {
				r.Fatal(err)
			}
			if len(all.Failed) > 0 {
				r.Fatalf("%s failed: %s\n%s", all.Failed[0].Analysis, all.Failed[0].Why, run.Text())
			}
			checkPage(t, pageOf(t, all))
			render(t, all, "terminal full width=100")
			var out bytes.Buffer
			if err := CSV(&out, all, Options{}); err != nil {
				r.Fatal(err)
			}
			all.SLOU.Windows, all.Series, all.Imbalance.Time = nil, nil, nil // their number was drawn
			out.Reset()
			if err := JSON(&out, all, Options{}); err != nil {
				r.Fatal(err)
			}
			if first == nil {
				first = out.Bytes()
			} else if diff := cmp.Diff(string(first), out.String()); diff != "" {
				r.Fatalf("asked again:\n%s\n%s", diff, run.Text())
			}
		}
	})
}
