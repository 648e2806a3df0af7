package instrument

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/whyslow/whyslow/internal/run/config"
)

var exitRule = []Rule{{Event: "G::onExited", At: config.Rule{Before: true, Point: "return EXIT"},
	Pos: "events_config.json:3:9"}}

const emitted = "/*whyslow*/ EMIT_EVENT(G, onExited); "

// TestBytes checks that nothing but the insertions differs, whatever the bytes.
func TestBytes(t *testing.T) {
	for name, text := range map[string]string{
		"CRLF":            "int f() {\r\n\treturn EXIT;\r\n}\r\n",
		"mixed line ends": "int f() {\r\n\treturn EXIT;\n}\r",
		"no last newline": "int f() { return EXIT; }",
		"byte order mark": "\xef\xbb\xbfint f() {\n\t return EXIT;\n}\n",
		"Latin 1":         "// gr\xfc\xdfe\nint gr\xf6\xdfe() { puts(\"\xe4\"); return EXIT; }\n",
		"UTF-8":           "int размер() { puts(\"привет\"); return EXIT; } // 日本\n",
		"form feed":       "int f() {\f\v\treturn EXIT;\t }\n\n\n",
		"only continued":  "int f() { \\\n  return EXIT; \\\r\n } \\\n",
	} {
		t.Run(name, func(t *testing.T) {
			out, insertions, warnings := Source("x.cpp", []byte(text), exitRule)
			if want := strings.ReplaceAll(text, "return EXIT", emitted+"return EXIT"); string(out) != want ||
				len(insertions) != 1 || warnings != nil {
				t.Errorf("%q becomes\n%q, not\n%q, %v %v", text, out, want, insertions, warnings)
			}
			reversible(t, []byte(text), exitRule)
		})
	}
	for name, text := range map[string]string{
		"UTF-16":    "\xff\xfei\x00n\x00t\x00",
		"zero byte": "int f() { return EXIT; }\x00",
	} {
		out, _, warnings := Source("x.cpp", []byte(text), exitRule)
		if string(out) != text || len(warnings) != 1 || !warnings[0].Skipped {
			t.Errorf("%s: %q %v", name, out, warnings)
		}
	}
}

// TestReformatted takes insertions out that were laid out anew by a formatter; spaces and line ends
// that it added stay.
func TestReformatted(t *testing.T) {
	const text = "int f() {\n    if (x) /*whyslow*/\n    {\n        /*whyslow*/ EMIT_EVENT(\n            G, " +
		"onExited);\n        return EXIT; /*whyslow*/\n    }\n}\n"
	out, _, warnings := Source("x.cpp", []byte(text), nil)
	if want := "int f() {\n    if (x)\n       \n        return EXIT;\n}\n"; string(out) != want ||
		warnings != nil {
		t.Errorf("%q %v", out, warnings)
	}
}

// sources writes files into a new folder.
func sources(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestRunInPlace(t *testing.T) {
	const before, plain = "int f() { return EXIT; }\n", "int g() { return WAIT; }\n"
	dir := sources(t, map[string]string{"a.cpp": before, "b.cpp": plain, "c.cpp": before})
	a, b, c := filepath.Join(dir, "a.cpp"), filepath.Join(dir, "b.cpp"), filepath.Join(dir, "c.cpp")
	old, err := os.Stat(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{2, 0} { // the second time nothing changes
		res, err := Run([]string{a, b, c, a, dir + "/./a.cpp"}, exitRule, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Files) != 3 || res.Changed() != want || len(res.Files[0].Insertions) != 1 ||
			res.Warnings != nil {
			t.Errorf("%+v", res)
		}
	}
	after := "int f() { " + emitted + "return EXIT; }\n"
	if read(t, a) != after || read(t, b) != plain || read(t, c) != after {
		t.Errorf("%q %q", read(t, a), read(t, b))
	}
	if info, err := os.Stat(a); err != nil || info.Mode().Perm() != 0o640 {
		t.Error("the permissions changed", err)
	}
	if info, err := os.Stat(b); err != nil || !os.SameFile(info, old) {
		t.Error("a file without changes was replaced", err)
	}
	if res, err := Run([]string{a, b, c}, exitRule, Options{Remove: true}); err != nil ||
		res.Changed() != 2 || read(t, a) != before {
		t.Errorf("%+v %v %q", res, err, read(t, a))
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".whyslow*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

func TestRunOutDir(t *testing.T) {
	const before = "int f() { return EXIT; }"
	dir := sources(t, map[string]string{"src/a.cpp": before, "src/sub/a.cpp": before,
		"src/other/b.hpp": "int x;\n", "src/broken.cpp": "{"})
	names := []string{dir + "/src/a.cpp", dir + "/src/sub/a.cpp", dir + "/src/other/b.hpp", dir +
		"/src/broken.cpp"}
	out := filepath.Join(dir, "out", "deep")
	res, err := Run(names, exitRule, Options{OutDir: out, DryRun: true})
	if err != nil || res.Changed() != 4 {
		t.Fatalf("%+v %v", res, err)
	}
	if _, err := os.Stat(out); err == nil {
		t.Fatal("a dry run wrote")
	}
	for _, want := range []int{4, 0} {
		if res, err = Run(names, exitRule, Options{OutDir: out}); err != nil || res.Changed() != want {
			t.Fatalf("%+v %v", res, err)
		}
	}
	if !res.Files[3].Skipped || res.Files[0].Skipped {
		t.Errorf("%+v", res)
	}
	after := "int f() { " + emitted + "return EXIT; }"
	got := []string{read(t, out+"/a.cpp"), read(t, out+"/sub/a.cpp"), read(t, out+"/other/b.hpp"),
		read(t, out+"/broken.cpp"), read(t, names[0])}
	if d := cmp.Diff([]string{after, after, "int x;\n", "{", before}, got); d != "" {
		t.Error(d)
	}
}

func TestRunErrors(t *testing.T) {
	dir := sources(t, map[string]string{"a.cpp": "int f() { return EXIT; }", "file": ""})
	a := filepath.Join(dir, "a.cpp")
	for _, c := range []struct {
		names []string
		out   string
		want  string
	}{
		{[]string{a, dir + "/none.cpp"}, "", "none.cpp: no such file"},
		{[]string{a, dir}, "", "it is not a file; give the files one by one"},
		{[]string{a}, dir + "/file/out", "cannot write " + dir + "/file/out/a.cpp: "},
	} {
		if _, err := Run(c.names, exitRule, Options{OutDir: c.out}); err == nil ||
			!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: %v", c.names, err)
		}
	}
	if read(t, a) != "int f() { return EXIT; }" {
		t.Error("a file was changed although another was missing")
	}
}

// TestDiff applies the diffs with patch.
func TestDiff(t *testing.T) {
	if _, err := exec.LookPath("patch"); err != nil {
		t.Skip("there is no patch")
	}
	lines := strings.Repeat("int x;\n", 20)
	for name, text := range map[string]string{
		"one":        "int f() {\n return EXIT;\n}\n",
		"no newline": "int x;\nint f() { return EXIT; }",
		"far":        lines + "int f() { return EXIT; }\n" + lines + "int g() { return EXIT; }\n" + lines,
		"near": "int f() { return EXIT; }\n\n\n\n\n\n\nint g() { return EXIT; }\nint h() { return EXIT; " +
			"}\n\n\n\n\n\n\n\nint k() { return EXIT; }",
		"CRLF": "int f() {\r\n return EXIT;\r\n}\r\n",
	} {
		dir := sources(t, map[string]string{"a.cpp": text})
		path := filepath.Join(dir, "a.cpp")
		res, err := Run([]string{path}, exitRule, Options{DryRun: true, Diff: true})
		if err != nil || read(t, path) != text {
			t.Fatal(err)
		}
		want, _, _ := Source("a.cpp", []byte(text), exitRule)
		cmd := exec.Command("patch", "--binary", path)
		cmd.Stdin = bytes.NewReader(res.Files[0].Diff)
		if out, err := cmd.CombinedOutput(); err != nil || read(t, path) != string(want) {
			t.Errorf("%s: %v %s\n%s", name, err, out, res.Files[0].Diff)
		}
	}
	if d := unified("a", []byte("x\n"), "b", []byte("x\n")); len(d) != 0 {
		t.Errorf("equal texts differ: %s", d)
	}
	const want = "--- old\n+++ new\n@@ -2,4 +2,4 @@\n 2\n 3\n 4\n-5\n\\ No newline at end of file\n+five\n\\ " +
		"No newline at end of file\n"
	if d := unified("old", []byte("1\n2\n3\n4\n5"), "new", []byte("1\n2\n3\n4\nfive")); string(d) != want {
		t.Errorf("%s", d)
	}
}
