package instrument

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/testkit/growth"
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

// TestLongLines: the time for a text grows as its length, not as its square.
func TestLongLines(t *testing.T) {
	rules := append(append([]Rule{}, programRules...), exitRule...)
	for name, text := range hostile {
		t.Run(name, func(t *testing.T) {
			growth.Linear(t, 128<<10, func(n int) func() {
				long := []byte(text(n))
				return func() { Source("long.cpp", long, rules) }
			})
		})
	}
}

// TestPlaces: nor are the places of a long line counted from its beginning each time.
func TestPlaces(t *testing.T) {
	growth.Linear(t, 128<<10, func(n int) func() {
		long := []byte(strings.Repeat("x", n))
		return func() {
			places := walker{text: long}
			for at := range n {
				places.place(at)
			}
		}
	})
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
