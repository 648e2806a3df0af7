package counters_test

import (
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/trace"
)

// Blocks that go back to the beginning over and over, as no program makes them but anybody can send, take a
// small multiple of what blocks in order take. It was hundreds of times as much: each sample moved all that
// follow.
func TestBlocksBackInTime(t *testing.T) {
	const events, blocks = 20_000, 8
	took := func(step int64) time.Duration {
		l := counters.NewLive(counters.LiveOptions{MaxBytes: 1 << 30})
		begin := time.Now()
		for block := range int64(blocks) {
			b := trace.Batch{N: events, First: block * step, Last: block*step + events - 1, Off: []uint32{0}}
			for i := range int64(events) {
				b.Kind = append(b.Kind, trace.KindReadyQueue)
				b.Time = append(b.Time, block*step+i)
				b.Words = append(b.Words, uint64(i%7))
				b.Off = append(b.Off, uint32(i+1))
			}
			l.Add(&trace.Defs{}, &b)
		}
		if n := l.Count(trace.KindReadyQueue); n != events*blocks {
			t.Errorf("%d events", n)
		}
		return time.Since(begin)
	}
	ordered, back := took(events), took(0)
	t.Log(ordered, back)
	if back > 50*ordered {
		t.Errorf("%v in order, %v back in time", ordered, back)
	}
}

// The same with many blocks: their cost grows with their number, not with its square.
func TestManyBlocksBackInTime(t *testing.T) {
	const events = 300
	took := func(blocks int64) time.Duration {
		b := trace.Batch{N: events, Last: events - 1, Off: []uint32{0}}
		for i := range int64(events) {
			b.Kind = append(b.Kind, trace.KindReadyQueue)
			b.Time = append(b.Time, i)
			b.Words = append(b.Words, uint64(i%7))
			b.Off = append(b.Off, uint32(i+1))
		}
		best := time.Hour
		for range 3 {
			l := counters.NewLive(counters.LiveOptions{MaxBytes: 1 << 30})
			begin := time.Now()
			for stream := range blocks {
				b.Stream = int(stream)
				l.Add(&trace.Defs{}, &b)
			}
			l.Wall()
			best = min(best, time.Since(begin))
		}
		return best
	}
	few, many := took(100), took(100*16)
	t.Log(few, many)
	if many > 120*few { // a square would be 256 times as much
		t.Errorf("%v for 100 blocks, %v for 16 times as many", few, many)
	}
}
