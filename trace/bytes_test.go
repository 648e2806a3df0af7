package trace

import (
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite testdata/small.txt")

// The bytes of a small file, stored without compression, as they have always been:
// other programs write and read them, too.
func TestBytesOfASmallFile(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, 2, Options{Level: -1})
	if err != nil {
		t.Fatal(err)
	}
	w.DefineCode(CodeDef{Code: 1, Name: w.Name("mult"), Kind: Sub, File: w.Name("mxm.fa"), Line: 3, Col: 1})
	w.DefineSite(SiteDef{Site: 1, Code: 1, File: w.Name("mxm.fa"), Line: 12, Text: w.Name("mult(a, b)")})
	w.DefineDF(1, w.Name("a"), []int64{0, 2, -1})
	w.DefineDF(2, w.Name("a"), []int64{0, 2, 5, 6, 7, 8, 9, 10})
	k, err := w.DefineKind(KindSpec{Namespace: "My", Name: "onStep", Fields: []Field{{Name: "x", Type: FieldFloat}}, Doc: "A step."})
	if err != nil {
		t.Fatal(err)
	}
	s := w.Stream(3)
	cf := uint64(MakeCF(2, 300))
	s.Emit(1000, KindProgramStarted, 0, 500)
	s.Emit(1200, KindCFStarted, cf, 1, 6, 1, 2, 1, 2, 1, 2)
	s.Emit(1900, KindCFFinished, cf, 1, minusOne)
	s.Emit(1900, KindCFStarted, cf+1, 1, 0)
	s.Emit(1850, k, 0x4004000000000000)
	s.Emit(2000, KindProgramFinished, 900)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, FileName(2)))
	if err != nil {
		t.Fatal(err)
	}

	var b strings.Builder
	hex := func(title string, p []byte) {
		fmt.Fprintf(&b, "%s\n", title)
		for ; len(p) > 0; p = p[min(16, len(p)):] {
			row := p[:min(16, len(p))]
			text := strings.Map(func(r rune) rune {
				if r < ' ' || r > '~' {
					return '.'
				}
				return r
			}, latin1(row))
			fmt.Fprintf(&b, "  %-48x %s\n", row, text)
		}
	}
	hex("file header", data[:fileHeader])
	rest := data[fileHeader:]
	for len(rest) > trailerLength {
		var h header
		if err := h.parse(rest); err != nil {
			t.Fatal(err)
		}
		hex(fmt.Sprintf("block: kind %d, codec %d, flags %d, stream %d, count %d, base %d, first %d, last %d, number %d, definition blocks before %d, length %d",
			h.kind, h.codec, h.flags, h.stream, h.count, h.base, h.first, h.last, h.seq, h.defs, h.raw), rest[:blockHeader])
		hex("payload", rest[blockHeader:blockHeader+h.packed])
		rest = rest[blockHeader+h.packed:]
	}
	hex(fmt.Sprintf("trailer: index at %d", binary.LittleEndian.Uint64(rest)), rest)

	const golden = "testdata/small.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")); diff != "" {
		t.Errorf("the format has changed: readers of old files must still work, and the version may have to go up (-update rewrites the golden file)\n%s", diff)
	}
}

// latin1 turns every byte into a rune.
func latin1(b []byte) string {
	var s []rune
	for _, c := range b {
		s = append(s, rune(c))
	}
	return string(s)
}
