package tracefile

import (
	"os"
	"testing"
)

// An index too large for a block is left out; the trailer still says that the file is whole.
func TestIndexTooLarge(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/00000.wst")
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewBlockFile(file, 0, "", 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Put(&Header{Kind: DataBlock, Count: 1}, []byte("payload")); err != nil {
		t.Fatal(err)
	}
	for range mostEntries {
		w.enter(0, make([]byte, BlockHeaderSize))
	}
	if len(w.index) > 0 {
		t.Errorf("%d bytes are kept for it", len(w.index))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, p := Open(file.Name())
	if p != nil {
		t.Fatal(p)
	}
	if err := f.While(func() error { f.Find(); return nil }); err != nil {
		t.Fatal(err)
	}
	if f.NoteGaps(); len(f.Found) > 0 || !f.Closed || len(f.Blocks) != 1 {
		t.Errorf("%v, closed %v, %d blocks", f.Found, f.Closed, len(f.Blocks))
	}
}
