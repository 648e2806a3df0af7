package bundle

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBundle(t *testing.T) {
	dir := t.TempDir()
	library, bundle := filepath.Join(dir, "a.so"), filepath.Join(dir, "b.so")
	if err := os.WriteFile(library, []byte("\x7fELF and so on"), 0o666); err != nil {
		t.Fatal(err)
	}
	want := &Program{
		File: "p.fa", Source: "sub main() f();\n", Defines: []string{"N=3", "X"},
		Includes: map[string]string{"lib/a.inc": "// é\n"}, Debug: true,
	}
	for range 2 { // the second time over the first
		if err := Write(bundle, library, want); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Read(bundle)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := Read(library); err == nil || !strings.Contains(err.Error(), "contains no program") {
		t.Errorf("a plain library: %v", err)
	}
}

func FuzzReadBundle(f *testing.F) {
	f.Add([]byte("{}\x02\x00\x00\x00\x00\x00\x00\x00" + mark))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff" + mark))
	f.Add([]byte(mark))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "x.so")
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		p, err := Read(path)
		if (p == nil) == (err == nil) {
			t.Fatal("neither a program nor an error")
		}
	})
}
