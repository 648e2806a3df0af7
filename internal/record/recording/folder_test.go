package recording

import (
	"os"
	"strings"
	"testing"
)

func TestNewFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	want := func(name string) {
		t.Helper()
		if got, err := NewFolder("programs/p.fa"); err != nil || got != name {
			t.Errorf("%s %v, want %s", got, err, name)
		}
	}
	want("p.001.trace")
	want("p.002.trace")
	// Numbers are never used twice, however many there are; other programs' traces do not count.
	for _, name := range []string{"p.1203.trace", "p.q.trace", "pp.9000.trace", "p.7000.traces"} {
		if err := os.Mkdir(name, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	want("p.1204.trace")
}

func TestNewFolderNeedsAnother(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write anywhere")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	if got, err := NewFolder("p.fa"); err == nil || !strings.Contains(err.Error(), "-o DIR") {
		t.Errorf("%s %v", got, err)
	}
}
