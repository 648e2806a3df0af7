package division

import (
	"cmp"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/trace"
)

// block is a block with its definitions.
type block struct {
	defs *trace.Defs
	*trace.Batch
}

// blocks reads a trace into memory, in the order in which blocks of a live run would come: as they are full.
func blocks(t failer, path string) (*trace.RunInfo, []block) {
	t.Helper()
	r, err := trace.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var list []block
	for _, s := range r.Streams() {
		c := r.Stream(s.Node, s.Stream)
		for b := new(trace.Batch); c.Next(b); b = new(trace.Batch) {
			list = append(list, block{r.Defs(s.Node), b})
		}
	}
	slices.SortStableFunc(list, func(a, b block) int { return cmp.Compare(a.Last, b.Last) })
	return r.Run(), list
}

// shuffled puts blocks of different streams in random order, up to so many of a stream ahead of the others.
func shuffled(list []block) []block {
	rnd := rand.New(rand.NewPCG(1, 1))
	streams := map[[2]int][]block{}
	var keys [][2]int
	for _, b := range list {
		k := [2]int{b.Node, b.Stream}
		if streams[k] == nil {
			keys = append(keys, k)
		}
		streams[k] = append(streams[k], b)
	}
	out := make([]block, 0, len(list))
	for len(keys) > 0 {
		i := rnd.IntN(len(keys))
		k := keys[i]
		n := min(1+rnd.IntN(50), len(streams[k]))
		out = append(out, streams[k][:n]...)
		if streams[k] = streams[k][n:]; len(streams[k]) == 0 {
			keys = slices.Delete(keys, i, i+1)
		}
	}
	return out
}

// BenchmarkAdd takes in the trace named by WHYSLOW_TRACE block by block, asking for 300 windows meanwhile, on one core.
func BenchmarkAdd(b *testing.B) {
	path := os.Getenv("WHYSLOW_TRACE")
	if path == "" {
		b.Skip("WHYSLOW_TRACE names no trace")
	}
	for _, c := range []struct {
		name    string
		asks    int
		shuffle bool
		opt     Options
	}{
		{"asked once", 1, false, Options{}},
		{"asked 100 times", 100, false, Options{}},
		{"out of order", 100, true, Options{}},
		{"8 MB", 100, false, Options{MaxBytes: 8 << 20}},
	} {
		b.Run(c.name, func(b *testing.B) {
			info, list := blocks(b, path)
			if c.shuffle {
				list = shuffled(list)
			}
			events, bytes, late, asked := 0, uint64(0), int64(0), time.Duration(0)
			c.opt.Info = info
			cpu := clock.ProcessCPU()
			for b.Loop() {
				events = 0
				before := heap()
				d := New(c.opt)
				for i, k := range list {
					d.Add(k.defs, k.Batch)
					events += k.N
					if i*c.asks/len(list) != (i+1)*c.asks/len(list) {
						now := time.Now()
						d.Windows(0, d.end-d.start, 300, nil)
						asked += time.Since(now)
					}
				}
				bytes, late = heap()-before, d.Late()
				runtime.KeepAlive(d)
			}
			b.ReportMetric(float64(events)*float64(b.N)/float64(clock.ProcessCPU()-cpu)*1e3, "Mevents/cpu-s")
			b.ReportMetric(float64(bytes)/float64(events), "B/event")
			b.ReportMetric(asked.Seconds()*1e3/float64(c.asks*b.N), "ms/question")
			if c.opt.MaxBytes > 0 {
				b.ReportMetric(float64(bytes)/(1<<20), "MB")
				b.ReportMetric(float64(late), "late")
			}
		})
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
