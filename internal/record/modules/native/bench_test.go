//go:build cgo && linux

package native

import (
	"testing"

	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// What an event costs with no handler, with one in Go that takes any event, and with one in a library.
// Compare the last two.
func BenchmarkEvent(b *testing.B) {
	inputs := []trace.DF{1, 2, 3, 4, 5, 6, 7, 8}
	emit := func(b *testing.B, ses *prof.Session, list bool) {
		s := ses.Stream(0, 0, nil)
		b.ReportAllocs()
		for b.Loop() {
			if list {
				ses.CFStarted.EmitAt(s, 1, 1, 1, inputs)
			} else {
				ses.CFFinished.EmitAt(s, 1, 1, 1, -1)
			}
		}
	}
	for name, list := range map[string]bool{"fields": false, "list": true} {
		b.Run(name+"/go", func(b *testing.B) {
			ses := prof.New()
			var count int
			for _, e := range []string{"onStarted", "onFinished"} {
				if err := ses.ConnectAny("CFEvents", e, "test", 1, func(*prof.Stream, *prof.Any) { count++ }); err !=
					nil {
					b.Fatal(err)
				}
			}
			emit(b, ses, list)
		})
		b.Run(name+"/library", func(b *testing.B) {
			ses := newSession(b)
			if err := ses.start(b, use(b, "bench_module", nil)); err != nil {
				b.Fatal(err)
			}
			before, _ := ses.Get("bench_module").(Gauge).Gauge("", 0)
			emit(b, ses.Session, list)
			if n, _ := ses.Get("bench_module").(Gauge).Gauge("", 0); n-before < float64(b.N) {
				b.Errorf("%g events have come", n-before)
			}
			ses.finish(b)
		})
	}
}

// What a module in C++ does with an event: typed parameters, or what the example does.
func BenchmarkExample(b *testing.B) {
	ses := newSession(b)
	if err := ses.start(b, use(b, "event_counter_module", map[string]any{"every": 1 << 40})); err != nil {
		b.Fatal(err)
	}
	s := ses.Stream(0, 0, nil)
	b.ReportAllocs()
	for b.Loop() {
		ses.CFFinished.EmitAt(s, 1, 1, 1, -1)
	}
	ses.finish(b)
}
