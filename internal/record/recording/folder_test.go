package recording

import (
	"os"
	"path/filepath"
	"testing"
)

func TestNewFolder(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "p.fa")
	want := func(name string) {
		t.Helper()
		got, note, err := NewFolder(program)
		if err != nil || note != "" || got != filepath.Join(dir, name) {
			t.Errorf("%s %q %v, want %s", got, note, err, name)
		}
	}
	want("p.001.trace")
	want("p.002.trace")
	// Numbers are never used twice, however many there are; other programs' traces do not count.
	for _, name := range []string{"p.1203.trace", "p.q.trace", "pp.9000.trace", "p.7000.traces"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	want("p.1204.trace")
}

func TestNewFolderFallsBack(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write anywhere")
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "locked"), 0o555); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	got, note, err := NewFolder("locked/p.fa")
	if err != nil || got != "p.001.trace" || note == "" {
		t.Errorf("%s %q %v", got, note, err)
	}
}
