package model

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestSpans: every message under way in an interval is found, once and in order.
func TestSpans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := make([]Message, rapid.IntRange(0, 4*spansBlock).Draw(t, "messages"))
		seed := rapid.Uint64().Draw(t, "seed")
		next := func(n uint64) int64 {
			seed = seed*6364136223846793005 + 1442695040888963407
			return int64(seed >> 33 % n)
		}
		for i := range list {
			g := &list[i]
			g.Sent = int64(i) + next(100)
			g.Received = g.Sent + next(100) - 20
			switch next(10) {
			case 0:
				g.Sent = None
			case 1:
				g.Received = None
			case 2:
				g.Sent, g.Received = None, None
			}
		}
		in := Interval{From: rapid.Int64Range(-100, 1500).Draw(t, "from")}
		in.To = in.From + rapid.Int64Range(0, 500).Draw(t, "long")
		var got, want []int
		spans, looked := NewSpans(list), 0
		spans.Each(in, len(list), func(i int) {
			looked++
			if v, ok := list[i].Way(); ok && min(v.From, v.To) <= in.To && max(v.From, v.To) >= in.From {
				got = append(got, i)
			}
		})
		for i := range list {
			if v, ok := list[i].Way(); ok && min(v.From, v.To) <= in.To && max(v.From, v.To) >= in.From {
				want = append(want, i)
			}
		}
		if !slices.Equal(got, want) || looked > len(list) {
			t.Fatalf("looked at %d of %d and found %v, want %v", looked, len(list), got, want)
		}
	})
}
