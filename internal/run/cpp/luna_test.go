//go:build cgo && linux

package cpp

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/whyslow/whyslow/internal/run/luna"
)

// Real programs, compiled; their routines are called by hand, as the engine would.
func TestPrograms(t *testing.T) {
	noLeaks(t)
	dir := write(t, map[string]string{
		"blob.fa": `
import make_vec(int n, name v) as make_vec;
import scale(value v, real k, name r) as scale;
import dot(value a, value b, name r) as dot;
C++ head ${<END} static double twice(double x) { return 2 * x; } END
C++ sub double_it(real x, name r) ${{ r.setValue(twice(x)); $}}
C++ sub printf(string s, name r) ${{ r = std::string(s) + "!"; $}}
sub main() {
	df a, b, d, e, f;
	make_vec(4, a);
	scale(a, 0.5, b);
	dot(a, b, d);
	double_it(real(d), e);
	printf("text", f);
}
`,
		"vec.cpp": `
#include <cstdio>
#include "ucenv.h"
extern "C" {
void make_vec(int n, OutputDF &v)
{
	double *p = v.create<double>(n, 1.0);
	for (int i = 0; i < n; i++) p[i] += i;
}
void scale(const InputDF &v, double k, luna::ucenv::OutputDF &r)
{
	size_t n = v.getSize() / sizeof(double);
	double *q = r.create<double>(n);
	for (size_t i = 0; i < n; i++) q[i] = k * v.getData<double>()[i];
}
void dot(InputDF &a, InputDF b, OutputDF &r)
{
	double s = 0;
	for (size_t i = 0; i < a.getSize() / sizeof(double); i++) s += a.getData<double>()[i] * b.getData<double>()[i];
	r.setValue(s);
}
}
`})
	p, err := luna.Compile(luna.Options{File: filepath.Join(dir, "blob.fa")})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Build(context.Background(), Spec{Prog: p, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(b.Path, p)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{l, p}
	a := []Value{IntValue(4), {}}
	f.call(t, "make_vec", a...)
	s := []Value{a[1], RealValue(0.5), {}}
	f.call(t, "scale", s...)
	d := []Value{a[1], s[2], {}}
	f.call(t, "dot", d...)
	e := []Value{d[2], {}}
	f.call(t, "double_it", e...)
	if d[2] != RealValue(15) || e[1] != RealValue(30) {
		t.Errorf("got %v, %v", d[2], e[1])
	}
	x := []Value{NewString("text"), {}}
	f.call(t, "printf", x...)
	if x[1].Str() != "text!" {
		t.Errorf("got %v", x[1])
	}
	for _, v := range []Value{a[1], s[2], x[0], x[1]} {
		v.Release()
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	// A copy somewhere else is as good.
	data, err := os.ReadFile(b.Path)
	if err != nil {
		t.Fatal(err)
	}
	here := filepath.Join(dir, "libucodes.so")
	if err := os.WriteFile(here, data, 0o755); err != nil {
		t.Fatal(err)
	}
	if l, err = Open(here, p); err != nil {
		t.Fatal(err)
	}
	l.Close()
}

// A C++ sub may be the whole program.
func TestMainInCPP(t *testing.T) {
	dir := write(t, map[string]string{"p.fa": "C++ sub main() ${{ $}}"})
	p, err := luna.Compile(luna.Options{File: filepath.Join(dir, "p.fa")})
	if err != nil {
		t.Fatal(err)
	}
	b, err := build(t, Spec{Prog: p, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(b.Path, p)
	if err != nil {
		t.Fatal(err)
	}
	if o := Call(l.Routine(p.Routines[0]), nil, new(Times), false); o.Kind != Done {
		t.Error(o)
	}
	l.Close()
}
