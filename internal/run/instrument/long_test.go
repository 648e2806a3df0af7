package instrument

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hostile are texts on one line whose places, brackets or macros used to be looked for again and again.
var hostile = map[string]func(n int) string{
	"events":       repeated("int f() { ", "return EXIT; ", "}"),
	"functions":    repeated("", "int f() { return EXIT; } ", ""),
	"warnings":     repeated("constexpr int f() { ", "return EXIT; ", "}"),
	"lines":        repeated("constexpr int f() {\n", "return EXIT;\n", "}"),
	"macro":        repeated("#define X ", "return ", "\nint f();"),
	"macros":       repeated("#define X ", "return EXIT; ", "\nint f();"),
	"raw":          repeated("int f() { x = ", `R"`, "; }"),
	"quotes":       repeated("int f() { x = ", `"`, "; }"),
	"less":         repeated("int f() { x = ", "a < ", "b; return EXIT; }"),
	"less outside": repeated("int x = ", "a < ", "b;"),
	"templates":    repeated("int ", "a < ", "b;"),
	"greater":      repeated("int f() { x = ", "a > (b) ", "; }"),
	"operators":    repeated("int ", "operator ", ";"),
	"braces":       repeated("int f() { x = ", "{1},", "; }"),
	"lambdas":      repeated("int f() { x = ", "[] < ", "; }"),
	"classes":      repeated("", "class A : B, ", ";"),
	"names":        repeated("int x = ", "a::", "f(1);"),
	"condition":    repeated("#if ", "a && ", "b\n#endif\nint f() { return EXIT; }"),
	"cases":        repeated("int f() { ", "case a ", ": ; }"),
	"labels":       repeated("int f() { ", "a: ", "; }"),
	"continued":    repeated("int f() { ", "x; \\\n", "}"),
	"chain": func(n int) string {
		var b strings.Builder
		for i := range n / 20 {
			fmt.Fprintf(&b, "#define A%d A%d\n", i, i+1)
		}
		fmt.Fprintf(&b, "#define A%d constexpr\nA0 int f() { return EXIT; }", n/20)
		return b.String()
	},
	"given": func(n int) string {
		return "int f() { " + strings.Repeat(marked("EMIT_EVENT(A, b);")+" return EXIT; ", n/40) + "}"
	},
}

// repeated makes texts of about n bytes.
func repeated(before, again, after string) func(n int) string {
	return func(n int) string { return before + strings.Repeat(again, n/len(again)) + after }
}

// TestLongLines holds the time for a text against that for one four times as long: it grows about as the
// length, not as its square.
func TestLongLines(t *testing.T) {
	rules := append(append([]Rule{}, programRules...), exitRule...)
	took := func(text string) time.Duration {
		begin := time.Now()
		Source("long.cpp", []byte(text), rules)
		return time.Since(begin)
	}
	for name, text := range hostile {
		t.Run(name, func(t *testing.T) {
			const size = 24 << 10
			short, long := time.Hour, time.Hour // the least: other processes may have the processor meanwhile
			for range 20 {
				short, long = min(short, took(text(size))), min(long, took(text(4*size)))
				if long < 9*short || long < 50*time.Millisecond {
					return
				}
			}
			t.Errorf("%v for %d KB, %v for %d KB", short, size>>10, long, 4*size>>10)
		})
	}
}

// TestLinks: neither a link in place of a source nor one in the way of a result is written through.
func TestLinks(t *testing.T) {
	const text = "int f() { return EXIT; }\n"
	dir := sources(t, map[string]string{"a.cpp": text, "victim": text, "out/other": ""})
	a, victim := filepath.Join(dir, "a.cpp"), filepath.Join(dir, "victim")
	link, inTheWay := filepath.Join(dir, "link.cpp"), filepath.Join(dir, "out", "a.cpp")
	for _, l := range []string{link, inTheWay} {
		if err := os.Symlink(victim, l); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		paths []string
		out   string
	}{{[]string{a, link}, ""}, {[]string{a}, filepath.Join(dir, "out")}} {
		_, err := Run(c.paths, exitRule, Options{OutDir: c.out})
		if err == nil || !strings.Contains(err.Error(), "is a symbolic link") || strings.Contains(err.Error(), "\n") {
			t.Error(err)
		}
		if read(t, victim) != text || read(t, a) != text {
			t.Errorf("%q %q", read(t, victim), read(t, a)) // nothing at all is written
		}
	}
	// Nor is a folder that is a link, or one below it.
	deep := sources(t, map[string]string{"p/a.cpp": text, "p/sub/b.cpp": text, "elsewhere/c": "", "out/d": ""})
	a, b := filepath.Join(deep, "p", "a.cpp"), filepath.Join(deep, "p", "sub", "b.cpp")
	for _, l := range []string{"linked", "out/sub"} {
		if err := os.Symlink(filepath.Join(deep, "elsewhere"), filepath.Join(deep, l)); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(deep, filepath.Dir(l+"/x"))
		_, err := Run([]string{a, b}, exitRule, Options{OutDir: strings.TrimSuffix(out, "/sub") + "/"})
		if err == nil || !strings.Contains(err.Error(), filepath.Join(deep, l)+" is a symbolic link") {
			t.Errorf("%s: %v", l, err)
		}
	}
	if left, err := os.ReadDir(filepath.Join(deep, "elsewhere")); err != nil || len(left) > 1 {
		t.Error(left, err)
	}
	if _, err := Run([]string{link}, exitRule, Options{DryRun: true, Diff: true}); err != nil {
		t.Error(err)
	}
}
