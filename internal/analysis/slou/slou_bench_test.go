package slou_test

import (
	"context"
	"os"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/trace"
)

// BenchmarkReadAndCompute reads the trace named by WHYSLOW_TRACE and divides its time, on one core.
func BenchmarkReadAndCompute(b *testing.B) {
	path := os.Getenv("WHYSLOW_TRACE")
	if path == "" {
		b.Skip("WHYSLOW_TRACE names no trace")
	}
	var events uint64
	cpu := clock.ProcessCPU()
	for b.Loop() {
		r, err := trace.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		m, err := model.Build(context.Background(), r, model.Options{Parallel: 1})
		if err != nil {
			b.Fatal(err)
		}
		r.Close()
		if _, err := slou.Compute(context.Background(), m, slou.Options{Parallel: 1},
			procs.Alone()); err != nil {
			b.Fatal(err)
		}
		events = m.Events
	}
	report(b, events, cpu)
}

// report gives the rate per second of processor time: the machine may be shared.
func report(b *testing.B, events uint64, cpu int64) {
	used := float64(clock.ProcessCPU() - cpu)
	b.ReportMetric(float64(events)*float64(b.N)/used*1e3, "Mevents/cpu-s")
}

// BenchmarkCompute divides the time of a model that is in memory: alone, with 100 windows, and with all
// splits too.
func BenchmarkCompute(b *testing.B) {
	path := os.Getenv("WHYSLOW_TRACE")
	if path == "" {
		b.Skip("WHYSLOW_TRACE names no trace")
	}
	m := sloutest.Load(b, path)
	for _, c := range []struct {
		name string
		opt  slou.Options
	}{
		{"alone", slou.Options{}},
		{"windows", slou.Options{Windows: 100}},
		{"splits", slou.Options{Splits: []string{"node", "worker", "code", "index:0"}}},
		{"all", slou.Options{Windows: 100, Splits: []string{"node", "worker", "code", "index:0"}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			c.opt.Parallel = 1
			cpu := clock.ProcessCPU()
			for b.Loop() {
				if _, err := slou.Compute(context.Background(), m, c.opt, procs.Alone()); err != nil {
					b.Fatal(err)
				}
			}
			report(b, m.Events, cpu)
		})
	}
}
