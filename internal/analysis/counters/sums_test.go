package counters_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/testkit/growth"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/trace"
)

// added gives all blocks of a trace to Sums, those of each stream in order and the streams at random.
func added(t *testing.T, o *opened, bytes int64) *counters.Sums {
	t.Helper()
	s, rnd, done := counters.NewSums(bytes), rand.New(rand.NewPCG(1, 2)), map[[2]int]int{}
	streams := o.streams(t)
	var order [][2]int
	for k, b := range streams {
		for range b.N/10 + 1 {
			order = append(order, k)
		}
	}
	slices.SortFunc(order, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	rnd.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for _, k := range order {
		b, from := streams[k], done[k]
		if done[k] = min(from+10, b.N); done[k] > from {
			s.Add(part(b, from, done[k]))
		}
	}
	return s
}

// TestSums: sums say of recorded runs what a model does, exactly at the end and nearly about intervals, in
// whatever order blocks arrive. With little memory they know less about short intervals.
func TestSums(t *testing.T) {
	for _, name := range []string{"cholesky", "balance", "heat"} {
		for bytes, points := range map[int64]int{1 << 30: 9, 1 << 16: 1} {
			o := load(t, sloutest.Recorded(t, name, 2))
			defer o.r.Close()
			s, want, wall := added(t, o, bytes), o.set(t), o.m.Wall()
			left, names := cmp.Options{}, "running,moving,copies,bytes,dfs,ready_queue,inner,outer,ready"
			switch name {
			case "cholesky":
				names += ",cfs,waiting,weight"
			case "heat": // CFs run again
			case "balance": // it has weights, and CFs are stolen
				names = strings.TrimSuffix(names, ",ready") + ",cfs"
				left = cmp.Options{cmpopts.IgnoreFields(counters.NodeState{}, "Weight", "Waiting", "Ready"),
					cmpopts.IgnoreMapEntries(func(k string, _ counters.Spread) bool {
						return k == "weight" || k == "waiting" || k == "ready"
					})}
			}
			s.Ask(o.m, func(got counters.Set) {
				if d := cmp.Diff(want.At(wall), got.At(wall), left); d != "" {
					t.Errorf("%s at the end (-model +sums):\n%s", name, d)
				}
				_, links := allNames()
				for _, q := range []counters.SeriesQuery{{Names: names, Nodes: "all"}, {Names: names}, {Names: links,
					Links: "all"}, {Names: links, Links: "sum"}} {
					if q.To, q.Points = wall, points; q.Names == links {
						q.Points = 1 // few messages: one more or less makes a difference
					}
					a, err := got.Series(q)
					b, err2 := want.Series(q)
					if err != nil || err2 != nil {
						t.Fatal(err, err2)
					}
					for i, b := range b.Series {
						if d := cmp.Diff(b.Mean, a.Series[i].Mean, cmpopts.EquateApprox(0.02, 0.02)); d != "" {
							t.Errorf("%s with %d bytes, %s of node %d, link %q (-model +sums):\n%s", name, bytes, b.Name, b.Node,
								b.Link, d)
						}
					}
				}
				for _, v := range matrixValues {
					a, err := got.Matrix(v, 0, wall)
					b, err2 := want.Matrix(v, 0, wall)
					if err != nil || err2 != nil {
						t.Fatal(err, err2)
					}
					if d := cmp.Diff(b.Total, a.Total, cmpopts.EquateApprox(0.02, 0)); d != "" && v != "send_queue" {
						t.Errorf("%s with %d bytes, %s in all (-model +sums):\n%s", name, bytes, v, d)
					}
				}
			})
		}
	}
}

// TestSumsBounded: memory does not grow with the run, whatever arrives.
func TestSumsBounded(t *testing.T) {
	const bytes = 1 << 20
	var before, after runtime.MemStats
	s := counters.NewSums(bytes)
	runtime.GC()
	runtime.ReadMemStats(&before)
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		b := &trace.Batch{Node: rnd.IntN(100), Off: []uint32{0}}
		for range 1000 {
			b.N++
			b.Time = append(b.Time, rnd.Int64())
			if b.N%2 > 0 {
				b.Kind, b.Words = append(b.Kind, trace.KindDFSent), append(b.Words, 1, rnd.Uint64N(1<<16), 8, 1, 0, 0)
			} else {
				b.Kind, b.Words = append(b.Kind, trace.KindReadyQueue), append(b.Words, rnd.Uint64())
			}
			b.Off = append(b.Off, uint32(len(b.Words)))
		}
		s.Add(b)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if n := int64(after.HeapAlloc) - int64(before.HeapAlloc); n > 20*bytes {
		t.Errorf("%d bytes are taken, want about %d", n, bytes)
	}
	runtime.KeepAlive(s)
}

// queued is a block of so many events.
func queued(events int) *trace.Batch {
	b := &trace.Batch{N: events, Last: int64(events) - 1, Off: []uint32{0}}
	for i := range int64(events) {
		b.Kind = append(b.Kind, trace.KindReadyQueue)
		b.Time = append(b.Time, i)
		b.Words = append(b.Words, uint64(i%7))
		b.Off = append(b.Off, uint32(i+1))
	}
	return b
}

// Blocks that go back to the beginning over and over, as no program makes them but anybody can send, take
// time in proportion to their events.
func TestBlocksBackInTime(t *testing.T) {
	growth.Linear(t, 64_000, func(events int) func() {
		b := queued(events)
		return func() {
			for l, block := counters.NewSums(1<<30), 0; block < 8; block++ {
				l.Add(b)
			}
		}
	})
}

// The same with many blocks: their cost grows with their number, not with its square.
func TestManyBlocksBackInTime(t *testing.T) {
	growth.Linear(t, 1600, func(blocks int) func() {
		b := queued(300)
		return func() {
			l := counters.NewSums(1 << 30)
			for b.Stream = range blocks {
				l.Add(b)
			}
		}
	})
}
