package model

import (
	"context"
	"sync"
	"testing"

	"github.com/whyslow/whyslow/trace"
)

// Whoever shows progress learns of every block, and at the end of the whole.
func TestProgress(t *testing.T) {
	dir := t.TempDir()
	blocks := 0
	for node := range 3 {
		w, err := trace.Create(dir, node, trace.Options{BufferBytes: 1 << 10})
		if err != nil {
			t.Fatal(err)
		}
		for i := range int64(2000) {
			w.Stream(int(i%2)).Emit(i, trace.KindReadyQueue, uint64(i*i))
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, s := range r.Streams() {
		blocks += s.Blocks
	}
	r.Verify(1) // what was read before does not count
	var mu sync.Mutex
	calls, most := 0, int64(0)
	_, err = Build(context.Background(), r, Options{Parallel: 3, Progress: func(done, total int64) {
		mu.Lock()
		defer mu.Unlock()
		calls++
		if total != r.Size() || done <= 0 || done > total {
			t.Errorf("%d of %d bytes, the trace has %d", done, total, r.Size())
		}
		most = max(most, done)
	}})
	if err != nil || calls != blocks || most != r.Size() {
		t.Errorf("%d calls for %d blocks, up to %d of %d bytes, %v", calls, blocks, most, r.Size(), err)
	}
}
