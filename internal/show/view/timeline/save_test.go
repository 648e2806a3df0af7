package timeline

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// TestSave: a saved timeline gives the same sums and tiles as the one it was made from, for any interval.
func TestSave(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := randomRun(t)
		live, err := Build(t.Context(), m, Options{})
		if err != nil {
			t.Fatal(err)
		}
		saved, err := Load(live.Save(nil))
		if err != nil {
			t.Fatal(err)
		}
		wall := live.Wall()
		from := rapid.Int64Range(-5, wall).Draw(t, "from")
		to := rapid.Int64Range(from+1, wall+6).Draw(t, "to")
		q := FactorQuery{From: from, To: to, Windows: rapid.IntRange(1, 20).Draw(t, "windows")}
		want, err := live.Factors(q)
		if err != nil {
			t.Fatal(err)
		}
		got, err := saved.Factors(q)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		for _, by := range []string{"code", "factor"} {
			q := TileQuery{From: from, To: to, Width: rapid.IntRange(1, 30).Draw(t, "width"), By: by}
			want, err := live.Tile(q)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := saved.Tile(q); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("by %s: %v %v instead of %v", by, err, got, want)
			}
		}
	})
}

// FuzzLoad: nothing that is damaged is taken for a timeline whose lanes are not as long as the run, and
// nothing ends the program.
func FuzzLoad(f *testing.F) {
	m := sloutest.Build(f, `#run {"program":"p.fa","ended":"done","nodes":[{"node":0,"process":0,"workers":1}]}
#node 0
#code 1 f atomic
#site 1 code=1
0 Global.onProgramStarted
1 CF.onCreated cf=0.1 site=1
2 CF.onReady 0.1
3 CF.onStarted 0.1
9 CF.onFinished 0.1
20 Global.onProgramFinished
`)
	t, err := Build(f.Context(), m, Options{})
	if err != nil {
		f.Fatal(err)
	}
	whole := t.Save(nil)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Fuzz(func(t *testing.T, b []byte) {
		saved, err := Load(b)
		if err != nil {
			return
		}
		w, err := saved.Factors(FactorQuery{To: saved.Wall() + 1, Windows: 3})
		if err != nil {
			return
		}
		for _, l := range w.Lanes {
			sum := int64(0)
			for _, ns := range l.Sum {
				sum += ns
			}
			if sum > saved.Wall() {
				t.Fatalf("lane %d has %d ns of %d", l.Lane, sum, saved.Wall())
			}
		}
		if _, err := saved.Tile(TileQuery{To: saved.Wall() + 1, Width: 7, By: "code"}); err != nil {
			t.Fatal(err)
		}
	})
}
