package prof

import (
	"testing"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/trace"
)

// What an event costs, beside the least that recording can cost: reading the clock
// and appending 24 bytes. Ratios to BenchmarkBare are what counts.

func BenchmarkBare(b *testing.B) {
	buf := make([]uint64, 16<<10)
	n := 0
	for i := 0; b.Loop(); i++ {
		if n+3 > len(buf) {
			n = 0
		}
		rec := buf[n : n+3]
		n += 3
		rec[0] = uint64(clock.Now())
		rec[1] = uint64(i)
		rec[2] = 7
	}
}

func traced(b *testing.B) (*Session, *Stream) {
	w, err := trace.Create(b.TempDir(), 0, trace.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { w.Close() })
	ses := New()
	return ses, ses.Stream(0, 0, w.Stream(0))
}

func BenchmarkEmitAtFixed(b *testing.B) {
	ses, s := traced(b)
	for i := 0; b.Loop(); i++ {
		ses.CFFinished.EmitAt(s, int64(i), trace.CF(i), 1, -1)
	}
}

func BenchmarkEmitFixed(b *testing.B) {
	ses, s := traced(b)
	for i := 0; b.Loop(); i++ {
		ses.CFFinished.Emit(s, trace.CF(i), 1, -1)
	}
}

func BenchmarkDisabled(b *testing.B) {
	ses, s := traced(b)
	ses.EnableAll(false)
	for i := 0; b.Loop(); i++ {
		ses.CFFinished.Emit(s, trace.CF(i), 1, -1)
	}
}

func BenchmarkEmitList(b *testing.B) {
	for _, n := range []int{0, 4, 16, 64} {
		b.Run(string(rune('0'+n/10))+string(rune('0'+n%10)), func(b *testing.B) {
			ses, s := traced(b)
			list := make([]trace.DF, n)
			for i := 0; b.Loop(); i++ {
				ses.CFStarted.EmitAt(s, int64(i), trace.CF(i), 1, list)
			}
		})
	}
}
