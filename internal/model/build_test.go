package model

import (
	"context"
	"os"
	"runtime"
	"testing"

	"github.com/whyslow/whyslow/trace"
)

// BenchmarkBuild reads the trace named by WHYSLOW_TRACE into a model: events per second, and the bytes per
// event that the model keeps.
func BenchmarkBuild(b *testing.B) {
	path := os.Getenv("WHYSLOW_TRACE")
	if path == "" {
		b.Skip("WHYSLOW_TRACE names no trace")
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var m *Model
	for b.Loop() {
		r, err := trace.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		if m, err = Build(context.Background(), r, Options{Parallel: 1}); err != nil {
			b.Fatal(err)
		}
		r.Close()
	}
	b.ReportMetric(float64(m.Events)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
	b.ReportMetric(0, "ns/op")
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(m.Events), "bytes/event")
	runtime.KeepAlive(m)
}
