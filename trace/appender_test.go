package trace

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/whyslow/whyslow/internal/testkit/effort"
)

// rawBlocks are all blocks of a trace.
func rawBlocks(t testing.TB, dir string) (list [][]byte) {
	t.Helper()
	_, err := NewFollower(dir).Poll(context.Background(), func(b *RawBlock) error {
		list = append(list, slices.Clone(b.Bytes))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A file made of another one's blocks is the same file, however often the Appender is
// opened anew, is killed in the middle of a block, or gets a block twice.
func TestAppendCopies(t *testing.T) {
	data := wholeFile(t)
	from := t.TempDir()
	if err := os.WriteFile(filepath.Join(from, FileName(0)), data, 0o666); err != nil {
		t.Fatal(err)
	}
	blocks := rawBlocks(t, from)
	rapid.Check(t, func(rt *rapid.T) {
		dir := filepath.Join(t.TempDir(), "t")
		path := filepath.Join(dir, FileName(0))
		a, err := OpenAppend(context.Background(), dir, 0, "")
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(blocks); i++ {
			if err := a.Append(blocks[i]); err != nil {
				t.Fatal(err)
			}
			switch rapid.SampledFrom([]string{"", "", "", "again", "close", "finish", "killed"}).Draw(rt, "then") {
			case "again":
				i = max(-1, i-rapid.IntRange(1, 4).Draw(rt, "back"))
				continue
			case "close":
				err = a.Close()
			case "finish":
				err = a.Finish()
			case "killed":
				next := blocks[(i+1)%len(blocks)]
				half := next[:rapid.IntRange(1, len(next)-1).Draw(rt, "half")]
				if _, err := a.out.out.Write(half); err != nil {
					t.Fatal(err)
				}
				err = a.Close()
			default:
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			have := a.Have()
			if a, err = OpenAppend(context.Background(), dir, 0, ""); err != nil {
				t.Fatal(err)
			}
			if again := a.Have(); again.Defs != have.Defs || !maps.Equal(again.Streams, have.Streams) {
				rt.Fatalf("opened again it has %v, not %v", again, have)
			}
		}
		if err := a.Finish(); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		n := len(data) - trailerLength
		if len(got) < n || !slices.Equal(got[:fileHeader+1], data[:fileHeader+1]) {
			rt.Fatalf("%d bytes, want %d", len(got), len(data))
		}
		want, _ := readBlocks(t, from)
		if list, r := readBlocks(t, dir); !slices.Equal(list, want) || !r.Closed(0) || len(r.Problems()) > 0 {
			rt.Fatalf("%d blocks, want %d; %v", len(list), len(want), r.Problems())
		}
	})
}

func TestAppendRefuses(t *testing.T) {
	data := wholeFile(t)
	from := t.TempDir()
	path := filepath.Join(from, FileName(0))
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	blocks := rawBlocks(t, from)
	dir := t.TempDir()
	a, err := OpenAppend(context.Background(), dir, 3, "")
	if err != nil {
		t.Fatal(err)
	}
	flipped := slices.Clone(blocks[1])
	flipped[len(flipped)-1] ^= 1
	header := slices.Clone(blocks[1])
	header[8] ^= 1
	index := data[len(data)-trailerLength-blockHeader*2:]
	for what, b := range map[string][]byte{
		"checksum is wrong": flipped, "no valid block header": header, "came as": blocks[1][:len(blocks[1])-1],
		"longer": append(slices.Clone(blocks[1]), 0),
	} {
		if err := a.Append(b); err == nil || what != "longer" && !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := a.Append(index); err == nil {
		t.Error("took something else")
	}
	if h := a.Have(); h.Defs != 0 || len(h.Streams) != 0 {
		t.Errorf("has %v", h)
	}
	// A gap is taken, and told by readers.
	for _, b := range blocks {
		r, _, err := ParseBlockHeader(b)
		if err != nil || r.Node != -1 {
			t.Fatal(err)
		}
		if r.Number == 1 && !r.Defs && r.Stream == 1 {
			continue
		}
		if err := a.Append(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Finish(); err != nil {
		t.Fatal(err)
	}
	r := open(t, filepath.Join(dir, FileName(3)))
	if p := r.Problems(); len(p) != 1 || !strings.Contains(p[0].What,
		"1 blocks of stream 1 before this one are lost") {
		t.Errorf("%v", p)
	}
	if _, err := OpenAppend(context.Background(), dir, MaxNode+1, ""); err == nil {
		t.Error("a node out of range")
	}
	if err := os.Rename(filepath.Join(dir, FileName(3)), filepath.Join(dir, FileName(4))); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenAppend(context.Background(), dir, 4, ""); err == nil ||
		!strings.Contains(err.Error(), "it holds node 3") {
		t.Errorf("%v", err)
	}
}

// FuzzRawBlock: whatever comes from a network.
func FuzzRawBlock(f *testing.F) {
	dir := f.TempDir()
	if err := os.WriteFile(filepath.Join(dir, FileName(0)), wholeFile(f), 0o666); err != nil {
		f.Fatal(err)
	}
	for _, b := range rawBlocks(f, dir)[:4] {
		f.Add(b)
		f.Add(b[:BlockHeaderSize])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<20 {
			return
		}
		data = slices.Clone(data)
		if len(data) >= blockHeader {
			resumAll(append(make([]byte, fileHeader), data...)) // as it is, and with right sums
		}
		b, size, err := ParseBlockHeader(data)
		if err != nil {
			return
		}
		if size < BlockHeaderSize || size > MaxBlockSize || b.Bytes != nil && len(b.Bytes) != size {
			t.Fatalf("%+v, %d", b, size)
		}
		var batch Batch
		_ = b.Read(&batch)
	})
}

// The blocks that a Writer without a file gives make the file that one with a file writes.
func TestSink(t *testing.T) {
	dir := t.TempDir()
	a, err := OpenAppend(context.Background(), dir, 0, "")
	if err != nil {
		t.Fatal(err)
	}
	w, err := CreateSink(0, Options{BufferBytes: 1 << 10}, func(b *RawBlock) error {
		if b.Node != 0 {
			t.Errorf("a block of node %d", b.Node)
		}
		return a.Append(b.Bytes)
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		w.DefineDF(DF(i+1), w.Name("x"), []int64{int64(i)})
		w.Stream(i%2).Emit(int64(i), KindDFStored, uint64(i+1), 0)
	}
	if err := errors.Join(w.Close(), a.Finish()); err != nil {
		t.Fatal(err)
	}
	r := open(t, dir)
	noProblems(t, r)
	if r.Events() != 1000 || r.Defs(0).DFCount() != 1000 {
		t.Errorf("%d events of %d DFs", r.Events(), r.Defs(0).DFCount())
	}
	if w, err = CreateSink(0, Options{}, func(*RawBlock) error { return errFull }); err != nil {
		t.Fatal(err)
	}
	w.Stream(0).Emit(1, KindIdle)
	if err := w.Close(); !errors.Is(err, errFull) || w.Lost() != 1 {
		t.Error(err, w.Lost())
	}
	if _, err := CreateSink(-1, Options{}, nil); err == nil {
		t.Error("node -1")
	}
}

// TestAppendNeverSplits: a file that was removed, replaced or cut while it was written is not written to, and
// nothing takes its place.
func TestAppendNeverSplits(t *testing.T) {
	from := t.TempDir()
	if err := os.WriteFile(filepath.Join(from, FileName(0)), wholeFile(t), 0o666); err != nil {
		t.Fatal(err)
	}
	blocks := rawBlocks(t, from)
	for name, change := range map[string]func(dir, path string) error{
		"removed":        func(_, path string) error { return os.Remove(path) },
		"folder removed": func(dir, _ string) error { return os.RemoveAll(dir) },
		"folder renamed": func(dir, _ string) error { return os.Rename(dir, dir+".old") },
		"cut":            func(_, path string) error { return os.Truncate(path, 60) },
		"replaced": func(_, path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, make([]byte, 1<<20), 0o666))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "t")
			path := filepath.Join(dir, FileName(0))
			a, err := OpenAppend(t.Context(), dir, 0, "")
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(a.Append(blocks[0]), change(dir, path)); err != nil {
				t.Fatal(err)
			}
			before, _ := os.ReadFile(path)
			for range 2 {
				err := a.Append(blocks[1])
				if !errors.Is(err, ErrReplaced) || strings.Contains(err.Error(), "\n") {
					t.Error(err)
				}
			}
			if after, _ := os.ReadFile(path); !slices.Equal(before, after) {
				t.Errorf("there were %d bytes, and are %d", len(before), len(after))
			}
			if err := a.Finish(); !errors.Is(err, ErrReplaced) {
				t.Error(err)
			}
		})
	}
}
