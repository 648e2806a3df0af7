package division

import (
	"cmp"
	"os"
	"runtime"
	"slices"
	"testing"

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

// BenchmarkAdd takes in the trace named by WHYSLOW_TRACE block by block, asking for 300 windows 100 times meanwhile, on one
// core.
func BenchmarkAdd(b *testing.B) {
	path := os.Getenv("WHYSLOW_TRACE")
	if path == "" {
		b.Skip("WHYSLOW_TRACE names no trace")
	}
	for _, c := range []struct {
		name string
		asks int
		opt  Options
	}{{"asked once", 1, Options{}}, {"asked 100 times", 100, Options{}}, {"64 MB", 100, Options{MaxBytes: 64 << 20}}} {
		b.Run(c.name, func(b *testing.B) {
			info, list := blocks(b, path)
			events, bytes := 0, uint64(0)
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
						d.Windows(0, d.end-d.start, 300, nil)
					}
				}
				bytes = heap() - before
				runtime.KeepAlive(d)
			}
			b.ReportMetric(float64(events)*float64(b.N)/float64(clock.ProcessCPU()-cpu)*1e3, "Mevents/cpu-s")
			b.ReportMetric(float64(bytes)/float64(events), "B/event")
		})
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
