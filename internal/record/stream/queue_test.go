package stream

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/internal/tracefile/follow"
	"github.com/whyslow/whyslow/trace"
)

// blocks are the blocks of a node's file with definitions among them, in its order.
func blocks(t testing.TB) [][]byte {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a.trace")
	w, err := trace.Create(dir, 0, trace.Options{BufferBytes: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3000 {
		if i%20 == 0 {
			w.DefineDF(trace.DF(i+1), w.Name("x"), []int64{0, int64(i)})
		}
		w.Stream(i%2).Emit(int64(i), trace.KindReadyQueue, uint64(i*i))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f := follow.New(dir)
	var list [][]byte
	if _, err := f.Poll(context.Background(), func(b *tracefile.RawBlock) error {
		list = append(list, bytes.Clone(b.Bytes))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

// Whatever is put and taken when: the queue never holds more than its size, what comes out
// is in the order of what went in, and what does not is counted. Definitions are lost only
// when there is nothing else.
func TestQueueDropsOldestData(t *testing.T) {
	all := blocks(t)
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(1, 20_000).Draw(t, "limit")
		q := NewQueue(limit, &trace.RunInfo{})
		var out []queued
		var put, events uint64
		take := func() {
			if e, ok := q.take(); ok {
				out = append(out, e)
			}
		}
		for _, b := range all {
			head, _, err := tracefile.ParseBlockHeader(b)
			if err != nil {
				t.Fatal(err)
			}
			before := definitions(q)
			if err := q.Put(3, b); err != nil {
				t.Fatal(err)
			}
			put++
			if !head.Defs {
				events += uint64(head.Count)
			}
			n, size := q.Waiting()
			if size > limit {
				t.Fatalf("%d bytes of %d", size, limit)
			}
			if head.Defs && definitions(q) == before && n > before && int64(len(b)) <= limit {
				t.Fatal("definitions were dropped, and data kept")
			}
			for range rapid.IntRange(0, 2).Draw(t, "takes") {
				take()
			}
		}
		for len(q.waiting) > 0 {
			take()
		}
		next := tracefile.Have{Streams: map[int]uint32{}}
		var lost Lost
		for _, l := range q.Dropped() {
			lost = l
		}
		for _, e := range out {
			if e.head.Number < Expected(next, e.head.Defs, e.head.Stream) {
				t.Fatalf("block %d of stream %d comes after %v", e.head.Number, e.head.Stream, next)
			}
			if e.head.Defs {
				next.Defs = e.head.Number + 1
			} else {
				next.Streams[e.head.Stream] = e.head.Number + 1
				events -= uint64(e.head.Count)
			}
		}
		if uint64(len(out))+lost.Blocks != put || events != lost.Events {
			t.Fatalf("%d blocks put, %d out, %+v lost; %d events not out", put, len(out), lost, events)
		}
	})
}

// definitions counts the blocks of definitions that wait.
func definitions(q *Queue) (n int) {
	for _, e := range q.waiting {
		if e.head.Defs {
			n++
		}
	}
	return n
}

func TestQueueRefusesNoBlock(t *testing.T) {
	q := NewQueue(0, &trace.RunInfo{})
	b := blocks(t)[0]
	for _, c := range []struct {
		node  int
		block []byte
	}{{0, nil}, {0, b[:len(b)-1]}, {0, append(b[:len(b):len(b)], 0)}, {-1, b}, {trace.MaxNode + 1, b}} {
		if err := q.Put(c.node, c.block); err == nil {
			t.Errorf("taken: node %d, %d bytes", c.node, len(c.block))
		}
	}
}

// A run whose trace has no ID gets one, the same each time.
func TestRunWithoutID(t *testing.T) {
	a := &trace.RunInfo{Program: "p", Processes: []trace.ProcessInfo{{PID: 5}}}
	b := *a
	if x, y := runID(a, "s"), runID(&b, "s"); !ValidRun(x) || x != y {
		t.Errorf("%s, %s", x, y)
	}
	b.Processes = []trace.ProcessInfo{{PID: 6}}
	if runID(a, "s") == runID(&b, "s") {
		t.Error("two runs, one ID")
	}
	a.ID = someRun
	if runID(a, "s") != someRun {
		t.Error("another ID")
	}
	if _, err := os.Hostname(); err == nil && hostName() == "" {
		t.Error("no name of the host")
	}
}
