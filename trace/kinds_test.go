package trace

import (
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestKindsTable(t *testing.T) {
	last := Kind(0)
	seen := map[string]bool{}
	for _, k := range Kinds() {
		if k.Kind <= last || k.Kind >= FirstUserKind {
			t.Errorf("%s has number %d after %d", &k, k.Kind, last)
		}
		last = k.Kind
		for _, name := range append([]string{k.Name}, k.Alias...) {
			full := k.Namespace + "." + name
			if seen[full] {
				t.Errorf("%s is there twice", full)
			}
			seen[full] = true
			if got, ok := KindByName(k.Namespace, name); !ok || got != k.Kind {
				t.Errorf("KindByName(%s) is %d", full, got)
			}
		}
		if k.Kind.Spec().Name != k.Name || k.Kind.String() != k.Namespace+"."+k.Name {
			t.Errorf("%s: Spec or String", &k)
		}
		// What is demanded of user kinds holds for the standard ones.
		own := k
		own.Namespace = "Copy"
		if err := own.Check(); err != nil {
			t.Error(err)
		}
	}
}

func TestIDs(t *testing.T) {
	cf := MakeCF(MaxNode, 1<<48-1)
	if cf.Node() != MaxNode || cf.Counter() != 1<<48-1 || cf.String() != "65535.281474976710655" ||
		CF(0).String() != "-" {
		t.Error(cf, cf.Node(), cf.Counter())
	}
	if Deleted.String() != "deleted" || Reason(9).String() != "9" || While.String() != "while" {
		t.Error("names of enumerations")
	}
	for _, at := range []int64{0, 1, -1, TimeLimit - 1, -TimeLimit} {
		if h := Header(at, MaxKind); headerTime(h) != at || headerKind(h) != MaxKind || h == 0 {
			t.Errorf("header of %d: %d, %d", at, headerTime(h), headerKind(h))
		}
	}
}

// Ids of data fragments must be the same on all nodes and in all versions, and
// different for different identities.
func TestIdentityID(t *testing.T) {
	ids := map[uint64][]int64{}
	check := func(identity ...int64) {
		id := IdentityID(identity)
		if other, ok := ids[id]; ok {
			t.Fatalf("%v and %v have the id %x", identity, other, id)
		}
		ids[id] = identity
	}
	check()
	for node := range int64(3) {
		for name := range int64(4) {
			check(node, name)
			for i := int64(-20); i < 80; i++ {
				check(node, name, i)
				for j := int64(-20); j < 80; j++ {
					check(node, name, i, j)
				}
			}
		}
	}
	if id := IdentityID([]int64{0, 1, 2}); id != 0xc8c03d77c258b3bf {
		t.Errorf("id of [0 1 2] is %#x", id)
	}
}

// A file of an older version lacks fields, one of a later version has more.
func TestOtherVersionsOfAKind(t *testing.T) {
	ready, started, destroyed := *KindCFReady.Spec(), *KindCFStarted.Spec(), *KindCFDestroyed.Spec()
	finished := *KindCFFinished.Spec()
	ready.Fields = append(slices.Clone(ready.Fields), Field{Name: "new", Type: FieldFloat})
	started.Fields = started.Fields[:1]
	destroyed.Fields = append(slices.Clone(destroyed.Fields), Field{Name: "new", Type: FieldInts})
	finished.Fields = finished.Fields[:1]
	dir := t.TempDir()
	w, err := Create(dir, 0, Options{Sync: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*KindSpec{&ready, &started, &destroyed, &finished} {
		w.layouts[s.Kind].Store(newLayout(s))
	}
	s := w.Stream(0)
	cf := uint64(MakeCF(0, 7))
	for i := range int64(3) {
		s.Emit(i, KindCFReady, cf, 5, math.Float64bits(2.5))
		s.Emit(i, KindCFStarted, cf)
		s.Emit(i, KindCFDestroyed, cf, 6, 1, 2, 3, 4, 5, 6)
		s.Emit(i, KindCFFinished, cf)
		s.Emit(i, KindReadyQueue, 9)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := open(t, dir)
	noProblems(t, r)
	want := [][]uint64{{cf, 5}, {cf, 1, 0}, {cf}, {cf, 1, minusOne}, {9}}
	for i, e := range readAll(t, r) {
		if !slices.Equal(e.Args, want[i%5]) {
			t.Errorf("%s: %v, want %v", e.Kind, e.Args, want[i%5])
		}
	}

	// A field of another type cannot be read.
	wrong := *KindCFReady.Spec()
	wrong.Fields = []Field{{Name: "cf", Type: FieldFloat}}
	dir = t.TempDir()
	w, _ = Create(dir, 0, Options{Sync: true})
	w.layouts[KindCFReady].Store(newLayout(&wrong))
	w.Stream(0).Emit(1, KindCFReady, 1)
	w.Close()
	r = open(t, dir)
	r.Verify(1)
	if p := r.Problems(); len(p) != 1 || !strings.Contains(p[0].What,
		"CFEvents.onReady has other fields than this version of whyslow knows") {
		t.Errorf("%v", p)
	}
}

func TestCursor(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, 0, Options{BufferBytes: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(1000) {
		w.Stream(2).Emit(i, KindReadyQueue, uint64(i))
	}
	w.Close()
	r := open(t, dir)
	c := r.Stream(0, 2)
	c.Within(Span{700, math.MaxInt64})
	var b Batch
	if !c.Next(&b) || b.First > 700 || b.Last < 700 {
		t.Errorf("within 700 and later: block from %d to %d", b.First, b.Last)
	}
	if r.Stream(0, 1).Next(&b) || r.Stream(5, 0).Next(&b) || r.Defs(5) != nil {
		t.Error("streams that do not exist have blocks")
	}
	n := 0
	err = r.EachStream(2, func(c *Cursor) error {
		for c.Next(&b) {
			n += b.N
		}
		return os.ErrClosed
	})
	if !errors.Is(err, os.ErrClosed) || n != 1000 {
		t.Error(err, n)
	}
}
