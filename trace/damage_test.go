package trace

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/internal/tracefile"
)

// The file that the tests here damage: two streams of 1000 events, time = 10 * number
// for one, 10 * number + 5 for the other, in blocks of some hundred.
func wholeFile(t testing.TB) []byte {
	dir := t.TempDir()
	w, err := Create(dir, 0, Options{BufferBytes: 2 << 10, Sync: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		for s := range 2 {
			st := w.Stream(s)
			at := int64(10*i + 5*s)
			switch i {
			case 0:
				st.Emit(at, KindProgramStarted, 0, 0)
			case 999:
				st.Emit(at, KindProgramFinished, 0)
			default:
				w.DefineDF(DF(2*i+s), w.Name(fmt.Sprint("name", i/100)), []int64{int64(s), int64(i)})
				st.Emit(at, KindDFStored, uint64(2*i+s), uint64(i*i))
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, tracefile.FileName(0)))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func openBytes(t testing.TB, data []byte) (*Reader, error) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, tracefile.FileName(0)), data, 0o666); err != nil {
		t.Fatal(err)
	}
	info := &RunInfo{Ended: EndedDone, Nodes: []NodeInfo{{Node: 0, Workers: 2}}}
	if err := WriteRunInfo(dir, info); err != nil {
		t.Fatal(err)
	}
	r, err := Open(dir)
	if err == nil {
		t.Cleanup(func() { r.Close() })
	}
	return r, err
}

// accounted checks that every event of wholeFile is either read, unchanged, or within
// an interval that a problem of its stream tells of.
func accounted(t *testing.T, r *Reader) (missing int) {
	t.Helper()
	r.Verify(1)
	have := map[int64]bool{}
	for _, e := range readAll(t, r) {
		i, s := e.Time/10, int(e.Time%10/5)
		if e.Time < 0 || i > 999 || s != e.Stream || have[e.Time] ||
			e.Kind == KindDFStored && !slices.Equal(e.Args, []uint64{uint64(2*i) + uint64(s), uint64(i * i)}) {
			t.Fatalf("event that nobody recorded: %v", e)
		}
		have[e.Time] = true
	}
	for i := range int64(1000) {
		for s := range 2 {
			at := 10*i + 5*int64(s)
			told := slices.ContainsFunc(r.Problems(), func(p Problem) bool {
				return p.Timed && p.Stream == s && p.From <= at && at <= p.To
			})
			if !have[at] {
				missing++
				if !told {
					t.Fatalf("stream %d lacks time %d and no problem tells it:\n%v", s, at, r.Problems())
				}
			}
		}
	}
	return missing
}

func TestWithoutIndex(t *testing.T) {
	data := wholeFile(t)
	r, err := openBytes(t, data)
	if err != nil {
		t.Fatal(err)
	}
	if accounted(t, r) != 0 || len(r.Problems()) != 0 || !r.Closed(0) {
		t.Errorf("whole file: %v", r.Problems())
	}
	// Without the trailer, and with an index that is damaged, a scan finds the same.
	cut := data[:len(data)-tracefile.TrailerSize]
	flipped := slices.Clone(data)
	flipped[len(data)-tracefile.TrailerSize-3] ^= 1
	for i, d := range [][]byte{cut, flipped} {
		s, err := openBytes(t, d)
		if err != nil {
			t.Fatal(err)
		}
		if accounted(t, s) != 0 || s.Defs(0).DFCount() != r.Defs(0).DFCount() {
			t.Errorf("%d: a scan finds something else", i)
		}
	}
}

// A killed run: the file ends anywhere.
func TestCutAnywhere(t *testing.T) {
	data := wholeFile(t)
	last := math.MaxInt
	for n := len(data) - tracefile.TrailerSize - 1; n >= 0; n -= 97 {
		r, err := openBytes(t, data[:n])
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		missing := accounted(t, r)
		if have := 2000 - missing; have > last {
			t.Errorf("cut at %d: more events than with more of the file", n)
		} else {
			last = have
		}
		if len(r.Problems()) == 0 && missing > 0 {
			t.Errorf("cut at %d: no problem", n)
		}
	}
}

// Flipped bits, overwritten and missing pieces: the rest is read.
func TestDamageAnywhere(t *testing.T) {
	data := wholeFile(t)
	damage := map[string]func(d []byte, at int) []byte{
		"flip":   func(d []byte, at int) []byte { d[at] ^= 0x10; return d },
		"zeros":  func(d []byte, at int) []byte { clear(d[at:min(at+300, len(d))]); return d },
		"remove": func(d []byte, at int) []byte { return slices.Delete(d, at, min(at+150, len(d))) },
		"insert": func(d []byte, at int) []byte { return slices.Insert(d, at, d[:200]...) },
		"double": func(d []byte, at int) []byte {
			return slices.Insert(d, at, []byte(tracefile.BlockMagic+tracefile.BlockMagic)...)
		},
	}
	for name, f := range damage {
		t.Run(name, func(t *testing.T) {
			for at := tracefile.HeaderSize; at < len(data); at += effort.Times(307, 61) {
				r, err := openBytes(t, f(slices.Clone(data), at))
				if err != nil {
					t.Fatalf("at %d: %v", at, err)
				}
				if missing := accounted(t, r); missing > 700 {
					t.Errorf("at %d: %d of 2000 events missing\n%v", at, missing, r.Problems())
				}
			}
		})
	}
}

func TestDamagedFileHeader(t *testing.T) {
	data := wholeFile(t)
	data[13] = 9
	r, err := openBytes(t, data)
	if err != nil {
		t.Fatal(err)
	}
	if accounted(t, r) != 0 || len(r.Problems()) != 1 || r.Nodes()[0] != 0 {
		t.Errorf("problems %v", r.Problems())
	}
	data = wholeFile(t)
	data[8] = 2
	if _, err := openBytes(t, resum(data)); err == nil || !strings.Contains(err.Error(),
		"written in version 2 of the format, this program reads version 1") {
		t.Errorf("later version: %v", err)
	}
	if _, err := openBytes(t, []byte("Hello, this is a letter to a friend.")); err == nil ||
		!strings.Contains(err.Error(), "not a whyslow trace") {
		t.Errorf("a letter: %v", err)
	}
}

// resum corrects the sum of the file header.
func resum(data []byte) []byte {
	h := data[:tracefile.HeaderSize-4]
	sum := tracefile.Checksum(h)
	for i := range 4 {
		data[tracefile.HeaderSize-4+i] = byte(sum >> (8 * i))
	}
	return data
}

func TestProblemsInWords(t *testing.T) {
	data := wholeFile(t)
	r, err := openBytes(t, data)
	if err != nil {
		t.Fatal(err)
	}
	b := r.files[0].Blocks[2]
	bad := slices.Clone(data)
	bad[b.At+tracefile.BlockHeaderSize+5] ^= 1
	r, err = openBytes(t, bad)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Problems()) != 0 {
		t.Errorf("damage inside a block is seen before the block is read: %v", r.Problems())
	}
	r.Verify(1)
	r.Verify(1)
	want := fmt.Sprintf("00000.wst: offset %d: block checksum is wrong; %d events lost; stream 0 lacks %d ns "+
		"to %d ns", b.At, b.Count, b.First, b.Last)
	if p := r.Problems(); len(p) != 1 || p[0].String() != want {
		t.Errorf("got %v\nwant %s", p, want)
	}

	r, _ = openBytes(t, data[:b.At+tracefile.BlockHeaderSize+10])
	var got []string
	for _, p := range r.Problems() {
		got = append(got, p.Kind.String()+" "+p.String())
	}
	want = fmt.Sprintf(`truncated 00000.wst: offset %d: file ends within a block; %d events lost; stream 0 lacks %d ns to %d ns
unfinished 00000.wst: offset %d: stream 0 ends without onProgramFinished
unfinished 00000.wst: offset %[5]d: stream 1 ends without onProgramFinished`, b.At, b.Count, b.First, b.Last, b.At+tracefile.BlockHeaderSize+10)
	if s := strings.Join(got, "\n"); s != want {
		t.Errorf("got\n%s\nwant\n%s", s, want)
	}
}

// A lost definition block leaves numbers.
func TestLostDefinitions(t *testing.T) {
	data := wholeFile(t)
	r, err := openBytes(t, data)
	if err != nil {
		t.Fatal(err)
	}
	first := r.files[0].DefsAt[0]
	bad := slices.Clone(data)
	bad[first.At+tracefile.BlockHeaderSize+5] ^= 1
	if r, err = openBytes(t, bad); err != nil {
		t.Fatal(err)
	}
	if accounted(t, r) != 0 {
		t.Error("events are missing")
	}
	if s := r.Defs(0).Name(1); s != "#1" {
		t.Errorf("lost name is shown as %q", s)
	}
	if p := r.Problems(); len(p) != 1 || !strings.Contains(p[0].String(),
		"definition block 0: checksum is wrong; what it defines is shown by number") {
		t.Errorf("%v", p)
	}
}

// Very regular events compress better than a reader allows, so the block is padded.
func TestRegularEvents(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, 0, Options{BufferBytes: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	const n = 1_000_000
	s := w.Stream(0)
	for range n {
		s.Emit(7, KindIdle)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := open(t, dir)
	noProblems(t, r)
	if len(readAll(t, r)) != n {
		t.Error("events are missing")
	}
	st, _ := os.Stat(filepath.Join(dir, tracefile.FileName(0)))
	if st.Size() > n/64*2 {
		t.Errorf("%d bytes for %d equal events", st.Size(), n)
	}
}
