package trace

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/whyslow/whyslow/internal/tracefile"
)

// A disk that is full at some moment: the program goes on and is told once, and what
// is in the file, what onLost events tell, and Unwritten make up all that was emitted.
func TestDiskFullIsToldOnce(t *testing.T) {
	for room := 40; room < 9000; room += 479 {
		for _, o := range []Options{{}, {Sync: true}, {Full: Drop, Pool: 1}} {
			what := fmt.Sprintf("room %d, %+v", room, o)
			dir := t.TempDir()
			var told atomic.Int32
			var first atomic.Value
			o.BufferBytes = 1 << 10
			o.OnError = func(err error) { told.Add(1); first.Store(err) }
			w, err := newWriter(newGate(t, dir, room), 0, o)
			if err != nil {
				t.Fatal(err)
			}
			w.path = "x.wst"
			n := uint64(0)
			for ; n < 5000 || w.Err() == nil && n < 10_000_000; n++ {
				w.Stream(int(n%3)).Emit(int64(n), KindReadyQueue, n*n)
			}
			err = w.Close()
			if told.Load() != 1 || !errors.Is(err, errFull) || told.Load() == 1 && !errors.Is(err,
				first.Load().(error)) || err.Error() != "cannot write x.wst: no space left on device" {
				t.Errorf("%s: told %d times; %v, %v", what, told.Load(), first.Load(), err)
			}
			info := &RunInfo{Nodes: []NodeInfo{{Node: 0, Workers: 3, Unwritten: w.Unwritten(), Error: err.Error()}}}
			if err := WriteRunInfo(dir, info); err != nil {
				t.Fatal(err)
			}
			r := open(t, dir)
			r.Verify(1)
			known, lost := uint64(0), uint64(0)
			for _, e := range readAll(t, r) {
				if e.Kind == KindLost {
					known += e.Args[0]
					lost += e.Args[0]
				} else {
					known++
				}
			}
			var events uint64
			for _, p := range r.Problems() {
				events += p.Events
				if p.Kind == Unwritten && w.Unwritten() > 0 &&
					p.String() != fmt.Sprintf("00000.wst: cannot write x.wst: no space left on device; %d events lost",
						w.Unwritten()) {
					t.Errorf("%s: %v", what, p)
				}
			}
			if known+w.Unwritten() != n || events != w.Unwritten() || w.Lost() != w.Unwritten()+lost {
				t.Errorf("%s: %d events known, %d unwritten, %d in problems, %d lost; %d emitted", what, known,
					w.Unwritten(), events, w.Lost(), n)
			}
			// Each worker's loss has a time, too.
			streams := map[int]bool{}
			for _, g := range r.Gaps() {
				streams[g.Stream] = true
			}
			if r.Events() > 0 && len(streams) < 2 { // the stream of the last event lacks nothing within the trace
				t.Errorf("%s: gaps %v of %v", what, r.Gaps(), r.Span())
			}
		}
	}
}

func TestUnwrittenOfRunInfo(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, 0, Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	info := &RunInfo{Ended: EndedDone, Nodes: []NodeInfo{{Node: 0, Unwritten: 3}, {Node: -3, Unwritten: 5}}}
	if err := WriteRunInfo(dir, info); err != nil {
		t.Fatal(err)
	}
	p := open(t, dir).Problems()
	if len(p) != 1 || !strings.HasSuffix(p[0].String(), "not everything could be written; 3 events lost") {
		t.Errorf("%v", p)
	}
}

func TestGaps(t *testing.T) {
	data := wholeFile(t)
	r, err := openBytes(t, data)
	if err != nil {
		t.Fatal(err)
	}
	if g := r.Gaps(); len(g) != 0 || r.Span() != (Span{0, 9995}) {
		t.Errorf("a whole trace: %v, %v", g, r.Span())
	}
	// Two blocks of stream 1 in a row, and the last of stream 0.
	var blocks [2][]tracefile.Block
	for _, b := range r.files[0].Blocks {
		blocks[b.Stream] = append(blocks[b.Stream], b)
	}
	end := blocks[0][len(blocks[0])-1]
	for _, b := range []tracefile.Block{blocks[1][2], blocks[1][3], end} {
		data[b.At+tracefile.BlockHeaderSize+5] ^= 1
	}
	if r, err = openBytes(t, data); err != nil {
		t.Fatal(err)
	}
	r.Verify(1)
	want := []Gap{
		{0, 0, Span{end.First, end.Last}},
		{0, 1, Span{blocks[1][2].First, blocks[1][2].Last}}, {0, 1, Span{blocks[1][3].First, blocks[1][3].Last}},
	}
	if g := r.Gaps(); !slices.Equal(g, want) {
		t.Errorf("%v\nwant %v", g, want)
	}
	r, err = openBytes(t, data[:tracefile.HeaderSize])
	if err != nil {
		t.Fatal(err)
	}
	if g := r.Gaps(); len(g) != 0 || r.Span() != (Span{}) {
		t.Errorf("an empty trace: %v, %v", g, r.Span())
	}
}
