package slou

import (
	"context"
	"errors"
	"iter"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// TestVisit: however many pieces come at once they are the same, in order, without holes, and none could be
// joined.
func TestVisit(t *testing.T) {
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
		want, err := Pieces(context.Background(), m, Options{}, procs.Alone())
		if err != nil {
			t.Fatal(err)
		}
		got := make([]WorkerPieces, len(want))
		var mu sync.Mutex
		most := rapid.IntRange(2, 6).Draw(t, "most")
		c, err := newComputation(context.Background(), m, Options{Parallel: 2}, procs.Alone())
		if err != nil {
			t.Fatal(err)
		}
		err = c.visit(context.Background(), most, func(id model.WorkerID, pieces iter.Seq[[]Piece]) {
			mine := WorkerPieces{Node: id.Node, Worker: id.Worker}
			for list := range pieces {
				if len(list) == 0 || len(list) > most {
					t.Errorf("%d pieces at once, %d are the most", len(list), most)
				}
				mine.Pieces = append(mine.Pieces, list...)
			}
			mu.Lock()
			defer mu.Unlock()
			for i, w := range want {
				if w.Node == id.Node && w.Worker == id.Worker {
					got[i] = mine
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("%d at once (-want +got):\n%s", most, d)
		}
		for _, w := range want {
			at := m.Start
			for i, p := range w.Pieces {
				if p.From != at || p.To <= p.From {
					t.Fatalf("worker %d.%d: a piece from %d to %d, after one that ends at %d", w.Node,
						w.Worker, p.From,
						p.To, at)
				}
				at = p.To
				if i > 0 {
					before := w.Pieces[i-1]
					if before.extend(&p) {
						t.Fatalf("worker %d.%d: neighbours %+v and %+v are apart", w.Node, w.Worker,
							w.Pieces[i-1], p)
					}
				}
			}
			if at != m.End {
				t.Fatalf("worker %d.%d ends at %d, the run at %d", w.Node, w.Worker, at, m.End)
			}
		}
	})
}

func TestVisitEnds(t *testing.T) {
	m := sloutest.Build(t, rapid.Custom(func(t *rapid.T) string { return sloutest.Random(t).Text() }).Example(1))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := Visit(ctx, m, Options{}, procs.Alone(), func(_ model.WorkerID, pieces iter.Seq[[]Piece]) {
		for range pieces {
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("after the context ended: %v", err)
	}
}
