package lifecycle_test

import (
	"context"
	"os"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/lifecycle"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// BenchmarkCompute looks through the trace named by WHYSLOW_TRACE.
func BenchmarkCompute(b *testing.B) {
	path := os.Getenv("WHYSLOW_TRACE")
	if path == "" {
		b.Skip("WHYSLOW_TRACE names no trace")
	}
	m := sloutest.Load(b, path)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := lifecycle.Compute(context.Background(), m, lifecycle.Options{}, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(m.Events)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}
