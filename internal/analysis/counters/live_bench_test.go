package counters_test

import (
	"context"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/internal/tracefile/follow"
	"github.com/whyslow/whyslow/trace"
)

// arrivals are the blocks of the trace named by WHYSLOW_TRACE, mixed: those of each stream in order, the
// streams at random.
func arrivals(b *testing.B) (f *follow.Follower, blocks []tracefile.RawBlock, events int) {
	path := os.Getenv("WHYSLOW_TRACE")
	if path == "" {
		b.Skip("WHYSLOW_TRACE names no trace")
	}
	f = follow.New(path)
	type stream struct{ node, id int }
	byStream := map[stream][]tracefile.RawBlock{}
	var open []stream
	_, err := f.Poll(context.Background(), func(r *tracefile.RawBlock) error {
		if r.Defs {
			return nil
		}
		c := *r
		c.Bytes = append([]byte(nil), r.Bytes...)
		k := stream{r.Node, r.Stream}
		if byStream[k] == nil {
			open = append(open, k)
		}
		byStream[k] = append(byStream[k], c)
		events += c.Count
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for len(open) > 0 {
		// In bursts, as they come from nodes; the stream that is furthest behind is the likeliest.
		i := rnd.IntN(len(open))
		for j := range open {
			if byStream[open[j]][0].First < byStream[open[i]][0].First && rnd.IntN(3) > 0 {
				i = j
			}
		}
		k := open[i]
		n := min(1+rnd.IntN(4), len(byStream[k]))
		blocks = append(blocks, byStream[k][:n]...)
		if byStream[k] = byStream[k][n:]; len(byStream[k]) == 0 {
			open = append(open[:i], open[i+1:]...)
		}
	}
	return f, blocks, events
}

func benchmarkIngest(b *testing.B, add bool) {
	f, blocks, events := arrivals(b)
	var batch trace.Batch
	b.ReportAllocs()
	b.ResetTimer()
	cpu := clock.ProcessCPU()
	for b.Loop() {
		live := counters.NewLive(counters.LiveOptions{MaxBytes: 1 << 30})
		live.Info(f.Info())
		for i := range blocks {
			if err := f.Read(&blocks[i], &batch); err != nil {
				b.Fatal(err)
			}
			if add {
				live.Add(f.Defs(batch.Node), &batch)
			}
		}
		live.At(live.Wall())
		b.ReportMetric(float64(live.Bytes())/float64(events), "bytes/event")
		b.ReportMetric(float64(live.Late()), "late")
	}
	// By processor time, all of it: the machine may be busy with something else.
	b.ReportMetric(float64(b.N)*float64(events)/float64(clock.ProcessCPU()-cpu)*1e3, "Mevents/cpu-s")
}

// BenchmarkIngest decodes blocks that arrive out of order and adds them to a Live; BenchmarkDecode only
// decodes them.
func BenchmarkIngest(b *testing.B) { benchmarkIngest(b, true) }
func BenchmarkDecode(b *testing.B) { benchmarkIngest(b, false) }

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

// BenchmarkQuestions follows a thousand points of every property of all nodes, asked of a Live at its end.
func BenchmarkQuestions(b *testing.B) {
	path := os.Getenv("WHYSLOW_TRACE")
	if path == "" {
		b.Skip("WHYSLOW_TRACE names no trace")
	}
	live := followed(b, path, counters.LiveOptions{MaxBytes: 1 << 30})
	names, _ := allNames()
	for b.Loop() {
		if _, err := live.Series(counters.SeriesQuery{Names: names, Nodes: "all", To: live.Wall(),
			Points: 1000}); err != nil {
			b.Fatal(err)
		}
		live.At(live.Wall() / 2)
	}
}
