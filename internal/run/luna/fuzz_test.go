package luna

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

func seeds(f *testing.F) {
	paths, _ := filepath.Glob("testdata/*.txtar")
	for _, p := range paths {
		a, err := txtar.ParseFile(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(a.Files[0].Data))
	}
	for _, s := range []string{
		"#define A(x) $x $x\n#define B(y) $A($A($y))\nsub main() $B(f);",
		"#ifdef A\n#else\n#endif\n#undef A\n#include \"x\"\n${<E} x E ${{ y $}}",
		lib + "sub main(int n) { df x, y; let a = x[1], b = a + n { put(a[b], b); while x[k] < y, k = 0 .. out " +
			"y[k] { df z; cf l[k]: put(z[l], x) >> (z[1]) --> (x) @ { request x[y[x]]; req_count z = z + 1; " +
			"}; } @ { " +
			"locator_cyclic: x; } } } @ { locator_cyclic x[i] => y[i]; locator_replicating y => all; }",
		"C++ sub main() ${{ $}}",
	} {
		f.Add(s)
	}
}

// checkPositions fails if a message does not point into a file that was read.
func checkPositions(t *testing.T, ds []Diag, files map[string]string) {
	for _, d := range ds {
		if d.Pos.File == "" {
			if !strings.HasPrefix(d.Msg, "-D") && !strings.HasPrefix(d.Msg, "duplicate") {
				t.Fatalf("no position: %+v", d)
			}
			continue
		}
		text, ok := files[d.Pos.File]
		if !ok {
			t.Fatalf("unknown file: %+v", d)
		}
		lines := strings.Split(encode(decode([]byte(text))), "\n")
		if d.Pos.Line < 1 || d.Pos.Line > len(lines) || d.Pos.Col < 1 ||
			d.Pos.Col > len(decode([]byte(lines[d.Pos.Line-1])))+2 {
			t.Fatalf("outside of the file: %+v", d)
		}
		if d.Msg == "" || strings.Contains(d.Msg, "\n") || d.Line != lines[d.Pos.Line-1] {
			t.Fatalf("bad message: %+v", d)
		}
	}
}

func FuzzPreprocess(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, src string) {
		files := map[string]string{"t.fa": src, "x": "#define X $Y\n" + src}
		rep := &reporter{}
		p := preprocess(opts(src, files), rep)
		checkPositions(t, diags(rep.err()), files)
		checkPositions(t, rep.warnings, files)
		if len(p.org) != len(p.text)+1 {
			t.Fatal("an origin for each character and the end is needed")
		}
	})
}

func FuzzCompile(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, src string) {
		files := map[string]string{"t.fa": src, "x": lib}
		start := time.Now()
		p, err := Compile(opts(src, files))
		if d := time.Since(start); d > time.Minute {
			t.Fatalf("took %v", d)
		}
		if err != nil {
			checkPositions(t, diags(err), files)
			for _, d := range diags(err) {
				LunaText(d)
			}
			_ = err.Error()
			return
		}
		checkPositions(t, p.Warnings, files)
		if len(p.Origin) != len([]rune(p.Text))+1 && strings.ToValidUTF8(p.Text, "") == p.Text {
			t.Fatal("an origin for each character and the end is needed")
		}
		checkProgram(t, p)
		dump(p)
		for _, st := range p.Stmts {
			p.Patterns(st)
		}
	})
}

func TestExamplesAreSound(t *testing.T) {
	paths, _ := filepath.Glob("testdata/14_*.txtar")
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files := map[string]string{}
		for _, f := range a.Files {
			files[f.Name] = string(f.Data)
		}
		p, err := Compile(opts(string(a.Files[0].Data), files))
		if err != nil {
			t.Fatal(formatted(diags(err)))
		}
		checkProgram(t, p)
	}
}

func TestSection10_2_MissingProgram(t *testing.T) {
	_, err := Compile(Options{File: filepath.Join(t.TempDir(), "no.fa")})
	var e *Error
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	d := e.First()
	if !strings.HasPrefix(LunaText(d),
		"luna: fatal error: preprocessing failed (see error messages below):\npp.py: fatal error: failed "+
			"to read '") {
		t.Error(LunaText(d))
	}
	file := filepath.Join(t.TempDir(), "a.fa")
	if err := os.WriteFile(file, []byte("sub main() f();\n#define f\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = Compile(Options{File: file})
	equal(t, err.Error(), file+":1:12: unknown sub or routine f")
}

// BenchmarkCompile compiles a program of 2000 lines.
func BenchmarkCompile(b *testing.B) {
	var src strings.Builder
	src.WriteString(lib + "#define CELL(i,j) x[$i][$j]\n")
	for n := 0; strings.Count(src.String(), "\n") < 2000; n++ {
		name := fmt.Sprintf("part%d", n)
		src.WriteString("sub " + name +
			"(name x, int n) {\n  df y, z; // names\n  for i = 0 .. n - 1 {\n    put($CELL(i, i+1), i * n + 1);\n" +
			"    let r = y[i] {\n      put(r[n], x[i][n - 1] + 1) @ { req_count r[n] = 2; locator_cyclic: i; " +
			"};\n    " +
			"}\n    if i % 2 == 0 fs(\"row \" + i);\n" +
			"    two(z[i], z[i + 1]) --> (y[i][n]);\n  }\n  " + name +
			"(x[n], n - 1);\n} @ {\n  locator_cyclic y[i][j] => i + j * n;\n}\n")
	}
	src.WriteString("sub main() { df x; part0(x, 3); }\n")
	o := opts(src.String(), nil)
	b.SetBytes(int64(len(o.Source)))
	for b.Loop() {
		if _, err := Compile(o); err != nil {
			b.Fatal(formatted(diags(err)))
		}
	}
}
