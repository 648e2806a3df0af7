//go:build cgo && linux

package cpp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/internal/testkit/effort"
)

// small needs no header of ours, so that it compiles fast.
const small = `extern "C" void one(int) {}`

// build builds in the user's cache, unless the test has one of its own.
func build(t testing.TB, s Spec) (*Built, error) {
	t.Helper()
	if s.Optimize == "" {
		s.Optimize = "-O0"
	}
	return Build(context.Background(), s)
}

// Every row changes something and tells what must be compiled then.
func TestCache(t *testing.T) {
	dir := write(t, map[string]string{"a.cpp": `#include "h.h"` + "\n" + small,
		"b.cpp": `extern "C" void two(int) {}`, "h.h": "// header\n"})
	prog := program("one i", "two i")
	cache := t.TempDir()
	spec := Spec{Prog: prog, Dir: dir, CacheDir: cache}
	put := func(name, text string) func() {
		return func() {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	touch := func(name string, at time.Time) func() {
		return func() {
			if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := build(t, Spec{Prog: program(), Dir: t.TempDir(),
		CacheDir: cache}); err != nil { // compiles the runtime
		t.Fatal(err)
	}
	now := time.Now()
	for _, step := range []struct {
		what     string
		do       func()
		compiled int // -1: nothing, not even linked
	}{
		{"first", func() {}, 3},
		{"again", func() {}, -1},
		{"touched source", touch("a.cpp", now.Add(time.Hour)), -1},
		{"touched back", touch("a.cpp", now.Add(-time.Hour)), -1},
		{"touched header", touch("h.h", now.Add(time.Hour)), -1},
		{"changed header", put("h.h", "// HEADER\n"), 1},
		{"same size and other time", put("h.h", "// HeadeR\n"), 1},
		{"changed source", put("b.cpp", `extern "C" void two(int) {} // more`), 1},
		{"new source", put("c.cpp", "int three;"), 2}, // and the generated file, which lists them
		{"again", func() {}, -1},
		{"new header", put("other.h", ""), 4}, // an include might find it now
		{"no header any more", func() { os.Remove(filepath.Join(dir, "other.h")) }, -1},
		{"no source any more", func() { os.Remove(filepath.Join(dir, "c.cpp")) }, -1},
		{"-g", func() { spec.Debug = true }, 5}, // with the runtime, as flags
		{"without", func() { spec.Debug = false }, -1},
		{"flags", func() { t.Setenv("CXX_FLAGS", "-DX") }, 5},
		{"no flags", func() { t.Setenv("CXX_FLAGS", "") }, -1},
		{"LDFLAGS", func() { t.Setenv("LDFLAGS", "-lm") }, 0},
		{"LDFLAGS again", func() {}, -1},
		{"no LDFLAGS", func() { t.Setenv("LDFLAGS", "") }, -1},
		{"no waits", func() { spec.NoWaits = true }, 0},
		{"waits", func() { spec.NoWaits = false }, -1},
		{"a block", func() {
			prog.Heads = []luna.Foreign{{Text: "// head", Pos: luna.Pos{File: "prog.fa", Line: 1, Col: 1}}}
		}, 1},
		{"no block", func() { prog.Heads = nil }, -1},
		{"source in place of another", func() {
			put("b.cpp", "#error")()
			spec.Dir, spec.CppDirs = ".", []string{dir}
			put("b.cpp", `extern "C" void two(int) {} // more`)()
		}, 3},
	} {
		if (step.what == "-g" || step.what == "without") && !effort.Long {
			continue
		}
		step.do()
		b, err := build(t, spec)
		if err != nil {
			t.Fatal(step.what, ": ", err)
		}
		if want := (step.compiled == -1); b.Cached != want || b.Compiled != max(step.compiled, 0) {
			t.Errorf("%s: cached %v, compiled %d; want %d", step.what, b.Cached, b.Compiled, step.compiled)
		}
		if l, err := Open(b.Path, prog); err != nil {
			t.Error(step.what, ": ", err)
		} else if err := l.Close(); err != nil {
			t.Error(step.what, ": ", err)
		}
	}
}

// A library among LDFLAGS is a part of the program as well.
func TestStaticLibrary(t *testing.T) {
	dir := write(t, map[string]string{"x/lib.cpp": `extern "C" int value() { return 1; }`,
		"p/a.cpp": `extern "C" int value(); extern "C" int one(int) { return value(); }`})
	archive := func() {
		obj := filepath.Join(dir, "lib.o")
		for _, c := range [][]string{{"g++", "-fPIC", "-c", filepath.Join(dir, "x/lib.cpp"), "-o", obj},
			{"ar", "rc", filepath.Join(dir, "libv.a"), obj}} {
			if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %v\n%s", c, err, out)
			}
		}
	}
	archive()
	spec := Spec{Prog: program("one i"), Dir: filepath.Join(dir, "p")}
	b, err := build(t, spec)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(b.Path, spec.Prog)
	if err == nil || !strings.HasPrefix(err.Error(),
		"undefined symbol: value: the program's C++ code uses it but does not define it; looked in "+dir) {
		t.Fatal(err)
	}
	t.Setenv("LDFLAGS", "-L"+dir+" -lv")
	for i, want := range []bool{false, true, false, true} {
		if i == 2 {
			os.WriteFile(filepath.Join(dir, "x/lib.cpp"), []byte(`extern "C" int value() { return 25; }`), 0o644)
			archive()
		}
		if b, err = build(t, spec); err != nil {
			t.Fatal(err)
		}
		if b.Cached != want || b.Compiled != 0 {
			t.Errorf("%d: cached %v, compiled %d", i, b.Cached, b.Compiled)
		}
	}
	l, err := Open(b.Path, spec.Prog)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

// Files changed while they were compiled are not taken for compiled the next time.
func TestChangedWhileCompiled(t *testing.T) {
	dir := write(t, map[string]string{"a.cpp": small, "once": ""})
	cxx := filepath.Join(t.TempDir(), "cxx")
	script := fmt.Sprintf("#!/bin/sh\nif rm %[1]s/once 2>/dev/null; then echo // >> %[1]s/a.cpp; fi\n"+
		"exec g++ \"$@\"\n", dir)
	if err := os.WriteFile(cxx, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	spec := Spec{Prog: program("one i"), Dir: dir, CXX: cxx, CacheDir: t.TempDir()}
	if b, err := build(t, spec); err != nil || b.Cached {
		t.Fatal(b, err)
	}
	if b, err := build(t, spec); err != nil || b.Cached || b.Compiled != 1 {
		t.Error(b, err)
	}
	if b, err := build(t, spec); err != nil || !b.Cached {
		t.Error(b, err)
	}
}

func TestConcurrentBuilds(t *testing.T) {
	dir := write(t, map[string]string{"test.cpp": small + " // concurrent",
		"foreign_blocks.cpp": `extern "C" void two(int) {}`})
	prog := program("one i", "two i")
	cache := t.TempDir()
	var wg sync.WaitGroup
	for range effort.Times(2, 3) {
		wg.Go(func() {
			b, err := Build(context.Background(), Spec{Prog: prog, Dir: dir, CacheDir: cache, Optimize: "-O0"})
			if err != nil {
				t.Error(err)
				return
			}
			l, err := Open(b.Path, prog)
			if err != nil {
				t.Error(err)
				return
			}
			l.Close()
		})
	}
	wg.Wait()
	if left, _ := filepath.Glob(filepath.Join(cache, "tmp-*")); len(left) > 0 {
		t.Error("left behind:", left)
	}
}

// Two directories may have files of one name; quoted includes find the program's directory; more files
// may be named.
func TestDirectories(t *testing.T) {
	dir := write(t, map[string]string{
		"p/config.h": "#define NAME one", "p/ignored.cpp": "#error", "p/sub/no.cpp": "#error",
		"x/f.cpp": "#include \"config.h\"\nextern \"C\" void NAME(int) {}",
		"y/f.cpp": `extern "C" void two(int) {}`, "z.cpp": "#include <config.h>\nint z;",
		"y/.hidden.cpp": "#error", "y/note.txt": "",
	})
	in := func(name string) string { return filepath.Join(dir, name) }
	b, err := build(t, Spec{Prog: program("one i", "two i"), Dir: in("p"),
		CppDirs: []string{in("x"), in("y")}, Sources: []string{in("z.cpp"), in("x/f.cpp")}})
	if err != nil {
		t.Fatal(err)
	}
	if b.Compiled != 4 {
		t.Errorf("compiled %d files", b.Compiled)
	}
	if _, err := Open(b.Path, program("one i", "two i", "three i")); err == nil ||
		!strings.Contains(err.Error(), "another version of the program") {
		t.Error(err)
	}
	if _, err := Open(b.Path, program("one i", "two r")); err == nil ||
		!strings.Contains(err.Error(), "another version of the program") {
		t.Error(err)
	}
	for _, s := range []Spec{{Dir: in("none")}, {Dir: in("p"), CppDirs: []string{in("none")}},
		{Dir: in("x"), Sources: []string{in("none.cpp")}}, {Dir: in("x"), Sources: []string{in("y")}}} {
		s.Prog = program()
		if _, err := build(t, s); err == nil || !strings.Contains(err.Error(), dir) {
			t.Error(err)
		}
	}
}

func TestMissingSymbol(t *testing.T) {
	dir := write(t, map[string]string{"a.cpp": small})
	prog := program("one i", "absent i", "gone n")
	prog.Routines[2].Name, prog.Routines[2].Pos = "leave", luna.Pos{File: "x.fa", Line: 7, Col: 3}
	b, err := build(t, Spec{Prog: prog, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(b.Path, prog)
	a := filepath.Join(dir, "a.cpp")
	want := "prog.fa:2:1: undefined symbol: absent: the C++ function imported as absent does not " +
		"exist; looked " +
		"in " + a + "; it must be declared extern \"C\"\n" +
		"x.fa:7:3: undefined symbol: gone: the C++ function imported as leave does not exist; looked in " +
		a + "; it must be declared extern \"C\""
	if fmt.Sprint(err) != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if _, err := Open(filepath.Join(dir, "none.so"), prog); err == nil ||
		!strings.Contains(err.Error(), "none.so: cannot open") {
		t.Error(err)
	}
	if _, err := Open(a, prog); err == nil || !strings.Contains(err.Error(), a) {
		t.Error(err)
	}
}

func TestNoCompiler(t *testing.T) {
	s := Spec{Prog: program(), Dir: t.TempDir(), CXX: "no-such-compiler -v"}
	_, err := build(t, s)
	if want := "no C++ compiler: no-such-compiler was not found; install one (apt install g++) or name one in " +
		"the environment variable CXX"; fmt.Sprint(err) != want {
		t.Errorf("got %v", err)
	}
	t.Setenv("CXX", "also-none")
	if _, err := build(t, Spec{Prog: program(), Dir: t.TempDir()}); !strings.Contains(fmt.Sprint(err),
		"also-none was not found") {
		t.Errorf("got %v", err)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Build(ctx, Spec{Prog: program(), Dir: t.TempDir(), CacheDir: t.TempDir()})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func BenchmarkStart(b *testing.B) {
	files := map[string]string{}
	var routines []string
	for i := range 20 {
		files[fmt.Sprintf("f%d.cpp", i)] = fmt.Sprintf("#include \"ucenv.h\"\nextern \"C\" void "+
			"f%d(OutputDF &x) { x.setValue(%d); }", i, i)
		routines = append(routines, fmt.Sprintf("f%d n", i))
	}
	dir := write(b, files)
	prog := program(routines...)
	if _, err := build(b, Spec{Prog: prog, Dir: dir}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		built, err := build(b, Spec{Prog: prog, Dir: dir})
		if err != nil || !built.Cached {
			b.Fatal(built, err)
		}
		l, err := Open(built.Path, prog)
		if err != nil {
			b.Fatal(err)
		}
		l.Close()
	}
}

// A compiler that is stopped may remove what it has begun, all of its processes.
func TestStoppedCompiler(t *testing.T) {
	dir := t.TempDir()
	begun := filepath.Join(dir, "begun")
	script := filepath.Join(dir, "cxx")
	if err := os.WriteFile(script,
		[]byte("#!/bin/sh\ntrap 'rm -f "+begun+".$$; exit 1' TERM\n: > "+begun+".$$\nsleep 60 &\nwait\n"),
		0o755); err != nil {
		t.Fatal(err)
	}
	found := func() []string {
		list, err := filepath.Glob(begun + ".*")
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		for len(found()) == 0 && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	cache := t.TempDir()
	_, err := Build(ctx, Spec{Prog: program(), Dir: t.TempDir(), CXX: script, CacheDir: cache})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if left := found(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if left, err := filepath.Glob(filepath.Join(cache, "tmp-*")); err != nil || len(left) > 0 {
		t.Errorf("left in the cache: %v %v", left, err)
	}
}

// TestDamagedCache: what is not as it was made is made again, wherever the damage is; a library with such
// damage would crash in the loader, with its locks held.
func TestDamagedCache(t *testing.T) {
	dir := write(t, map[string]string{"a.cpp": small})
	cache := t.TempDir()
	spec := Spec{Prog: program("one i"), Dir: dir, CacheDir: cache}
	first, err := build(t, spec)
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func(text []byte) []byte{
		"a bit":  func(text []byte) []byte { text[len(text)/2] ^= 4; return text },
		"cut":    func(text []byte) []byte { return text[:len(text)/2] },
		"longer": func(text []byte) []byte { return append(text, 0) },
		"empty":  func([]byte) []byte { return nil },
	} {
		text, err := os.ReadFile(first.Path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(first.Path, damage(text), 0o755); err != nil {
			t.Fatal(err)
		}
		again, err := build(t, spec)
		if err != nil || again.Cached || again.Path != first.Path {
			t.Errorf("%s: %+v, %v", name, again, err)
		}
	}
	if err := os.Remove(filepath.Join(filepath.Dir(first.Path), "sum")); err != nil {
		t.Fatal(err)
	}
	for _, manifest := range glob(t, filepath.Join(cache, "*.read")) { // so that nothing is looked up
		if err := os.Remove(manifest); err != nil {
			t.Fatal(err)
		}
	}
	again, err := build(t, spec)
	if err != nil || again.Cached {
		t.Errorf("without a sum: %+v, %v", again, err)
	}
	if again, err = build(t, spec); err != nil || !again.Cached {
		t.Errorf("the next time: %+v, %v", again, err)
	}
}

// TestOthersCache: a folder that others can write to is not used, and that is said.
func TestOthersCache(t *testing.T) {
	dir := write(t, map[string]string{"a.cpp": small})
	cache := filepath.Join(t.TempDir(), "cache")
	if err := os.Mkdir(cache, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(cache, 0o777); err != nil {
		t.Fatal(err)
	}
	built, err := build(t, Spec{Prog: program("one i"), Dir: dir, CacheDir: cache})
	if err != nil || !strings.HasPrefix(built.Path, cache+"-") || !strings.Contains(built.Note, cache) {
		t.Errorf("%+v, %v", built, err)
	}
	if err := os.Chmod(fmt.Sprintf("%s-%d", cache, os.Geteuid()), 0o775); err != nil {
		t.Fatal(err)
	}
	if built, err := build(t, Spec{Prog: program("one i"), Dir: dir, CacheDir: cache}); err == nil {
		t.Errorf("%+v", built)
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return names
}
