package tracefile_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/internal/testkit/tracetest"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/trace"
)

// rawBlocks are the blocks of a whole file, in its order.
func rawBlocks(t testing.TB, data []byte) (list [][]byte) {
	t.Helper()
	f := tracefile.File{Bytes: bytes.NewReader(data), Size: int64(len(data))}
	f.Find()
	at := slices.Concat(f.DefsAt, f.Blocks)
	slices.SortFunc(at, func(a, b tracefile.Block) int { return int(a.At - b.At) })
	for i := range at {
		list = append(list, data[at[i].At:at[i].End()])
	}
	return list
}

// A file made of another one's blocks is the same file, however often the Appender is
// opened anew, is killed in the middle of a block, or gets a block twice.
func TestAppendCopies(t *testing.T) {
	data := tracetest.File(t)
	from := t.TempDir()
	tracetest.Write(t, from, 0, data)
	blocks := rawBlocks(t, data)
	rapid.Check(t, func(rt *rapid.T) {
		dir := filepath.Join(t.TempDir(), "t")
		path := filepath.Join(dir, tracefile.FileName(0))
		a, err := tracefile.OpenAppend(context.Background(), dir, 0, "")
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
			case "finish":
				err = a.Finish()
			case "killed":
				next := blocks[(i+1)%len(blocks)]
				half := next[:rapid.IntRange(1, len(next)-1).Draw(rt, "half")]
				file, oerr := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
				if oerr != nil {
					t.Fatal(oerr)
				}
				_, err = file.Write(half)
				err = errors.Join(err, file.Close())
			default:
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			have := a.Have()
			if a, err = tracefile.OpenAppend(context.Background(), dir, 0, ""); err != nil {
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
		n := len(data) - tracefile.TrailerSize
		if len(got) < n || !slices.Equal(got[:tracefile.HeaderSize+1], data[:tracefile.HeaderSize+1]) {
			rt.Fatalf("%d bytes, want %d", len(got), len(data))
		}
		want, _ := tracetest.Events(t, from)
		if list, r := tracetest.Events(t, dir); !slices.Equal(list, want) || !r.Closed(0) || len(r.Problems()) > 0 {
			rt.Fatalf("%d blocks, want %d; %v", len(list), len(want), r.Problems())
		}
	})
}

// TestAppenderMemory: memory does not grow with the length of the file, and no block is kept.
func TestAppenderMemory(t *testing.T) {
	a, err := tracefile.OpenAppend(context.Background(), t.TempDir(), 0, "")
	if err != nil {
		t.Fatal(err)
	}
	live := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := live()
	payload := make([]byte, 1<<20)
	for i := range uint32(10_000) {
		h := tracefile.Header{Kind: tracefile.DataBlock, Seq: i, Packed: uint32(len(payload)),
			Raw: uint32(len(payload)), Sum: tracefile.Checksum(payload)}
		if err := a.Append(append(h.Append(nil), payload...)); err != nil {
			t.Fatal(err)
		}
		payload = payload[:10]
	}
	payload = nil
	if grown := live() - before; grown > 256<<10 {
		t.Errorf("%d bytes are kept", grown)
	}
	if err := a.Finish(); err != nil {
		t.Fatal(err)
	}
}

func TestAppendRefuses(t *testing.T) {
	data := tracetest.File(t)
	blocks := rawBlocks(t, data)
	dir := t.TempDir()
	a, err := tracefile.OpenAppend(context.Background(), dir, 3, "")
	if err != nil {
		t.Fatal(err)
	}
	flipped := slices.Clone(blocks[1])
	flipped[len(flipped)-1] ^= 1
	header := slices.Clone(blocks[1])
	header[8] ^= 1
	index := data[len(data)-tracefile.TrailerSize-tracefile.BlockHeaderSize*2:]
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
		r, _, err := tracefile.ParseBlockHeader(b)
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
	r, err := trace.Open(filepath.Join(dir, tracefile.FileName(3)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if p := r.Problems(); len(p) != 1 || !strings.Contains(p[0].What,
		"1 blocks of stream 1 before this one are lost") {
		t.Errorf("%v", p)
	}
	if _, err := tracefile.OpenAppend(context.Background(), dir, tracefile.MaxNode+1, ""); err == nil {
		t.Error("a node out of range")
	}
	name := func(node int) string { return filepath.Join(dir, tracefile.FileName(node)) }
	if err := os.Rename(name(3), name(4)); err != nil {
		t.Fatal(err)
	}
	if _, err := tracefile.OpenAppend(context.Background(), dir, 4, ""); err == nil ||
		!strings.Contains(err.Error(), "it holds node 3") {
		t.Errorf("%v", err)
	}
}

// FuzzRawBlock: whatever comes from a network.
func FuzzRawBlock(f *testing.F) {
	for _, b := range rawBlocks(f, tracetest.File(f))[:4] {
		f.Add(b)
		f.Add(b[:tracefile.BlockHeaderSize])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<20 {
			return
		}
		data = slices.Clone(data)
		if len(data) >= tracefile.BlockHeaderSize {
			tracetest.CorrectSums(append(make([]byte, tracefile.HeaderSize), data...)) // as it is, and with right sums
		}
		b, size, err := tracefile.ParseBlockHeader(data)
		if err != nil {
			return
		}
		if size < tracefile.BlockHeaderSize || size > tracefile.MaxBlockSize ||
			b.Bytes != nil && len(b.Bytes) != size {
			t.Fatalf("%+v, %d", b, size)
		}
		var defs trace.Defs
		_ = defs.ReadBlock(b.Bytes, new(trace.Batch))
	})
}

// The blocks that a Writer without a file gives make the file that one with a file writes.
func TestSink(t *testing.T) {
	dir := t.TempDir()
	a, err := tracefile.OpenAppend(context.Background(), dir, 0, "")
	if err != nil {
		t.Fatal(err)
	}
	w, err := trace.CreateSink(0, trace.Options{BufferBytes: 1 << 10}, a.Append)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		w.DefineDF(trace.DF(i+1), w.Name("x"), []int64{int64(i)})
		w.Stream(i%2).Emit(int64(i), trace.KindDFStored, uint64(i+1), 0)
	}
	if err := errors.Join(w.Close(), a.Finish()); err != nil {
		t.Fatal(err)
	}
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.Verify(2)
	if r.Events() != 1000 || r.Defs(0).DFCount() != 1000 || len(r.Problems()) > 0 {
		t.Errorf("%d events of %d DFs, %v", r.Events(), r.Defs(0).DFCount(), r.Problems())
	}
	errFull := errors.New("no space left on device")
	if w, err = trace.CreateSink(0, trace.Options{}, func([]byte) error { return errFull }); err != nil {
		t.Fatal(err)
	}
	w.Stream(0).Emit(1, trace.KindIdle)
	if err := w.Close(); !errors.Is(err, errFull) || w.Lost() != 1 {
		t.Error(err, w.Lost())
	}
	if _, err := trace.CreateSink(-1, trace.Options{}, nil); err == nil {
		t.Error("node -1")
	}
}

// TestAppendNeverSplits: a file that was removed, replaced or cut while it was written is not written to, and
// nothing takes its place.
func TestAppendNeverSplits(t *testing.T) {
	blocks := rawBlocks(t, tracetest.File(t))
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
			path := filepath.Join(dir, tracefile.FileName(0))
			a, err := tracefile.OpenAppend(t.Context(), dir, 0, "")
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(a.Append(blocks[0]), change(dir, path)); err != nil {
				t.Fatal(err)
			}
			before, _ := os.ReadFile(path)
			for range 2 {
				err := a.Append(blocks[1])
				if !errors.Is(err, tracefile.ErrReplaced) || strings.Contains(err.Error(), "\n") {
					t.Error(err)
				}
			}
			if after, _ := os.ReadFile(path); !slices.Equal(before, after) {
				t.Errorf("there were %d bytes, and are %d", len(before), len(after))
			}
			if err := a.Finish(); !errors.Is(err, tracefile.ErrReplaced) {
				t.Error(err)
			}
		})
	}
}

// A file is continued for its own run only, and an id must be one.
func TestWritersCheckRun(t *testing.T) {
	const runA, runB = "aaaaaaaaaaaaaaaaaaaaaaaa00000001", "bbbbbbbbbbbbbbbbbbbbbbbb00000002"
	dir := t.TempDir()
	w, err := trace.Create(dir, 0, trace.Options{Run: runA})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := tracefile.OpenAppend(t.Context(), dir, 0, runB); err == nil || !strings.HasSuffix(err.Error(),
		"it belongs to run "+runA[:24]+", not to run "+runB[:24]) {
		t.Error(err)
	}
	if _, err := tracefile.OpenAppend(t.Context(), dir, 0, runA); err != nil {
		t.Fatal(err)
	}
	for _, run := range []string{"x", "abcdef"} {
		if _, err := trace.Create(dir, 1, trace.Options{Run: run}); err == nil || !strings.Contains(err.Error(), run) {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, tracefile.FileName(1))); err == nil {
		t.Error("the file was made")
	}
}
