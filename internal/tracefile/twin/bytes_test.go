package twin_test

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	. "github.com/whyslow/whyslow/trace"
)

// The bytes of a small file, stored without compression, as they have always been:
// other programs write and read them, too.
func TestBytesOfASmallFile(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, 2, Options{Level: -1, Run: "3f1d5a60c2b94e7788aa01f4d2936be5"})
	if err != nil {
		t.Fatal(err)
	}
	w.DefineCode(CodeDef{Code: 1, Name: w.Name("mult"), Kind: Sub, File: w.Name("mxm.fa"), Line: 3, Col: 1})
	w.DefineSite(SiteDef{Site: 1, Code: 1, File: w.Name("mxm.fa"), Line: 12, Text: w.Name("mult(a, b)")})
	w.DefineDF(1, w.Name("a"), []int64{0, 2, -1})
	w.DefineDF(2, w.Name("a"), []int64{0, 2, 5, 6, 7, 8, 9, 10})
	k, err := w.DefineKind(KindSpec{Namespace: "My", Name: "onStep",
		Fields: []Field{{Name: "x", Type: FieldFloat}}, Doc: "A step."})
	if err != nil {
		t.Fatal(err)
	}
	s := w.Stream(3)
	cf := uint64(MakeCF(2, 300))
	s.Emit(1000, KindProgramStarted, 0, 500)
	s.Emit(1200, KindCFStarted, cf, 1, 6, 1, 2, 1, 2, 1, 2)
	s.Emit(1900, KindCFFinished, cf, 1, ^uint64(0))
	s.Emit(1900, KindCFStarted, cf+1, 1, 0)
	s.Emit(1850, k, 0x4004000000000000)
	s.Emit(2000, KindProgramFinished, 900)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, tracefile.FileName(2)))
	if err != nil {
		t.Fatal(err)
	}
	checkPage(t, dir, data)
}

// checkPage checks that docs/trace-format.md shows the file, its bytes and its text.
func checkPage(t *testing.T, dir string, data []byte) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/trace-format.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(page), "\n## A file, byte by byte\n")
	if !ok {
		t.Fatal("the page has no section that shows a file")
	}
	parts := strings.Split(section, "```")
	if len(parts) < 4 {
		t.Fatal("the section has no text and no bytes")
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var text strings.Builder
	if err := twin.Dump(&text, r); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(text.String(), strings.TrimPrefix(parts[1], "\n")); d != "" {
		t.Errorf("the text on the page (+) is not the file's (-):\n%s", d)
	}
	var shown []byte
	for _, line := range strings.Split(strings.TrimPrefix(parts[3], "hex\n"), "\n") {
		if line == "" || line[0] == ';' {
			continue
		}
		b, err := hex.DecodeString(strings.Fields(line)[0])
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		shown = append(shown, b...)
	}
	if !bytes.Equal(shown, data) {
		t.Errorf("the format has changed: readers of old files must still work, and the version may have to go "+
			"up; the page shows %d bytes, these are %d:\n%x", len(shown), len(data), data)
	}
}
