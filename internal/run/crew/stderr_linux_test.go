package crew

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever the pieces that text comes in, what is written at once is lines: as many as mpirun reads, or one
// that is longer.
func TestMPIPassLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var text []byte
		for _, n := range rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 60), rapid.IntRange(4000, 9000)), 0,
			200).Draw(t, "lengths") {
			text = append(append(text, strings.Repeat("x", n)...), '\n')
		}
		want := bytes.Clone(text)
		if rapid.Bool().Draw(t, "begun") {
			text, want = append(text, "last words"...), append(want, "last words\n"...)
		}
		out := &writes{}
		if err := passLines(&pieces{text, rapid.IntRange(1, 5000).Draw(t, "piece")}, out, func(n int) {
			out.asked = n
		}, nil); err != nil {
			t.Fatal(err)
		}
		if got := bytes.Join(out.all, nil); !bytes.Equal(got, want) {
			t.Fatalf("%d bytes instead of %d", len(got), len(want))
		}
		for _, b := range out.all {
			if n := bytes.Count(b, []byte("\n")); b[len(b)-1] != '\n' || len(b) > mpirunReads && n > 1 {
				t.Fatalf("%d lines in %d bytes at once", n, len(b))
			}
		}
	})
}

// A line without an end does not stay for ever.
func TestMPIPassLongLine(t *testing.T) {
	out := &writes{}
	if err := passLines(&pieces{bytes.Repeat([]byte("x"), longestLine+2000), 1000}, out,
		func(int) {}, nil); err != nil {
		t.Fatal(err)
	}
	if len(out.all) != 2 || len(out.all[0]) < longestLine || out.all[1][len(out.all[1])-1] != '\n' {
		t.Errorf("%d writes", len(out.all))
	}
}

// writes keeps what is written, by write.
type writes struct {
	all   [][]byte
	asked int
}

func (w *writes) Write(b []byte) (int, error) {
	if w.asked > 0 && w.asked != len(b) {
		return 0, fmt.Errorf("%d bytes, space was asked for %d", len(b), w.asked)
	}
	w.all = append(w.all, bytes.Clone(b))
	return len(b), nil
}

// pieces is text that is read so many bytes at a time, at most.
type pieces struct {
	text []byte
	n    int
}

func (p *pieces) Read(b []byte) (int, error) {
	n := copy(b, p.text[:min(p.n, len(p.text))])
	if p.text = p.text[n:]; n == 0 {
		return 0, os.ErrClosed
	}
	return n, nil
}

// Who reads as much as mpirun never gets a part of a line, however slow; lines that nobody reads are written
// all the same, and when nobody can read them that is an end.
func TestMPIPipeSpace(t *testing.T) {
	line := strings.Repeat("x", 99) + "\n"
	pipe := func() (r, w *os.File) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close(); w.Close() })
		return r, w
	}
	t.Run("read", func(t *testing.T) {
		r, w := pipe()
		go func() {
			_ = passLines(strings.NewReader(strings.Repeat(line, 1000)), w, pipeSpace(w), nil)
			w.Close()
		}()
		b, total := make([]byte, mpirunReads), 0
		for {
			n, err := r.Read(b)
			if err != nil {
				break
			}
			if total += n; b[n-1] != '\n' {
				t.Fatalf("a part of a line after %d bytes", total)
			}
		}
		if total != 1000*len(line) {
			t.Errorf("%d bytes", total)
		}
	})
	t.Run("not read", func(t *testing.T) {
		r, w := pipe()
		if err := passLines(strings.NewReader(strings.Repeat(line, 200)), w, pipeSpace(w), nil); err != nil {
			t.Fatal(err)
		}
		w.Close()
		if n, err := r.Read(make([]byte, 1<<20)); n != 200*len(line) {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
	t.Run("closed", func(t *testing.T) {
		r, w := pipe()
		r.Close()
		if err := passLines(strings.NewReader(strings.Repeat(line, 200)), w, pipeSpace(w), nil); err == nil {
			t.Error("no error")
		}
	})
}

// A rank that ends is told when all that it wrote before has come out, however its pipe is read, and what its
// children write afterwards comes out too.
func TestMPIPassEnd(t *testing.T) {
	for piece := 1; piece < 60; piece++ {
		out := &writes{}
		told := ""
		if err := passLines(&pieces{[]byte("one\ntwo" + endMark + "three\n"), piece}, out, func(int) {}, func() {
			told = string(bytes.Join(out.all, nil))
		}); err != nil {
			t.Fatal(err)
		}
		if told != "one\ntwo\n" && told != "one\ntwo\nthree\n" {
			t.Errorf("pieces of %d: %q had been written at the end", piece, told)
		}
		if got := string(bytes.Join(out.all, nil)); got != "one\ntwo\nthree\n" {
			t.Errorf("pieces of %d: %q", piece, got)
		}
	}
}
