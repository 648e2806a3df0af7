package trace

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// event is one event as the tests see it.
type event struct {
	Node, Stream int
	Time         int64
	Kind         Kind
	Args         []uint64
}

// readAll returns all events, stream by stream.
func readAll(t testing.TB, r *Reader) []event {
	t.Helper()
	var list []event
	var b Batch
	for _, s := range r.Streams() {
		for c := r.Stream(s.Node, s.Stream); c.Next(&b); {
			for i := range b.N {
				list = append(list, event{b.Node, b.Stream, b.Time[i], b.Kind[i], append([]uint64{}, b.Args(i)...)})
			}
		}
	}
	return list
}

func open(t testing.TB, dir string) *Reader {
	t.Helper()
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func noProblems(t testing.TB, r *Reader) {
	t.Helper()
	r.Verify(2)
	for _, p := range r.Problems() {
		t.Errorf("problem: %v", p)
	}
}

// randomArgs makes arguments of a kind that its types allow.
func randomArgs(rnd *rand.Rand, s *KindSpec) []uint64 {
	var args []uint64
	for _, f := range s.Fields {
		if f.Type.List() {
			n := rnd.IntN(9)
			if rnd.IntN(50) == 0 {
				n = rnd.IntN(2000)
			}
			args = append(args, uint64(n))
			for range n {
				args = append(args, randomWord(rnd, f.Type))
			}
			continue
		}
		args = append(args, randomWord(rnd, f.Type))
	}
	return args
}

func randomWord(rnd *rand.Rand, t FieldType) uint64 {
	v := rnd.Uint64() >> rnd.IntN(64)
	if rnd.IntN(4) == 0 {
		v = uint64(rnd.IntN(3))
	}
	return v &^ limits[t]
}

func TestRoundTripRandomEvents(t *testing.T) {
	for seed := range uint64(30) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		dir := t.TempDir()
		opt := Options{BufferBytes: 1 << (10 + rnd.IntN(8)), Level: rnd.IntN(4) - 1, Sync: rnd.IntN(2) == 0,
			Pool: 1 + rnd.IntN(3)}
		var want []event
		for node := range 2 {
			w, err := Create(dir, node, opt)
			if err != nil {
				t.Fatal(err)
			}
			specs := slices.Clone(Kinds())
			user := KindSpec{Namespace: "My", Name: "onThing", Fields: []Field{{Name: "x", Type: FieldFloat},
				{Name: "l", Type: FieldInts}}}
			if user.Kind, err = w.DefineKind(user); err != nil {
				t.Fatal(err)
			}
			specs = append(specs, user)
			for stream := range 3 {
				s := w.Stream(stream)
				now := int64(rnd.IntN(1000)) - 500
				for range rnd.IntN(3000) {
					spec := &specs[rnd.IntN(len(specs))]
					now += int64(rnd.IntN(2000)) - 100
					e := event{node, stream, now, spec.Kind, randomArgs(rnd, spec)}
					s.Emit(e.Time, e.Kind, e.Args...)
					want = append(want, e)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		}
		r := open(t, dir)
		r.Verify(2)
		for _, p := range r.Problems() {
			if p.Kind != Unfinished {
				t.Error(p)
			}
		}
		got := readAll(t, r)
		if !slices.EqualFunc(got, want, func(a, b event) bool {
			return a.Node == b.Node && a.Stream == b.Stream && a.Time == b.Time && a.Kind == b.Kind &&
				slices.Equal(a.Args, b.Args)
		}) {
			t.Fatalf("seed %d: got %d events, want %d, or they differ", seed, len(got), len(want))
		}
	}
}

func TestDefinitionsRoundTrip(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, 0, Options{})
	if err != nil {
		t.Fatal(err)
	}
	code := CodeDef{Code: 1, Name: w.Name("mult"), Kind: While, File: w.Name("mxm.fa"), Line: 7, Col: 2}
	site := SiteDef{Site: 4, Code: 1, Label: w.Name("c"), File: w.Name("mxm.fa"), Line: 12, Col: 3,
		Text: w.Name("mult(a, b)"), DFs: w.Name("a[i] -> b[i + 1]")}
	w.DefineCode(code)
	w.DefineSite(site)
	a := w.Name("a")
	want := map[DF][]int64{}
	for i := range int64(5000) {
		identity := []int64{0, 2, i / 100, i % 100}
		if i%7 == 0 {
			identity = append(identity, -i, i, 1<<40, i*i*i)
		}
		want[DF(i+1)] = identity
		w.DefineDF(DF(i+1), a, identity)
	}
	w.DefineDF(4_000_000_000, a, nil)
	want[4_000_000_000] = nil
	if w.Name("a") != a || w.Name("") != 0 {
		t.Error("strings are not interned")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := open(t, dir)
	noProblems(t, r)
	d := r.Defs(0)
	if got, _ := d.Code(1); got != code {
		t.Errorf("code: %+v", got)
	}
	if got, _ := d.Site(4); got != site {
		t.Errorf("site: %+v", got)
	}
	if s := d.Name(site.Text); s != "mult(a, b)" {
		t.Errorf("text: %q", s)
	}
	if s := d.Name(99); s != "#99" {
		t.Errorf("undefined string: %q", s)
	}
	got := map[DF][]int64{}
	d.EachDF(func(df DF, name Name, identity []int64) {
		if name != a || d.ID(df) != IdentityID(identity) {
			t.Errorf("df %d: name %d", df, name)
		}
		got[df] = append([]int64(nil), identity...)
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if d.DFCount() != len(want) {
		t.Errorf("%d DFs, want %d", d.DFCount(), len(want))
	}
}

func TestFileNames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "odd [name]*")
	w, err := Create(dir, 12, Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.Stream(0).Emit(5, KindIdle)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "00012.wst")); err != nil {
		t.Error(err)
	}
	for _, path := range []string{dir, filepath.Join(dir, "00012.wst")} {
		if got := fmt.Sprint(open(t, path).Nodes()); got != "[12]" {
			t.Errorf("%s: nodes %s", path, got)
		}
	}
}
