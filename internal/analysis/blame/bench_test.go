package blame_test

import (
	"context"
	"os"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/blame"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// BenchmarkCompute looks through the trace named by WHYSLOW_TRACE, whose factors are known already.
func BenchmarkCompute(b *testing.B) {
	path := os.Getenv("WHYSLOW_TRACE")
	if path == "" {
		b.Skip("WHYSLOW_TRACE names no trace")
	}
	m := sloutest.Load(b, path)
	s, err := slou.Compute(context.Background(), m, slou.Options{}, procs.Alone())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := blame.Compute(context.Background(), m, blame.Options{SLOU: s},
			procs.Alone()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(m.Events)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}
