//go:build unix

package collect

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/trace"
)

// A trace of two million events through a sender and a collector, both in this process.
func BenchmarkSend(b *testing.B) {
	src := filepath.Join(b.TempDir(), "a.trace")
	const events = 2_000_000
	writeInfo(b, src, &trace.RunInfo{ID: trace.NewRunID(), Program: "p.fa"})
	w, err := trace.Create(src, 0, trace.Options{})
	if err != nil {
		b.Fatal(err)
	}
	emit(w, events)
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	st, err := os.Stat(filepath.Join(src, tracefile.FileName(0)))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(st.Size())
	cpu := cpuTime()
	b.ResetTimer()
	for range b.N {
		s := serveAt(b, "", Config{Dir: b.TempDir()})
		send(b, stream.Config{Target: stream.Target{Addr: s.addr}, Source: stream.Folder(src),
			Poll: time.Millisecond})
		s.stop()
	}
	b.ReportMetric(float64(cpuTime()-cpu)/float64(b.N*events), "cpu-ns/event")
}
