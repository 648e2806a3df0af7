//go:build cgo && linux

package cpp

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/luna"
)

// faError builds a program whose text has one block marked by its opening, as the preprocessor would cut it out.
func faError(t *testing.T, fa string) string {
	t.Helper()
	dir := write(t, map[string]string{"prog.fa": fa})
	file := filepath.Join(dir, "prog.fa")
	at := func(i int) luna.Pos {
		before := fa[:i]
		nl := strings.LastIndexByte(before, '\n')
		return luna.Pos{File: file, Line: strings.Count(before, "\n") + 1, Col: len([]rune(before[nl+1:])) + 1}
	}
	p := &luna.Program{File: file}
	rest, base := fa, 0
	for {
		open := strings.Index(rest, "${")
		if open < 0 {
			break
		}
		var f luna.Foreign
		var end int
		if rest[open+2] == '{' {
			start := open + 3
			end = start + strings.Index(rest[start:], "$}}")
			f = luna.Foreign{Text: "{" + rest[start:end] + "}", Pos: at(base + start)}
		} else {
			start := open + strings.IndexByte(rest[open:], '}') + 1
			term := rest[open+3 : start-1]
			end = start + strings.Index(rest[start:], term)
			f = luna.Foreign{Text: rest[start:end], Pos: at(base + start)}
		}
		if line := rest[:open]; strings.HasSuffix(line, "C++ head ") {
			p.Heads = append(p.Heads, f)
		} else {
			p.Routines = append(p.Routines, &luna.Routine{ID: len(p.Routines), Name: "put", Body: &f, Pos: at(base + open),
				Params: []luna.Param{{Kind: luna.NameParam, Name: "c"}, {Kind: luna.IntParam, Name: "v"}}})
		}
		base += end
		rest = rest[end:]
	}
	_, err := build(t, Spec{Prog: p, Dir: dir})
	var ce *CompileError
	if !errors.As(err, &ce) {
		t.Fatal(err)
	}
	if strings.Contains(ce.Output, testCache) || strings.Contains(ce.Output, "ws_") || strings.Contains(ce.Output, ".fa.cpp") {
		t.Errorf("names of ours in the message:\n%s", ce.Output)
	}
	return strings.ReplaceAll(ce.Output, dir+"/", "")
}

func TestErrorsInBlocks(t *testing.T) {
	for _, c := range []struct{ fa, want string }{
		// The text begins on the line of the opening.
		{"\nC++ sub put(name c, int v) ${{ c.setValue(w); $}}\n", "prog.fa:2:43: error: 'w' was not declared"},
		// A tab and characters of several bytes before it. The compiler counts a tab as up to eight columns.
		{"\n\t/* é */ C++ sub put(name c, int v) ${{ c.setValue(w); $}}\n", "prog.fa:2:58: error: 'w' was not declared"},
		{"\nC++ sub put(name c, int v) ${{\n\n   c.setValue(w);\n$}}\n", "prog.fa:4:15: error: 'w' was not declared"},
		{"\nC++ sub put(name c, int v) ${<END}{ c.setValue(w); }END\n", "prog.fa:2:48: error: 'w' was not declared"},
		{"C++ head ${<%%%}\n#include <nothere.h>\n%%%\nC++ sub put(name c, int v) ${{ $}}", "prog.fa:2:10: fatal error: nothere.h: No such file"},
		{"C++ head ${<%%%} int x = y; %%% \nC++ sub put(name c, int v) ${{ $}}", "prog.fa:1:26: error: 'y' was not declared"},
		{"\n\nC++ sub put(name c, int v) ${{ c.setValue(5L); $}}", "prog.fa:3:42:   required from here"},
		{"C++ sub put(name c, int v) ${{ if (v) { $}}", "prog.fa:1:"},
		{"\nC++ sub put(name c, int v) ${{ c.setValue(v) $}}", "in function 'void put(OutputDF&, int)'"},
		{"\nC++ sub put(name c, int v) ${{ c.setValue(v) $}}", "prog.fa:2:45: error: expected ';' before '}' token"},
	} {
		out := faError(t, c.fa)
		got := strings.NewReplacer("‘", "'", "’", "'", "In function", "in function", "luna::ucenv::", "").Replace(out)
		if !strings.Contains(got, c.want) {
			t.Errorf("%q:\nwant %s in\n%s", c.fa, c.want, got)
		}
	}
}

func TestErrorsInFiles(t *testing.T) {
	dir := write(t, map[string]string{"a.cpp": "int f() {\n  return x;\n}\n", "b.cpp": "int g() { return 1 }", "ok.cpp": small})
	var log strings.Builder
	_, err := build(t, Spec{Prog: program("one i"), Dir: dir, Verbose: &log})
	for _, want := range []string{"the program's C++ code does not compile:\n", filepath.Join(dir, "a.cpp:2:10: error: "), filepath.Join(dir, "b.cpp:1:19: error: ")} {
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
	for _, bad := range []string{testCache, ".o:", "fa.cpp", "tmp-"} {
		if strings.Contains(err.Error(), bad) {
			t.Errorf("%s in\n%v", bad, err)
		}
	}
}
