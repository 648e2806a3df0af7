package steps_test

import (
	"math/rand/v2"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/counters/steps"
)

// A million changes, as they come in runs: in order, each up to so many places late, or in no order at all.
func benchmarkAdd(b *testing.B, late int) {
	const n = 1 << 20
	times := make([]int64, n)
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range times {
		times[i] = int64(i) * 10
		if late > 0 {
			times[i] -= int64(rnd.IntN(late)) * 10
		} else if late < 0 {
			times[i] = int64(rnd.IntN(n * 10))
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		var s steps.Steps
		for i, t := range times {
			s.Add(t, int64(i&2)-1)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/change")
}

func BenchmarkAddInOrder(b *testing.B) { benchmarkAdd(b, 0) }
func BenchmarkAddLate100(b *testing.B) { benchmarkAdd(b, 100) }
func BenchmarkAddLate10k(b *testing.B) { benchmarkAdd(b, 10000) }
func BenchmarkAddRandom(b *testing.B)  { benchmarkAdd(b, -1) }

// BenchmarkWindows asks for a thousand windows of a million changes, one of which has just been made.
func BenchmarkWindows(b *testing.B) {
	var s steps.Steps
	const n = 1 << 20
	for i := range int64(n) {
		s.Add(i*10, i&2-1)
	}
	for b.Loop() {
		s.Add(rand.Int64N(n*10), 1)
		for i := range int64(1000) {
			s.Window(i*n/100, (i+1)*n/100)
		}
	}
}

// BenchmarkFold folds a million changes to a thousand stretches.
func BenchmarkFold(b *testing.B) {
	const n = 1 << 20
	list := make([]steps.Change, n)
	for i := range list {
		list[i] = steps.Change{T: int64(i) * 10, D: int64(i&2) - 1}
	}
	for b.Loop() {
		steps.Of(list).Fold(n*10, n/100)
	}
}
