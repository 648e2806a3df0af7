//go:build cgo && linux

package cpp

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/run/luna"
)

// faError compiles a program with an error in one of its blocks.
func faError(t *testing.T, fa string) string {
	t.Helper()
	dir := write(t, map[string]string{"prog.fa": fa + "\nsub main() { df x; put(x, 1); }\n"})
	p, err := luna.Compile(luna.Options{File: filepath.Join(dir, "prog.fa")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = build(t, Spec{Prog: p, Dir: dir})
	var ce *CompileError
	if !errors.As(err, &ce) {
		t.Fatal(err)
	}
	if strings.Contains(ce.Output, "tmp-") || strings.Contains(ce.Output, "ws_") ||
		strings.Contains(ce.Output, ".fa.cpp") {
		t.Errorf("names of ours in the message:\n%s", ce.Output)
	}
	return strings.ReplaceAll(ce.Output, dir+"/", "")
}

func TestErrorsInBlocks(t *testing.T) {
	for _, c := range []struct {
		fa   string
		want []string
	}{
		{`C++ sub put(name c, int v) ${{ c.setValue(w); $}}
C++ head ${<%%%} int x = y; %%%
	/* é */ C++ sub put2(name c, int v) ${{ c.setValue(w); $}}
C++ sub put3(name c, int v) ${{

   c.setValue(w);
$}}
C++ sub put4(name c, int v) ${<END}{ c.setValue(w); }END
C++ sub put5(name c, int v) ${{ c.setValue(5L); $}}
C++ sub put6(name c, int v) ${{ c.setValue(v) $}}
C++ sub put7(name c, int v) ${<@}
  { w = 1; }
@
sub all(name x) { put2(x,1); put3(x,1); put4(x,1); put5(x,1); put6(x,1); put7(x,1); }
sub call() { df x; all(x); }`, []string{
			"prog.fa: in function 'void put(OutputDF&, int)':",
			"prog.fa:1:43: error: 'w' was not declared", // the text begins on the line of the opening
			"prog.fa:2:26: error: 'y' was not declared",
			"prog.fa:3:59: error: 'w' was not declared", // the compiler counts a tab as up to eight columns
			"prog.fa:6:15: error: 'w' was not declared",
			"prog.fa:8:49: error: 'w' was not declared",
			"prog.fa:9:43:   required from here",
			"prog.fa:10:46: error: expected ';' before '}' token",
			"prog.fa:12:5: error: 'w' was not declared",
		}},
		{"C++ head ${<%%%}\n#include <nothere.h>\n%%%\nC++ sub put(name c, int v) ${{ $}}",
			[]string{"prog.fa:2:10: fatal error: nothere.h: No such file"}},
		{"\nC++ sub put(name c, int v) ${{ if (v) { $}}", []string{"prog.fa:2:"}},
	} {
		out := faError(t, c.fa)
		got := strings.NewReplacer("‘", "'", "’", "'", "In function", "in function", "luna::ucenv::",
			"").Replace(out)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("want %s in\n%s", want, got)
			}
		}
	}
}

func TestErrorsInFiles(t *testing.T) {
	dir := write(t, map[string]string{"a.cpp": "int f() {\n  return x;\n}\n",
		"b.cpp": "int g() { return 1 }", "ok.cpp": small})
	var log strings.Builder
	_, err := build(t, Spec{Prog: program("one i"), Dir: dir, Verbose: &log})
	for _, want := range []string{"the program's C++ code does not compile:\n",
		filepath.Join(dir, "a.cpp:2:10: error: "), filepath.Join(dir, "b.cpp:1:19: error: ")} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("want %s in\n%v", want, err)
		}
	}
	if !strings.Contains(log.String(), "-c "+filepath.Join(dir, "ok.cpp")) {
		t.Errorf("commands:\n%s", log.String())
	}
	// The rest was not in vain.
	os.WriteFile(filepath.Join(dir, "a.cpp"), nil, 0o644)
	os.WriteFile(filepath.Join(dir, "b.cpp"), []byte("int g() { return 1; }\nint unused;\n#warning w"), 0o644)
	log.Reset()
	b, err := build(t, Spec{Prog: program("one i"), Dir: dir, Verbose: &log})
	if err != nil || b.Compiled != 2 {
		t.Error(b, err)
	}
	if !strings.Contains(log.String(), "warning") {
		t.Errorf("no warning:\n%s", log.String())
	}
}

func TestLinkErrors(t *testing.T) {
	dir := write(t, map[string]string{"a.cpp": small, "b.cpp": "\n" + small})
	p := program("one i")
	p.File = filepath.Join(dir, "prog.fa")
	p.Heads = []luna.Foreign{{Text: small, Pos: luna.Pos{File: p.File, Line: 1, Col: 1}}}
	_, err := build(t, Spec{Prog: p, Dir: dir})
	var ce *CompileError
	if !errors.As(err, &ce) || !ce.Link {
		t.Fatal(err)
	}
	for _, want := range []string{"cannot be linked", "a.cpp", "b.cpp", "multiple definition of `one'"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("want %s in\n%v", want, err)
		}
	}
	for _, bad := range []string{".o:", "fa.cpp", "tmp-", ".so\n", "crti.o", "\na.cpp\n"} {
		if strings.Contains(err.Error(), bad) {
			t.Errorf("%s in\n%v", bad, err)
		}
	}
}
