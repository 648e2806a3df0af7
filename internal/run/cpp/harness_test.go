//go:build cgo && linux

package cpp

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/whyslow/whyslow/internal/run/luna"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == childFlag {
		child(os.Args[2])
	}
	os.Exit(m.Run())
}

// program makes a program from routines written "cname kinds", the kinds being letters: i, r, s,
// n(ame), v(alue).
func program(routines ...string) *luna.Program {
	p := &luna.Program{File: "prog.fa"}
	for id, text := range routines {
		name, kinds, _ := strings.Cut(text, " ")
		r := &luna.Routine{ID: id, Name: name, CName: name, Pos: luna.Pos{File: "prog.fa", Line: id + 1, Col: 1}}
		for i, k := range kinds {
			r.Params = append(r.Params, luna.Param{Name: fmt.Sprint("p", i),
				Kind: luna.ParamKind(strings.IndexRune("irsnv", k))})
		}
		p.Routines = append(p.Routines, r)
	}
	return p
}

// fixture is an opened library with its routines by name.
type fixture struct {
	*Library
	prog *luna.Program
}

func (f *fixture) fn(name string) Fn {
	for _, r := range f.prog.Routines {
		if r.Name == name {
			return f.Routine(r)
		}
	}
	panic("no routine " + name)
}

func (f *fixture) call(t testing.TB, name string, args ...Value) {
	t.Helper()
	var tm Times
	if o := Call(f.fn(name), args, &tm, false); o.Kind != Done {
		t.Fatalf("%s: %v", name, o)
	}
}

func open(dir string, prog *luna.Program) (*fixture, error) { return openOptimized(dir, prog, "-O0") }

func openOptimized(dir string, prog *luna.Program, level string) (*fixture, error) {
	b, err := Build(context.Background(), Spec{Prog: prog, Dir: dir, Optimize: level})
	if err != nil {
		return nil, err
	}
	l, err := Open(b.Path, prog)
	if err != nil {
		return nil, err
	}
	return &fixture{l, prog}, nil
}

var dfRoutines = []string{"sig_exact irsvn", "sig_other irsvn", "sig_df irsvn", "sig_value irsvn",
	"sig_pointer irsvn", "sig_ignored i", "sig_fewer nis",
	"rand n", "many iiiiiiiirrrrrrrrrsn", "nothing ", "unset_out n", "includes n", "report n", "fail i",
	"make in", "alias vn", "alias_copy vn", "bump v", "reassign vn",
	"keep v", "get_kept n", "grow vn"}

var dfFixture = sync.OnceValues(func() (*fixture, error) {
	p := program(dfRoutines...)
	p.Heads = []luna.Foreign{{Text: "#include <cmath>\nstatic int helper(int x) { return x + 1; " +
		"}\n#define PLUS helper", Pos: luna.Pos{File: "prog.fa", Line: 1, Col: 1}}}
	sub := &luna.Routine{ID: len(p.Routines), Name: "printf",
		Params: []luna.Param{{Kind: luna.IntParam, Name: "v"}, {Kind: luna.NameParam, Name: "c"}},
		Body: &luna.Foreign{Text: "{ c.setValue(PLUS(v) + int(std::sqrt(16.0))); }",
			Pos: luna.Pos{File: "prog.fa", Line: 2, Col: 10}}}
	p.Routines = append(p.Routines, sub)
	// as users do: the layout of a handle must survive the optimizer
	return openOptimized("testdata/df", p, "-O3")
})

var crashRoutines = []string{"empty ", "empty2 vv", "out1 in", "out_block in", "mark s", "print s",
	"crash i", "later i", "nap i", "doze ii", "spin i", "locked ", "scratch "}

var crashFixture = sync.OnceValues(func() (*fixture, error) {
	return open("testdata/crash",
		program(crashRoutines...))
})

func get(t testing.TB, f func() (*fixture, error)) *fixture {
	t.Helper()
	x, err := f()
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// noLeaks checks that the test frees all buffers it makes.
func noLeaks(t testing.TB) {
	before := Live()
	t.Cleanup(func() {
		if n := Live() - before; n != 0 {
			t.Errorf("%d buffers leaked", n)
		}
	})
}

// write makes files in a new directory.
func write(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var meters = sync.Pool{New: func() any { return NewMeter() }}

// Call runs a routine on a meter that nobody else uses meanwhile.
func Call(fn Fn, args []Value, t *Times, threadCPU bool) Outcome {
	m, what := meters.Get().(*Meter), Nothing
	if threadCPU {
		what = Each
	}
	defer meters.Put(m)
	return m.Call(fn, args, t, 1, what)
}
