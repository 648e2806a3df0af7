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

// BenchmarkFromModel answers the first question about a finished trace: all properties of all nodes.
func BenchmarkFromModel(b *testing.B) {
	path := os.Getenv("WHYSLOW_TRACE")
	if path == "" {
		b.Skip("WHYSLOW_TRACE names no trace")
	}
	o := load(b, path)
	b.Cleanup(func() { o.r.Close() })
	cpu := clock.ProcessCPU()
	for b.Loop() {
		s := o.set(b)
		s.At(o.m.Wall())
	}
	b.ReportMetric(float64(clock.ProcessCPU()-cpu)/float64(b.N)/1e6, "cpu-ms/op")
	b.ReportMetric(float64(o.m.Events)/1e6, "Mevents")
}

// BenchmarkMemory asks who holds what in the middle of a finished trace.
func BenchmarkMemory(b *testing.B) {
	path := os.Getenv("WHYSLOW_TRACE")
	if path == "" {
		b.Skip("WHYSLOW_TRACE names no trace")
	}
	o := load(b, path)
	b.Cleanup(func() { o.r.Close() })
	s, at := o.set(b), o.m.Wall()/2
	for b.Loop() {
		if _, err := s.Memory(context.Background(),
			counters.MemoryQuery{To: o.m.Wall(), T: &at}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkQuestions follows a thousand points of every property of all nodes, once the first question, which
// BenchmarkFromModel asks, has been answered.
func BenchmarkQuestions(b *testing.B) {
	path := os.Getenv("WHYSLOW_TRACE")
	if path == "" {
		b.Skip("WHYSLOW_TRACE names no trace")
	}
	o := load(b, path)
	b.Cleanup(func() { o.r.Close() })
	s := o.set(b)
	names, _ := allNames()
	ask := func() {
		if _, err := s.Series(counters.SeriesQuery{Names: names, Nodes: "all", To: o.m.Wall(),
			Points: 1000}); err != nil {
			b.Fatal(err)
		}
		s.At(o.m.Wall() / 2)
	}
	ask()
	for b.Loop() {
		ask()
	}
}
