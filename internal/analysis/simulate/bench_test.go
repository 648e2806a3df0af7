package simulate_test

import (
	"context"
	"testing"

	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

const benchCFs = 100_000

// BenchmarkRun simulates CFs that need nothing on two nodes with two workers each; the figure is per CF.
func BenchmarkRun(b *testing.B) {
	lengths := make([]int, benchCFs)
	for i := range lengths {
		lengths[i] = 1000 + i*7919%5000
	}
	s := simulator(b, sloutest.Build(b, bag(lengths)))
	m := asRecorded
	m.Workers = 4
	b.ResetTimer()
	for range b.N {
		if _, err := s.Run(context.Background(), m); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchCFs), "ns/CF")
}
