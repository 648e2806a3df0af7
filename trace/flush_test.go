package trace

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Whatever emitters do and whenever the flusher looks: every event is in the file once, in
// the order of its stream, and after its definitions. Run with -race.
func TestFlushedEventsComeOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		opt := Options{
			BufferBytes: rapid.SampledFrom([]int{1 << 10, 4 << 10, 64 << 10}).Draw(rt, "buffer"),
			Pool:        rapid.IntRange(1, 4).Draw(rt, "pool"),
			Sync:        rapid.Bool().Draw(rt, "sync"),
			FlushEvery:  time.Nanosecond,
		}
		workers := rapid.IntRange(1, 3).Draw(rt, "workers")
		pauses := rapid.SliceOfN(rapid.SampledFrom([]int{0, 40, 300}), workers, workers).Draw(rt, "pauses")
		flushes := rapid.SliceOfN(rapid.SampledFrom([]int{0, 7, 200}), workers, workers).Draw(rt, "flushes")
		n := rapid.IntRange(0, 1500).Draw(rt, "events")

		dir := t.TempDir()
		w, err := Create(dir, 0, opt)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for id := range workers {
			wg.Go(func() {
				s := w.Stream(id)
				list := make([]uint64, 3+5)
				for i := range n {
					df := DF(id*n + i + 1)
					w.DefineDF(df, 0, []int64{int64(id), int64(i)})
					k := uint64(i % 6)
					list[0], list[1], list[2] = uint64(MakeCF(id, uint64(i))), 1, k
					for j := range k {
						list[3+j] = uint64(df)
					}
					s.Emit(int64(i), KindCFStarted, list[:3+k]...)
					if p := pauses[id]; p > 0 && i%p == p-1 {
						time.Sleep(100 * time.Microsecond)
					}
					if p := flushes[id]; p > 0 && i%p == p-1 {
						s.Flush()
					}
				}
			})
		}
		wg.Wait()
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r := open(t, dir)
		noProblems(t, r)
		next := make([]int, workers)
		for _, e := range readAll(t, r) {
			i := next[e.Stream]
			next[e.Stream]++
			ok := e.Time == int64(i) && e.Args[0] == uint64(MakeCF(e.Stream, uint64(i))) && e.Args[2] == uint64(i%6)
			for _, v := range e.Args[3:] {
				_, identity, defined := r.Defs(0).DF(DF(v), nil)
				ok = ok && defined && slices.Equal(identity, []int64{int64(e.Stream), int64(i)})
			}
			if !ok {
				rt.Fatalf("stream %d: event %d is %v", e.Stream, i, e)
			}
		}
		for id, got := range next {
			if got != n {
				rt.Fatalf("stream %d: %d events of %d", id, got, n)
			}
		}
		for i := range r.files[0].Blocks {
			if r.files[0].Blocks[i].Count == 0 {
				rt.Fatalf("block %d is empty", i)
			}
		}
		r.Close()
	})
}

// What was recorded is in the file soon, though no buffer is full and nobody flushes.
func TestFlushEvery(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, 0, Options{FlushEvery: 5 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	events := func() int {
		r, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		return r.Events()
	}
	for i := range 5 {
		w.Stream(i%2).Emit(int64(i), KindReadyQueue, uint64(i))
		for events() != i+1 {
			time.Sleep(time.Millisecond)
		}
	}
	time.Sleep(20 * time.Millisecond) // nothing new: no block
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := open(t, dir)
	noProblems(t, r)
	if n := len(r.files[0].Blocks); n != 5 {
		t.Errorf("%d blocks for 5 events that came one by one", n)
	}
}

// Losses are told the same with a flusher.
func TestFlushEveryAndDrops(t *testing.T) {
	dir := t.TempDir()
	g := newGate(t, dir, -1)
	w, err := newWriter(g, 0, Options{BufferBytes: 1 << 10, Pool: 1, Full: Drop, FlushEvery: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	const n = 20000
	for i := range n {
		if i == n/4 {
			g.mu.Lock() // the disk hangs
		}
		if i == n/2 {
			g.mu.Unlock()
		}
		if i%50 == 0 {
			runtime.Gosched()
		}
		w.Stream(0).Emit(int64(i), KindReadyQueue, uint64(i))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := open(t, dir)
	noProblems(t, r)
	next, lost := int64(0), uint64(0)
	for _, e := range readAll(t, r) {
		if e.Kind == KindLost {
			if int64(e.Args[1]) != next || e.Args[0] != e.Args[2]-e.Args[1]+1 {
				t.Fatalf("a loss of %v where %d comes next", e.Args, next)
			}
			next = int64(e.Args[2]) + 1
			lost += e.Args[0]
			continue
		}
		if e.Time != next {
			t.Fatalf("event %d, want %d", e.Time, next)
		}
		next++
	}
	if next != n || lost != w.Lost() || lost == 0 {
		t.Errorf("%d events, of which %d are told as lost; Lost says %d", next, lost, w.Lost())
	}
}

// BenchmarkFlushEvery is what an event costs its emitter with and without a flusher.
func BenchmarkFlushEvery(b *testing.B) {
	for _, every := range []time.Duration{0, 200 * time.Millisecond, 10 * time.Millisecond} {
		b.Run(fmt.Sprint("every=", every), func(b *testing.B) {
			w, err := Create(filepath.Join(b.TempDir(), "t"), 0, Options{FlushEvery: every})
			if err != nil {
				b.Fatal(err)
			}
			s := w.Stream(0)
			b.ResetTimer()
			for i := range b.N {
				s.Emit(int64(i), KindReadyQueue, uint64(i))
			}
			b.StopTimer()
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
