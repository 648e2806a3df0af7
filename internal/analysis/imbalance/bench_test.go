package imbalance_test

import (
	"context"
	"os"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/analysis/imbalance"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// BenchmarkCompute looks at the trace named by WHYSLOW_TRACE, on all cores, as reports do: with the factors
// and series there.
func BenchmarkCompute(b *testing.B) {
	path := os.Getenv("WHYSLOW_TRACE")
	if path == "" {
		b.Skip("WHYSLOW_TRACE names no trace")
	}
	ctx := context.Background()
	m := sloutest.Load(b, path)
	s, err := slou.Compute(ctx, m, slou.Options{}, procs.Alone())
	if err != nil {
		b.Fatal(err)
	}
	t, err := counters.Compute(ctx, m, counters.Options{}, nil)
	if err != nil {
		b.Fatal(err)
	}
	for name, opt := range map[string]imbalance.Options{"given": {SLOU: s, Series: t}, "alone": {}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			cpu := clock.ProcessCPU()
			for b.Loop() {
				if _, err := imbalance.Compute(ctx, m, opt, procs.Alone()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(clock.ProcessCPU()-cpu)/float64(b.N)/1e6, "cpu-ms/op")
			b.ReportMetric(float64(m.Events)/1e6, "Mevents")
		})
	}
}
