package critical_test

import (
	"context"
	"os"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/critical"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// BenchmarkCompute works on the trace named by WHYSLOW_TRACE.
func BenchmarkCompute(b *testing.B) {
	path := os.Getenv("WHYSLOW_TRACE")
	if path == "" {
		b.Skip("WHYSLOW_TRACE names no trace")
	}
	m := sloutest.Load(b, path)
	b.ReportAllocs()
	for b.Loop() {
		res, err := critical.Compute(context.Background(), m, critical.Options{}, procs.Alone())
		if err != nil {
			b.Fatal(err)
		}
		if os.Getenv("WHYSLOW_SHOW") != "" {
			res.Path.Steps = nil
			if err := critical.Write(os.Stdout, res); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(m.Events), "events")
}
