package luna

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// lib declares the routines that test programs call; it is one line, so their code begins at line 2.
const lib = "import put(name, int) as put; import f(int) as f; import g(value) as g; import " +
	"fr(real) as fr; " +
	"import fs(string) as fs; " +
	"import two(name, name) as two; import none() as none;\n"

// opts is a source with includes from files.
func opts(src string, files map[string]string) Options {
	return Options{File: "t.fa", Source: []byte(src), ReadFile: func(p string) ([]byte, error) {
		if s, ok := files[p]; ok {
			return []byte(s), nil
		}
		return nil, &os.PathError{Op: "open", Path: p, Err: fmt.Errorf("no such file or directory")}
	}}
}

func formatted(ds []Diag) string {
	var b bytes.Buffer
	for _, d := range ds {
		Format(&b, d, false)
	}
	return b.String()
}

func diags(err error) []Diag {
	if err == nil {
		return nil
	}
	var e *Error
	errors.As(err, &e)
	return e.Diags
}

func compile(t *testing.T, src string) *Program {
	t.Helper()
	p, err := Compile(opts(src, nil))
	if err != nil {
		t.Fatalf("%s\n%s", src, formatted(diags(err)))
	}
	return p
}

func dump(p *Program) string {
	var b strings.Builder
	p.Dump(&b)
	return b.String()
}

// body compiles a main with the given body and dumps it.
func body(t *testing.T, src string) string {
	t.Helper()
	return dump(compile(t, lib+"sub main(int i, real q, string t) {\n"+src+"\n}"))
}

// has checks that text contains every wanted line, ignoring indentation.
func has(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, want := range lines {
		found := false
		for _, l := range strings.Split(text, "\n") {
			found = found || strings.TrimSpace(l) == want
		}
		if !found {
			t.Errorf("no line %q in\n%s", want, text)
		}
	}
}

// hasNot checks that text does not occur.
func hasNot(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if strings.Contains(text, p) {
			t.Errorf("%q in\n%s", p, text)
		}
	}
}

// fails compiles src and checks each diagnostic: "line:col stage text", in order.
func fails(t *testing.T, src string, want ...string) {
	t.Helper()
	_, err := Compile(opts(src, nil))
	ds := diags(err)
	for i, d := range ds {
		got := fmt.Sprintf("%d:%d %s %s", d.Pos.Line, d.Pos.Col, d.Stage, d.Msg)
		if i >= len(want) || got != want[i] {
			t.Errorf("%s\ngot  %s\nwant %s", src, got, append(want, make([]string, i+1)...)[i])
		}
	}
	if len(ds) < len(want) {
		t.Errorf("%s\nmissing: %s", src, want[len(ds):])
	}
}

// failsBody is fails for the body of main; line 2 is its first.
func failsBody(t *testing.T, src string, want ...string) {
	t.Helper()
	fails(t, lib+"sub main(int i, real q, string t) {"+src+"}", want...)
}

// warns compiles and checks the warnings: "line:col text".
func warns(t *testing.T, src string, want ...string) {
	t.Helper()
	p := compile(t, lib+src)
	var got []string
	for _, d := range p.Warnings {
		got = append(got, fmt.Sprintf("%d:%d %s", d.Pos.Line, d.Pos.Col, d.Msg))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s\ngot  %q\nwant %q", src, got, want)
	}
}

// pre preprocesses.
func pre(t *testing.T, src string, files map[string]string, defs ...Define) string {
	t.Helper()
	o := opts(src, files)
	o.Defines = defs
	rep := &reporter{}
	p := preprocess(o, rep)
	if err := rep.err(); err != nil {
		t.Fatalf("%s\n%s", src, formatted(diags(err)))
	}
	return encode(p.text)
}

// preFails preprocesses and checks the messages: "line:col text".
func preFails(t *testing.T, src string, files map[string]string, want ...string) {
	t.Helper()
	rep := &reporter{}
	preprocess(opts(src, files), rep)
	var got []string
	for _, d := range diags(rep.err()) {
		got = append(got, fmt.Sprintf("%d:%d %s", d.Pos.Line, d.Pos.Col, d.Msg))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s\ngot  %q\nwant %q", src, got, want)
	}
}

func equal(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
