package trace

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/tracefile"
)

// Many workers append and define at once while the writer writes. Run with -race.
func TestWorkersAndWriter(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, 0, Options{BufferBytes: 2 << 10, Pool: 2})
	if err != nil {
		t.Fatal(err)
	}
	const workers, events = 6, 3000
	var wg sync.WaitGroup
	for id := range workers {
		wg.Go(func() {
			s := w.Stream(id)
			for i := range events {
				df := DF(id*events + i + 1)
				w.DefineDF(df, w.Name(fmt.Sprint("name", i%10)), []int64{int64(id), int64(i)})
				s.Emit(int64(i), KindDFCreate, uint64(df), 8, uint64(MakeCF(0, uint64(i))))
				if i%1000 == 999 {
					s.Flush()
				}
			}
		})
	}
	wg.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if w.Lost() != 0 {
		t.Errorf("%d events lost", w.Lost())
	}
	r := open(t, dir)
	noProblems(t, r)
	d := r.Defs(0)
	if d.DFCount() != workers*events {
		t.Errorf("%d DFs", d.DFCount())
	}
	next := [workers]int{}
	for _, e := range readAll(t, r) {
		want := []int64{int64(e.Stream), int64(next[e.Stream])}
		name, identity, ok := d.DF(DF(e.Args[0]), nil)
		if !ok || !slices.Equal(identity, want) || d.Name(name) != fmt.Sprint("name", next[e.Stream]%10) {
			t.Fatalf("stream %d: event of %v, want %v", e.Stream, identity, want)
		}
		next[e.Stream]++
	}
	if next != [workers]int{events, events, events, events, events, events} {
		t.Errorf("events by stream: %v", next)
	}
}

// Every block must follow the definitions that its events use, for a reader of an
// unfinished file.
func TestDefinitionsComeFirst(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, 0, Options{BufferBytes: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		w.DefineDF(DF(i+1), w.Name("x"), []int64{int64(i)})
		w.Stream(0).Emit(int64(i), KindDFStored, uint64(i+1), 0)
	}
	w.Close()
	f := open(t, dir).files[0]
	defined := uint64(0)
	next := 0
	for i := range f.Blocks {
		b := &f.Blocks[i]
		for ; next < len(f.DefsAt) && f.DefsAt[next].At < b.At; next++ {
			defined += uint64(f.DefsAt[next].Count)
		}
		if int(b.Defs) != next {
			t.Errorf("block %d needs %d definition blocks, %d come before", i, b.Defs, next)
		}
		// One of the definitions is the string.
		if last := uint64(b.Last) + 1; defined-1 < last {
			t.Errorf("block %d uses DF %d, %d are defined before", i, last, defined-1)
		}
	}
}

// gate is an output that can be stopped and made to fail.
type gate struct {
	mu     sync.Mutex
	file   *os.File
	room   int // bytes until the disk is full; negative: no limit
	writes int
}

var errFull = errors.New("no space left on device")

func (g *gate) Write(b []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.writes++
	if g.room >= 0 && len(b) > g.room {
		n, _ := g.file.Write(b[:g.room])
		g.room = 0
		return n, errFull
	}
	if g.room >= 0 {
		g.room -= len(b)
	}
	return g.file.Write(b)
}

func (g *gate) Truncate(n int64) error                    { return g.file.Truncate(n) }
func (g *gate) Seek(off int64, whence int) (int64, error) { return g.file.Seek(off, whence) }
func (g *gate) Close() error                              { return g.file.Close() }

func newGate(t testing.TB, dir string, room int) *gate {
	f, err := os.Create(filepath.Join(dir, tracefile.FileName(0)))
	if err != nil {
		t.Fatal(err)
	}
	return &gate{file: f, room: room}
}

func TestDropTellsTheLoss(t *testing.T) {
	dir := t.TempDir()
	g := newGate(t, dir, -1)
	w, err := newWriter(g, 0, Options{BufferBytes: 1 << 10, Pool: 1, Full: Drop})
	if err != nil {
		t.Fatal(err)
	}
	s := w.Stream(4)
	g.mu.Lock() // the disk hangs
	for i := range 1000 {
		s.Emit(int64(i), KindReadyQueue, uint64(i))
	}
	lost := w.Lost()
	g.mu.Unlock()
	if lost < 500 || lost > 900 {
		t.Errorf("%d of 1000 events lost with two small buffers", lost)
	}
	for w.mu.Lock(); len(w.free) == 0; w.mu.Lock() {
		w.mu.Unlock()
		time.Sleep(time.Millisecond)
	}
	w.mu.Unlock()
	for i := range 10 {
		s.Emit(int64(2000+i), KindReadyQueue, uint64(i))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := open(t, dir)
	noProblems(t, r)
	events := readAll(t, r)
	i := slices.IndexFunc(events, func(e event) bool { return e.Kind == KindLost })
	if i < 0 {
		t.Fatal("no onLost")
	}
	e := events[i]
	// All that was recorded before is there, and the loss is exactly what is not.
	first, last := events[i-1].Time+1, int64(999)
	want := []uint64{uint64(last - first + 1), uint64(first), uint64(last), 4}
	if !slices.Equal(e.Args, want) || w.Lost() != want[0] || int(first) != i {
		t.Errorf("onLost %v, Lost %d, want %v; %d events before", e.Args, w.Lost(), want, i)
	}
	if len(events) != i+1+10 {
		t.Errorf("%d events after the loss, want 10", len(events)-i-1)
	}
}

func TestDropAtTheEnd(t *testing.T) {
	dir := t.TempDir()
	g := newGate(t, dir, -1)
	w, err := newWriter(g, 0, Options{BufferBytes: 1 << 10, Pool: 1, Full: Drop})
	if err != nil {
		t.Fatal(err)
	}
	g.mu.Lock()
	for i := range 1000 {
		w.Stream(0).Emit(int64(i), KindReadyQueue, uint64(i))
	}
	g.mu.Unlock()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	events := readAll(t, open(t, dir))
	last := events[len(events)-1]
	if last.Kind != KindLost || last.Args[0] != uint64(1000-(len(events)-1)) || last.Args[2] != 999 {
		t.Errorf("last event %v of %d", last, len(events))
	}
}

func TestWaitLosesNothing(t *testing.T) {
	dir := t.TempDir()
	g := newGate(t, dir, -1)
	w, err := newWriter(g, 0, Options{BufferBytes: 1 << 10, Pool: 1})
	if err != nil {
		t.Fatal(err)
	}
	g.mu.Lock()
	var done atomic.Bool
	go func() {
		for i := range 1000 {
			w.Stream(0).Emit(int64(i), KindReadyQueue, uint64(i))
		}
		done.Store(true)
	}()
	time.Sleep(20 * time.Millisecond)
	if done.Load() {
		t.Error("the emitter did not wait")
	}
	g.mu.Unlock()
	for !done.Load() {
		time.Sleep(time.Millisecond)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n := len(readAll(t, open(t, dir))); n != 1000 {
		t.Errorf("%d events", n)
	}
}

func TestDiskFull(t *testing.T) {
	for _, room := range []int{40, 100, 700, 2000, 5000} {
		for _, sync := range []bool{false, true} {
			dir := t.TempDir()
			g := newGate(t, dir, room)
			w, err := newWriter(g, 0, Options{BufferBytes: 1 << 10, Sync: sync})
			if err != nil {
				t.Fatal(err)
			}
			const n = 5000
			for i := range n {
				w.Stream(i%3).Emit(int64(i), KindReadyQueue, uint64(i*i))
			}
			if err := w.Close(); !errors.Is(err, errFull) || !errors.Is(w.Err(), errFull) {
				t.Errorf("room %d: error %v", room, err)
			}
			r := open(t, dir)
			r.Verify(1)
			events := readAll(t, r)
			if uint64(len(events))+w.Lost() != n {
				t.Errorf("room %d: %d events and %d lost make no %d", room, len(events), w.Lost(), n)
			}
			for _, p := range r.Problems() {
				if p.Kind != Unfinished {
					t.Errorf("room %d: %v", room, p)
				}
			}
		}
	}
}

// A worker crashes while others go on appending: all that was recorded before is in
// the file, and nothing in it is made up.
func TestAbandonWhileOthersAppend(t *testing.T) {
	for i := range 4 {
		dir := t.TempDir()
		w, err := Create(dir, 0, Options{BufferBytes: 4 << 10, Sync: i&1 > 0, FlushEvery: time.Duration(i & 2)})
		if err != nil {
			t.Fatal(err)
		}
		const workers = 4
		var done [workers]atomic.Int64
		var stop atomic.Bool
		for id := range workers {
			go func() {
				s := w.Stream(id)
				list := make([]uint64, 8)
				for i := int64(0); !stop.Load(); i++ {
					n := uint64(i % 6)
					for j := range n {
						list[3+j] = uint64(i)
					}
					list[0], list[1], list[2] = uint64(MakeCF(id, uint64(i+1))), uint64(i), n
					s.Emit(i, KindCFStarted, list[:3+n]...)
					done[id].Store(i)
					runtime.Gosched()
				}
			}()
		}
		time.Sleep(time.Duration(5+rand.IntN(20)) * time.Millisecond)
		var before [workers]int64
		for id := range workers {
			before[id] = done[id].Load()
		}
		w.Abandon()
		r := open(t, dir)
		noProblems(t, r)
		var got [workers]int64
		for _, e := range readAll(t, r) {
			i := got[e.Stream]
			got[e.Stream]++
			ok := e.Time == i && e.Args[0] == uint64(MakeCF(e.Stream, uint64(i+1))) && e.Args[1] == uint64(i) &&
				e.Args[2] == uint64(i%6)
			for _, v := range e.Args[3:] {
				ok = ok && v == uint64(i)
			}
			if !ok {
				t.Fatalf("stream %d: event %d is %v", e.Stream, i, e)
			}
		}
		for id := range workers {
			if got[id] < before[id] {
				t.Errorf("stream %d: %d events in the file, %d had been recorded", id, got[id], before[id])
			}
		}
		stop.Store(true)
		w.Close()
	}
}

func TestAbandonWithAHangingDisk(t *testing.T) {
	g := newGate(t, t.TempDir(), -1)
	w, err := newWriter(g, 0, Options{BufferBytes: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		w.Stream(0).Emit(int64(i), KindIdle)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	w.Abandon() // or this never ends
}

func TestUserKinds(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, 0, Options{})
	if err != nil {
		t.Fatal(err)
	}
	spec := KindSpec{Namespace: "My", Name: "onStep", Fields: []Field{{Name: "x", Type: FieldFloat},
		{Name: "l", Type: FieldInts}}, Doc: "A step."}
	k, err := w.DefineKind(spec)
	if err != nil || k != FirstUserKind {
		t.Fatal(k, err)
	}
	if again, err := w.DefineKind(spec); again != k || err != nil {
		t.Error(again, err)
	}
	other := spec
	other.Fields = spec.Fields[:1]
	if _, err := w.DefineKind(other); err == nil ||
		err.Error() != "event My.onStep is declared as (x Float, l Ints) and as (x Float)" {
		t.Error(err)
	}
	if _, err := w.DefineKind(KindSpec{Namespace: "CFEvents", Name: "onReady"}); err == nil {
		t.Error("a standard event was declared")
	}
	w.Stream(0).Emit(1, k, 5, 2, 7, 8)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := open(t, dir)
	noProblems(t, r)
	if got := r.Defs(0).Kind(k); got == nil || got.String() != "My.onStep" || got.Doc != "A step." ||
		got.Signature() != "(x Float, l Ints)" {
		t.Errorf("%+v", got)
	}
	if e := readAll(t, r); len(e) != 1 || !slices.Equal(e[0].Args, []uint64{5, 2, 7, 8}) {
		t.Errorf("%v", e)
	}
}

func TestLongLists(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, 0, Options{BufferBytes: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	s := w.Stream(0)
	for i, n := range []int{0, 1, 127, 128, 129, 5000, MaxList, MaxList + 20, 3} {
		rec := s.Reserve(4 + n)
		for j := range n {
			rec[4+j] = uint64(j)
		}
		rec[1], rec[2], rec[3] = 1, 1, uint64(n)
		rec[0] = Header(int64(i), KindCFStarted)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := open(t, dir)
	noProblems(t, r)
	text := ""
	for _, e := range readAll(t, r) {
		if e.Kind == KindLost {
			text += fmt.Sprint("lost ", e.Args, " ")
		} else {
			text += fmt.Sprint(e.Args[2], " ")
		}
	}
	if want := fmt.Sprintf("0 1 127 128 129 5000 %d lost [1 7 7 0] 3 ", MaxList); text != want || w.Lost() != 1 {
		t.Errorf("%s, lost %d", text, w.Lost())
	}
}

func TestManyDefinitions(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, 0, Options{})
	if err != nil {
		t.Fatal(err)
	}
	const n = 150_000
	for i := range n {
		w.Name(fmt.Sprintf("a string that is not so short %d", i))
		w.DefineDF(DF(i+1), 1, []int64{0, 0, int64(i)})
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := open(t, dir)
	d := r.Defs(0)
	if s := d.Name(n); s != fmt.Sprintf("a string that is not so short %d", n-1) || d.DFCount() != n {
		t.Errorf("%q, %d DFs", s, d.DFCount())
	}
	for _, b := range r.files[0].DefsAt {
		if b.Raw > 4<<20 {
			t.Errorf("a definition block of %d bytes", b.Raw)
		}
	}
}
