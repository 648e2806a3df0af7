package compile

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Another compiler, or the same with other flags, is another tool.
func TestTool(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	put := func(name, text string) func() {
		return func() {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	put("cc", "")()
	seen := map[string]string{}
	for _, c := range []struct {
		what    string
		do      func()
		command string
	}{
		{"first", func() {}, "cc"},
		{"words", func() {}, "cc -DOTHER"},
		{"installed again", put("cc", "new"), "cc"},
		{"wrapped", put("ccache", ""), "ccache cc"},
		{"wrapped, installed again", put("cc", "newer"), "ccache cc"},
		{"search path", func() { t.Setenv("CPATH", "/x") }, "cc"},
	} {
		c.do()
		id, err := Tool(strings.Fields(c.command)...)
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[id]; ok {
			t.Errorf("%s is taken for %s", c.what, other)
		}
		seen[id] = c.what
	}
	if _, err := Tool("none"); !errors.Is(err, exec.ErrNotFound) || !strings.HasPrefix(err.Error(), "none: ") {
		t.Error(err)
	}
}

// Every row changes something and tells whether the program is another file then, an earlier one, or
// the same. What is found is not made again.
func TestProgram(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip(err)
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	put := func(name, text string) func() {
		return func() {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	put("a.c", "#include \"a.h\"\nint f(void);\nint main(void) { return f() - CODE; }")()
	put("b.c", "int f(void) { return 10 VARIANT; }")()
	put("a.h", "#define CODE 3\n")()
	p := Program{Name: "prog", Dir: dir, Compile: []string{"-DVARIANT="}, Sources: []string{"a.c", "b.c"}}
	for _, c := range []struct {
		what string
		do   func()
		code int
	}{
		{"first", func() {}, 7},
		{"again", func() {}, 7},
		{"header", put("a.h", "#define CODE 4\n"), 6},
		{"header as before", put("a.h", "#define CODE 3\n"), 7},
		{"source", put("b.c", "int f(void) { return 11 VARIANT; }"), 8},
		{"flag", func() { p.Compile = []string{"-DVARIANT=+5"} }, 13},
		{"source as before", put("b.c", "int f(void) { return 10 VARIANT; }"), 12},
		{"flag as before", func() { p.Compile = []string{"-DVARIANT="} }, 7},
	} {
		c.do()
		path, err := p.Make(t.Context())
		if err != nil {
			t.Fatal(c.what, err)
		}
		run := exec.Command(path)
		if _ = run.Run(); run.ProcessState.ExitCode() != c.code || filepath.Base(path) != "prog" {
			t.Errorf("%s: %s returned %d, want %d", c.what, path, run.ProcessState.ExitCode(), c.code)
		}
	}
	// The same program in another folder is not compiled again.
	again, err := p.Make(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	other := p
	other.Dir, other.Flags = t.TempDir(), []string{"-g"}
	p.Flags = other.Flags
	if err := os.CopyFS(other.Dir, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	here, err := p.Make(t.Context())
	there, err2 := other.Make(t.Context())
	if err := errors.Join(err, err2); err != nil || here != there || here == again {
		t.Errorf("%v: %s here, %s there, %s without -g", err, here, there, again)
	}
	put("a.h", "#error no code\n")()
	var failed *Error
	if _, err := p.Make(t.Context()); !errors.As(err, &failed) || !strings.Contains(err.Error(), "no code") {
		t.Error(err)
	}
	p.Compiler = []string{"no-such-compiler"}
	if _, err := p.Make(t.Context()); !errors.Is(err, exec.ErrNotFound) {
		t.Error(err)
	}
}
