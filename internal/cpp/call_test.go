//go:build cgo && linux

package cpp

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/whyslow/whyslow/internal/luna"
)

// testCache is shared by all tests, so that most files are compiled once.
var testCache string

func TestMain(m *testing.M) {
	var err error
	if testCache, err = os.MkdirTemp("", "whyslow-cpp"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(testCache)
	os.Exit(code)
}

// routine makes a routine from "cname irsnv": kinds of the parameters by letter.
func routine(cname, kinds string) *luna.Routine {
	r := &luna.Routine{Name: cname, CName: cname, Pos: luna.Pos{File: "prog.fa", Line: 1, Col: 1}}
	for i, k := range kinds {
		p := luna.Param{Name: "p" + string(rune('a'+i))}
		switch k {
		case 'i':
			p.Kind = luna.IntParam
		case 'r':
			p.Kind = luna.RealParam
		case 's':
			p.Kind = luna.StringParam
		case 'n':
			p.Kind = luna.NameParam
		case 'v':
			p.Kind = luna.ValueParam
		}
		r.Params = append(r.Params, p)
	}
	return r
}

func program(routines ...*luna.Routine) *luna.Program {
	for i, r := range routines {
		r.ID = i
	}
	return &luna.Program{File: "prog.fa", Routines: routines}
}

// load builds prog with one .cpp file and opens it.
func load(t testing.TB, prog *luna.Program, source string) *Library {
	t.Helper()
	dir := t.TempDir()
	if source != "" {
		if err := os.WriteFile(filepath.Join(dir, "codes.cpp"), []byte(source), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := Build(context.Background(), Spec{Prog: prog, Dir: dir, CacheDir: testCache, Optimize: "-O0"})
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(b.Path, prog)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestFirst(t *testing.T) {
	put, add, boom := routine("put", "ni"), routine("add", "vvn"), routine("boom", "i")
	l := load(t, program(put, add, boom), `
#include "ucenv.h"
extern "C" {
void put(OutputDF &x, int v) { x.setValue(v); }
void add(const InputDF &a, InputDF b, OutputDF &c) { c = a + b; }
void boom(int how) {
	if (how == 0) abort();
	if (how == 1) *(volatile int *)nullptr = 1;
	if (how == 2) exit(7);
	if (how == 3) throw std::runtime_error("no");
	if (how == 4) DF().getValue<int>();
	if (how == 5) { volatile int z = 0; z = 1 / z; }
	if (how == 6) assert(how == 5);
}
}`)
	defer l.Close()
	var tm Times
	a := []Value{{}, IntValue(-3)}
	if o := Call(l.Routine(put), a, &tm, true); o.Kind != Done {
		t.Fatal(o)
	}
	t.Log(a[0], tm)
	b := []Value{a[0], IntValue(45), {}}
	if o := Call(l.Routine(add), b, &tm, false); o.Kind != Done {
		t.Fatal(o)
	}
	t.Log(b[2], tm)
	for i := range 7 {
		t.Logf("%#v", Call(l.Routine(boom), []Value{IntValue(int32(i))}, &tm, false))
	}
}
