package follow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	_ "github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/internal/testkit/tracetest"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/trace"
)

// follow polls once and appends the blocks of events that can be read to list.
func follow(t testing.TB, f *Follower, list []string) []string {
	t.Helper()
	var batch trace.Batch
	_, err := f.Poll(context.Background(), func(b *tracefile.RawBlock) error {
		again, size, err := tracefile.ParseBlockHeader(b.Bytes)
		if err != nil || size != len(b.Bytes) || again.Number != b.Number || again.Defs != b.Defs {
			t.Fatalf("a block that is not whole: %+v, %v", b, err)
		}
		if !b.Defs && f.Read(b, &batch) == nil {
			list = append(list, tracetest.Text(&batch))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func texts(problems []trace.Problem) []string {
	var list []string
	for _, p := range problems {
		if p.Kind != trace.Unfinished && p.Kind != trace.Truncated {
			list = append(list, p.String())
		}
	}
	slices.Sort(list)
	return list
}

// A trace that appears bit by bit, whole or damaged anywhere, gives what a Reader gives of
// it in the end, and tells the same problems.
func TestFollowedLikeRead(t *testing.T) {
	whole := tracetest.File(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, tracefile.FileName(0)), whole, 0o666); err != nil {
		t.Fatal(err)
	}
	all, _ := tracetest.Events(t, dir)
	rapid.Check(t, func(rt *rapid.T) {
		data := bytes.Clone(whole)
		indexed := rapid.Bool().Draw(rt, "indexed")
		if !indexed {
			data = data[:len(data)-tracefile.TrailerSize]
		}
		for range rapid.IntRange(0, 3).Draw(rt, "faults") {
			from := rapid.IntRange(tracefile.HeaderSize, len(data)-1).Draw(rt, "from")
			to := min(from+rapid.SampledFrom([]int{1, 30, 70, 900, 3000}).Draw(rt, "length"), len(data))
			switch rapid.IntRange(0, 3).Draw(rt, "fault") {
			case 0:
				data[from] ^= 1 << rapid.IntRange(0, 7).Draw(rt, "bit")
			case 1:
				data = slices.Delete(data, from, to)
			case 2:
				data = slices.Insert(data, from, bytes.Repeat([]byte{tracefile.BlockMagic[0]}, to-from)...)
			case 3:
				data = data[:max(from, 100)]
			}
			if len(data) <= tracefile.HeaderSize {
				break
			}
		}
		cuts := rapid.SliceOfN(rapid.IntRange(0, len(data)), 0, 12).Draw(rt, "portions")
		slices.Sort(cuts)

		dir := filepath.Join(t.TempDir(), "t")
		path := filepath.Join(dir, tracefile.FileName(0))
		f := New(dir)
		got := follow(t, f, nil) // nothing there yet
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		for _, n := range append(cuts, len(data)) {
			if err := os.WriteFile(path, data[:n], 0o666); err != nil {
				t.Fatal(err)
			}
			got = follow(t, f, got)
		}
		got = follow(t, f, got)
		want, r := tracetest.Events(t, dir)
		if r != nil && f.Closed(0) != r.Closed(0) {
			rt.Errorf("Closed: %v, a Reader says %v", f.Closed(0), r.Closed(0))
		}
		if !slices.Equal(got, want) {
			// Only where there was damage before the index came may they differ.
			if !f.Closed(0) || len(cuts) == 0 || len(f.Problems()) == 0 {
				rt.Fatalf("followed %d blocks, read %d\n%v\n%v", len(got), len(want), f.Problems(), r.Problems())
			}
			for _, b := range got {
				if !slices.Contains(all, b) {
					rt.Fatalf("a block that nobody wrote: %s", b)
				}
			}
		} else if a, b := texts(f.Problems()),
			texts(problemsOf(r)); !slices.Equal(a, b) && !f.Closed(0) && len(cuts) == 0 {
			rt.Fatalf("problems:\n%s\nwhile a Reader says\n%s", strings.Join(a, "\n"), strings.Join(b, "\n"))
		}
	})
}

func problemsOf(r *trace.Reader) []trace.Problem {
	if r == nil {
		return nil
	}
	return r.Problems()
}

// A run is followed while it is recorded: files and run.json that come later, blocks as
// soon as they are written, the end.
func TestFollowARun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	f := New(dir)
	if list := follow(t, f, nil); len(list) > 0 || f.Info() == nil || f.InfoVersion() != 0 ||
		len(f.Nodes()) > 0 {
		t.Fatalf("something in nothing: %v %+v", list, f)
	}
	info := &trace.RunInfo{ID: trace.NewRunID(), Program: "p.fa"}
	if err := trace.WriteRunInfo(dir, info); err != nil {
		t.Fatal(err)
	}
	var got []string
	var writers []*trace.Writer
	for node := range 3 {
		w, err := trace.Create(dir, node, trace.Options{FlushEvery: 2 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		writers = append(writers, w)
		for i := range 20 {
			name := w.Name(fmt.Sprint("x", i))
			w.DefineDF(trace.DF(i+1), name, []int64{0, int64(i)})
			w.Stream(0).Emit(int64(i), trace.KindDFStored, uint64(i+1), 1)
			n := len(got)
			ofNode := func(b string) bool { return strings.HasPrefix(b, fmt.Sprint(node)) }
			for i%5 == 0 && !slices.ContainsFunc(got[n:], ofNode) {
				time.Sleep(time.Millisecond)
				got = follow(t, f, got)
			}
		}
		if f.Info().Program != "p.fa" || len(f.Info().ID) != 32 || f.InfoVersion() != 1 || f.Closed(node) {
			t.Fatalf("%+v", f.Info())
		}
	}
	writers[0].Abandon()
	writers[1].Close()
	info.Ended = trace.EndedDone
	if err := trace.WriteRunInfo(dir, info); err != nil {
		t.Fatal(err)
	}
	got = follow(t, f, got)
	if !f.Closed(0) || !f.Closed(1) || f.Closed(2) || f.Info().Ended != trace.EndedDone ||
		f.InfoVersion() != 2 ||
		!slices.Equal(f.Nodes(), []int{0, 1, 2}) {
		t.Errorf("%v %v %v %+v", f.Closed(0), f.Closed(1), f.Closed(2), f.Info())
	}
	writers[2].Close()
	got = follow(t, f, got)
	want, _ := tracetest.Events(t, dir)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || len(f.Problems()) > 0 {
		t.Errorf("%d blocks, want %d; %v", len(got), len(want), f.Problems())
	}
}

// A block that the caller could not take is tracetest.Text again; an end of the context is told.
func TestFollowAgain(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, tracefile.FileName(0)), tracetest.File(t), 0o666); err != nil {
		t.Fatal(err)
	}
	f := New(dir)
	var got []string
	var batch trace.Batch
	errFull := errors.New("queue is full")
	for refuse := true; ; refuse = !refuse {
		calls := 0
		n, err := f.Poll(context.Background(), func(b *tracefile.RawBlock) error {
			if calls++; refuse || calls == 3 {
				return errFull
			}
			if !b.Defs {
				if err := f.Read(b, &batch); err != nil {
					t.Fatal(err)
				}
				got = append(got, tracetest.Text(&batch))
			}
			return nil
		})
		if calls == 0 {
			break
		}
		if !refuse && calls == 3 && n != 2 || err != nil && !errors.Is(err, errFull) {
			t.Fatalf("%d blocks, %v", n, err)
		}
	}
	if want, _ := tracetest.Events(t, dir); !slices.Equal(got, want) || len(f.Problems()) > 0 {
		t.Errorf("%d blocks, want %d; %v", len(got), len(want), f.Problems())
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	f = New(dir)
	if n, err := f.Poll(ctx, func(*tracefile.RawBlock) error { return nil }); n != 0 || !errors.Is(err, context.Canceled) {
		t.Error(n, err)
	}
}

// Whatever happens to a file that is being followed is a problem, and nothing worse.
func TestFollowFaults(t *testing.T) {
	data := tracetest.File(t)
	for _, c := range []struct {
		name, want string
		do         func(dir, path string) error
	}{
		{"cut", "the file was cut to 100 bytes while it was read", func(_, path string) error {
			return os.Truncate(path, 100)
		}},
		{"replaced", "another file took its place", func(dir, path string) error {
			return errors.Join(os.WriteFile(filepath.Join(dir, "new"), data, 0o666),
				os.Rename(filepath.Join(dir, "new"), path))
		}},
		{"removed", "the file was removed", func(_, path string) error { return os.Remove(path) }},
		{"twice", "00007.wst: offset 0: another file holds node 0, too", func(dir, _ string) error {
			return os.WriteFile(filepath.Join(dir, tracefile.FileName(7)), data, 0o666)
		}},
		{"no trace", "00003.wst: offset 0: not a whyslow trace", func(dir, _ string) error {
			return os.WriteFile(filepath.Join(dir, tracefile.FileName(3)), bytes.Repeat([]byte("text"), 100), 0o666)
		}},
		{"folder", "00003.wst: offset 0: not a file but a folder", func(dir, _ string) error {
			return os.Mkdir(filepath.Join(dir, tracefile.FileName(3)), 0o777)
		}},
		{"newer", "a newer whyslow is needed", func(dir, _ string) error {
			b := bytes.Clone(data)
			b[8]++
			tracetest.CorrectSums(b)
			return os.WriteFile(filepath.Join(dir, tracefile.FileName(3)), b, 0o666)
		}},
		{"run.json", "run.json: ", func(dir, _ string) error {
			return os.WriteFile(filepath.Join(dir, tracefile.RunFile), []byte("{"), 0o666)
		}},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, tracefile.FileName(0))
		if err := os.WriteFile(path, data[:len(data)/2], 0o666); err != nil {
			t.Fatal(err)
		}
		f := New(dir)
		first := follow(t, f, nil)
		if err := c.do(dir, path); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if list := follow(t, f, nil); len(list) > 0 {
				t.Errorf("%s: %d blocks more", c.name, len(list))
			}
		}
		if len(first) == 0 || len(f.Problems()) != 1 || !strings.Contains(f.Problems()[0].String(), c.want) {
			t.Errorf("%s: %d blocks, problems %v", c.name, len(first), f.Problems())
		}
	}
	// A file on its own.
	path := filepath.Join(t.TempDir(), "any.wst")
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	f := New(path)
	if list := follow(t, f, nil); len(list) == 0 || len(f.Problems()) > 0 || !f.Closed(0) {
		t.Errorf("%d blocks, problems %v", len(list), f.Problems())
	}
}

// A finished file goes on: its index is cut off, and more blocks come, as when a sender is back.
func TestFollowFinishedThatGoesOn(t *testing.T) {
	whole := t.TempDir()
	if err := os.WriteFile(filepath.Join(whole, tracefile.FileName(0)), tracetest.File(t), 0o666); err != nil {
		t.Fatal(err)
	}
	var blocks [][]byte
	if _, err := New(whole).Poll(t.Context(), func(b *tracefile.RawBlock) error {
		blocks = append(blocks, bytes.Clone(b.Bytes))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	want := follow(t, New(whole), nil)
	dir := t.TempDir()
	f := New(dir)
	var got []string
	for _, part := range [][][]byte{blocks[:len(blocks)/2], blocks[len(blocks)/2:]} {
		a, err := tracefile.OpenAppend(t.Context(), dir, 0, "")
		if err != nil {
			t.Fatal(err)
		}
		if len(got) > 0 {
			if got = follow(t, f, got); f.Closed(0) {
				t.Error("closed without an index")
			}
		}
		for _, b := range part {
			if err := a.Append(b); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.Finish(); err != nil {
			t.Fatal(err)
		}
		if got = follow(t, f, got); !f.Closed(0) {
			t.Error("not closed")
		}
	}
	if !slices.Equal(got, want) || f.Lost(0) > 0 || len(texts(f.Problems())) > 0 || f.Stale() {
		t.Errorf("%d events of %d, lost %d, problems %q", len(got), len(want), f.Lost(0), f.Problems())
	}
}

// A file that was given up and is there again needs a new Follower.
func TestStale(t *testing.T) {
	dir := t.TempDir()
	file, whole := filepath.Join(dir, tracefile.FileName(0)), tracetest.File(t)
	if err := os.WriteFile(file, whole[:len(whole)/2], 0o666); err != nil {
		t.Fatal(err)
	}
	f := New(dir)
	follow(t, f, nil)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if follow(t, f, nil); f.Stale() {
		t.Error("stale, though nothing is there")
	}
	if err := os.WriteFile(file, whole, 0o666); err != nil {
		t.Fatal(err)
	}
	if follow(t, f, nil); !f.Stale() {
		t.Error("not stale, though the file is back")
	}
}

// Whatever a file holds and however it grows: no panic, no endless loop, and what comes is
// what a Reader finds, or less of it.
func FuzzFollow(f *testing.F) {
	data := tracetest.File(f)
	for _, sums := range []bool{false, true} {
		f.Add(data, uint64(7), sums)
		f.Add(data[:len(data)/2], uint64(3), sums)
		f.Add(append(bytes.Clone(data[:len(data)/3]), data[len(data)/2:]...), uint64(5), sums)
	}
	f.Fuzz(func(t *testing.T, data []byte, seed uint64, sums bool) {
		if len(data) > 1<<18 {
			return
		}
		data = bytes.Clone(data)
		if sums {
			tracetest.CorrectSums(data)
		}
		dir := t.TempDir()
		path := filepath.Join(dir, tracefile.FileName(0))
		rnd := rand.New(rand.NewPCG(seed, 1))
		fo := New(dir)
		var got []string
		for n := 0; n < len(data); {
			n = min(n+1+rnd.IntN(len(data)), len(data))
			if err := os.WriteFile(path, data[:n], 0o666); err != nil {
				t.Fatal(err)
			}
			got = follow(t, fo, got)
		}
		fo.Problems()
		atOnce := follow(t, New(dir), nil)
		want, _ := tracetest.Events(t, dir)
		if !slices.Equal(atOnce, want) {
			t.Errorf("%d blocks followed at once, %d bit by bit, %d read", len(atOnce), len(got), len(want))
		}
	})
}

// TestGreedyDefinitions: of what files define, a follower keeps only what it needs, and no more of that than
// it may.
func TestGreedyDefinitions(t *testing.T) {
	held := func(dir string) (bytes uint64, problems []tracefile.Problem) {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		f := New(dir)
		follow(t, f, nil)
		runtime.GC()
		runtime.ReadMemStats(&after)
		problems = f.Problems()
		return max(after.HeapAlloc, before.HeapAlloc) - before.HeapAlloc, problems
	}
	for _, what := range []string{"names", "sites", "dfs", "identities", "block", "kinds"} {
		dir := t.TempDir()
		tracetest.Greedy(t, dir, what, 1)
		if n, problems := held(dir); n > 16<<20 || len(problems) > 0 != (what == "block") {
			t.Errorf("%s: %d bytes are held, %v", what, n, problems)
		}
	}
	dir := t.TempDir()
	for node := range 40 {
		w, err := trace.Create(dir, node, trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 768 {
			if _, err := w.DefineKind(trace.KindSpec{Namespace: strings.Repeat("n", 256),
				Name: fmt.Sprint(strings.Repeat("k", 250), i)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n, problems := held(dir); n > 20<<20 || len(problems) == 0 ||
		!strings.Contains(problems[0].What, "kinds of events take more than") {
		t.Errorf("%d bytes are held, %v", n, problems)
	}
}

// BenchmarkFollow follows a trace that is all there: blocks as they are, and decoded.
func BenchmarkFollow(b *testing.B) {
	dir := b.TempDir()
	w, err := trace.Create(dir, 0, trace.Options{})
	if err != nil {
		b.Fatal(err)
	}
	const events = 200_000
	for i := range uint64(events) {
		if i%4 == 0 {
			w.DefineDF(trace.DF(i+1), w.Name("a"), []int64{0, 1, int64(i)})
		}
		w.Stream(int(i%2)).Emit(int64(i*100+i%7), trace.KindCFStarted, i+1, 1, 2, i/4*4+1, i/8*8+1)
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	for _, read := range []bool{false, true} {
		b.Run(map[bool]string{false: "blocks", true: "events"}[read], func(b *testing.B) {
			var batch trace.Batch
			for range b.N {
				f := New(dir)
				_, err := f.Poll(context.Background(), func(blk *tracefile.RawBlock) error {
					if read && !blk.Defs {
						return f.Read(blk, &batch)
					}
					return nil
				})
				if err != nil || len(f.Problems()) > 0 {
					b.Fatal(err, f.Problems())
				}
			}
			b.ReportMetric(float64(events)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
		})
	}
}

// BenchmarkFollowIdle is a look at a trace of many nodes in which nothing is new.
func BenchmarkFollowIdle(b *testing.B) {
	dir := b.TempDir()
	const nodes = 64
	for node := range nodes {
		w, err := trace.Create(dir, node, trace.Options{})
		if err != nil {
			b.Fatal(err)
		}
		defer w.Close()
		w.Stream(0).Emit(0, trace.KindIdle)
		w.Stream(0).Flush()
	}
	f := New(dir)
	for n := 0; n < nodes; {
		k, err := f.Poll(context.Background(), func(*tracefile.RawBlock) error { return nil })
		if err != nil {
			b.Fatal(err)
		}
		n += k
	}
	for b.Loop() {
		if _, err := f.Poll(context.Background(), func(*tracefile.RawBlock) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
