package trace

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/whyslow/whyslow/internal/tracefile"
)

// memoryReader reads one file from memory.
func memoryReader(data []byte) (*Reader, error) {
	f := &nodeFile{File: &tracefile.File{Name: tracefile.FileName(0), Node: -1, Bytes: bytes.NewReader(data),
		Size: int64(len(data))}}
	if err := f.ReadHeader(); err != nil {
		return nil, err
	}
	_ = f.load(nil)
	f.findUnfinished(2)
	return &Reader{files: []*nodeFile{f}, problems: f.Found, damaged: map[*tracefile.Block]bool{}}, nil
}

// resumAll corrects the sums of everything that looks like a block, so that what is
// wrong inside gets past them.
func resumAll(data []byte) {
	if len(data) < tracefile.HeaderSize {
		return
	}
	resum(data)
	le := binary.LittleEndian
	for at := 0; ; at++ {
		i := bytes.Index(data[at:], []byte(tracefile.BlockMagic))
		if i < 0 || at+i+tracefile.BlockHeaderSize > len(data) {
			return
		}
		at += i
		b := data[at:]
		if packed := int(le.Uint32(b[48:])); packed <= len(b)-tracefile.BlockHeaderSize {
			le.PutUint32(b[56:], tracefile.Checksum(b[tracefile.BlockHeaderSize:tracefile.BlockHeaderSize+packed]))
		}
		le.PutUint32(b[tracefile.BlockHeaderSize-4:], tracefile.Checksum(b[:tracefile.BlockHeaderSize-4]))
	}
}

// Whatever a file holds: no panic, no endless loop, no allocation out of proportion.
func FuzzFile(f *testing.F) {
	for _, level := range []int{-1, 1} {
		dir := f.TempDir()
		w, err := Create(dir, 0, Options{BufferBytes: 1 << 10, Sync: true, Level: level})
		if err != nil {
			f.Fatal(err)
		}
		k, _ := w.DefineKind(KindSpec{Namespace: "My", Name: "onX", Fields: []Field{{Name: "l", Type: FieldInts}}})
		w.DefineCode(CodeDef{Code: 1, Name: w.Name("mult"), Line: 2})
		w.DefineSite(SiteDef{Site: 1, Code: 1, Text: w.Name("mult(a)")})
		for i := range uint64(40) {
			w.DefineDF(DF(i), w.Name("a"), []int64{0, int64(i)})
			w.Stream(0).Emit(int64(i), KindCFStarted, i, 1, 2, i, i+1)
			w.Stream(1).Emit(int64(i), k, 1, i)
		}
		w.Close()
		data, err := os.ReadFile(filepath.Join(dir, tracefile.FileName(0)))
		if err != nil {
			f.Fatal(err)
		}
		for _, sums := range []bool{false, true} {
			f.Add(data, sums)
			f.Add(data[:len(data)*2/3], sums)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, sums bool) {
		if len(data) > 1<<20 {
			return
		}
		data = bytes.Clone(data)
		if sums {
			resumAll(data)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, err := memoryReader(data)
		if err != nil {
			return
		}
		r.Verify(1)
		runtime.ReadMemStats(&after)
		// The decoder's own tables are the constant part.
		if got, limit := after.TotalAlloc-before.TotalAlloc, uint64(32<<20+20000*len(data)); got > limit {
			t.Errorf("%d bytes allocated for a file of %d", got, len(data))
		}
		for _, p := range r.Problems() {
			_ = p.String()
		}
	})
}

// The payload of a data block, without the sums in front of it.
func FuzzBlock(f *testing.F) {
	w, err := CreateSink(0, Options{Sync: true}, nil)
	if err != nil {
		f.Fatal(err)
	}
	var p packer
	add := func(words ...uint64) {
		h := tracefile.Header{}
		raw, _ := p.pack(nil, w, words, &h)
		f.Add(raw, uint16(h.Count))
	}
	add(Header(5, KindIdle))
	add(Header(5, KindCFStarted), 7, 1, 6, 1, 2, 3, 4, 5, 6, Header(9, KindCFFinished), 7, 1, 100)
	add(Header(5, KindCFCreated), 7, 1, 0, 1, 1<<62, 0, Header(5, KindCFCreated), 8, 1, 0, 1, 1<<62, 5,
		1, 2, 3, 4, 5)
	f.Fuzz(func(t *testing.T, raw []byte, count uint16) {
		h := tracefile.Header{Count: uint32(count), First: -TimeLimit, Last: TimeLimit}
		var b Batch
		if b.decode(raw, &h, &Defs{}) != nil {
			return
		}
		if len(b.Words) > len(raw)*(MaxFields+2) {
			t.Errorf("%d words from %d bytes", len(b.Words), len(raw))
		}
		// Packed again it reads the same.
		var words []uint64
		for i := range b.N {
			if b.Kind[i].Spec() == nil {
				return
			}
			words = append(append(words, Header(b.Time[i], b.Kind[i])), b.Args(i)...)
		}
		var p packer
		h2 := tracefile.Header{}
		raw2, n := p.pack(nil, w, words, &h2)
		if n != len(words) {
			t.Fatalf("%d of %d words packed", n, len(words))
		}
		var b2 Batch
		if err := b2.decode(raw2, &h2, &Defs{}); err != nil {
			t.Fatal(err)
		}
		for i := range b.N {
			if b.Time[i] != b2.Time[i] || b.Kind[i] != b2.Kind[i] || !equal(b.Args(i), b2.Args(i)) {
				t.Fatalf("event %d: %v, then %v", i, b.Args(i), b2.Args(i))
			}
		}
	})
}

func equal(a, b []uint64) bool {
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}
