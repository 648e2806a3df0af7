package counters_test

import (
	"context"
	"os"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// BenchmarkCompute follows everything in the trace named by WHYSLOW_TRACE, on all cores.
func BenchmarkCompute(b *testing.B) {
	path := os.Getenv("WHYSLOW_TRACE")
	if path == "" {
		b.Skip("WHYSLOW_TRACE names no trace")
	}
	m := sloutest.Load(b, path)
	b.ReportAllocs()
	cpu := clock.ProcessCPU()
	for b.Loop() {
		if _, err := counters.Compute(context.Background(), m, counters.Options{}, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(clock.ProcessCPU()-cpu)/float64(b.N)/1e6, "cpu-ms/op")
	b.ReportMetric(float64(m.Events)/1e6, "Mevents")
}
