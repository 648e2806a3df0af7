package trace_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	. "github.com/whyslow/whyslow/trace"
)

// twoNodes writes two nodes of two streams with 5000 events each, one each 10 ns.
func twoNodes(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	info := &RunInfo{Ended: EndedDone}
	for node := range 2 {
		info.Nodes = append(info.Nodes, NodeInfo{Node: node, Workers: 2})
		w, err := Create(dir, node, Options{BufferBytes: 2 << 10})
		if err != nil {
			t.Fatal(err)
		}
		for s := range 2 {
			st := w.Stream(s)
			st.Emit(0, KindProgramStarted, 0, 0)
			for i := range int64(4998) {
				st.Emit(10*(i+1), KindReadyQueue, uint64(i*i))
			}
			st.Emit(49990, KindProgramFinished, 0)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := WriteRunInfo(dir, info); err != nil {
		t.Fatal(err)
	}
	return dir
}

func mustOpen(t testing.TB, path string) *Reader {
	t.Helper()
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// A stretch of time is read without the blocks that have nothing of it.
func TestReadingByTime(t *testing.T) {
	r := mustOpen(t, twoNodes(t))
	if r.BytesRead() != 0 {
		t.Errorf("%d bytes of data read by Open", r.BytesRead())
	}
	for _, in := range []Span{{20000, 20990}, {49990, 1 << 40}, {-5, 0}, {50000, 60000}, Always} {
		want := 0
		for at := int64(0); at < 50000; at += 10 {
			if at >= in.From && at <= in.To {
				want += 4
			}
		}
		before, got, blocks := r.BytesRead(), 0, 0
		err := r.EachStream(1, func(c *Cursor) error {
			c.Within(in)
			for b := (Batch{}); c.Next(&b); blocks++ {
				if b.Last < in.From || b.First > in.To {
					t.Errorf("block from %d to %d is read for %v", b.First, b.Last, in)
				}
				for _, at := range b.Time {
					if at >= in.From && at <= in.To {
						got++
					}
				}
			}
			return nil
		})
		read := r.BytesRead() - before
		if err != nil || got != want {
			t.Errorf("%v: %d events, want %d, %v", in, got, want, err)
		}
		switch share := float64(read) / float64(r.Size()); {
		case in == Always && read != r.Size(), in != Always && share > 0.1, want == 0 && read != 0:
			t.Errorf("%v: %d blocks, %d of %d bytes read", in, blocks, read, r.Size())
		}
		// Cursors read the same, and so does the text twin.
		before = r.BytesRead()
		got = 0
		for _, s := range r.Streams() {
			c := r.StreamIn(s.Node, s.Stream, in)
			for b := (Batch{}); c.Next(&b); blocks-- {
			}
		}
		if blocks != 0 || r.BytesRead()-before != read {
			t.Errorf("%v: cursors: %d blocks more or less, %d bytes", in, -blocks, r.BytesRead()-before)
		}
		before = r.BytesRead()
		var text bytes.Buffer
		if err := twin.Dump(&text, r, twin.Options{In: &in, NoDefs: true}); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(text.String(), "\n"); n != want || r.BytesRead()-before != read {
			t.Errorf("%v: %d lines, %d bytes read", in, n, r.BytesRead()-before)
		}
	}
}

func TestDumpOfSomeStreams(t *testing.T) {
	r := mustOpen(t, twoNodes(t))
	var text bytes.Buffer
	err := twin.Dump(&text, r, twin.Options{NoDefs: true, Streams: func(node, stream int) bool {
		return node == 1 && stream == 0
	}})
	if err != nil || r.BytesRead() > r.Size()/3 {
		t.Error(err, r.BytesRead(), r.Size())
	}
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	if want := "20 n1 s0 GlobalEvents.onReadyQueue length=1"; len(lines) != 5000 || lines[2] != want {
		t.Errorf("%d lines; line 2 is %s", len(lines), lines[2])
	}
}

// What is missing or no trace is named; all the rest is read.
func TestFilesThatCannotBeRead(t *testing.T) {
	later, err := os.ReadFile("testdata/version-2.wst")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what   string
		change func(path string) error
		want   string
		kind   ProblemKind
	}{
		{"gone", os.Remove, "the file of node 1 is missing", Missing},
		{"empty", func(path string) error { return os.Truncate(path, 0) }, "the file of node 1 is empty", Missing},
		{"a letter", func(path string) error {
			return os.WriteFile(path, []byte("Dear reader, all is well. Yours, a file."), 0o666)
		},
			"offset 0: not a whyslow trace", Damaged},
		{"later", func(path string) error { return os.WriteFile(path, later, 0o666) },
			"offset 0: written in version 2 of the format, this program reads version 1: a newer whyslow is needed",
			Damaged},
		{"folder", func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o777)) },
			"offset 0: not a file but a folder", Damaged},
		{"pipe", func(path string) error { return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o666)) },
			"offset 0: not a file but a pipe", Damaged},
	} {
		t.Run(c.what, func(t *testing.T) {
			dir := twoNodes(t)
			if err := c.change(filepath.Join(dir, tracefile.FileName(1))); err != nil {
				t.Fatal(err)
			}
			r := mustOpen(t, dir)
			p := r.Problems()
			if len(p) != 1 || p[0].String() != "00001.wst: "+c.want || p[0].Kind != c.kind || p[0].Node != 1 ||
				p[0].File != tracefile.FileName(1) {
				t.Errorf("%+v", p)
			}
			if !slices.Equal(r.Nodes(), []int{0}) || r.Events() != 10000 {
				t.Errorf("nodes %v, %d events", r.Nodes(), r.Events())
			}
			// Alone it is no trace at all, and the error says which file.
			path := filepath.Join(dir, tracefile.FileName(1))
			if _, err := Open(path); c.what != "gone" && c.what != "folder" &&
				(err == nil || err.Error() != path+": "+c.want) {
				t.Errorf("alone: %v", err)
			}
		})
	}
}

// Without run.json the numbers of the files tell that some are missing.
func TestHoleInTheNumbers(t *testing.T) {
	dir := t.TempDir()
	for _, node := range []int{1, 4} {
		w, err := Create(dir, node, Options{})
		if err != nil {
			t.Fatal(err)
		}
		w.Close()
	}
	var got []string
	for _, p := range mustOpen(t, dir).Problems() {
		got = append(got, p.String())
	}
	want := []string{
		"00000.wst: the file of node 0 is missing (there is one of node 4)",
		"00002.wst: the file of node 2 is missing (there is one of node 4)",
		"00003.wst: the file of node 3 is missing (there is one of node 4)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if p := mustOpen(t, filepath.Join(dir, tracefile.FileName(4))).Problems(); len(p) != 0 {
		t.Errorf("a file by itself: %v", p)
	}
}

// run.json may list more nodes than there can be files; what is told stays readable.
func TestManyMissingFiles(t *testing.T) {
	dir := twoNodes(t)
	info := &RunInfo{Ended: EndedDone}
	for n := range 5000 {
		info.Nodes = append(info.Nodes, NodeInfo{Node: n, Workers: 1})
	}
	if err := WriteRunInfo(dir, info); err != nil {
		t.Fatal(err)
	}
	p := mustOpen(t, dir).Problems()
	if last := p[len(p)-1].String(); len(p) != 1001 || last != "04999.wst: 4998 files are missing in all" {
		t.Errorf("%d problems, %s", len(p), last)
	}
}

// A file that was not gathered yet is missing, and the reader says where it is.
func TestPartElsewhere(t *testing.T) {
	dir := twoNodes(t)
	info := &RunInfo{Ended: EndedDone, Nodes: []NodeInfo{{Node: 0}, {Node: 1, Part: "far:/disk/p.node1.trace"}}}
	if err := errors.Join(WriteRunInfo(dir, info), os.Remove(filepath.Join(dir, tracefile.FileName(1)))); err != nil {
		t.Fatal(err)
	}
	const want = "00001.wst: the file of node 1 is missing: it is in far:/disk/p.node1.trace, and belongs here"
	if p := mustOpen(t, dir).Problems(); len(p) != 1 || p[0].String() != want {
		t.Errorf("%v", p)
	}
}
