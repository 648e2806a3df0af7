package model_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/model"
	_ "github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

var update = flag.Bool("update", false, "rewrite the expected results (then check them on paper)")

// TestHoldings lists which copies the nodes of hand-written traces hold. Each file opens with its story.
func TestHoldings(t *testing.T) {
	sloutest.Goldens(t, *update, func(t *testing.T, files map[string]string) map[string]string {
		m := sloutest.Build(t, files["trace"])
		var s strings.Builder
		for h := range m.Holdings() {
			when := func(t int64, none string) string {
				if t == model.None {
					return none
				}
				return fmt.Sprint(t)
			}
			fmt.Fprintf(&s, "node %d %s: %d bytes from %s to %s\n", h.Node, m.DFString(h.DF), h.Bytes,
				when(h.From, "before the record"), when(h.To, "the end"))
		}
		return map[string]string{"holdings": s.String()}
	})
}

// TestHoldCopies checks the rule by its sums: at each moment as many copies are held as were stored, less
// those that were dropped and had been stored; and every copy that is dropped gives up the bytes that it
// took.
func TestHoldCopies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := func(most int64) int64 { return rapid.Int64Range(0, most).Draw(t, "n") }
		var facts []model.CopyFact
		var made []model.Value
		for range n(8) {
			facts = append(facts, model.CopyFact{Time: n(9), Dropped: n(1) == 0})
		}
		for range n(3) {
			made = append(made, model.Value{Time: n(9), Bytes: 1 + n(99)})
		}
		slices.SortStableFunc(made, func(a, b model.Value) int { return int(a.Time - b.Time) })
		got := model.HoldCopies(nil, facts, made)
		lost := 0
		for i := range facts {
			if facts[i].Dropped {
				lost++
			} else {
				lost--
			}
		}
		for at := range int64(11) {
			want, held, left := int64(0), int64(0), lost
			for i := range facts {
				switch {
				case facts[i].Dropped && left > 0:
					left--
				case facts[i].Time > at:
				case facts[i].Dropped:
					want--
				default:
					want++
				}
			}
			for i := range got {
				held += got[i].At(at)
			}
			if held != want {
				t.Fatalf("%d copies at %d of %v, want %d: %v", held, at, facts, want, got)
			}
		}
		for _, h := range got {
			if h.From == model.None {
				lost--
				continue
			}
			size := int64(0)
			for i, v := range made {
				if i == 0 || v.Time <= h.From {
					size = v.Bytes
				}
			}
			if h.Bytes != size {
				t.Fatalf("%+v has not the size %d of its creation in %v", h, size, made)
			}
		}
		if lost > 0 {
			t.Fatalf("%d drops too many are not told: %v", lost, got)
		}
	})
}
