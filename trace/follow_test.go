package trace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// given is a block as a test compares it.
func given(b *Batch) string {
	return fmt.Sprint(b.Node, b.Stream, b.First, b.Last, b.Time[:b.N], b.Kind[:b.N], b.Words)
}

// follow polls once and appends the blocks of events that can be read to list.
func follow(t testing.TB, f *Follower, list []string) []string {
	t.Helper()
	var batch Batch
	_, err := f.Poll(context.Background(), func(b *RawBlock) error {
		again, size, err := ParseBlockHeader(b.Bytes)
		if err != nil || size != len(b.Bytes) || again.Number != b.Number || again.Defs != b.Defs {
			t.Fatalf("a block that is not whole: %+v, %v", b, err)
		}
		if !b.Defs && b.Read(&batch) == nil {
			list = append(list, given(&batch))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// readBlocks is what a Reader gives.
func readBlocks(t testing.TB, dir string) (list []string, r *Reader) {
	r, err := Open(dir)
	if err != nil {
		return nil, nil
	}
	defer r.Close()
	if err := r.Each(1, func(b *Batch) error { list = append(list, given(b)); return nil }); err != nil {
		t.Fatal(err)
	}
	return list, r
}

func texts(problems []Problem) []string {
	var list []string
	for _, p := range problems {
		if p.Kind != Unfinished && p.Kind != Truncated {
			list = append(list, p.String())
		}
	}
	slices.Sort(list)
	return list
}

// A trace that appears bit by bit, whole or damaged anywhere, gives what a Reader gives of
// it in the end, and tells the same problems.
func TestFollowedLikeRead(t *testing.T) {
	whole := wholeFile(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, FileName(0)), whole, 0o666); err != nil {
		t.Fatal(err)
	}
	all, _ := readBlocks(t, dir)
	rapid.Check(t, func(rt *rapid.T) {
		data := bytes.Clone(whole)
		indexed := rapid.Bool().Draw(rt, "indexed")
		if !indexed {
			data = data[:len(data)-trailerLength]
		}
		for range rapid.IntRange(0, 3).Draw(rt, "faults") {
			from := rapid.IntRange(fileHeader, len(data)-1).Draw(rt, "from")
			to := min(from+rapid.SampledFrom([]int{1, 30, 70, 900, 3000}).Draw(rt, "length"), len(data))
			switch rapid.IntRange(0, 3).Draw(rt, "fault") {
			case 0:
				data[from] ^= 1 << rapid.IntRange(0, 7).Draw(rt, "bit")
			case 1:
				data = slices.Delete(data, from, to)
			case 2:
				data = slices.Insert(data, from, bytes.Repeat([]byte{blockMagic[0]}, to-from)...)
			case 3:
				data = data[:max(from, 100)]
			}
			if len(data) <= fileHeader {
				break
			}
		}
		cuts := rapid.SliceOfN(rapid.IntRange(0, len(data)), 0, 12).Draw(rt, "portions")
		slices.Sort(cuts)

		dir := filepath.Join(t.TempDir(), "t")
		path := filepath.Join(dir, FileName(0))
		f := NewFollower(dir)
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
		want, r := readBlocks(t, dir)
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

func problemsOf(r *Reader) []Problem {
	if r == nil {
		return nil
	}
	return r.Problems()
}

// A run is followed while it is recorded: files and run.json that come later, blocks as
// soon as they are written, the end.
func TestFollowARun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	f := NewFollower(dir)
	if list := follow(t, f, nil); len(list) > 0 || f.Info() == nil || f.InfoVersion() != 0 ||
		len(f.Nodes()) > 0 || f.Defs(0) != nil {
		t.Fatalf("something in nothing: %v %+v", list, f)
	}
	info := &RunInfo{ID: NewRunID(), Program: "p.fa"}
	if err := WriteRunInfo(dir, info); err != nil {
		t.Fatal(err)
	}
	var got []string
	var writers []*Writer
	for node := range 3 {
		w, err := Create(dir, node, Options{FlushEvery: 2 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		writers = append(writers, w)
		for i := range 20 {
			name := w.Name(fmt.Sprint("x", i))
			w.DefineDF(DF(i+1), name, []int64{0, int64(i)})
			w.Stream(0).Emit(int64(i), KindDFStored, uint64(i+1), 1)
			n := len(got)
			ofNode := func(b string) bool { return strings.HasPrefix(b, fmt.Sprint(node)) }
			for i%5 == 0 && !slices.ContainsFunc(got[n:], ofNode) {
				time.Sleep(time.Millisecond)
				got = follow(t, f, got)
			}
			if i%5 == 0 {
				if _, ok := f.Defs(node).DFName(DF(i + 1)); !ok {
					t.Fatalf("DF %d came without its name", i+1)
				}
			}
		}
		if f.Info().Program != "p.fa" || len(f.Info().ID) != 32 || f.InfoVersion() != 1 || f.Closed(node) {
			t.Fatalf("%+v", f.Info())
		}
	}
	writers[0].Abandon()
	writers[1].Close()
	info.Ended = EndedDone
	if err := WriteRunInfo(dir, info); err != nil {
		t.Fatal(err)
	}
	got = follow(t, f, got)
	if !f.Closed(0) || !f.Closed(1) || f.Closed(2) || f.Info().Ended != EndedDone || f.InfoVersion() != 2 ||
		!slices.Equal(f.Nodes(), []int{0, 1, 2}) {
		t.Errorf("%v %v %v %+v", f.Closed(0), f.Closed(1), f.Closed(2), f.Info())
	}
	writers[2].Close()
	got = follow(t, f, got)
	want, _ := readBlocks(t, dir)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || len(f.Problems()) > 0 {
		t.Errorf("%d blocks, want %d; %v", len(got), len(want), f.Problems())
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// A block that the caller could not take is given again; an end of the context is told.
func TestFollowAgain(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, FileName(0)), wholeFile(t), 0o666); err != nil {
		t.Fatal(err)
	}
	f := NewFollower(dir)
	var got []string
	var batch Batch
	errFull := errors.New("queue is full")
	for refuse := true; ; refuse = !refuse {
		calls := 0
		n, err := f.Poll(context.Background(), func(b *RawBlock) error {
			if calls++; refuse || calls == 3 {
				return errFull
			}
			if !b.Defs {
				if err := b.Read(&batch); err != nil {
					t.Fatal(err)
				}
				got = append(got, given(&batch))
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
	if want, _ := readBlocks(t, dir); !slices.Equal(got, want) || len(f.Problems()) > 0 {
		t.Errorf("%d blocks, want %d; %v", len(got), len(want), f.Problems())
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	f = NewFollower(dir)
	if n, err := f.Poll(ctx, func(*RawBlock) error { return nil }); n != 0 || !errors.Is(err, context.Canceled) {
		t.Error(n, err)
	}
}

// Whatever happens to a file that is being followed is a problem, and nothing worse.
func TestFollowFaults(t *testing.T) {
	data := wholeFile(t)
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
			return os.WriteFile(filepath.Join(dir, FileName(7)), data, 0o666)
		}},
		{"no trace", "00003.wst: offset 0: not a whyslow trace", func(dir, _ string) error {
			return os.WriteFile(filepath.Join(dir, FileName(3)), bytes.Repeat([]byte("text"), 100), 0o666)
		}},
		{"folder", "00003.wst: offset 0: not a file but a folder", func(dir, _ string) error {
			return os.Mkdir(filepath.Join(dir, FileName(3)), 0o777)
		}},
		{"newer", "a newer whyslow is needed", func(dir, _ string) error {
			b := bytes.Clone(data)
			b[8]++
			resum(b)
			return os.WriteFile(filepath.Join(dir, FileName(3)), b, 0o666)
		}},
		{"run.json", "run.json: ", func(dir, _ string) error {
			return os.WriteFile(filepath.Join(dir, runFile), []byte("{"), 0o666)
		}},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, FileName(0))
		if err := os.WriteFile(path, data[:len(data)/2], 0o666); err != nil {
			t.Fatal(err)
		}
		f := NewFollower(dir)
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
	f := NewFollower(path)
	if list := follow(t, f, nil); len(list) == 0 || len(f.Problems()) > 0 || !f.Closed(0) {
		t.Errorf("%d blocks, problems %v", len(list), f.Problems())
	}
}

// Whatever a file holds and however it grows: no panic, no endless loop, and what comes is
// what a Reader finds, or less of it.
func FuzzFollow(f *testing.F) {
	data := wholeFile(f)
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
			resumAll(data)
		}
		dir := t.TempDir()
		path := filepath.Join(dir, FileName(0))
		rnd := rand.New(rand.NewPCG(seed, 1))
		fo := NewFollower(dir)
		var got []string
		for n := 0; n < len(data); {
			n = min(n+1+rnd.IntN(len(data)), len(data))
			if err := os.WriteFile(path, data[:n], 0o666); err != nil {
				t.Fatal(err)
			}
			got = follow(t, fo, got)
		}
		fo.Problems()
		atOnce := follow(t, NewFollower(dir), nil)
		want, _ := readBlocks(t, dir)
		if !slices.Equal(atOnce, want) {
			t.Errorf("%d blocks followed at once, %d bit by bit, %d read", len(atOnce), len(got), len(want))
		}
	})
}

// BenchmarkFollow follows a trace that is all there: blocks as they are, and decoded.
func BenchmarkFollow(b *testing.B) {
	dir := b.TempDir()
	wl := cholesky(b, dir, 60, 2, 2, Options{})
	for _, read := range []bool{false, true} {
		b.Run(map[bool]string{false: "blocks", true: "events"}[read], func(b *testing.B) {
			b.SetBytes(wl.bytes)
			var batch Batch
			for range b.N {
				f := NewFollower(dir)
				_, err := f.Poll(context.Background(), func(blk *RawBlock) error {
					if read && !blk.Defs {
						return blk.Read(&batch)
					}
					return nil
				})
				if err != nil || len(f.Problems()) > 0 {
					b.Fatal(err, f.Problems())
				}
			}
			b.ReportMetric(float64(wl.events)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
		})
	}
}

// BenchmarkFollowIdle is a look at a trace of many nodes in which nothing is new.
func BenchmarkFollowIdle(b *testing.B) {
	dir := b.TempDir()
	const nodes = 64
	for node := range nodes {
		w, err := Create(dir, node, Options{})
		if err != nil {
			b.Fatal(err)
		}
		defer w.Close()
		w.Stream(0).Emit(0, KindIdle)
		w.Stream(0).Flush()
	}
	f := NewFollower(dir)
	for n := 0; n < nodes; {
		k, err := f.Poll(context.Background(), func(*RawBlock) error { return nil })
		if err != nil {
			b.Fatal(err)
		}
		n += k
	}
	for b.Loop() {
		if _, err := f.Poll(context.Background(), func(*RawBlock) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
