package simulate_test

import (
	"container/heap"
	"context"
	"testing"

	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

const benchCFs = 100_000

// BenchmarkRun simulates CFs that need nothing on two nodes with two workers each; the figure is per CF.
func BenchmarkRun(b *testing.B) {
	lengths := make([]int, benchCFs)
	for i := range lengths {
		lengths[i] = 1000 + i*7919%5000
	}
	s := simulator(b, sloutest.Build(b, bag(lengths)))
	m := asRecorded
	m.Workers = 4
	b.ResetTimer()
	for range b.N {
		if _, err := s.Run(context.Background(), m); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchCFs), "ns/CF")
}

// times is a bare event heap.
type times []int64

func (h times) Len() int           { return len(h) }
func (h times) Less(i, j int) bool { return h[i] < h[j] }
func (h times) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *times) Push(v any)        { *h = append(*h, v.(int64)) }
func (h *times) Pop() any {
	v := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return v
}

// BenchmarkHeap is what two events per CF take in a bare heap of Go's library, of four entries.
func BenchmarkHeap(b *testing.B) {
	for range b.N {
		h := times{1, 2, 3, 4}
		for i := range 2 * benchCFs {
			t := heap.Pop(&h).(int64)
			heap.Push(&h, t+int64(1000+i*7919%5000))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchCFs), "ns/CF")
}
