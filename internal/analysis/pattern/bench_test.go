package pattern

import (
	"context"
	"fmt"
	"testing"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// writeLoop writes a trace of threads that repeat: enter a function, get, lock, release, reduce, barrier,
// leave.
func writeLoop(b *testing.B, dir string, threads, rounds int) (events int) {
	for node := range threads {
		w, err := trace.Create(dir, node, trace.Options{})
		if err != nil {
			b.Fatal(err)
		}
		for i, c := range []struct {
			name string
			kind trace.CodeKind
		}{{"step", trace.Function}, {"upc_memget", trace.Bulk}, {"upc_lock", trace.Lock},
			{"upc_unlock", trace.Lock}, {"upc_all_reduce", trace.Collective}, {"upc_wait", trace.Barrier}} {
			w.DefineCode(trace.CodeDef{Code: uint32(i + 1), Name: w.Name(c.name), Kind: c.kind})
			w.DefineSite(trace.SiteDef{Site: trace.Site(i + 1), Code: uint32(i + 1), File: w.Name("a.upc"),
				Line: 10 +
					i})
		}
		reduce, wait, sync := w.Name("reduce"), w.Name("barrier"), w.Name("all/all")
		s := w.Stream(0)
		s.Emit(0, trace.KindProgramStarted, 0, 0)
		at := int64(node)
		events++
		emit := func(k trace.Kind, a ...uint64) {
			s.Emit(at, k, a...)
			events++
		}
		for r := range rounds {
			at = int64(r)*1000 + int64(node)
			emit(trace.KindEntered, 1)
			emit(trace.KindEntered, 2)
			emit(trace.KindGet, uint64((node+1)%threads), 80, 0)
			at += 10
			emit(trace.KindExited, 2)
			emit(trace.KindEntered, 3)
			at = int64(r)*1000 + int64(node)*40 + 50
			emit(trace.KindAcquired, 7)
			emit(trace.KindExited, 3)
			at += 30
			emit(trace.KindEntered, 4)
			emit(trace.KindReleased, 7)
			emit(trace.KindExited, 4)
			emit(trace.KindEntered, 5)
			emit(trace.KindCollective, uint64(reduce), uint64(sync), 0, 1, uint64(threads), 0, 8, 0)
			at = int64(r)*1000 + 500
			emit(trace.KindExited, 5)
			emit(trace.KindEntered, 6)
			emit(trace.KindCollective, uint64(wait), 0, 0, 1, uint64(threads), ^uint64(0), 0, 0)
			at += 50
			emit(trace.KindExited, 6)
			emit(trace.KindExited, 1)
		}
		at += 100
		emit(trace.KindProgramFinished, 0)
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
	}
	return events
}

// BenchmarkSearch searches a trace of some two million events; also how long reading it takes.
func BenchmarkSearch(b *testing.B) {
	for _, threads := range []int{4, 32} {
		dir := b.TempDir()
		events := writeLoop(b, dir, threads, 2<<20/(17*threads))
		b.Run(fmt.Sprintf("read/threads=%d", threads), func(b *testing.B) {
			for b.Loop() {
				r, err := trace.Open(dir)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := model.Build(context.Background(), r, model.Options{Parallel: 1}); err != nil {
					b.Fatal(err)
				}
				r.Close()
			}
			b.ReportMetric(float64(events)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
		})
		r, err := trace.Open(dir)
		if err != nil {
			b.Fatal(err)
		}
		m, err := model.Build(context.Background(), r, model.Options{})
		if err != nil {
			b.Fatal(err)
		}
		r.Close()
		b.Run(fmt.Sprintf("search/threads=%d", threads), func(b *testing.B) {
			for b.Loop() {
				if _, err := Compute(context.Background(), m, procs.Alone()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(events)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
		})
	}
}
