package trace

import "testing"

// TestLargeBuffer fills a buffer larger than a block: it becomes several blocks, and a list that is too long
// for any is counted as lost, with nothing else.
func TestLargeBuffer(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, 0, Options{BufferBytes: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	s := w.Stream(0)
	const n = 500_000 // three words each
	long := make([]uint64, 3+maxRecord)
	long[0], long[1], long[2] = uint64(MakeCF(0, 1)), 1, maxRecord
	for i := range n {
		if i == n/2 {
			s.Emit(int64(i), KindCFStarted, long...)
		}
		s.Emit(int64(i), KindDFStored, uint64(i+1), 8)
	}
	if err := w.Close(); err != nil || w.Lost() != 1 {
		t.Fatalf("%v, %d lost", err, w.Lost())
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	next := int64(0)
	var b Batch
	for c := r.Stream(0, 0); c.Next(&b); {
		for _, at := range b.Time {
			if at != next {
				t.Fatalf("event of %d where %d should be", at, next)
			}
			next++
		}
	}
	if next != n {
		t.Errorf("%d events of %d", next, n)
	}
}
