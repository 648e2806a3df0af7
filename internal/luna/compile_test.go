package luna

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

const lib = "import put(name, int) as put; import f(int) as f; import g(value) as g; import fr(real) as fr; import fs(string) as fs;\n" +
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

func formatted(err error) string {
	var b bytes.Buffer
	for _, d := range err.(*Error).Diags {
		Format(&b, d, false)
	}
	return b.String()
}

func compile(t *testing.T, src string) *Program {
	t.Helper()
	p, err := Compile(opts(src, nil))
	if err != nil {
		t.Fatalf("%s\n%s", src, formatted(err))
	}
	return p
}

func dump(p *Program) string {
	var b strings.Builder
	p.Dump(&b)
	return b.String()
}
func TestSmoke(t *testing.T) {
	p := compile(t, lib+"sub main(int n) { df x; put(x, n); f(x + 1); }")
	if len(p.Main.Body.Stmts) != 2 {
		t.Fatal(dump(p))
	}
}
